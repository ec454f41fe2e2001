/*-------------------------------------------------------------------------
 *
 * text_count.h
 *	  Show a sample of strings to a model.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_COUNT_H
#define PTSORT_TEXT_COUNT_H

#include "compat.h"

#include "text/text_collation.h"
#include "text/text_model.h"
#include "text/text_sample.h"
#include "text/text_symbol.h"

/* TextToCount: input of text_count. */
typedef struct TextToCount
{
	const TextSample *sample;
	Collation  *collation;
	TextSymbols *symbols;		/* symbols of the collation's weights, already
								 * learned */
	const char *prefix;			/* prefix of most strings */
	int			prefix_length;	/* in bytes; 0: no prefix */
	int			most;			/* maximum characters counted per string,
								 * after the prefix */
} TextToCount;

/*
 * text_count counts a sample in a model of at most 'limit' bytes, in two
 * passes.  The caller then calls text_model_end.
 */
extern TextCounts *text_count(const TextToCount *what, Size limit);

#endif							/* PTSORT_TEXT_COUNT_H */
