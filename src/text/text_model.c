/*-------------------------------------------------------------------------
 *
 * text_model.c
 *	  How frequent symbols are after the two symbols before them.
 *
 * Symbols that the sample does not contain can still occur.  So each table's
 * counts are increased by those that the shorter context predicts, as if it
 * had occurred BELIEF times more (Bell, Cleary and Witten, "Text Compression",
 * 1990).
 *
 * Memory.  A count for each symbol in each context of two symbols would take 4
 * MB for printable ASCII.  But only some contexts get a table, and what
 * follows the others is not needed: hence two passes.  The result takes 300
 * kB.  With less memory fewer contexts are chosen, and with very little the
 * context is one symbol instead of two.  Words of the smaller models decide
 * fewer comparisons.
 *
 * Both passes count in the memory of the result, in 16 bits.  The first counts
 * contexts in the list of tables, where a count stops at the maximum, which is
 * certainly frequent enough.  The second counts symbols in the tables, where
 * all counts of a table are halved when one reaches the maximum.  A symbol is
 * counted in one table only; at the end, the counts of the longer contexts are
 * added to those of the shorter ones.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_model.h"

/* The number of occurrences that a shorter context counts for. */
#define BELIEF			2.0

/* Contexts that occur less often in the first pass get no table. */
#define MIN_SEEN_ONE	(8 / TEXT_MODEL_PART)
#define MIN_SEEN_TWO	(32 / TEXT_MODEL_PART)

/* Maximum number of tables; more would not stay in the cache. */
#define MAX_TABLES		1024

/* With more symbols than this, contexts of two symbols rarely repeat. */
#define MAX_SYMBOLS_TWO	128

/*
 * The list of all contexts of two symbols may use 1 / CONTEXTS_PART of the
 * limit.
 */
#define CONTEXTS_PART	2

struct TextCounts
{
	TextModel  *model;			/* tables and parts contain counts, see above */
	Size		limit;
	TextContext context;
	uint32	   *seen_one;		/* occurrences of contexts of one symbol */
	uint16	   *table_one;		/* tables of contexts of one symbol, once
								 * chosen */
};

static Size
contexts_size(const TextModel *model)
{
	return model->nsymbols * Max(model->stride, 1) * sizeof(uint16);
}

static Size
parts_size(const TextModel *model)
{
	return model->ntables * (model->nsymbols + 1) * sizeof(uint16);
}

TextCounts *
text_model_begin(int nsymbols, Size limit)
{
	TextCounts *counts = palloc0(sizeof(TextCounts));
	TextModel  *model = palloc0(sizeof(TextModel));

	model->nsymbols = nsymbols;
	if (nsymbols <= MAX_SYMBOLS_TWO &&
		nsymbols * nsymbols * sizeof(uint16) <= limit / CONTEXTS_PART)
		model->stride = nsymbols;
	model->tables = palloc0(contexts_size(model));
	counts->model = model;
	counts->limit = limit;
	counts->seen_one = palloc0(nsymbols * sizeof(uint32));
	return counts;
}

/* The table's parts, or while counting its symbols' counts. */
static uint16 *
table_parts(const TextModel *model, int table)
{
	return model->parts + table * (model->nsymbols + 1);
}

/* Count a symbol in a table. */
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
	if (model->parts == NULL)
	{
		counts->seen_one[context->last]++;
		if (model->stride > 0 && *table < PG_UINT16_MAX)
			(*table)++;
	}
	else
		count_in_table(model, *table, symbol);
	text_model_step(context, symbol);
}

/* The number of tables that the limit allows. */
static int
max_tables(const TextCounts *counts)
{
	const TextModel *model = counts->model;
	Size		each = (model->nsymbols + 1) * sizeof(uint16);
	Size		taken = contexts_size(model) +
		model->nsymbols * (sizeof(uint32) + sizeof(uint16));

	if (counts->limit < taken + each)
		return 1;
	return Min((counts->limit - taken) / each, MAX_TABLES);
}

/*
 * The minimum number of occurrences for contexts of one symbol to get a table,
 * such that at most *room contexts do.  Their number is subtracted from *room.
 * (The search proceeds in steps of a quarter, since the memory need not be
 * used completely.)
 */
static uint32
least_seen_one(const TextCounts *counts, int *room)
{
	for (uint32 least = MIN_SEEN_ONE;; least += (least + 3) / 4)
	{
		int			found = 0;

		for (int last = 0; last < counts->model->nsymbols; last++)
			found += counts->seen_one[last] >= least;
		if (found <= *room)
		{
			*room -= found;
			return least;
		}
	}
}

/* The minimum for contexts of two symbols, at least 'least'. */
static uint32
least_seen_two(const TextCounts *counts, uint32 least, int room)
{
	int			n = counts->model->nsymbols;

	for (;; least += (least + 3) / 4)
	{
		int			found = 0;

		for (int context = 0; context < n * n; context++)
			found += counts->model->tables[context] >= least;
		if (found <= room)
			return least;
	}
}

