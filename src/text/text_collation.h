/*-------------------------------------------------------------------------
 *
 * text_collation.h
 *	  The primary weights of a collation's characters, as ranks.
 *
 * In the words of the Unicode collation algorithm (UTS #10): all collations in
 * use compare strings by the *primary weights* of their characters first,
 * those of base letters and digits, one after the other.  Case and accents
 * decide only between strings that are equal so far, and *ignorable*
 * characters (most control characters, combining accents) have no primary
 * weight at all.  Only the order of the weights matters here, so a weight is
 * its rank among those that have been learned, from 0.
 *
 * The weights come from the tables of the collation, which prove that the order
 * of strings never contradicts that of their weights (text_rank.h).
 * Contractions (the Czech "ch") have weights of their own, and a character may
 * have several.
 *
 * Bytewise order ("C") is the simple case: each byte is a character with a
 * weight of its own, and the order of the weights is that of the bytes.
 *
 * Use: create; learn_string for each string of a sample, then end_learning;
 * from then on next tells the weights of any string.  Another process gets the
 * same weights by export and import.  (Names without text_collation_.)
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
	TEXT_PADDED,				/* varlena; blanks at the end do not count */
	TEXT_NAME,					/* NUL-terminated, at most NAMEDATALEN */
	TEXT_LOWERED				/* varlena, ordered by its lower case: citext */
} TextForm;

/*
 * CharWeight: the rank of a character's primary weight.  With WEIGHT_ABOVE,
 * the character's weight was not learned; it is below the one of that rank and
 * above all ranks before it.
 */
typedef uint16 CharWeight;
#define WEIGHT_ABOVE		0x8000
#define WEIGHT_IGNORABLE	0x7FFF
#define WEIGHT_UNKNOWN		0x7FFE	/* not asked for yet */
#define MAX_WEIGHTS			0x7FF0

typedef struct Collation Collation;

/*
 * text_collation_create prepares for values of this form.  'ranks', which are
 * ready and live as long, are NULL if strings are ordered by their bytes.  All
 * memory of the collation is in the context that is current here.
 */
extern Collation *text_collation_create(TextForm form, const TextRanks *ranks);

/*
 * text_collation_limit has the table of characters take at most 'limit' bytes,
 * also while it grows, when there are a table and one of half its size; but
 * never less than its initial size.
 */
extern void text_collation_limit(Collation *collation, Size limit);

/* text_collation_growth returns how much more it may take than it does now. */
extern Size text_collation_growth(const Collation *collation);

/*
 * text_collation_limit_weights has it learn no more weights than so many, but
 * as many as one byte can have in any case.  What is learned counts, so it is
 * to be called before.
 */
extern void text_collation_limit_weights(Collation *collation, int most);

/*
 * text_collation_learn_string learns the weights of a string's characters.
 * Weights have no ranks from the first of these calls until
 * text_collation_end_learning, because a weight may turn up between others.
 */
extern void text_collation_learn_string(Collation *collation,
										const char *string, int length);
extern void text_collation_end_learning(Collation *collation);

/* text_collation_nweights returns how many weights have been learned. */
extern int	text_collation_nweights(const Collation *collation);

/* text_collation_byte_weights returns the weights of one-byte characters. */
extern CharWeight *text_collation_byte_weights(Collation *collation);

/*
 * text_collation_next_slow is text_collation_next for a character of several
 * bytes, or one that is met for the first time.
 */
extern CharWeight text_collation_next_slow(Collation *collation,
										   const char **string,
										   const char *end);

/*
 * text_collation_export appends what text_collation_import of another process
 * reads.  That returns the end of what it has read, or NULL if there is no
 * export between 'source' and 'end'.
 */
extern void text_collation_export(const Collation *collation,
								  StringInfo target);
extern const char *text_collation_import(Collation *collation,
										 const char *source, const char *end);

/*
 * text_collation_plain returns a value that text_collation_string can read:
 * this one, or a palloc'd copy, which the caller frees.
 */
extern Datum text_collation_plain(const Collation *collation, Datum value);

/* text_collation_string returns the bytes of such a value. */
extern const char *text_collation_string(const Collation *collation,
										 Datum value, int *length);

/*
 * text_collation_begin is to be called before the first of a string's weights
 * is asked for.
 */
extern void text_collation_begin(Collation *collation);

/*
 * text_collation_ends tells whether the weights before 'string', which
 * text_collation_next has advanced, are the same whatever follows there.
 */
extern bool text_collation_ends(const Collation *collation,
								const char *string);

/*
 * text_collation_is_open tells of a character of ASCII whose weight
 * text_collation_next has returned whether it has this weight wherever a byte
 * follows for which text_collation_continues is false.
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
 * text_collation_is_fixed tells of such a character, of n bytes, whose weight
 * text_collation_next has returned, whether it is one, and has this weight
 * wherever it occurs.
 */
extern bool text_collation_is_fixed(const Collation *collation,
									const char *character, int n);

/*
 * text_collation_next returns the weight of the character at *string and
 * advances *string past it, if it has no more of them.  There must be one
 * before 'end'.  'byte_weights' are those that text_collation_byte_weights has
 * returned; a weight that depends on what follows is never in there.
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
