/*-------------------------------------------------------------------------
 *
 * text_word.h
 *	  The word of a string without learning.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_WORD_H
#define PTSORT_TEXT_WORD_H

#include "compat.h"

#include "text/text_compare.h"

/*
 * text_word_init prepares 'ssup', which compares text, varchar or, if 'padded',
 * char(n) without abbreviation, for text_word.  'ranks' are of its collation,
 * which is one of the C library's, and ready; they and 'failure' must live as
 * long.  What is allocated is in ssup's memory context.
 */
extern void text_word_init(SortSupport ssup, const TextRanks *ranks,
						   bool padded, CompareFailure *failure);

/*
 * text_word makes the word of a value that is not null: the first eight bytes
 * of its primary weights.  So words never contradict the order of strings.
 * Some of them are compared by the provider of the collation as well.
 */
extern uint64 text_word(Datum value, SortSupport ssup);

#endif							/* PTSORT_TEXT_WORD_H */
