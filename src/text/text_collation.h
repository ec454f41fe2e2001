/*-------------------------------------------------------------------------
 *
 * text_collation.h
 *	  The primary weights of a collation's characters, as ranks.
 *
 * In the terms of the Unicode collation algorithm (UTS #10), all collations in
 * use compare strings by the *primary weights* of their characters first,
 * those of base letters and digits, one after the other.  Case and accents
 * decide only between strings that are equal so far, and *ignorable*
 * characters (most control characters, combining accents) have no primary
 * weight at all.  Only the order of the weights matters here, so a weight is
 * represented by its rank among the learned ones, from 0.
 *
 * The weights come from the tables of the collation, which prove that the
 * order of strings never contradicts the order of their weights (text_rank.h).
 * Contractions (the Czech "ch") have weights of their own, and one character
 * may have several weights.
 *
 * Bytewise order ("C") is the simple case: each byte is a character with a
 * weight of its own, and the order of the weights is that of the bytes.
 *
 * Usage: create; learn_string for each string of a sample, then end_learning;
 * after that, next returns the weights of any string.  Another process gets
 * the same weights by export and import.  (Names without text_collation_.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_COLLATION_H
#define PTSORT_TEXT_COLLATION_H

#include "compat.h"

#include "lib/stringinfo.h"
#include "text/text_rank.h"

/* How strings are stored in the values of a type. */
typedef enum TextForm
{
	TEXT_VARLENA,
	TEXT_PADDED,				/* varlena; trailing blanks do not count */
	TEXT_NAME,					/* NUL-terminated, at most NAMEDATALEN */
	TEXT_LOWERED				/* varlena, ordered by its lower case: citext */
} TextForm;

/*
 * CharWeight: the rank of a character's primary weight.  If WEIGHT_ABOVE is
 * set, the character's weight was not learned; it is below the weight of that
 * rank and above all lower-ranked ones.
 */
typedef uint16 CharWeight;
#define WEIGHT_ABOVE		0x8000
#define WEIGHT_IGNORABLE	0x7FFF
#define WEIGHT_UNKNOWN		0x7FFE	/* not looked up so far */
#define MAX_WEIGHTS			0x7FF0

typedef struct Collation Collation;

/*
 * text_collation_create prepares for values of this form.  'ranks' must be
 * ready and outlive the collation; NULL means that strings are ordered by
 * their bytes.  All memory of the collation is in the context that is current
 * here.
 */
extern Collation *text_collation_create(TextForm form, const TextRanks *ranks);

/*
 * text_collation_limit limits the table of characters to 'limit' bytes,
 * including the second table of half its size that exists while it grows; but
 * never to less than its initial size.
 */
extern void text_collation_limit(Collation *collation, Size limit);

/* text_collation_growth returns how many more bytes it may use than now. */
extern Size text_collation_growth(const Collation *collation);

/*
 * text_collation_limit_weights limits how many weights are learned, but never
 * to fewer than the 256 of one-byte characters.  It must be called before
 * learning.
 */
extern void text_collation_limit_weights(Collation *collation, int most);

/*
 * text_collation_learn_string learns the weights of a string's characters.
 * Weights have no ranks from the first call until text_collation_end_learning,
 * because new weights are inserted between others.
 */
extern void text_collation_learn_string(Collation *collation,
										const char *string, int length);
extern void text_collation_end_learning(Collation *collation);

/* text_collation_nweights returns the number of learned weights. */
extern int	text_collation_nweights(const Collation *collation);

/* text_collation_byte_weights returns the weights of one-byte characters. */
extern CharWeight *text_collation_byte_weights(Collation *collation);

/*
 * text_collation_next_slow is text_collation_next for a character of several
 * bytes, or one that is not in the table so far.
 */
extern CharWeight text_collation_next_slow(Collation *collation,
										   const char **string,
										   const char *end);

/*
 * text_collation_export appends data that text_collation_import reads in
 * another process.  text_collation_import returns the end of the data, or NULL
 * if there is no valid export between 'source' and 'end'.
 */
extern void text_collation_export(const Collation *collation,
								  StringInfo target);
extern const char *text_collation_import(Collation *collation,
										 const char *source, const char *end);

/*
 * text_collation_plain returns a value that text_collation_string can read:
 * this value, or a palloc'd copy, which the caller frees.
 */
extern Datum text_collation_plain(const Collation *collation, Datum value);

/*
 * text_collation_string returns the bytes of a value from
 * text_collation_plain.
 */
extern const char *text_collation_string(const Collation *collation,
										 Datum value, int *length);

/*
 * text_collation_begin must be called before the first text_collation_next of
 * each string.
 */
extern void text_collation_begin(Collation *collation);

/*
 * text_collation_ends returns true if the weights before 'string', to which
 * text_collation_next has advanced, do not depend on the characters that
 * follow.
 */
extern bool text_collation_ends(const Collation *collation,
								const char *string);

/*
 * text_collation_is_open returns true if the weight of an ASCII character,
 * which text_collation_next has returned, is valid before every next byte for
 * which text_collation_continues is false.
 */
extern bool text_collation_is_open(const Collation *collation, char byte);
extern bool text_collation_continues(const Collation *collation, char byte,
									 char next);

/*
 * text_pair numbers the character at 'string', from 0 to TEXT_PAIRS - 1, if it
 * could be one of two bytes in UTF-8; -1 if not.
 */
#define TEXT_PAIRS	(32 * 64)

static inline int
text_pair(const char *string, const char *end)
{
	if (end - string < 2 || (string[0] & 0xE0) != 0xC0 ||
		(string[1] & 0xC0) != 0x80)
		return -1;
	return (string[0] & 0x1F) << 6 | (string[1] & 0x3F);
}

/*
 * text_triple numbers the character at 'string', up to 0xFFFF, if it could be
 * one of three bytes in UTF-8: by its code point; 0 if not.
 */
static inline uint32
text_triple(const char *string, const char *end)
{
	uint32		code_point;

	if (end - string < 3 || (string[0] & 0xF0) != 0xE0 ||
		(string[1] & 0xC0) != 0x80 || (string[2] & 0xC0) != 0x80)
		return 0;
	code_point = (string[0] & 0x0F) << 12 | (string[1] & 0x3F) << 6 |
		(string[2] & 0x3F);
	return code_point < 0x800 ? 0 : code_point;
}

/*
 * text_collation_is_fixed returns true if the n bytes, for which
 * text_collation_next has returned a weight, are one character in UTF-8 and
 * have this weight wherever they occur.
 */
extern bool text_collation_is_fixed(const Collation *collation,
									const char *character, int n);

/*
 * text_collation_next returns the weight of the character at *string, and
 * advances *string past it after its last weight.  *string must be before
 * 'end'.  'byte_weights' is the result of text_collation_byte_weights; it
 * never contains a weight that depends on what follows.
 */
static inline CharWeight
text_collation_next(Collation *collation, const CharWeight *byte_weights,
					const char **string, const char *end)
{
	CharWeight	weight = byte_weights[(unsigned char) **string];

	if (likely(weight != WEIGHT_UNKNOWN))
	{
		(*string)++;
		return weight;
	}
	return text_collation_next_slow(collation, string, end);
}

#endif							/* PTSORT_TEXT_COLLATION_H */
