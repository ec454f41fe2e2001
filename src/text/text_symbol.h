/*-------------------------------------------------------------------------
 *
 * text_symbol.h
 *	  Strings as symbols of the model.
 *
 * In terms of the Unicode collation algorithm (UTS #10), all collations in use
 * first compare the *primary weights* of characters, one after the other.  Case
 * and accents decide only between strings with equal primary weights.
 * *Ignorable* characters (combining accents) have no primary weight.
 * Contractions (the Czech "ch") have weights of their own, and one character
 * may have several.  text_rank.h provides weights as ranks.  In bytewise order
 * ("C") the bytes are the weights.
 *
 * A weight becomes a symbol of the model (text_model.h); symbols have the
 * order of the weights.  If there are no more weights than symbols, each
 * weight is one symbol.  If there are more weights, as in Chinese or in a
 * mixture of many languages, each frequent weight keeps a symbol of its own.
 * The weights between two frequent weights share one or more symbols, and a
 * second symbol distinguishes them.  Few characters need two symbols.
 *
 * Two tables hold the symbols of characters of one byte, and of two or three in
 * UTF-8, for the inner loop of text_code.c; the second is a cache.  Another
 * cache holds characters with several weights, such as the syllables of Hangul,
 * and characters that may begin a contraction, such as Kana in Japanese.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SYMBOL_H
#define PTSORT_TEXT_SYMBOL_H

#include "compat.h"

#include "text/text_model.h"
#include "text/text_rank.h"
#include "text/text_table.h"

/*
 * Bytes for each learned weight, additional bytes during learning, and maximum
 * number of weights.  The additional bytes come out of the model's memory.
 */
#define TEXT_SYMBOL_BYTES	(sizeof(uint32) + sizeof(uint16))
#define TEXT_SYMBOL_LEARNING_BYTES	(2 * TEXT_SYMBOL_BYTES)
#define TEXT_SYMBOL_WEIGHTS	(TEXT_MODEL_MEMORY / TEXT_SYMBOL_LEARNING_BYTES)

/* TextSeveral: a character's symbols unless it begins a contraction. */
typedef struct TextSeveral
{
	uint16		code_point;		/* 0: unused */
	bool		begins;			/* it may begin a contraction */
	uint8		symbols[5];		/* unused symbols are 0 */
} TextSeveral;

#define SEVERAL_CHARACTERS	(KEPT_CHARACTERS / 2)
#define TEXT_SEVERAL_BYTES	(SEVERAL_CHARACTERS * sizeof(TextSeveral))

typedef struct TextSymbols
{
	const TextRanks *ranks;		/* the order of strings; NULL: bytewise */
	int			taken;			/* *taken of text_rank_next; 0 at the start of
								 * a string */
	bool		learning;		/* text_symbol_next inserts new weights */
	int			max_weights;
	int			room;			/* allocated length of 'weights' */
	int			nweights;
	uint32	   *weights;		/* the learned weights, in order */
	int			nsymbols;		/* number of symbols in the model */
	uint16	   *pairs;			/* symbols of each weight (see
								 * text_symbol_next); the last element is for
								 * weights above all learned weights */
	uint16		bytes[256];		/* symbols of one-byte characters */
	uint32		wide[KEPT_CHARACTERS];	/* a cache: code point and pair */
	TextSeveral *several;		/* a cache, see above; NULL if bytewise */
	uint64		continues[128][4];	/* for each ASCII character with an open
									 * symbol, a bit for each next byte that
									 * may change the symbol */
} TextSymbols;

/* Values of 'bytes' that are not symbols of characters. */
#define NO_SYMBOL		TEXT_MODEL_END	/* see text_symbol_look_up */
#define IGNORABLE_SYMBOL	TEXT_MODEL_MAX_SYMBOLS

/* Flag of an open symbol: the next byte may change it. */
#define OPEN_SYMBOL		0x8000

/* Cached instead of a pair if later characters may change the pair. */
#define PAIR_VARIES		0xFFFF

/*
 * Flag of a pair: the weight was not learned.  The weight is below the learned
 * weight of this pair, and above all lower learned weights.
 */
#define PAIR_ABOVE		0x10000

