/*-------------------------------------------------------------------------
 *
 * text_symbol.c
 *	  Strings as symbols of the model.
 *
 * A sorted list holds the weights that occur in the sample.  A weight's *place*
 * is its index in that list.  ptsort finds a place by binary search; for most
 * characters, it searches only once.
 *
 * ptsort counts the weights in a part of the sample, and gives symbols of their
 * own to as many frequent weights as possible.  Bisection finds the number of
 * these weights: if one more weight gets a symbol of its own, the weights
 * together never need fewer symbols.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "text/text_symbol.h"

/* All symbols are below this number. */
#define MAX_SYMBOLS		TEXT_MODEL_MAX_SYMBOLS

/* Maximum weights per first symbol, so that no pair equals PAIR_VARIES. */
#define MAX_SHARING		(MAX_SYMBOLS - 2)

static void
forget_characters(TextSymbols *symbols)
{
	memset(symbols->bytes, 0, sizeof(symbols->bytes));
	memset(symbols->wide, 0, sizeof(symbols->wide));
	if (symbols->several)
		memset(symbols->several, 0, TEXT_SEVERAL_BYTES);
}


/*
 * Looking weights up
 */

/* Insert a weight at its place, unless the list already has max_weights. */
static void
insert_weight(TextSymbols *symbols, int place, uint32 weight)
{
	if (symbols->nweights == symbols->max_weights)
		return;
	if (symbols->nweights == symbols->room)
	{
		symbols->room = Min(2 * symbols->room, symbols->max_weights);
		symbols->weights = repalloc(symbols->weights,
									symbols->room * sizeof(uint32));
	}
	memmove(&symbols->weights[place + 1], &symbols->weights[place],
			(symbols->nweights - place) * sizeof(uint32));
	symbols->weights[place] = weight;
	symbols->nweights++;
}

/* Returns a weight's place, without branches that depend on the weights. */
static int
place_of(const TextSymbols *symbols, uint32 weight)
{
	const uint32 *first = symbols->weights;
	int			n = symbols->nweights;

	while (n > 1)
	{
		int			half = n / 2;

		first += -(first[half - 1] < weight) & half;
		n -= half;
	}
	return (int) (first - symbols->weights) + (n == 1 && *first < weight);
}

/*
 * Returns the pair of symbols for a weight.  Returns 0 during learning, because
 * inserting a weight changes the places of the weights above it.
 */
static uint32
pair_of(TextSymbols *symbols, uint32 weight)
{
	int			place = place_of(symbols, weight);
	bool		known = place < symbols->nweights &&
		symbols->weights[place] == weight;

	if (!symbols->learning)
		return symbols->pairs[place] | (known ? 0 : PAIR_ABOVE);
	if (!known)
		insert_weight(symbols, place, weight);
	return 0;
}

/* Store an ASCII character's open symbol and the bytes that may change it. */
static void
note_open(TextSymbols *symbols, char byte, int symbol)
{
	symbols->bytes[(int) byte] = symbol | OPEN_SYMBOL;
	for (int next = 0; next < 256; next++)
	{
		if (text_rank_continues(symbols->ranks, byte, (char) next))
			symbols->continues[(int) byte][next / 64] |=
				UINT64CONST(1) << (next % 64);
	}
}

/* Store the pair of symbols of a character if the tables have room for it. */
static void
remember(TextSymbols *symbols, const char *start, const char *end,
		 uint16 pair)
{
	const bool	alone = (pair & 0xFF) == 0;
	unsigned char first = *start;
	int			length;
	uint32		code_point = text_symbol_code_point(start, end, &length);
	bool		wide = code_point != 0 && length == end - start &&
		GetDatabaseEncoding() == PG_UTF8;
	bool		proved = true;
	bool		begins = false;

	if (symbols->ranks)
	{
		if (!wide && (end > start + 1 ||
					  (IS_HIGHBIT_SET(first) &&
					   pg_database_encoding_max_length() > 1)))
			return;
		proved = text_rank_character(symbols->ranks, start, end - start,
									 &begins);
	}
	if (wide)
		symbols->wide[code_point % KEPT_CHARACTERS] = code_point << 16 |
			(proved && !begins ? pair : PAIR_VARIES);
	else if (!alone || !proved)
		return;
	else if (!begins)
		symbols->bytes[first] = pair == 0 ? IGNORABLE_SYMBOL : pair >> 8;
	else if (!IS_HIGHBIT_SET(first) && symbols->bytes[first] == NO_SYMBOL &&
			 (pair != 0 || symbols->learning))
		note_open(symbols, first, pair == 0 ? IGNORABLE_SYMBOL : pair >> 8);
}

