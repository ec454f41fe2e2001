/*-------------------------------------------------------------------------
 *
 * text_icu.h
 *	  What ICU tells about its collations.
 *
 * text_unit.c divides strings into what has weights of its own, and knows the
 * weights; here is what that is made of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_ICU_H
#define PTSORT_TEXT_ICU_H

#include "compat.h"

#include "mb/pg_wchar.h"

/* What is known of a character. */
#define CHARACTER_BEGINS	0x01	/* it may be followed by one that ... */
#define CHARACTER_CONTINUES 0x02	/* ... changes its weights, like this */
#define CHARACTER_JOINS		0x04	/* whatever follows it may be changed */
#define CHARACTER_SEVERAL	0x08	/* it has several ranks */

/* IcuCharacter: a character, and its rank on its own, 0 if it has none. */
typedef struct IcuCharacter
{
	pg_wchar	code_point;
	uint32		rank;
	uint8		flags;
} IcuCharacter;

typedef struct IcuCollation IcuCollation;

/*
 * text_icu_open returns what ICU tells about a collation that it provides, in
 * the current memory context.  NULL if the functions of the server's ICU are
 * not to be had, or anything is not as it must be.  This takes 3 to 15 ms.
 */
extern IcuCollation *text_icu_open(Oid collation);

/* text_icu_close frees it. */
extern void text_icu_close(IcuCollation *icu);

/* text_icu_character finds out what there is to know of a character. */
extern IcuCharacter text_icu_character(IcuCollation *icu,
									   pg_wchar code_point);

/*
 * text_icu_joined: do these two characters of ASCII follow each other in
 * anything that has weights of its own?
 */
extern bool text_icu_joined(const IcuCollation *icu, char first, char second);

/*
 * text_icu_begin starts with the ranks of a string's primary weights, which
 * text_icu_next returns one by one, 0 after the last.  The order of strings
 * that differ in these is the order of their sequences of ranks.
 */
extern void text_icu_begin(IcuCollation *icu, const char *string,
						   const char *end);
extern uint32 text_icu_next(IcuCollation *icu);

/* text_icu_code_point is the character at *string, and advances *string. */
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
		return 0xFFFD;			/* what ICU takes an incomplete one for */
	}
	*string += length;
	return utf8_to_unicode(at);
}

#endif							/* PTSORT_TEXT_ICU_H */
