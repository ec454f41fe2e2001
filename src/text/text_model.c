/*-------------------------------------------------------------------------
 *
 * text_model.c
 *	  A sample of strings, and a model of the frequencies of their symbols.
 *
 * Symbols that the sample does not contain can still occur.  So to each table
 * the model adds BELIEF occurrences, distributed as the shorter context
 * predicts (Bell, Cleary and Witten, "Text Compression", 1990).
 *
 * Memory.  A count for each symbol in each context of two symbols would take 4
 * MB for printable ASCII.  But only some contexts get a table, and only these
 * contexts need counts of symbols.  Therefore the caller counts in two passes.
 * With less memory, fewer contexts get tables, or only those of one symbol, or
 * there is a single table.
 *
 * Both passes keep counts of 16 bits in the memory of the model.  The first
 * pass counts contexts in 'tables'.  A count stops at the maximum, which is
 * certainly enough for a table.  The second pass counts symbols in 'parts'.
 * When a count reaches the maximum, the pass halves all counts of the table.
 * Each occurrence of a symbol counts in one table only.  Finally
 * text_model_end adds the counts of longer contexts to those of shorter ones.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_model.h"

/* Number of occurrences that the model adds to each table. */
#define BELIEF			2.0

/* Minimum first-pass count for a context of two symbols to get a table. */
#define LEAST_SEEN		(32 / TEXT_MODEL_PART)

/* Maximum number of tables; more would not fit in the CPU cache. */
#define MAX_TABLES		1024

/* Above MAX_SYMBOLS_TWO symbols, contexts of two symbols rarely repeat. */
#define MAX_SYMBOLS_TWO	(TEXT_MODEL_MAX_SYMBOLS / 2)

/* Number of strings whose prefixes text_sample_prefix tries. */
#define CANDIDATES		3

const char *
text_sample_next(const TextSample *sample, Size *at, int *length)
{
	const char *string;

	if (*at >= sample->bytes)
		return NULL;
	memcpy(length, sample->data + *at, sizeof(int));
	string = sample->data + *at + sizeof(int);
	*at += sizeof(int) + *length;
	return string;
}

void
text_sample_show(TextSample *sample, const char *string, int length)
{
	Size		need;

	length = Min(length, TEXT_SAMPLE_BYTES);
	need = sample->bytes + sizeof(int) + length;
	if (sample->nstrings == TEXT_SAMPLE_STRINGS ||
		need + (sample->nstrings + 1) * sizeof(SampleWords) > sample->limit)
		return;
	while (sample->room < need)
	{
		sample->room = Min(sample->room * 2, sample->limit);
		sample->data = repalloc(sample->data, sample->room);
	}
	memcpy(sample->data + sample->bytes, &length, sizeof(int));
	memcpy(sample->data + sample->bytes + sizeof(int), string, length);
	sample->bytes = need;
	sample->nstrings++;
}

/* The longest prefix that 'string' shares with a fraction of the sample */
static int
common_prefix(const TextSample *sample, double fraction, const char *string,
			  int length)
{
	int			counts[TEXT_SAMPLE_BYTES + 1] = {0};	/* by shared bytes */
	int			have = 0;
	Size		at = 0;
	int			size;
	const char *other;

	while ((other = text_sample_next(sample, &at, &size)) != NULL)
	{
		int			shared = 0;

		while (shared < length && shared < size &&
			   other[shared] == string[shared])
			shared++;
		counts[shared]++;
	}
	for (; length > 0; length--)
	{
		have += counts[length];
		if (have >= fraction * sample->nstrings)
			break;
	}
	return length;
}

int
text_sample_prefix(const TextSample *sample, double fraction,
				   const char **prefix)
{
	int			best = 0;
	Size		at = 0;
	int			length;
	const char *string;

	*prefix = sample->data;
	for (int i = 0;
		 (string = text_sample_next(sample, &at, &length)) != NULL; i++)
	{
		if (i % (sample->nstrings / CANDIDATES + 1) != 0)
			continue;
		length = common_prefix(sample, fraction, string, length);
		if (length > best)
		{
			best = length;
			*prefix = string;
		}
	}
	return best;
}