/*
 * Store the symbols of the character at 'start' in the cache of characters that
 * have several weights or may begin a contraction.  Stores nothing if one of
 * the weights was not learned, or if the character begins a contraction here.
 * Returns true if the function read weights.
 */
static bool
remember_several(TextSymbols *symbols, const char *start, const char *end)
{
	int			length;
	uint32		code_point = text_symbol_code_point(start, end, &length);
	TextSeveral several = {.code_point = code_point};
	TextSeveral *place =
		&symbols->several[code_point % SEVERAL_CHARACTERS];
	const char *at = start;
	int			taken = 0;
	int			n = 0;

	if (code_point == 0 || place->code_point == code_point ||
		symbols->learning || GetDatabaseEncoding() != PG_UTF8 ||
		!text_rank_character(symbols->ranks, start, length, &several.begins))
		return false;
	do
	{
		uint32		weight = text_rank_next(symbols->ranks, &at, end, &taken);
		uint32		pair = weight == 0 ? PAIR_ABOVE : pair_of(symbols, weight);

		if ((pair & PAIR_ABOVE) || n + 2 > lengthof(several.symbols))
			return true;
		several.symbols[n++] = pair >> 8;
		if (pair & 0xFF)
			several.symbols[n++] = pair & 0xFF;
	} while (taken > 0);
	if (at == start + length)
		*place = several;
	return true;
}

/* As text_rank_next; 'kept' is what text_symbol_wide returned. */
static uint32
next_weight(TextSymbols *symbols, const char **string, const char *end,
			int kept)
{
	const char *start = *string;
	bool		whole = symbols->taken == 0;
	uint32		weight = text_rank_next(symbols->ranks, string, end,
										&symbols->taken);

	if (!whole || (symbols->taken == 0 && kept != PAIR_VARIES) ||
		!remember_several(symbols, start, end))
		return weight;
	/* begin again, because remember_several() read other weights */
	*string = start;
	symbols->taken = 0;
	return text_rank_next(symbols->ranks, string, end, &symbols->taken);
}

uint32
text_symbol_look_up(TextSymbols *symbols, const char **string, const char *end)
{
	const char *start = *string;
	bool		whole = symbols->taken == 0;
	int			length;
	int			kept = text_symbol_wide(symbols, start, end, &length);
	uint32		weight;
	uint32		pair;

	if (kept >= 0 && kept != PAIR_VARIES)
	{
		*string += length;
		return kept;
	}
	weight = symbols->ranks == NULL ? 1 + (unsigned char) *(*string)++ :
		next_weight(symbols, string, end, kept);
	pair = weight == 0 ? 0 : pair_of(symbols, weight);
	if (whole && symbols->taken == 0 && kept < 0 && !(pair & PAIR_ABOVE))
		remember(symbols, start, *string, pair);
	return pair;
}


/*
 * Learning
 */

