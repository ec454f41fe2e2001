/*-------------------------------------------------------------------------
 *
 * text_symbol.h
 *	  Strings as symbols of the model.
 *
 * The weights of a string's characters (text_collation.h) become symbols of a
 * model (text_model.h), in the same order.  As long as there are no more
 * weights than symbols each is one.  If there are more, as in Chinese or in
 * many languages together, the frequent ones keep a symbol each.  Those
 * between two of these share one, or some, and a second symbol tells them
 * apart: they order as they did, and few characters take two steps.
 *
 * Nearly all characters are of one byte, or two or three in UTF-8, and the same
 * symbols wherever they occur.  Those are kept in tables for a loop that does
 * nothing else (text_code.c), of three bytes as many as find a place.
 *
 * Use: create; when the collation's weights have been learned, learn from the
 * same sample, or import what another process has exported; then next for each
 * character.  (Names without text_symbol_.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SYMBOL_H
#define PTSORT_TEXT_SYMBOL_H

#include "compat.h"

#include "text/text_collation.h"
#include "text/text_model.h"
#include "text/text_sample.h"

/* Places for characters of three bytes; a power of two. */
#define TEXT_TRIPLES	4096

typedef struct TextSymbols
{
	Collation  *collation;
	CharWeight *byte_weights;	/* the collation's */
	int			nsymbols;		/* of the model; 0: nothing is learned */
	int			nplaces;		/* the weights, and one above them all */
	uint16	   *pairs;			/* of each place, a symbol in the high byte
								 * and the second in the low one, 0: none */
	uint16		bytes[256];		/* symbols of one-byte characters */
	uint16		doubles[TEXT_PAIRS];	/* of two-byte characters in UTF-8 */
	uint32		triples[TEXT_TRIPLES];	/* of some of three bytes: the code
										 * point, and the pair, 0: ignorable */
	uint64		continues[128][4];	/* of each of ASCII with an open symbol, a
									 * bit for each byte that may change it */
} TextSymbols;

/* Values of 'bytes' and 'doubles' that are no symbols of characters. */
#define NO_SYMBOL		TEXT_MODEL_END	/* text_symbol_next must look */
#define IGNORABLE_SYMBOL	TEXT_MODEL_MAX_SYMBOLS

/* With this bit a symbol is that only before bytes that do not continue it. */
#define OPEN_SYMBOL		0x8000

/* SymbolPair: what text_symbol_next returns of a character. */
typedef struct SymbolPair
{
	int			first;			/* IGNORABLE_SYMBOL: the character has none */
	int			second;			/* 0: there is no second */
	bool		above;			/* the character is unknown: see WEIGHT_ABOVE */
} SymbolPair;

/* text_symbol_create makes symbols of a collation, in the current context. */
extern TextSymbols *text_symbol_create(Collation *collation);

/*
 * text_symbol_learn chooses symbols for the collation's weights.  For each it
 * takes TEXT_SYMBOL_LEARNING_BYTES until it has done so.
 */
#define TEXT_SYMBOL_LEARNING_BYTES	10
extern void text_symbol_learn(TextSymbols *symbols, const TextSample *sample);

/*
 * text_symbol_export appends what text_symbol_import of another process reads.
 * That returns the end of what it has read, or NULL if there is no export of
 * symbols for this collation.
 */
extern void text_symbol_export(const TextSymbols *symbols, StringInfo target);
extern const char *text_symbol_import(TextSymbols *symbols, const char *source,
									  const char *end);

/*
 * text_symbol_next returns the symbols of the character at *string, which is
 * advanced past it as text_collation_next does, and remembers them in the
 * tables if that may be.
 */
extern SymbolPair text_symbol_next(TextSymbols *symbols, const char **string,
								   const char *end);

/* text_symbol_may_continue: may the byte after an open symbol change it? */
static inline bool
text_symbol_may_continue(const TextSymbols *symbols, const char *string)
{
	unsigned char next = string[1];

	return (symbols->continues[(int) *string][next / 64] >> (next % 64)) & 1;
}

/*
 * text_symbol_triple returns the pair of a character of three bytes that is
 * kept; -1 if none is, or it is no such character.
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
 * text_symbol_is_known: is that a character's symbol, or that it has none,
 * whatever follows?
 */
static inline bool
text_symbol_is_known(int symbol)
{
	return symbol != NO_SYMBOL && (symbol & OPEN_SYMBOL) == 0;
}

#endif							/* PTSORT_TEXT_SYMBOL_H */
