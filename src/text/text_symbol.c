/*-------------------------------------------------------------------------
 *
 * text_symbol.c
 *	  Strings as symbols of the model.
 *
 * Frequent weights are found by counting in a part of the sample, and as many
 * of them as possible get a symbol of their own.  Bisection finds this number
 * approximately: giving one more weight its own symbol may split a group that
 * shares a symbol, or save a symbol.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_symbol.h"

/* Symbols are below this. */
#define MAX_SYMBOLS		TEXT_MODEL_MAX_SYMBOLS

/* The weights of one in COUNTED_STRINGS strings of the sample are counted. */
#define COUNTED_STRINGS 4

TextSymbols *
text_symbol_create(Collation *collation)
{
	TextSymbols *symbols = palloc0(sizeof(TextSymbols));

	symbols->collation = collation;
	symbols->byte_weights = text_collation_byte_weights(collation);
	return symbols;
}


/*
 * Learning
 */

/*
 * PlaceCount: how often a place, the index of a weight, occurs in the sample.
 */
typedef struct PlaceCount
{
	int			place;
	uint32		count;
} PlaceCount;

static int
compare_counts(const void *a, const void *b)
{
	const PlaceCount *left = a;
	const PlaceCount *right = b;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->place - right->place;
}

/* Count the places of a sample's weights. */
static void
count_places(TextSymbols *symbols, const TextSample *sample,
			 PlaceCount *counts)
{
	const char *string;
	Size		at = 0;
	int			length;
	int			n = 0;

	for (int i = 0; i < symbols->nplaces; i++)
		counts[i] = (PlaceCount)
	{
		.place = i
	};
	while ((string = text_sample_next(sample, &at, &length)) != NULL)
	{
		const char *end = string + length;

		if (n++ % COUNTED_STRINGS != 0)
			continue;
		text_collation_begin(symbols->collation);
		while (string < end)
		{
			CharWeight	weight = text_collation_next(symbols->collation,
													 symbols->byte_weights,
													 &string, end);

			if (weight != WEIGHT_IGNORABLE)
				counts[weight & ~WEIGHT_ABOVE].count++;
		}
	}
}

/*
 * Give each place its symbols, where places with turns[] below 'nalone' get a
 * symbol of their own.  Returns false if that takes too many symbols.
 */
static bool
assign_symbols(TextSymbols *symbols, const uint16 *turns, int nalone)
{
	int			symbol = 0;

	for (int place = 0; place < symbols->nplaces;)
	{
		int			n = 1;

		if (++symbol == MAX_SYMBOLS)
			return false;
		while (turns[place] >= nalone && place + n < symbols->nplaces &&
			   turns[place + n] >= nalone && n < MAX_SYMBOLS - 1)
			n++;
		for (int i = 0; i < n; i++)
			symbols->pairs[place++] = symbol << 8 | (n == 1 ? 0 : 1 + i);
	}
	return true;
}

/* Give as many frequent places as possible symbols of their own. */
static void
choose_alone(TextSymbols *symbols, const uint16 *turns)
{
	int			low = 0;
	int			high = MAX_SYMBOLS;

	StaticAssertStmt((MAX_WEIGHTS + 1) / (MAX_SYMBOLS - 1) < MAX_SYMBOLS - 1,
					 "all weights can be two symbols");
	while (low + 1 < high)
	{
		int			middle = (low + high) / 2;

		if (assign_symbols(symbols, turns, middle))
			low = middle;
		else
			high = middle;
	}
	(void) assign_symbols(symbols, turns, low);
}

/* Allocate the symbols of all places. */
static void
begin_places(TextSymbols *symbols)
{
	symbols->nplaces = text_collation_nweights(symbols->collation) + 1;
	symbols->pairs = palloc0(symbols->nplaces * sizeof(uint16));
	symbols->nsymbols = Min(symbols->nplaces + 1, MAX_SYMBOLS);
}

/* text_symbol_learn: see text_symbol.h. */
void
text_symbol_learn(TextSymbols *symbols, const TextSample *sample)
{
	PlaceCount *counts;
	uint16	   *turns;

	StaticAssertStmt(sizeof(*counts) + sizeof(*turns) ==
					 TEXT_SYMBOL_LEARNING_BYTES, "what a weight takes");
	begin_places(symbols);
	turns = palloc0(symbols->nplaces * sizeof(uint16));
	if (symbols->nplaces < MAX_SYMBOLS)
		(void) assign_symbols(symbols, turns, MAX_SYMBOLS);
	else
	{
		counts = palloc(symbols->nplaces * sizeof(PlaceCount));
		count_places(symbols, sample, counts);
		qsort(counts, symbols->nplaces, sizeof(PlaceCount), compare_counts);
		for (int i = 0; i < symbols->nplaces; i++)
			turns[counts[i].place] = i;
		pfree(counts);
		choose_alone(symbols, turns);
	}
	pfree(turns);
}