bool
text_sample_import(TextSample *sample, const char *source, Size bytes)
{
	int			length;

	for (Size at = 0; at < bytes; at += sizeof(int) + length)
	{
		if (bytes - at < sizeof(int))
			return false;
		memcpy(&length, source + at, sizeof(int));
		if (length < 0 || length > bytes - at - sizeof(int))
			return false;
		text_sample_show(sample, source + at + sizeof(int), length);
	}
	return sample->bytes == bytes;
}

struct TextCounts
{
	TextModel  *model;			/* its 'tables' and 'parts' hold counts */
	Size		limit;
	TextContext context;
	bool		one;			/* true if each context of one symbol has a
								 * table, whose number is symbol + 1 */
};

static Size
contexts_size(const TextModel *model)
{
	return model->nsymbols * Max(model->stride, 1) * sizeof(uint16);
}

static Size
table_size(const TextModel *model)
{
	return (model->nsymbols + 1) * sizeof(uint16);
}

TextCounts *
text_model_begin(int nsymbols, Size limit)
{
	TextCounts *counts = palloc0(sizeof(TextCounts));
	TextModel  *model = palloc0(sizeof(TextModel));
	Size		least;			/* total size of a table without context and
								 * one table for each symbol */

	model->nsymbols = nsymbols;
	least = (nsymbols + 1) * table_size(model);
	if (nsymbols <= MAX_SYMBOLS_TWO &&
		least + nsymbols * nsymbols * sizeof(uint16) <= limit)
		model->stride = nsymbols;
	model->tables = palloc0(contexts_size(model));
	counts->model = model;
	counts->limit = limit;
	counts->one = least + contexts_size(model) <= limit;
	return counts;
}

/* Returns a table's parts or, during counting, its counts of symbols. */
static uint16 *
table_parts(const TextModel *model, int table)
{
	return model->parts + table * (model->nsymbols + 1);
}

static void
count_in_table(const TextModel *model, int table, int symbol)
{
	uint16	   *counts = table_parts(model, table);

	if (++counts[symbol] < PG_UINT16_MAX)
		return;
	for (int i = 0; i < model->nsymbols; i++)
		counts[i] /= 2;
}

void
text_model_count(TextCounts *counts, int symbol)
{
	TextModel  *model = counts->model;
	TextContext *context = &counts->context;
	uint16	   *table = &model->tables[context->before * model->stride +
									   context->last];

	if (symbol < 0)
	{
		context->before = context->last = TEXT_MODEL_END;
		return;
	}
	if (model->parts != NULL)
		count_in_table(model, *table, symbol);
	else if (*table < PG_UINT16_MAX)
		(*table)++;
	text_model_step(context, symbol);
}

/*
 * Returns the number of occurrences from which on a context of two symbols gets
 * a table, so that all tables fit in memory; in steps of a quarter.
 */
static uint32
least_seen(const TextCounts *counts)
{
	const TextModel *model = counts->model;
	int			n = model->nsymbols;
	int			most = Min((counts->limit - contexts_size(model)) /
						   table_size(model), MAX_TABLES) - model->ntables;

	for (uint32 least = LEAST_SEEN;; least += (least + 3) / 4)
	{
		int			found = 0;

		for (int context = 0; context < n * n; context++)
			found += model->tables[context] >= least;
		if (found <= most)
			return least;
	}
}

