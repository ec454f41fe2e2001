/*-------------------------------------------------------------------------
 *
 * learning.h
 *	  Whether, when and from what a sort's key learns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_LEARNING_H
#define PTSORT_LEARNING_H

#include "compat.h"

#include "sort/tuplesort.h"

/* learning_begin prepares any sort for input, whether or not its key learns. */
extern void learning_begin(PtSort *sort);

/*
 * learning_gains returns false if a serial sort of as many tuples as expected
 * would do no more than the server's: by its abbreviated keys of text, because
 * reading the tables of the collation does not pay.
 */
extern bool learning_gains(const PtSort *sort);

/*
 * learning_memory returns the bytes of the budget to set aside for what the
 * key may still need.
 */
extern int64 learning_memory(const PtSort *sort);

/*
 * learning_end ends learning, if the key is learning: it learns from the tuples
 * in memory, or continues without, and the words of these tuples are made
 * again.  learning_note_put does so, unless more tuples should be put first,
 * when sort->learn_at tuples are in memory.
 */
extern void learning_note_put(PtSort *sort);
extern void learning_end(PtSort *sort);

/*
 * learning_came_in_order: true if the key of a serial sort is learning and the
 * input is pre-sorted so far.  Then the sort needs no words until memory is
 * full: comparing each tuple with the one before it is cheaper.
 */
extern bool learning_came_in_order(PtSort *sort);

#endif							/* PTSORT_LEARNING_H */