/*
 * Use
 */

/* Store an open symbol of an ASCII character. */
static void
note_open(TextSymbols *symbols, char byte, int symbol)
{
	symbols->bytes[(int) byte] = symbol | OPEN_SYMBOL;
	for (int next = 0; next < 256; next++)
	{
		if (text_collation_continues(symbols->collation, byte, (char) next))
			symbols->continues[(int) byte][next / 64] |=
				UINT64CONST(1) << (next % 64);
	}
}

/*
 * Store the symbol of the character of one or two bytes between 'start' and
 * 'string', whose weight was looked up, unless what follows may change it.
 */
static void
remember_symbol(TextSymbols *symbols, const char *start, const char *string,
				int symbol)
{
	unsigned char first = *start;
	int			pair = text_pair(start, string);

	if (symbols->byte_weights[first] != WEIGHT_UNKNOWN)
		symbols->bytes[first] = symbol;
	else if (pair >= 0)
	{
		if (text_collation_is_fixed(symbols->collation, start, 2))
			symbols->doubles[pair] = symbol;
	}
	else if (string == start + 1 && symbol != IGNORABLE_SYMBOL &&
			 symbols->bytes[first] == NO_SYMBOL &&
			 text_collation_is_open(symbols->collation, *start))
		note_open(symbols, *start, symbol);
}

/* Store both symbols of a character of three bytes. */
static void
remember_triple(TextSymbols *symbols, const char *start, uint32 triple,
				uint16 pair)
{
	if (text_collation_is_fixed(symbols->collation, start, 3))
		symbols->triples[triple % TEXT_TRIPLES] = triple << 16 | pair;
}

static SymbolPair
make_pair(int pair)
{
	SymbolPair	result = {
		.first = pair == 0 ? IGNORABLE_SYMBOL : pair >> 8,
		.second = pair & 0xFF
	};

	return result;
}

/* text_symbol_next: see text_symbol.h. */
SymbolPair
text_symbol_next(TextSymbols *symbols, const char **string, const char *end)
{
	const char *start = *string;
	int			pair = text_symbol_triple(symbols, start, end);
	uint32		triple;
	CharWeight	weight;
	SymbolPair	result;

	if (pair >= 0)
	{
		*string += 3;
		return make_pair(pair);
	}
	weight = text_collation_next(symbols->collation, symbols->byte_weights,
								 string, end);
	pair = weight == WEIGHT_IGNORABLE ? 0 :
		symbols->pairs[weight & ~WEIGHT_ABOVE];
	result = make_pair(pair);
	result.above = weight != WEIGHT_IGNORABLE && (weight & WEIGHT_ABOVE) != 0;
	triple = text_triple(start, *string);
	if (triple != 0 && !result.above)
		remember_triple(symbols, start, triple, pair);
	else if (result.second == 0 && !result.above)
		remember_symbol(symbols, start, *string, result.first);
	return result;
}


/*
 * Export of symbols: the pair of each place.
 */

void
text_symbol_export(const TextSymbols *symbols, StringInfo target)
{
	appendBinaryStringInfo(target, (const char *) symbols->pairs,
						   symbols->nplaces * sizeof(uint16));
}

/*
 * True if the symbols are in the order of the places and within the model's
 * range, and no place's symbols begin those of another.
 */
static bool
is_sound(const TextSymbols *symbols)
{
	for (int i = 0; i < symbols->nplaces; i++)
	{
		uint16		pair = symbols->pairs[i];
		uint16		before = i == 0 ? 0 : symbols->pairs[i - 1];

		if (pair >> 8 == 0 || pair >> 8 >= symbols->nsymbols ||
			(pair & 0xFF) >= symbols->nsymbols || pair <= before ||
			(pair >> 8 == before >> 8 && (before & 0xFF) == 0))
			return false;
	}
	return true;
}

/* text_symbol_import: see text_symbol.h. */
const char *
text_symbol_import(TextSymbols *symbols, const char *source, const char *end)
{
	Size		size;

	begin_places(symbols);
	size = symbols->nplaces * sizeof(uint16);
	if (end - source < (ptrdiff_t) size)
		return NULL;
	memcpy(symbols->pairs, source, size);
	return is_sound(symbols) ? source + size : NULL;
}
