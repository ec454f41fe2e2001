/*-------------------------------------------------------------------------
 *
 * text_model.h
 *	  A sample of strings, and a model of the frequencies of their symbols.
 *
 * The sample is one block of memory, so that its limit is exact and other
 * processes can read it.  It ignores strings for which it has no room.
 *
 * A symbol is a number below TEXT_MODEL_MAX_SYMBOLS; the caller defines its
 * meaning.  The two symbols before a symbol are its *context*.  The model has a
 * table for each context that occurs often enough in the sample; for other
 * contexts, the model uses the table of the last symbol alone.
 *
 * A table divides TEXT_MODEL_TOTAL into nonempty parts, one for each symbol,
 * in the order of the symbols.  The part of symbol s is from parts[s] to
 * parts[s + 1].
 *
 * The caller counts in two passes.  The first pass, over one in
 * TEXT_MODEL_PART strings, counts contexts.  text_model_choose then gives
 * tables to the most frequent contexts, within the memory limit.  The second
 * pass counts the symbols that follow these contexts.  The calls are:
 *
 *		counts = text_model_begin(nsymbols, limit)
 *		text_model_count(counts, -1), then each symbol, for some strings
 *		text_model_choose(counts)
 *		text_model_count as before, for all strings, in any order
 *		model = text_model_end(counts)
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_MODEL_H
#define PTSORT_TEXT_MODEL_H

#include "compat.h"

#include "ptsort_variant.h"

/* Maximum number of strings in a sample, and of bytes kept of each string */
#define TEXT_SAMPLE_STRINGS 8000
#define TEXT_SAMPLE_BYTES	256

typedef struct SampleWords
{
	uint64		words[PTSORT_MAX_WORDS];
} SampleWords;

/* Maximum memory of a sample and its words; TextSample.limit may be lower. */
#define TEXT_SAMPLE_MEMORY \
	(TEXT_SAMPLE_STRINGS * \
	 (sizeof(int) + TEXT_SAMPLE_BYTES + sizeof(SampleWords)))

typedef struct TextSample
{
	Size		limit;			/* maximum memory in bytes, including
								 * SampleWords for each string */
	char	   *data;			/* palloc'd even if empty; for each string,
								 * its length (int) and its bytes */
	Size		bytes;
	Size		room;
	int			nstrings;
} TextSample;

/* text_sample_show adds a copy of a string to the sample if there is room. */
extern void text_sample_show(TextSample *sample, const char *string,
							 int length);

/* text_sample_next: the string at *at (0 at first), or NULL after the last */
extern const char *text_sample_next(const TextSample *sample, Size *at,
									int *length);

/*
 * text_sample_prefix finds the longest prefix that at least 'fraction' of the
 * sample's strings have.  Returns its length; *prefix points into the sample.
 * (The search may miss a prefix, because it tries only a few strings.)
 */
extern int	text_sample_prefix(const TextSample *sample, double fraction,
							   const char **prefix);

/* text_sample_import fills an empty sample.  Returns false if it is invalid. */
extern bool text_sample_import(TextSample *sample, const char *source,
							   Size bytes);

#define TEXT_MODEL_MAX_SYMBOLS	256
#define TEXT_MODEL_BITS			14
#define TEXT_MODEL_TOTAL		(1 << TEXT_MODEL_BITS)

/* The symbol for the end of a string; also the context of the first symbol. */
#define TEXT_MODEL_END			0

typedef struct TextModel
{
	int			nsymbols;
	int			ntables;
	int			stride;			/* nsymbols; 0: contexts of one symbol only */
	uint16	   *parts;			/* nsymbols + 1 numbers for each table */
	uint16	   *tables;			/* index of each context's table */
} TextModel;

typedef struct TextCounts TextCounts;

/* Passes that estimate frequencies read one in TEXT_MODEL_PART strings. */
#define TEXT_MODEL_PART	4

/* Maximum memory of counts and model; text_model_begin's limit may be lower. */
#define TEXT_MODEL_MEMORY	(304 * 1024)

/*
 * text_model_begin starts counting for a model of 'nsymbols' symbols.  Counts
 * and model use at most 'limit' bytes, unless the limit is too small for one
 * table: the model has at least one.
 */
extern TextCounts *text_model_begin(int nsymbols, Size limit);

/* text_model_count counts the next symbol; symbol -1 begins a string. */
extern void text_model_count(TextCounts *counts, int symbol);

/* text_model_choose ends the first pass. */
extern void text_model_choose(TextCounts *counts);

/* text_model_end makes the model, and frees the counts. */
extern TextModel *text_model_end(TextCounts *counts);

/* TextContext: the two symbols before the next symbol. */
typedef struct TextContext
{
	int			before;			/* the symbol before 'last' */
	int			last;
} TextContext;

static inline const uint16 *
text_model_parts(const TextModel *model, const TextContext *context)
{
	int			number = context->before * model->stride + context->last;

	return model->parts + model->tables[number] * (model->nsymbols + 1);
}

static inline void
text_model_step(TextContext *context, int symbol)
{
	context->before = context->last;
	context->last = symbol;
}

#endif							/* PTSORT_TEXT_MODEL_H */
