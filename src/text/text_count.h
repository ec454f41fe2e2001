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

/* TextToCount: what is shown. */
typedef struct TextToCount
{
	const TextSample *sample;
	Collation  *collation;
	TextSymbols *symbols;		/* of its weights; they know the sample */
	const char *prefix;			/* most strings' */
	int			prefix_length;	/* bytes; 0: there is none */
	int			most;			/* characters of a string, after that */
} TextToCount;

/*
 * text_count shows a sample to a model that takes at most 'limit' bytes, in two
 * passes.  It remains to end it.
 */
extern TextCounts *text_count(const TextToCount *what, Size limit);

#endif							/* PTSORT_TEXT_COUNT_H */
