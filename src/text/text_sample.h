/*-------------------------------------------------------------------------
 *
 * text_sample.h
 *	  An evenly spread sample of the strings that are shown.
 *
 * How many strings will be shown is not known, so the sample takes every one
 * at first.  Whenever it is full every other string of it is dropped, and from
 * then on half as many are taken: the sample is at least half full and has
 * every 2^n-th string that was shown.  It depends on nothing but these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_SAMPLE_H
#define PTSORT_TEXT_SAMPLE_H

#include "compat.h"

/* The most strings of a sample. */
#define TEXT_SAMPLE_STRINGS 8000

/* The first bytes of a string that are kept. */
#define TEXT_SAMPLE_BYTES	256

typedef struct TextSample
{
	Size		limit;			/* bytes to take; may be set at any time */
	Size		reserve;		/* of these, kept free for each string */
	bool		bytewise;		/* each byte is a character */
	char	   *data;			/* of each string, its length (int) and bytes */
	Size		bytes;
	Size		room;
	int			nstrings;
	int64		seen;			/* strings shown, of which ... */
	int64		every;			/* ... every such one is in the sample */
} TextSample;

/*
 * text_sample_init makes an empty sample in the current memory context,
 * without a limit.
 */
extern void text_sample_init(TextSample *sample, bool bytewise, Size reserve);

/* text_sample_show shows a string, which the sample may take a copy of. */
extern void text_sample_show(TextSample *sample, const char *string,
							 int length);

/*
 * text_sample_next returns the next string of the sample and sets *length, or
 * returns NULL after the last one.  '*at' is the position; begin with 0.
 */
extern const char *text_sample_next(const TextSample *sample, Size *at,
									int *length);

/*
 * text_sample_clip returns how many bytes the complete characters among the
 * first 'limit' bytes have.  (A comparison may raise an error about a part of
 * a character.)
 */
extern int	text_sample_clip(const TextSample *sample, const char *string,
							 int length, int limit);

/* text_sample_free frees the strings; the sample is of no use any more. */
extern void text_sample_free(TextSample *sample);

/*
 * text_sample_prefix finds the longest prefix that this part of the strings of
 * a sample have, at most TEXT_SAMPLE_BYTES, and returns its length.
 */
extern int	text_sample_prefix(const TextSample *sample, double fraction,
							   char *prefix);

/*
 * text_sample_count_words returns how many different first words
 * (pt_string_word) the strings of a sample have.
 */
extern int	text_sample_count_words(const TextSample *sample);

/*
 * text_sample_wide_fraction returns what part of the sample's bytes belongs to
 * characters that are not ASCII.
 */
extern double text_sample_wide_fraction(const TextSample *sample);

#endif							/* PTSORT_TEXT_SAMPLE_H */
