/*-------------------------------------------------------------------------
 *
 * text_model.h
 *	  How frequent symbols are behind the two symbols before them.
 *
 * A symbol is a number below TEXT_MODEL_MAX_SYMBOLS; what it stands for is
 * text_code.c's business.  The two symbols before it are its *context*.  The
 * model has a table for each context that the sample showed often enough, and
 * else uses the table of the last symbol alone, or that of no context.
 *
 * A table divides TEXT_MODEL_TOTAL into parts, one for each symbol, in their
 * order and none empty: parts[s] to before parts[s + 1] is that of symbol s.
 *
 * Strings are counted twice.  The first time shows how often each context
 * comes; then text_model_choose gives a table to those that come most often,
 * as many as memory allows; the second time shows what follows these:
 *
 *		counts = text_model_begin(nsymbols, limit)
 *		text_model_count(counts, -1), then each symbol, for each string
 *		text_model_choose(counts)
 *		the same once more, in any order
 *		model = text_model_end(counts)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_MODEL_H
#define PTSORT_TEXT_MODEL_H

#include "compat.h"

#include "lib/stringinfo.h"

#define TEXT_MODEL_MAX_SYMBOLS	256
#define TEXT_MODEL_BITS			14
#define TEXT_MODEL_TOTAL			(1 << TEXT_MODEL_BITS)

/* The end of a string; also what stands before its first symbol. */
#define TEXT_MODEL_END			0

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
#define TEXT_MODEL_MEMORY	(304 * 1024)

extern TextCounts *text_model_begin(int nsymbols, Size limit);
extern void text_model_count(TextCounts *counts, int symbol);
extern void text_model_choose(TextCounts *counts);
extern TextModel *text_model_end(TextCounts *counts);
extern void text_model_export(const TextModel *model, StringInfo target);
extern TextModel *text_model_import(int nsymbols, const char *source,
									const char *end);

/* A context, and the table of what follows it. */
typedef struct TextContext
{
	int			before;			/* the symbol before the last */
	int			last;
} TextContext;

/* text_model_parts returns the table of a context. */
static inline const uint16 *
text_model_parts(const TextModel *model, const TextContext *context)
{
	int			number = context->before * model->stride + context->last;

	return model->parts + model->tables[number] * (model->nsymbols + 1);
}

/* text_model_step makes the context that behind a symbol. */
static inline void
text_model_step(TextContext *context, int symbol)
{
	context->before = context->last;
	context->last = symbol;
}

#endif							/* PTSORT_TEXT_MODEL_H */
