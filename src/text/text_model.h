/*-------------------------------------------------------------------------
 *
 * text_model.h
 *	  How frequent symbols are after the two symbols before them.
 *
 * A symbol is a number below TEXT_MODEL_MAX_SYMBOLS, whose meaning is defined
 * by the caller.  The two symbols before it are its *context*.  The model has
 * a table for each context that occurs often enough in the sample; for other
 * contexts it uses the table of the last symbol alone.
 *
 * A table divides TEXT_MODEL_TOTAL into parts, one for each symbol, in their
 * order and none empty: the part of symbol s is from parts[s] to parts[s + 1].
 *
 * Strings are counted twice.  The first pass, over one string in
 * TEXT_MODEL_PART, counts how often each context occurs.  text_model_choose
 * then gives a table to the most frequent contexts, within the memory limit,
 * and the second pass counts what follows these:
 *
 *		counts = text_model_begin(nsymbols, limit)
 *		text_model_count(counts, -1), then each symbol, for some strings
 *		text_model_choose(counts)
 *		the same for all strings, in any order
 *		model = text_model_end(counts)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_MODEL_H
#define PTSORT_TEXT_MODEL_H

#include "compat.h"

#define TEXT_MODEL_MAX_SYMBOLS	256
#define TEXT_MODEL_BITS			14
#define TEXT_MODEL_TOTAL		(1 << TEXT_MODEL_BITS)

/* The end of a string; also the context of its first symbol. */
#define TEXT_MODEL_END			0

typedef struct TextModel
{
	int			nsymbols;
	int			ntables;
	int			stride;			/* nsymbols; 0: contexts of one symbol only */
	uint16	   *parts;			/* nsymbols + 1 for each table */
	uint16	   *tables;			/* index of each context's table */
} TextModel;

typedef struct TextCounts TextCounts;

/* What is only estimated is counted in one string of TEXT_MODEL_PART. */
#define TEXT_MODEL_PART	4

/* Maximum memory of counts and model in bytes, if the limit allows. */
#define TEXT_MODEL_MEMORY	(304 * 1024)

/*
 * text_model_begin starts counting for a model of 'nsymbols' symbols.  Counts
 * and model use at most 'limit' bytes, except that there is always one table.
 */
extern TextCounts *text_model_begin(int nsymbols, Size limit);

/* text_model_count counts the next symbol; -1 begins a string. */
extern void text_model_count(TextCounts *counts, int symbol);

/* text_model_choose ends the first pass. */
extern void text_model_choose(TextCounts *counts);

/* text_model_end makes the model, and frees the counts. */
extern TextModel *text_model_end(TextCounts *counts);

/* A context: the two symbols before the next one. */
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

/* text_model_step advances the context past a symbol. */
static inline void
text_model_step(TextContext *context, int symbol)
{
	context->before = context->last;
	context->last = symbol;
}

#endif							/* PTSORT_TEXT_MODEL_H */
