/*-------------------------------------------------------------------------
 *
 * text_symbol.h
 *	  Strings as symbols of the model.
 *
 * The weights of a string's characters (text_collation.h) become symbols of a
 * model (text_model.h), in the same order.  If there are no more weights than
 * symbols, each weight is one symbol.  If there are more, as in Chinese or in
 * a mixture of many languages, each frequent weight keeps a symbol of its own.
 * The weights between two of these share one symbol or more, and a second
 * symbol distinguishes them: the order stays the same, and few characters take
 * two steps.
 *
 * Nearly all characters have one byte, or two or three in UTF-8, and the same
 * symbols wherever they occur.  Tables hold these for the inner loop of
 * text_code.c; the table of three-byte characters is a cache that holds only
 * some.
 *
 * Usage: create; after the collation's weights are learned, learn from the
 * same sample, or import the export of another process; then call next for
 * each character.  (Names without text_symbol_.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SYMBOL_H
#define PTSORT_TEXT_SYMBOL_H

#include "compat.h"

#include "text/text_collation.h"
#include "text/text_model.h"
#include "text/text_sample.h"

/* Cache entries for characters of three bytes; a power of two. */
#define TEXT_TRIPLES	4096

typedef struct TextSymbols
{
	Collation  *collation;
	CharWeight *byte_weights;	/* weights of the collation's one-byte
								 * characters */
	int			nsymbols;		/* number of symbols in the model; 0: not
								 * learned */
	int			nplaces;		/* number of weights, plus one above them all */
	uint16	   *pairs;			/* for each place, the first symbol in the
								 * high byte and the second in the low byte,
								 * 0: no second */
	uint16		bytes[256];		/* symbols of one-byte characters */
	uint16		doubles[TEXT_PAIRS];	/* symbols of two-byte characters in
										 * UTF-8 */
	uint32		triples[TEXT_TRIPLES];	/* cached characters of three bytes:
										 * the code point, and the pair, 0:
										 * ignorable */
	uint64		continues[128][4];	/* for each ASCII character with an open
									 * symbol, a bit for each byte that may
									 * change it */
} TextSymbols;

/* Values of 'bytes' and 'doubles' that are not symbols of characters. */
#define NO_SYMBOL		TEXT_MODEL_END	/* text_symbol_next must look it up */
#define IGNORABLE_SYMBOL	TEXT_MODEL_MAX_SYMBOLS

/* Flag: the symbol is valid only before bytes that do not continue it. */
#define OPEN_SYMBOL		0x8000

/* SymbolPair: the symbols of a character. */
typedef struct SymbolPair
{
	int			first;			/* IGNORABLE_SYMBOL: no symbols */
	int			second;			/* 0: no second symbol */
	bool		above;			/* true if the character is unknown, see
								 * WEIGHT_ABOVE */
} SymbolPair;

/* text_symbol_create makes symbols of a collation, in the current context. */
extern TextSymbols *text_symbol_create(Collation *collation);

/*
 * text_symbol_learn chooses symbols for the collation's weights.  While it
 * runs it uses TEXT_SYMBOL_LEARNING_BYTES bytes for each weight.
 */
#define TEXT_SYMBOL_LEARNING_BYTES	10
extern void text_symbol_learn(TextSymbols *symbols, const TextSample *sample);

/*
 * text_symbol_export appends data that text_symbol_import reads in another
 * process.  text_symbol_import returns the end of the data, or NULL if there
 * is no valid export of symbols for this collation.
 */
extern void text_symbol_export(const TextSymbols *symbols, StringInfo target);
extern const char *text_symbol_import(TextSymbols *symbols, const char *source,
									  const char *end);

/*
 * text_symbol_next returns the symbols of the character at *string, advances
 * *string like text_collation_next, and stores the symbols in the tables if
 * they are the same wherever the character occurs.
 */
extern SymbolPair text_symbol_next(TextSymbols *symbols, const char **string,
								   const char *end);

/*
 * text_symbol_may_continue returns true if the byte after an open symbol may
 * change it.
 */
static inline bool
text_symbol_may_continue(const TextSymbols *symbols, const char *string)
{
	unsigned char next = string[1];

	return (symbols->continues[(int) *string][next / 64] >> (next % 64)) & 1;
}

/*
 * text_symbol_triple returns the cached pair of a character of three bytes; -1
 * if it is not cached, or if the character has another length.
 */
static inline int
text_symbol_triple(const TextSymbols *symbols, const char *string,
				   const char *end)
{
	uint32		triple = text_triple(string, end);
	uint32		kept = symbols->triples[triple % TEXT_TRIPLES];

	return triple != 0 && kept >> 16 == triple ? (int) (kept & 0xFFFF) : -1;
}

/*
 * text_symbol_is_known returns true if a table's value is a character's
 * symbol, or IGNORABLE_SYMBOL, whatever follows.
 */
static inline bool
text_symbol_is_known(int symbol)
{
	return symbol != NO_SYMBOL && (symbol & OPEN_SYMBOL) == 0;
}

#endif							/* PTSORT_TEXT_SYMBOL_H */
