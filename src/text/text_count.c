/*-------------------------------------------------------------------------
 *
 * text_count.c
 *	  Show a sample of strings to a model.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_count.h"

/*
 * One in FULL_STRINGS strings of the sample is counted from its start,
 * including the prefix, because later strings of the table may not have the
 * prefix.
 */
#define FULL_STRINGS	8

/* True if the string begins with the prefix that is not coded. */
static bool
has_prefix(const TextToCount *what, const char *string, int length)
{
	return what->prefix_length > 0 && length >= what->prefix_length &&
		memcmp(string, what->prefix, what->prefix_length) == 0;
}

/* Count a string in the model, without the prefix unless 'full'. */
static void
count_string(const TextToCount *what, TextCounts *counts, const char *string,
			 int length, bool full)
{
	TextSymbols *symbols = what->symbols;
	const char *end = string + length;
	int			most = full ? length : what->most;
	int			n = 0;

	if (!full && has_prefix(what, string, length))
		string += what->prefix_length;
	text_collation_begin(what->collation);
	text_model_count(counts, -1);
	while (string < end && n++ < most)
	{
		SymbolPair	pair = {.first = symbols->bytes[(unsigned char) *string]};

		if (text_symbol_is_known(pair.first))
			string++;
		else
			pair = text_symbol_next(symbols, &string, end);
		if (pair.first == IGNORABLE_SYMBOL || pair.above)
			continue;
		text_model_count(counts, pair.first);
		if (pair.second != 0)
			text_model_count(counts, pair.second);
	}
	if (string == end)
		text_model_count(counts, TEXT_MODEL_END);
}

/* Count one of 'part' groups of the sample's strings in the model. */
static void
count_sample(const TextToCount *what, TextCounts *counts, int part)
{
	const char *string;
	Size		at = 0;
	int			length;

	for (int n = 0;
		 (string = text_sample_next(what->sample, &at, &length)) != NULL; n++)
	{
		if (n / FULL_STRINGS % part == 0)
			count_string(what, counts, string, length, n % FULL_STRINGS == 0);
	}
}

/* text_count: see text_count.h. */
TextCounts *
text_count(const TextToCount *what, Size limit)
{
	TextCounts *counts = text_model_begin(what->symbols->nsymbols, limit);

	count_sample(what, counts, TEXT_MODEL_PART);
	text_model_choose(counts);
	count_sample(what, counts, 1);
	return counts;
}
