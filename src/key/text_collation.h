/*-------------------------------------------------------------------------
 *
 * text_collation.h
 *	  Learned weights: the classes of a collation's characters.
 *
 * All collations in use compare strings by the *primary weights* of their
 * characters first: base letters and digits, one after the other.  Case and
 * accents decide only between strings that are equal so far, and some
 * characters (most control characters, combining accents) have no primary
 * weight at all.  A *class* is the set of characters that share one primary
 * weight; classes are numbered in their order.
 *
 * Which characters share a class, and the order of classes, is asked from the
 * comparison function itself.  So this works for each collation provider and
 * each type with characters, and needs nothing else of them.  What it cannot
 * see are weights that depend on a character's neighbours (the Czech "ch"):
 * strings ordered by classes are in the collation's order *mostly*, and who
 * uses classes must verify.
 *
 * Bytewise order ("C") is the simple case: each byte is a character and a
 * class, and order by classes is the truth.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_COLLATION_H
#define PTSORT_TEXT_COLLATION_H

#include "compat.h"

#include "lib/stringinfo.h"

/* How strings are stored in the values of a type. */
typedef enum TextForm
{
	TEXT_VARLENA,
	TEXT_PADDED,				/* varlena; blanks at the end do not count */
	TEXT_NAME					/* NUL-terminated, at most NAMEDATALEN */
} TextForm;

/*
 * CharClass: what is known of a character.  A number of a class from 0; or
 * that the character is ignored; or with CLASS_ABOVE: it lies between classes,
 * below the one whose number it has.
 */
typedef uint16 CharClass;
#define CLASS_ABOVE		0x8000
#define CLASS_IGNORED	0x7FFF
#define CLASS_UNKNOWN	0x7FFE	/* has not been asked for yet */
#define MAX_CLASSES		0x7FF0

typedef struct Collation Collation;

extern Collation *text_collation_create(SortSupport ssup, TextForm form,
										bool bytewise);
extern void text_collation_limit(Collation *collation, Size limit);
extern bool text_collation_is_bytewise(const Collation *collation);
extern void text_collation_learn_string(Collation *collation, const char *string,
										int length);
extern void text_collation_forget_numbers(Collation *collation);
extern int	text_collation_classes(const Collation *collation);
extern CharClass text_collation_multibyte_class(Collation *collation,
												const char **string,
												const char *end);
extern CharClass *text_collation_byte_classes(Collation *collation);
extern void text_collation_export(const Collation *collation, StringInfo target);
extern const char *text_collation_import(Collation *collation, const char *source,
										 const char *end);

/* text_collation_string returns the bytes of a value, perhaps in palloc'd memory. */
extern const char *text_collation_string(const Collation *collation, Datum value,
										 int *length);

/* text_collation_compare orders two strings as values of the type. */
extern int	text_collation_compare(const Collation *collation, const char *a,
								   int a_length, const char *b, int b_length);

/*
 * text_collation_next returns the class of the character at *string and moves
 * behind it.
 */
static inline CharClass
text_collation_next(Collation *collation, const CharClass *byte_classes,
					const char **string, const char *end)
{
	CharClass	class = byte_classes[(unsigned char) **string];

	if (likely(class != CLASS_UNKNOWN))
	{
		(*string)++;
		return class;
	}
	return text_collation_multibyte_class(collation, string, end);
}

#endif							/* PTSORT_TEXT_COLLATION_H */
