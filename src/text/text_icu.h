/*-------------------------------------------------------------------------
 *
 * text_icu.h
 *	  Information from ICU about its collations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_ICU_H
#define PTSORT_TEXT_ICU_H

#include "compat.h"

#include "mb/pg_wchar.h"

/* Flags of a character. */
enum
{
	CHARACTER_BEGINS = 1,		/* its weights may change before a CONTINUES
								 * character */
	CHARACTER_CONTINUES = 2,	/* its weights may change after a BEGINS
								 * character */
	CHARACTER_JOINS = 4,		/* it may change the weights of any character
								 * after it */
	CHARACTER_SEVERAL = 8		/* it has several ranks */
};

/* IcuCharacter: a character and the rank that it has on its own (0: none). */
typedef struct IcuCharacter
{
	pg_wchar	code_point;
	uint32		rank;
	uint8		flags;
} IcuCharacter;

typedef struct IcuCollation IcuCollation;

/*
 * text_icu_locale returns the palloc'd name by which the server opens a
 * collation, and sets *rules to the rules that the user added, or to NULL.
 * Returns NULL if the collation has no name in ICU.
 */
extern char *text_icu_locale(Oid collation, char **rules);

/*
 * text_icu_open opens an ICU collation in the current memory context.  Returns
 * NULL if the functions of the server's ICU are not available, or if the
 * collation does not meet the expectations of text_icu.c.  Opening can be slow.
 */
extern IcuCollation *text_icu_open(Oid collation);

/* text_icu_opening_cost: 1 for most collations, more for slow ones. */
extern int	text_icu_opening_cost(Oid collation);

/* text_icu_character looks up a character's rank and flags. */
extern IcuCharacter text_icu_character(IcuCollation *icu,
									   pg_wchar code_point);

/*
 * text_icu_joined returns true if these two ASCII characters follow each other
 * in a sequence that has weights of its own.
 */
extern bool text_icu_joined(const IcuCollation *icu, char first, char second);

/*
 * text_icu_begin starts reading the ranks of a string's primary weights.
 * text_icu_next returns the next rank, or 0 after the last.  Strings with
 * different sequences of ranks sort like these sequences.
 */
extern void text_icu_begin(IcuCollation *icu, const char *string,
						   const char *end);
extern uint32 text_icu_next(IcuCollation *icu);

/* text_icu_code_point reads the character at *string and advances past it. */
static inline pg_wchar
text_icu_code_point(const char **string, const char *end)
{
	const unsigned char *at = (const unsigned char *) *string;
	int			length;

	if (likely(*at < 0x80))
	{
		(*string)++;
		return *at;
	}
	length = pg_utf_mblen(at);
	if (unlikely(length > end - *string))
	{
		*string = end;
		return 0xFFFD;			/* what ICU reads for an incomplete character */
	}
	*string += length;
	return utf8_to_unicode(at);
}

/*
 * The functions below implement those of text_rank.h for ICU's collations.
 * UnitTable: what this process knows about one of these collations.
 */
typedef struct UnitTable UnitTable;

/*
 * text_unit_open opens a collation in ICU; opening can be slow.  Returns the
 * collation's table, valid until the process ends; NULL if ICU does not
 * provide what the functions below need.
 */
extern UnitTable *text_unit_open(Oid collation);

extern bool text_unit_compare(UnitTable *table, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);
extern uint32 text_unit_next(UnitTable *table, const char **string,
							 const char *end, int *taken);

extern bool text_unit_continues(const UnitTable *table, char byte, char next);

/* True if a character of n bytes may begin a unit of several characters. */
extern bool text_unit_begins(UnitTable *table, const char *character, int n);

/* True if the unit at 'string' is one character. */
extern bool text_unit_is_character(UnitTable *table, const char *string,
								   const char *end);

#endif							/* PTSORT_TEXT_ICU_H */
