/*-------------------------------------------------------------------------
 *
 * textmodel.c
 *	  How frequent symbols are behind the two symbols before them.
 *
 * What a sample has not shown can still come, so every count is completed by
 * what the shorter context says, as if that had been seen BELIEF times more
 * (Bell, Cleary and Witten, "Text Compression", 1990).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "textmodel.h"

#define BELIEF			2.0

/* Contexts that were seen less often get no table. */
#define MIN_SEEN_ONE	8
#define MIN_SEEN_TWO	32

/* More tables than this would not stay in the cache. */
#define MAX_TABLES		1024

/* Beyond this many symbols, contexts of two are not counted: 8 MB. */
#define MAX_SYMBOLS_TWO	128

struct TextCounts
{
	int			nsymbols;
	TextContext context;
	uint32	   *zero;			/* [symbol] */
	uint32	   *one;			/* [last][symbol] */
	uint32	   *two;			/* [before it][last][symbol], or NULL */
};

TextCounts *
textmodel_begin(int nsymbols)
{
	TextCounts *counts = palloc0(sizeof(TextCounts));
	Size		n = nsymbols;

	counts->nsymbols = nsymbols;
	counts->zero = palloc0(n * sizeof(uint32));
	counts->one = palloc0(n * n * sizeof(uint32));
	if (nsymbols <= MAX_SYMBOLS_TWO)
		counts->two = palloc0(n * n * n * sizeof(uint32));
	return counts;
}

/* textmodel_count counts the next symbol; -1 says that a string begins. */
void
textmodel_count(TextCounts *counts, int symbol)
{
	int			n = counts->nsymbols;
	TextContext *context = &counts->context;

	if (symbol < 0)
	{
		context->before = context->last = TEXTMODEL_END;
		return;
	}
	counts->zero[symbol]++;
	counts->one[context->last * n + symbol]++;
	if (counts->two)
		counts->two[(context->before * n + context->last) * n + symbol]++;
	textmodel_step(context, symbol);
}

static uint32
sum(const uint32 *counts, int n)
{
	uint32		result = 0;

	for (int i = 0; i < n; i++)
		result += counts[i];
	return result;
}

/* Probabilities from counts and from those of the shorter context. */
static void
complete(const uint32 *counts, int n, const double *shorter, double *result)
{
	double		total = sum(counts, n) + BELIEF;

	for (int i = 0; i < n; i++)
		result[i] = (counts[i] + BELIEF * shorter[i]) / total;
}

/* Append the table of these probabilities; returns its number. */
static uint16
add_table(TextModel *model, const double *probabilities)
{
	int			n = model->nsymbols;
	int			rest = TEXTMODEL_TOTAL - n;
	int			spare = rest;
	int			best = 0;
	uint16	   *parts = model->parts + model->ntables * (n + 1);
	int			part[TEXTMODEL_MAX_SYMBOLS];

	Assert(n > 0 && n <= TEXTMODEL_MAX_SYMBOLS);
	for (int i = 0; i < n; i++)
	{
		part[i] = 1 + (int) (probabilities[i] * rest);
		spare -= part[i] - 1;
		if (part[i] > part[best])
			best = i;
	}
	/* What rounding left over; it may be a little less than nothing. */
	part[best] += spare;
	parts[0] = 0;
	for (int i = 0; i < n; i++)
		parts[i + 1] = parts[i] + part[i];
	return model->ntables++;
}

/* How often contexts of two must have been seen to get a table. */
static uint32
least_seen(const TextCounts *counts)
{
	int			n = counts->nsymbols;
	uint32		least = MIN_SEEN_TWO;

	for (;; least *= 2)
	{
		int			found = 0;

		for (int context = 0; context < n * n; context++)
			found += sum(counts->two + context * n, n) >= least;
		if (found <= MAX_TABLES - 1 - n)
			return least;
	}
}

/* Tables for contexts whose last symbol is `last`. */
static void
add_context(TextModel *model, const TextCounts *counts, int last,
			uint32 least_two, const double *zero)
{
	int			n = model->nsymbols;
	const uint32 *one_counts = counts->one + last * n;
	uint16		table_one = 0;
	double		one[TEXTMODEL_MAX_SYMBOLS] = {0};

	complete(one_counts, n, zero, one);
	if (sum(one_counts, n) >= MIN_SEEN_ONE)
		table_one = add_table(model, one);
	for (int before = 0; before < n; before++)
	{
		int			context = before * n + last;
		double		two[TEXTMODEL_MAX_SYMBOLS];

		model->tables[context] = table_one;
		if (counts->two)
		{
			const uint32 *two_counts = counts->two + (before * n + last) * n;

			if (sum(two_counts, n) >= least_two)
			{
				complete(two_counts, n, one, two);
				model->tables[context] = add_table(model, two);
			}
		}
	}
}

static TextModel *
make_model(int nsymbols, int ntables)
{
	TextModel  *model = palloc0(sizeof(TextModel));

	model->nsymbols = nsymbols;
	model->tables = palloc0(nsymbols * nsymbols * sizeof(uint16));
	model->parts = palloc(ntables * (nsymbols + 1) * sizeof(uint16));
	return model;
}

/* textmodel_end makes the model, and frees the counts. */
TextModel *
textmodel_end(TextCounts *counts)
{
	int			n = counts->nsymbols;
	uint32		least_two = counts->two ? least_seen(counts) : 0;
	TextModel  *model = make_model(n, MAX_TABLES);
	double		flat[TEXTMODEL_MAX_SYMBOLS] = {0};
	double		zero[TEXTMODEL_MAX_SYMBOLS] = {0};

	for (int i = 0; i < n; i++)
		flat[i] = 1.0 / n;
	complete(counts->zero, n, flat, zero);
	(void) add_table(model, zero);
	for (int last = 0; last < n; last++)
		add_context(model, counts, last, least_two, zero);

	pfree(counts->zero);
	pfree(counts->one);
	if (counts->two)
		pfree(counts->two);
	pfree(counts);
	return model;
}

void
textmodel_export(const TextModel *model, StringInfo target)
{
	int			numbers[2] = {model->nsymbols, model->ntables};

	appendBinaryStringInfo(target, (const char *) numbers, sizeof(numbers));
	appendBinaryStringInfo(target, (const char *) model->tables,
						   model->nsymbols * model->nsymbols * sizeof(uint16));
	appendBinaryStringInfo(target, (const char *) model->parts,
						   model->ntables * (model->nsymbols + 1) * sizeof(uint16));
}

TextModel *
textmodel_import(const char *source)
{
	int			numbers[2];
	Size		tables_size;
	TextModel  *model;

	memcpy(numbers, source, sizeof(numbers));
	tables_size = numbers[0] * numbers[0] * sizeof(uint16);
	source += sizeof(numbers);
	model = make_model(numbers[0], numbers[1]);
	model->ntables = numbers[1];
	memcpy(model->tables, source, tables_size);
	source += tables_size;
	memcpy(model->parts, source,
		   model->ntables * (model->nsymbols + 1) * sizeof(uint16));
	return model;
}
