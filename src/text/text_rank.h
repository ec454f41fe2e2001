/*-------------------------------------------------------------------------
 *
 * text_rank.h
 *	  The order of characters and strings by the tables of their collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_RANK_H
#define PTSORT_TEXT_RANK_H

#include "compat.h"

typedef struct TextRanks TextRanks;

/* same_sign returns true if two comparisons have the same result. */
static inline bool
same_sign(int x, int y)
{
	return (x > 0) == (y > 0) && (x < 0) == (y < 0);
}

/*
 * TextDistrust: collations whose tables a process no longer uses, because their
 * provider ordered two strings differently.  If there are more of them than
 * fit, it uses no tables at all.
 */
#define MAX_DISTRUSTED	16

typedef struct TextDistrust
{
	int			n;
	Oid			collations[MAX_DISTRUSTED];
} TextDistrust;

/*
 * text_rank_distrust makes this process use the tables of a collation for no
 * new order, and stores the collation where text_rank_report_to says, which is
 * NULL at first.  False if that is NULL in a parallel worker: then the leader
 * does not learn of it.
 */
extern bool text_rank_distrust(Oid collation);
extern Oid *text_rank_report_to(Oid *place);

/* The list of this process; and make another process's its own. */
extern const TextDistrust *text_rank_distrusted(void);
extern void text_rank_adopt_distrust(const TextDistrust *list);

/* text_rank_provider returns the name of a collation's provider. */
extern const char *text_rank_provider(Oid collation);

/*
 * text_rank_create returns the order of a collation, NULL if its tables do not
 * prove it, or if it is not one of the C library's or ICU's.
 *
 * The order is not ready before text_rank_prepare, unless it has been prepared
 * in this process: that takes up to 15 ms.  It returns false if nothing is
 * proved.  All functions after it are for orders that are ready.
 */
extern TextRanks *text_rank_create(Oid collation);
extern bool text_rank_is_ready(const TextRanks *ranks);
extern bool text_rank_prepare(const TextRanks *ranks);

/*
 * text_rank_bytewise returns true if the tables of a collation that the C
 * library provides prove that it orders strings by their bytes, as C.UTF-8
 * does.
 */
extern bool text_rank_bytewise(Oid collation);

/*
 * text_rank_compare orders two strings that share their first bytes, 'shared'
 * of them, as the collation does; 'cmp' becomes <0 or >0.  False if that cannot
 * be told: they are equal, or the first pass leaves them so and the tables are
 * ICU's, or are not sure of the later ones.
 */
extern bool text_rank_compare(const TextRanks *ranks, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);

/*
 * text_rank_tried returns where the process counts how many pairs of strings in
 * this collation it has also compared by the collation itself.
 */
extern int *text_rank_tried(const TextRanks *ranks);

/*
 * text_rank_next returns the rank of the next primary weight of a string, 0 if
 * the element at *string has none.  The order of strings that differ in these
 * is the order of their sequences of ranks other than 0.  *string is advanced
 * past the element after its last weight; *taken, 0 at first, says how much of
 * it has been returned before.
 */
extern uint32 text_rank_next(const TextRanks *ranks, const char **string,
							 const char *end, int *taken);

/* What is proved of a character. */
typedef enum TextRankProof
{
	RANK_UNKNOWN,				/* not asked for yet */
	RANK_UNPROVED,
	RANK_PROVED,				/* it is an element, with one rank or none */
	RANK_BEGINS					/* ... but not where it begins an element that
								 * is longer: text_rank_ends */
} TextRankProof;

/*
 * text_rank_character tells what is proved of a character of n bytes, and what
 * its rank is.
 */
extern TextRankProof text_rank_character(const TextRanks *ranks,
										 const char *character, int n,
										 uint32 *rank);

/* text_rank_ends: do the first n bytes make the string's first element? */
extern bool text_rank_ends(const TextRanks *ranks, const char *string, int n,
						   const char *end);

/* text_rank_is_alone: does an element end with this byte wherever it occurs? */
extern bool text_rank_is_alone(const TextRanks *ranks, char byte);

/*
 * text_rank_continues: may the next byte belong to an element that this one, a
 * character of ASCII, begins?
 */
extern bool text_rank_continues(const TextRanks *ranks, char byte, char next);

#endif							/* PTSORT_TEXT_RANK_H */