/*
 * text_symbol_learn learns the weights of the sample's characters.  It also
 * learns the weights of printable ASCII, because the code of a string ends at
 * the first character whose weight is unknown.  Then it chooses symbols for at
 * most Max('max_weights', 256) weights.  The result is in the current memory
 * context; 'ranks' must be ready and outlive the result.
 */
extern TextSymbols *text_symbol_learn(const TextRanks *ranks, int max_weights,
									  const TextSample *sample);

/* text_symbol_look_up is text_symbol_next for characters not in 'bytes'. */
extern uint32 text_symbol_look_up(TextSymbols *symbols, const char **string,
								  const char *end);

/* True if a value of 'bytes' is final: not NO_SYMBOL, not open. */
static inline bool
text_symbol_is_known(int symbol)
{
	return symbol != NO_SYMBOL && (symbol & OPEN_SYMBOL) == 0;
}

/* text_symbol_close removes OPEN_SYMBOL if the next byte changes nothing. */
static inline int
text_symbol_close(const TextSymbols *symbols, int symbol, const char *string,
				  const char *end)
{
	if ((symbol & OPEN_SYMBOL) && string + 1 < end)
	{
		unsigned char next = string[1];
		uint64		changes = symbols->continues[(int) *string][next / 64];

		if (((changes >> (next % 64)) & 1) == 0)
			symbol &= ~OPEN_SYMBOL;
	}
	return symbol;
}

/*
 * text_symbol_next returns the next weight's pair of symbols, or 0 if the
 * weight is ignorable.  The first symbol is in the high byte, the second in the
 * low byte (0: none); PAIR_ABOVE may be set.  After a character's last weight,
 * advances *string past the character.  *string must be before 'end'.
 */
static inline uint32
text_symbol_next(TextSymbols *symbols, const char **string, const char *end)
{
	int			symbol = symbols->bytes[(unsigned char) **string];

	if (!text_symbol_is_known(symbol))
		return text_symbol_look_up(symbols, string, end);
	(*string)++;
	return symbol == IGNORABLE_SYMBOL ? 0 : symbol << 8;
}

/* Returns the code point of two or three bytes of UTF-8; 0: other bytes. */
static inline uint32
text_symbol_code_point(const char *string, const char *end, int *length)
{
	uint32		code_point;

	if (end - string < 2 || (string[1] & 0xC0) != 0x80)
		return 0;
	*length = 2;
	if ((string[0] & 0xE0) == 0xC0)
		return (string[0] & 0x1F) << 6 | (string[1] & 0x3F);
	*length = 3;
	if (end - string < 3 || (string[0] & 0xF0) != 0xE0 ||
		(string[2] & 0xC0) != 0x80)
		return 0;
	code_point = (string[0] & 0x0F) << 12 | (string[1] & 0x3F) << 6 |
		(string[2] & 0x3F);
	return code_point < 0x800 ? 0 : code_point;
}

/* text_symbol_wide returns the cached pair of such a character, or -1. */
static inline int
text_symbol_wide(const TextSymbols *symbols, const char *string,
				 const char *end, int *length)
{
	uint32		code_point = text_symbol_code_point(string, end, length);
	uint32		kept = symbols->wide[code_point % KEPT_CHARACTERS];

	return code_point != 0 && kept >> 16 == code_point ?
		(int) (kept & 0xFFFF) : -1;
}

/*
 * text_symbol_several returns the TextSeveral of the character at *string, and
 * advances past it.  Returns NULL if the symbols are not cached, or not here.
 */
static inline const TextSeveral *
text_symbol_several(const TextSymbols *symbols, const char **string,
					const char *end)
{
	int			length;
	uint32		code_point;
	const TextSeveral *several;

	if (symbols->several == NULL || symbols->taken > 0)
		return NULL;
	code_point = text_symbol_code_point(*string, end, &length);
	several = &symbols->several[code_point % SEVERAL_CHARACTERS];
	if (code_point == 0 || several->code_point != code_point ||
		(several->begins &&
		 !text_rank_is_element(symbols->ranks, *string, length, end)))
		return NULL;
	*string += length;
	return several;
}

#endif							/* PTSORT_TEXT_SYMBOL_H */
