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
 * TextDistrust: collations whose tables a process no longer uses, because
 * their provider ordered two strings differently.  If there are more than
 * MAX_DISTRUSTED, the process uses no tables at all.
 */
#define MAX_DISTRUSTED	16

typedef struct TextDistrust
{
	int			n;
	Oid			collations[MAX_DISTRUSTED];
} TextDistrust;

/*
 * text_rank_distrust makes this process create no more orders from the tables
 * of a collation, and stores the collation at the place set by
 * text_rank_report_to, which is initially NULL.  Returns false in a parallel
 * worker without a place: then the leader does not learn of it.
 */
extern bool text_rank_distrust(Oid collation);
extern Oid *text_rank_report_to(Oid *place);

/*
 * text_rank_distrusted returns this process's list; text_rank_adopt_distrust
 * replaces it by another process's list.
 */
extern const TextDistrust *text_rank_distrusted(void);
extern void text_rank_adopt_distrust(const TextDistrust *list);

/* text_rank_provider returns the name of a collation's provider. */
extern const char *text_rank_provider(Oid collation);

/*
 * text_rank_find returns the order of a collation, or NULL if its tables do not
 * prove it, or if its provider is neither the C library nor ICU.  It is valid
 * until the process ends.
 *
 * The order may not be used before text_rank_prepare, which can be slow,
 * unless this process has prepared the collation already (text_rank_is_ready).
 * text_rank_prepare returns false if the tables prove nothing.  All functions
 * below require an order that is ready.
 */
extern TextRanks *text_rank_find(Oid collation);
extern bool text_rank_is_ready(const TextRanks *ranks);
extern bool text_rank_prepare(TextRanks *ranks);

/*
 * text_rank_bytewise returns true if the tables of a C library's collation
 * prove that it orders strings by their bytes, as C.UTF-8 does.
 */
extern bool text_rank_bytewise(Oid collation);

/*
 * text_rank_compare orders two strings as the collation does; their first
 * 'shared' bytes are equal, and 'cmp' becomes <0 or >0.  Returns false if it
 * cannot decide: the strings are equal, or the first pass leaves them equal
 * and the tables are ICU's or do not prove the later passes.
 */
extern bool text_rank_compare(const TextRanks *ranks, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);

/*
 * text_rank_tried returns the process's counter of pairs of strings in this
 * collation that were also compared by the collation itself.
 */
extern int *text_rank_tried(TextRanks *ranks);

/*
 * text_rank_next returns the rank of the next primary weight of a string, or 0
 * if the element at *string has none.  Strings whose sequences of nonzero
 * ranks differ have the order of these sequences.  *string is advanced past
 * the element after its last weight.  *taken must be 0 at first; it says how
 * much of the element was returned before.
 */
extern uint32 text_rank_next(const TextRanks *ranks, const char **string,
							 const char *end, int *taken);

/*
 * text_rank_character returns true if the tables prove that a character of n
 * bytes is an element with at most one rank, except where it begins a longer
 * element if *begins is true.
 */
extern bool text_rank_character(const TextRanks *ranks, const char *character,
								int n, bool *begins);

/*
 * text_rank_continues returns true if the next byte may belong to an element
 * that begins with 'byte', an ASCII character.
 */
extern bool text_rank_continues(const TextRanks *ranks, char byte, char next);

#endif							/* PTSORT_TEXT_RANK_H */
