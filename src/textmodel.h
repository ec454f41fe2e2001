/*-------------------------------------------------------------------------
 *
 * textmodel.h
 *	  How frequent symbols are behind the two symbols before them.
 *
 * A symbol is a number below TEXTMODEL_MAX_SYMBOLS; what it stands for is
 * textcode.c's business.  The two symbols before it are its *context*.  The
 * model has a table for each context that the sample showed often enough, and
 * else uses the table of the last symbol alone, or that of no context.
 *
 * A table divides TEXTMODEL_TOTAL into parts, one for each symbol, in their
 * order and none empty: parts[s] to before parts[s + 1] is that of symbol s.
 *
 * Strings are counted twice.  The first time shows how often each context
 * comes; then textmodel_choose gives a table to those that come most often, as
 * many as memory allows; the second time shows what follows these:
 *
 *		counts = textmodel_begin(nsymbols, limit)
 *		textmodel_count(counts, -1), then each symbol, for each string
 *		textmodel_choose(counts)
 *		the same once more, in any order
 *		model = textmodel_end(counts)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXTMODEL_H
#define PTSORT_TEXTMODEL_H

#include "compat.h"

#include "lib/stringinfo.h"

#define TEXTMODEL_MAX_SYMBOLS	256
#define TEXTMODEL_BITS			14
#define TEXTMODEL_TOTAL			(1 << TEXTMODEL_BITS)

/* The end of a string; also what stands before its first symbol. */
#define TEXTMODEL_END			0

typedef struct TextModel
{
	int			nsymbols;
	int			ntables;
	int			stride;			/* nsymbols; 0: the last symbol is the context */
	uint16	   *parts;			/* nsymbols + 1 of each table */
	uint16	   *tables;			/* of each context */
} TextModel;

typedef struct TextCounts TextCounts;

/* Bytes that counts and model take at most, if they may. */
#define TEXTMODEL_MEMORY	(304 * 1024)

extern TextCounts *textmodel_begin(int nsymbols, Size limit);
extern void textmodel_count(TextCounts *counts, int symbol);
extern void textmodel_choose(TextCounts *counts);
extern TextModel *textmodel_end(TextCounts *counts);
extern void textmodel_export(const TextModel *model, StringInfo target);
extern TextModel *textmodel_import(int nsymbols, const char *source,
								   const char *end);

/* A context, and the table of what follows it. */
typedef struct TextContext
{
	int			before;			/* the symbol before the last */
	int			last;
} TextContext;

/* textmodel_parts returns the table of a context. */
static inline const uint16 *
textmodel_parts(const TextModel *model, const TextContext *context)
{
	int			number = context->before * model->stride + context->last;

	return model->parts + model->tables[number] * (model->nsymbols + 1);
}

/* textmodel_step makes the context that behind a symbol. */
static inline void
textmodel_step(TextContext *context, int symbol)
{
	context->before = context->last;
	context->last = symbol;
}

#endif							/* PTSORT_TEXTMODEL_H */
