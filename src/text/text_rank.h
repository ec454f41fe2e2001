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

#include "text/text_table.h"
#include "utils/builtins.h"
#include "utils/sortsupport.h"

typedef struct TextRanks TextRanks;

/* TextForm: how strings are stored in the values of a type. */
typedef enum TextForm
{
	TEXT_VARLENA,
	TEXT_PADDED,				/* varlena; ignores trailing blanks */
	TEXT_NAME,					/* NUL-terminated, at most NAMEDATALEN */
	TEXT_LOWERED				/* varlena, compared in lower case: citext */
} TextForm;

/* text_is_plain returns true if text_string can read a value. */
static inline bool
text_is_plain(TextForm form, Datum value)
{
	return form == TEXT_NAME ||
		(!VARATT_IS_COMPRESSED(DatumGetPointer(value)) &&
		 !VARATT_IS_EXTERNAL(DatumGetPointer(value)));
}

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
 * TextDistrust: collations whose tables a process no longer uses, because the
 * provider and the tables disagreed on the order of two strings.  With more
 * than MAX_DISTRUSTED of these collations, the process uses no tables at all.
 */
#define MAX_DISTRUSTED	16

typedef struct TextDistrust
{
	int			n;
	Oid			collations[MAX_DISTRUSTED];
} TextDistrust;

/* This process's list; a worker starts with its leader's list. */
extern TextDistrust ptsort_distrusted;

/*
 * text_rank_distrust stops this process from creating more orders from the
 * tables of a collation.  It also stores the collation in *ptsort_report_to
 * unless the pointer is NULL (its initial value).  Returns false in a worker if
 * the pointer is NULL: the leader then does not learn of the collation.
 */
extern bool text_rank_distrust(Oid collation);
extern Oid *ptsort_report_to;

/* text_rank_provider returns the name of a collation's provider. */
extern const char *text_rank_provider(Oid collation);

/*
 * text_rank_find returns the order of a collation, valid until the process
 * ends; NULL if it has no tables, or if they do not prove the order.
 *
 * The caller may use the order, and call the functions below, only if
 * text_rank_is_ready returns true.  If 'read' is true, the function first reads
 * the tables, unless this process already read them; reading can be slow.
 */
extern TextRanks *text_rank_find(Oid collation);
extern bool text_rank_is_ready(TextRanks *ranks, bool read);

/*
 * text_rank_reading_cost returns the cost of reading the tables of an order
 * whose provider is ICU, as a multiple of the usual cost.
 */
extern int	text_rank_reading_cost(const TextRanks *ranks);

/*
 * text_rank_bytewise returns true for collations that order strings by their
 * bytes: "C", and those of which the C library's tables prove it, such as
 * C.UTF-8.
 */
extern bool text_rank_bytewise(Oid collation);

/*
 * text_rank_tables returns the tables of the C library if they prove the order
 * in all passes, else NULL.
 */
extern const CollateTables *text_rank_tables(const TextRanks *ranks);

/*
 * text_rank_compare compares two strings as the collation does, and sets *cmp
 * to <0 or >0.  The strings' first 'shared' bytes must be equal.  Returns false
 * if the strings are equal.  Also returns false if the first pass leaves the
 * strings equal and the tables are ICU's or do not prove the later passes.
 */
extern bool text_rank_compare(const TextRanks *ranks, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);

/*
 * text_rank_next returns the rank of the next primary weight of a string, or 0
 * if the element at *string has none.  Strings with different sequences of
 * nonzero ranks sort like these sequences.  After an element's last weight,
 * the function advances *string past the element.  *taken must be 0 at first;
 * it records which part of the element earlier calls returned.
 */
extern uint32 text_rank_next(const TextRanks *ranks, const char **string,
							 const char *end, int *taken);

/*
 * text_rank_character returns true if the tables prove that a character of n
 * bytes is an element, with the same ranks everywhere.  If the function sets
 * *begins to true, the proof excludes places where the character begins a
 * longer element.
 */
extern bool text_rank_character(const TextRanks *ranks, const char *character,
								int n, bool *begins);

/*
 * text_rank_is_element returns true if the element at 'string' has n bytes: the
 * character there, of n bytes, does not begin a longer element.
 */
extern bool text_rank_is_element(const TextRanks *ranks, const char *string,
								 int n, const char *end);

/*
 * text_rank_continues returns true if 'next' may belong to an element that
 * begins with 'byte', an ASCII character.  (The C library's tables tell only
 * whether 'next' may belong to any element that begins before 'next'.)
 */
extern bool text_rank_continues(const TextRanks *ranks, char byte, char next);

/* GUC: compare by the tables where these prove the order. */
extern bool ptsort_use_collation_tables;

/*
 * Of the pairs that the tables of a collation compare, the provider compares
 * one in TEXT_SPOT_EVERY again.
 */
#define TEXT_SPOT_EVERY		64

/*
 * CompareFailure: what to do if comparing by the tables and by the collation's
 * provider gives different results.
 */
typedef struct CompareFailure
{
	bool		restartable;	/* in: true if the caller can start over; if
								 * false, a contradiction raises an error */
	bool		full;			/* in: if true, compare values without the
								 * tables */
	Oid			words;			/* in: the collation of the key's words */
	Oid			collation;		/* out: the collation that contradicted its
								 * tables, or InvalidOid; if set, the order so
								 * far is not reliable */
} CompareFailure;

/*
 * text_compare_contradicted handles a collation that contradicts its tables.
 * If failure->restartable is true, the function sets failure->collation.
 * Otherwise it makes this process and, if possible, the leader stop using these
 * tables, and raises an error.
 */
extern void text_compare_contradicted(CompareFailure *failure, Oid collation);

/*
 * text_compare_wrap replaces the comparison in 'ssup' with one that uses the
 * tables and falls back to the original.  The caller must prepare 'ssup' in the
 * collation of 'ranks', without abbreviation.  The type is char(n) if 'padded',
 * otherwise text or varchar.  The new comparison's memory is in ssup's memory
 * context; 'failure' must live as long as that context.
 */
extern void text_compare_wrap(SortSupport ssup, TextRanks *ranks,
							  bool padded, CompareFailure *failure);

/*
 * text_digest (text_digest.c) returns a palloc'd digest of a collation, in
 * hexadecimal.  If two collations have the same digest, all strings of the
 * database's encoding compare alike in both.  The collations may belong to
 * different databases, or to different releases of the server, of the C library
 * and of processors.  Returns NULL if nothing is proved, or if the collation
 * does not exist or its locale is not installed.
 */
extern char *text_digest(Oid collation);

#endif							/* PTSORT_TEXT_RANK_H */
