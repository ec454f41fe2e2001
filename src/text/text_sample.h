/*-------------------------------------------------------------------------
 *
 * text_sample.h
 *	  An evenly spread sample of the strings that are shown.
 *
 * The number of strings is not known in advance, so the sample accepts every
 * string at first.  Whenever it is full, it drops every other string, and
 * accepts only half as many from then on: the sample is at least half full and
 * contains every 2^n-th string that was shown.  It depends on nothing but
 * these strings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SAMPLE_H
#define PTSORT_TEXT_SAMPLE_H

#include "compat.h"

/* Maximum number of strings in a sample. */
#define TEXT_SAMPLE_STRINGS 8000

/* Strings are truncated to this length in bytes. */
#define TEXT_SAMPLE_BYTES	256

typedef struct TextSample
{
	Size		limit;			/* maximum memory in bytes; may be set at any
								 * time */
	Size		reserve;		/* part of 'limit' reserved per string, in
								 * bytes */
	bool		bytewise;		/* true if each byte is a character */
	char	   *data;			/* of each string, length (int) and bytes */
	Size		bytes;
	Size		room;
	int			nstrings;
	int64		seen;			/* number of strings shown */
	int64		every;			/* the sample contains one string in 'every' */
} TextSample;

/*
 * text_sample_init makes an empty sample in the current memory context,
 * without a limit.
 */
extern void text_sample_init(TextSample *sample, bool bytewise, Size reserve);

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
 * text_sample_clip returns the length in bytes of the complete characters
 * among the first 'limit' bytes.  (A comparison may raise an error about an
 * incomplete character.)
 */
extern int	text_sample_clip(const TextSample *sample, const char *string,
							 int length, int limit);

/* text_sample_free frees the strings; the sample cannot be used afterwards. */
extern void text_sample_free(TextSample *sample);

/*
 * text_sample_prefix finds the longest prefix that at least this fraction of
 * the sample's strings have, up to TEXT_SAMPLE_BYTES, and returns its length.
 */
extern int	text_sample_prefix(const TextSample *sample, double fraction,
							   char *prefix);

/*
 * text_sample_count_words returns the number of distinct first words
 * (pt_string_word) of the sample's strings.
 */
extern int	text_sample_count_words(const TextSample *sample);

/*
 * text_sample_wide_fraction returns the fraction of the sample's bytes that
 * belong to characters that are not ASCII.
 */
extern double text_sample_wide_fraction(const TextSample *sample);

#endif							/* PTSORT_TEXT_SAMPLE_H */
