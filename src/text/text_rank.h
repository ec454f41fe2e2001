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

#include "utils/builtins.h"
#include "utils/sortsupport.h"

typedef struct TextRanks TextRanks;

/* TextForm: how strings are stored in the values of a type. */
typedef enum TextForm
{
	TEXT_VARLENA,
	TEXT_PADDED,				/* varlena; trailing blanks do not count */
	TEXT_NAME,					/* NUL-terminated, at most NAMEDATALEN */
	TEXT_LOWERED				/* varlena, ordered by its lower case: citext */
} TextForm;

/* text_is_plain returns true if text_string can read a value. */
static inline bool
text_is_plain(TextForm form, Datum value)
{
	return form == TEXT_NAME ||
		(!VARATT_IS_COMPRESSED(DatumGetPointer(value)) &&
		 !VARATT_IS_EXTERNAL(DatumGetPointer(value)));
}

/* text_string returns the bytes of a value for which text_is_plain is true. */
static inline const char *
text_string(TextForm form, Datum value, int *length)
{
	const char *string = DatumGetPointer(value);

	if (form == TEXT_NAME)
	{
		*length = strnlen(string, NAMEDATALEN);
		return string;
	}
	*length = VARSIZE_ANY_EXHDR(string);
	string = VARDATA_ANY(string);
	if (form == TEXT_PADDED)
		*length = bpchartruelen(unconstify(char *, string), *length);
	return string;
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

/* This process's list; a worker begins with that of its leader. */
extern TextDistrust ptsort_distrusted;

/*
 * text_rank_distrust makes this process create no more orders from the tables
 * of a collation, and stores the collation at ptsort_report_to unless that is
 * NULL, as initially.  Returns false in a parallel worker without this place:
 * then the leader does not learn of it.
 */
extern bool text_rank_distrust(Oid collation);
extern Oid *ptsort_report_to;

/* text_rank_provider returns the name of a collation's provider. */
extern const char *text_rank_provider(Oid collation);

/*
 * text_rank_find returns the order of a collation, or NULL if its tables do not
 * prove it, or if its provider is neither the C library nor ICU.  It is valid
 * until the process ends.
 *
 * The order may not be used unless text_rank_is_ready, which reads the tables
 * if this process has not read them and 'read' is true; that can be slow.  It
 * returns false if they prove nothing.  All functions below require an order
 * that is ready.
 */
extern TextRanks *text_rank_find(Oid collation);
extern bool text_rank_is_ready(TextRanks *ranks, bool read);

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
 * that begins with 'byte', an ASCII character.  (The C library's tables tell
 * only whether it may belong to one that begins before it.)
 */
extern bool text_rank_continues(const TextRanks *ranks, char byte, char next);

/* GUC: use tables where they prove the order. */
extern bool ptsort_use_collation_tables;

/*
 * CompareFailure: how to react if comparing by the tables and by the
 * collation's provider gives different results.
 */
typedef struct CompareFailure
{
	bool		restartable;	/* in: true if the caller can start over; if
								 * false, a contradiction raises an error */
	bool		full;			/* in: if true, compare values without the
								 * tables */
	Oid			words;			/* in: the collation of the key's words */
	Oid			collation;		/* out: the contradicting collation, else
								 * InvalidOid; if set, the order produced so
								 * far is not reliable */
} CompareFailure;

/*
 * text_compare_contradicted reacts to a collation that contradicts its tables.
 * If the caller can start over, it sets failure->collation.  Else it makes this
 * process and, where possible, the leader stop using these tables, and raises
 * an error.
 */
extern void text_compare_contradicted(CompareFailure *failure, Oid collation);

/*
 * text_compare_wrap replaces the comparison in 'ssup' by one that uses the
 * tables and falls back to the original.  'ssup' is ready for use, without
 * abbreviation, for text, varchar or, if 'padded', char(n), in the collation
 * of 'ranks'.  Memory is allocated in ssup's memory context; 'failure' must
 * live as long.
 */
extern void text_compare_wrap(SortSupport ssup, TextRanks *ranks,
							  bool padded, CompareFailure *failure);

#endif							/* PTSORT_TEXT_RANK_H */