void
text_model_choose(TextCounts *counts)
{
	TextModel  *model = counts->model;
	int			n = model->nsymbols;
	uint32		least;

	model->ntables = counts->one ? n + 1 : 1;
	if (model->stride == 0)
	{
		for (int last = 0; last < n; last++)
			model->tables[last] = counts->one ? last + 1 : 0;
	}
	else
	{
		least = least_seen(counts);
		for (int context = 0; context < n * n; context++)
			model->tables[context] = model->tables[context] >= least ?
				model->ntables++ : context % n + 1;
	}
	model->parts = palloc0(model->ntables * table_size(model));
}

/* Add a table's own counts to sums[], not those of longer contexts. */
static void
add_counts(uint32 *sums, const TextModel *model, int table)
{
	const uint16 *counts = table_parts(model, table);

	for (int i = 0; i < model->nsymbols; i++)
		sums[i] += counts[i];
}

/* Compute probabilities from counts and those of the shorter context. */
static void
complete(const uint32 *counts, int n, const double *shorter, double *result)
{
	double		total = BELIEF;

	for (int i = 0; i < n; i++)
		total += counts[i];
	for (int i = 0; i < n; i++)
		result[i] = (counts[i] + BELIEF * shorter[i]) / total;
}

/*
 * Replace a table's counts with its parts.  Each symbol gets 1, plus a part of
 * the remaining total in proportion to its probability.
 */
static void
set_table(TextModel *model, int table, const double *probabilities)
{
	int			n = model->nsymbols;
	int			remaining = TEXT_MODEL_TOTAL - n;
	int			spare = remaining;
	int			best = 0;
	uint16	   *parts = table_parts(model, table);
	int			part[TEXT_MODEL_MAX_SYMBOLS];

	Assert(n > 0 && n <= TEXT_MODEL_MAX_SYMBOLS);
	for (int i = 0; i < n; i++)
	{
		part[i] = 1 + (int) (probabilities[i] * remaining);
		spare -= part[i] - 1;
		if (part[i] > part[best])
			best = i;
	}
	/* add the rounding error, which may be negative */
	part[best] += spare;
	parts[0] = 0;
	for (int i = 0; i < n; i++)
		parts[i + 1] = parts[i] + part[i];
}

/* Make the tables of the contexts that end with symbol 'last'. */
static void
set_tables(TextModel *model, int last, const double *zero)
{
	int			n = model->nsymbols;
	int			table_one = last + 1;
	const uint16 *tables = model->tables + last;	/* indexed by n times the
													 * symbol before 'last' */
	uint32		sums[TEXT_MODEL_MAX_SYMBOLS] = {0};
	double		one[TEXT_MODEL_MAX_SYMBOLS] = {0};

	add_counts(sums, model, table_one);
	for (int before = 0; before < model->stride; before++)
	{
		if (tables[before * n] != table_one)
			add_counts(sums, model, tables[before * n]);
	}
	complete(sums, n, zero, one);
	set_table(model, table_one, one);
	for (int before = 0; before < model->stride; before++)
	{
		uint32		own[TEXT_MODEL_MAX_SYMBOLS] = {0};
		double		two[TEXT_MODEL_MAX_SYMBOLS];

		if (tables[before * n] == table_one)
			continue;
		add_counts(own, model, tables[before * n]);
		complete(own, n, one, two);
		set_table(model, tables[before * n], two);
	}
}

TextModel *
text_model_end(TextCounts *counts)
{
	TextModel  *model = counts->model;
	int			n = model->nsymbols;
	double		flat[TEXT_MODEL_MAX_SYMBOLS] = {0};
	double		zero[TEXT_MODEL_MAX_SYMBOLS] = {0};
	uint32		sums[TEXT_MODEL_MAX_SYMBOLS] = {0};

	for (int i = 0; i < n; i++)
		flat[i] = 1.0 / n;
	for (int table = 0; table < model->ntables; table++)
		add_counts(sums, model, table);
	complete(sums, n, flat, zero);
	set_table(model, 0, zero);
	for (int last = 0; counts->one && last < n; last++)
		set_tables(model, last, zero);
	pfree(counts);
	return model;
}
