/*-------------------------------------------------------------------------
 *
 * learning.h
 *	  Decides whether, when and from which tuples a sort's key learns.
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
 * learning_gains returns false if reading the collation's tables would not pay
 * off for the expected number of tuples.  A serial sort would then gain
 * nothing: it would use the same abbreviated keys of text as the server's sort.
 */
extern bool learning_gains(const PtSort *sort);

/*
 * learning_memory returns the part of the budget that the sort must set aside,
 * because learning may still need it.
 */
extern int64 learning_memory(const PtSort *sort);

/*
 * If the key is learning, learning_end ends this state: the key learns from the
 * tuples in memory or gives up, and the sort makes the words of these tuples
 * again if necessary.  The sort calls learning_note_put when sort->learn_at
 * tuples are in memory.  learning_note_put calls learning_end, or doubles
 * learn_at if learning should wait for more tuples.
 */
extern void learning_note_put(PtSort *sort);
extern void learning_end(PtSort *sort);

/*
 * learning_came_in_order: true if the key of a serial sort is learning and the
 * input is pre-sorted so far.  Then the sort needs no words until memory is
 * full: comparing a tuple with its predecessor is cheaper than making words.
 */
extern bool learning_came_in_order(PtSort *sort);

#endif							/* PTSORT_LEARNING_H */
