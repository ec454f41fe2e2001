/*-------------------------------------------------------------------------
 *
 * text_sample.h
 *	  The strings from which a code is learned.
 *
 * The caller shows strings that are evenly spread over its input.  The sample
 * ignores those for which it has no room.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SAMPLE_H
#define PTSORT_TEXT_SAMPLE_H

#include "compat.h"

#include "lib/stringinfo.h"
#include "ptsort_variant.h"

/* Maximum number of strings in a sample. */
#define TEXT_SAMPLE_STRINGS 8000

/* Strings are truncated to this length in bytes. */
#define TEXT_SAMPLE_BYTES	256

/* SampleWords: the words of a string of the sample. */
typedef struct SampleWords
{
	uint64		words[PTSORT_MAX_WORDS];
} SampleWords;

/* Maximum memory of a sample and its words in bytes, if the limit allows. */
#define TEXT_SAMPLE_MEMORY \
	(TEXT_SAMPLE_STRINGS * \
	 (sizeof(int) + TEXT_SAMPLE_BYTES + sizeof(SampleWords)))

typedef struct TextSample
{
	Size		limit;			/* maximum memory in bytes, with SampleWords
								 * for each string */
	char	   *data;			/* of each string, length (int) and bytes */
	Size		bytes;
	Size		room;
	int			nstrings;
} TextSample;

/*
 * text_sample_init makes an empty sample in the current memory context.
 * text_sample_free frees it.
 */
extern void text_sample_init(TextSample *sample, Size limit);
extern void text_sample_free(TextSample *sample);

/* text_sample_show shows a string; the sample may copy it. */
extern void text_sample_show(TextSample *sample, const char *string,
							 int length);

/*
 * text_sample_next returns the next string of the sample and sets *length, or
 * returns NULL after the last one.  '*at' is the position; begin with 0.
 */
extern const char *text_sample_next(const TextSample *sample, Size *at,
									int *length);

/*
 * text_sample_prefix finds the longest prefix that at least this fraction of
 * the sample's strings have, and returns its length.  *prefix points into the
 * sample.  (It may miss a prefix that the strings it tries do not have.)
 */
extern int	text_sample_prefix(const TextSample *sample, double fraction,
							   const char **prefix);

/*
 * text_sample_count_words returns the number of distinct first words
 * (pt_string_word) of the sample's strings.
 */
extern int	text_sample_count_words(const TextSample *sample);

/*
 * text_sample_import fills an empty sample with the data of another process's
 * sample.  Returns false if the data is not that of a sample.
 */
extern bool text_sample_import(TextSample *sample, const char *source,
							   Size bytes);

#endif							/* PTSORT_TEXT_SAMPLE_H */