/*
 * text_model_choose: see text_model.h.  The last symbol of a context of two
 * occurs at least as often as the context; so if a context of two gets a
 * table, its last symbol also has one.
 */
void
text_model_choose(TextCounts *counts)
{
	TextModel  *model = counts->model;
	int			n = model->nsymbols;
	int			room = max_tables(counts) - 1;
	uint32		least_one = least_seen_one(counts, &room);
	uint32		least_two = model->stride == 0 ? 0 :
		least_seen_two(counts, Max(least_one, MIN_SEEN_TWO), room);

	counts->table_one = palloc0(n * sizeof(uint16));
	model->ntables = 1;
	for (int last = 0; last < n; last++)
	{
		uint16		one = 0;

		if (counts->seen_one[last] >= least_one)
			one = model->ntables++;
		counts->table_one[last] = one;
		if (model->stride == 0)
			model->tables[last] = one;
		for (int before = 0; before < model->stride; before++)
		{
			uint16	   *table = &model->tables[before * n + last];

			*table = *table >= least_two ? model->ntables++ : one;
		}
	}
	model->parts = palloc0(parts_size(model));
}

/*
 * Add the counts of a table, which exclude those of longer contexts with
 * tables.
 */
static void
add_counts(uint32 *sums, const TextModel *model, int table)
{
	const uint16 *counts = table_parts(model, table);

	for (int i = 0; i < model->nsymbols; i++)
		sums[i] += counts[i];
}

/*
 * Compute probabilities from counts and the shorter context's probabilities.
 */
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
 * Replace a table's counts by its parts.  Each symbol gets 1, and in addition
 * a part of the remaining total in proportion to its probability.
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
	/* the rounding error, which may be negative */
	part[best] += spare;
	parts[0] = 0;
	for (int i = 0; i < n; i++)
		parts[i + 1] = parts[i] + part[i];
}

/* Make the tables of the contexts that end with symbol 'last'. */
static void
set_tables(const TextCounts *counts, int last, const double *zero)
{
	TextModel  *model = counts->model;
	int			n = model->nsymbols;
	int			table_one = counts->table_one[last];
	const uint16 *tables = model->tables + last;	/* indexed by the symbol
													 * before, times n */
	uint32		sums[TEXT_MODEL_MAX_SYMBOLS] = {0};
	double		one[TEXT_MODEL_MAX_SYMBOLS] = {0};

	if (table_one == 0)
		return;
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
	for (int last = 0; last < n; last++)
		set_tables(counts, last, zero);
	pfree(counts->table_one);
	pfree(counts->seen_one);
	pfree(counts);
	return model;
}


/*
 * Exporting models to other processes
 */

/* The header of an export, before the tables and the parts. */
typedef struct ModelHeader
{
	int			nsymbols;
	int			ntables;
	int			stride;
} ModelHeader;

void
text_model_export(const TextModel *model, StringInfo target)
{
	ModelHeader header = {model->nsymbols, model->ntables, model->stride};

	appendBinaryStringInfo(target, (const char *) &header, sizeof(header));
	appendBinaryStringInfo(target, (const char *) model->tables,
						   contexts_size(model));
	appendBinaryStringInfo(target, (const char *) model->parts,
						   parts_size(model));
}

/*
 * True if every context has a table, and every table a part for each symbol.
 */
static bool
is_sound(const TextModel *model)
{
	for (Size i = 0; i < contexts_size(model) / sizeof(uint16); i++)
	{
		if (model->tables[i] >= model->ntables)
			return false;
	}
	for (int table = 0; table < model->ntables; table++)
	{
		const uint16 *parts = table_parts(model, table);

		if (parts[0] != 0 || parts[model->nsymbols] != TEXT_MODEL_TOTAL)
			return false;
		for (int symbol = 0; symbol < model->nsymbols; symbol++)
		{
			if (parts[symbol] >= parts[symbol + 1])
				return false;
		}
	}
	return true;
}

TextModel *
text_model_import(int nsymbols, const char *source, const char *end)
{
	ModelHeader header;
	TextModel  *model = palloc0(sizeof(TextModel));

	if (end - source < (ptrdiff_t) sizeof(header))
		return NULL;
	memcpy(&header, source, sizeof(header));
	source += sizeof(header);
	if (header.nsymbols != nsymbols || nsymbols > TEXT_MODEL_MAX_SYMBOLS ||
		header.ntables < 1 || header.ntables > MAX_TABLES ||
		(header.stride != 0 && header.stride != nsymbols))
		return NULL;
	model->nsymbols = header.nsymbols;
	model->ntables = header.ntables;
	model->stride = header.stride;
	if (end - source != (ptrdiff_t) (contexts_size(model) + parts_size(model)))
		return NULL;
	model->tables = palloc(contexts_size(model));
	memcpy(model->tables, source, contexts_size(model));
	model->parts = palloc(parts_size(model));
	memcpy(model->parts, source + contexts_size(model), parts_size(model));
	return is_sound(model) ? model : NULL;
}
