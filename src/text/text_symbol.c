/*-------------------------------------------------------------------------
 *
 * text_symbol.c
 *	  Strings as symbols of the model.
 *
 * Which weights are frequent is counted in a part of the sample, and as many
 * of them as possible get a symbol of their own.  That number is found by
 * bisection: one more can split those that share a symbol, or spare it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_symbol.h"

/* Symbols are below this. */
#define MAX_SYMBOLS		TEXT_MODEL_MAX_SYMBOLS

/* Of so many strings of the sample the characters of one are counted. */
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

/* How often the sample has a place: that of a weight among all. */
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
 * Give each place its symbols, if those that come before 'nalone' in the order
 * of 'turns' have one of their own.  False if that takes too many.
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

/* Have as many frequent places as possible get symbols of their own. */
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

/* Make room for the symbols of all places. */
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

/* Remember an open symbol, of a character of ASCII. */
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
 * Remember the symbol of the character of one or two bytes between start and
 * string, whose weight has been asked for: unless what follows may change it.
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

/* The same for one of three bytes, of which both symbols are kept. */
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
 * Symbols for other processes: the pair of each place.
 */

void
text_symbol_export(const TextSymbols *symbols, StringInfo target)
{
	appendBinaryStringInfo(target, (const char *) symbols->pairs,
						   symbols->nplaces * sizeof(uint16));
}

/*
 * Are the symbols in the order of the places, below the end of the model's, and
 * is none the beginning of another?
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