typedef struct PlaceCount
{
	int			place;
	uint32		count;			/* in a part of the sample */
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

static void
learn_string(TextSymbols *symbols, const char *string, int length)
{
	const char *end = string + length;

	symbols->taken = 0;
	while (string < end)
		(void) text_symbol_next(symbols, &string, end);
}

static void
learn_weights(TextSymbols *symbols, const TextSample *sample)
{
	const char *string;
	Size		at = 0;
	int			length;

	symbols->learning = true;
	for (char c = ' '; c < 0x7F; c++)
		learn_string(symbols, &c, 1);
	while ((string = text_sample_next(sample, &at, &length)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		learn_string(symbols, string, length);
	}
	symbols->learning = false;
	forget_characters(symbols);
}

/*
 * Count the places of a sample's weights.  During counting, the pair of a
 * weight is its place plus 1, because pair 0 means ignorable.
 */
static void
count_places(TextSymbols *symbols, const TextSample *sample,
			 PlaceCount *counts)
{
	const char *string;
	Size		at = 0;
	int			length;
	int			n = 0;

	for (int i = 0; i <= symbols->nweights; i++)
	{
		symbols->pairs[i] = i + 1;
		counts[i].place = i;
		counts[i].count = 0;
	}
	while ((string = text_sample_next(sample, &at, &length)) != NULL)
	{
		const char *end = string + length;

		if (n++ % TEXT_MODEL_PART != 0)
			continue;
		symbols->taken = 0;
		while (string < end)
		{
			uint32		pair = text_symbol_next(symbols, &string, end);

			if (pair != 0)
				counts[(pair & 0xFFFF) - 1].count++;
		}
	}
	forget_characters(symbols);
}

/*
 * Give each place its symbols.  The 'nalone' most frequent places, those with
 * the lowest turns[], get symbols of their own.  Returns false if the places
 * need too many symbols.
 */
static bool
assign_symbols(TextSymbols *symbols, const uint16 *turns, int nalone)
{
	const int	nplaces = symbols->nweights + 1;
	int			symbol = 0;

	for (int place = 0; place < nplaces;)
	{
		int			n = 1;

		if (++symbol == MAX_SYMBOLS)
			return false;
		while (turns[place] >= nalone && place + n < nplaces &&
			   turns[place + n] >= nalone && n < MAX_SHARING)
			n++;
		for (int i = 0; i < n; i++)
			symbols->pairs[place++] = symbol << 8 | (n == 1 ? 0 : 1 + i);
	}
	return true;
}

/* Give symbols of their own to as many frequent places as possible. */
static void
choose_alone(TextSymbols *symbols, const uint16 *turns)
{
	int			low = 0;
	int			high = MAX_SYMBOLS;

	StaticAssertStmt(TEXT_SYMBOL_WEIGHTS / MAX_SHARING < MAX_SYMBOLS - 1,
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

TextSymbols *
text_symbol_learn(const TextRanks *ranks, int max_weights,
				  const TextSample *sample)
{
	TextSymbols *symbols = palloc0(sizeof(TextSymbols));
	PlaceCount *counts;
	uint16	   *turns;
	int			nplaces;

	StaticAssertStmt(sizeof(*counts) + sizeof(*turns) <=
					 TEXT_SYMBOL_LEARNING_BYTES, "what a weight takes");
	symbols->ranks = ranks;
	if (ranks)
		symbols->several = palloc0(TEXT_SEVERAL_BYTES);
	symbols->room = 256;
	symbols->max_weights = Max(symbols->room, max_weights);
	symbols->weights = palloc(symbols->room * sizeof(uint32));
	learn_weights(symbols, sample);
	nplaces = symbols->nweights + 1;
	symbols->nsymbols = Min(nplaces + 1, MAX_SYMBOLS);
	symbols->pairs = palloc0(nplaces * sizeof(uint16));
	turns = palloc0(nplaces * sizeof(uint16));
	if (nplaces < MAX_SYMBOLS)
		(void) assign_symbols(symbols, turns, MAX_SYMBOLS);
	else
	{
		counts = palloc(nplaces * sizeof(PlaceCount));
		count_places(symbols, sample, counts);
		qsort(counts, nplaces, sizeof(PlaceCount), compare_counts);
		for (int i = 0; i < nplaces; i++)
			turns[counts[i].place] = i;
		pfree(counts);
		choose_alone(symbols, turns);
	}
	pfree(turns);
	return symbols;
}
