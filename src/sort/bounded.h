/*-------------------------------------------------------------------------
 *
 * bounded.h
 *	  Sorts of which only the first tuples are wanted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BOUNDED_H
#define PTSORT_BOUNDED_H

#include "compat.h"

#include "sort/sortstate.h"

/* bounded_begin prepares for tuples to be put, for all kinds of sorts. */
extern void bounded_begin(PtSort *sort);

/*
 * bounded_refuses tells whether a tuple, to be put with these words, cannot be
 * one of those that are wanted.
 */
extern bool bounded_refuses(PtSort *sort, const uint64 *words,
							const void *tuple);

/*
 * bounded_cut forgets what is not wanted of the entries in memory, which are
 * in order, but not their images.
 */
extern void bounded_cut(PtSort *sort);

/*
 * bounded_pays tells whether there are enough entries in memory that are not
 * wanted, so that it pays to order all and to cut them.
 */
extern bool bounded_pays(const PtSort *sort);

/* bounded_is_over tells whether get has returned all that is wanted. */
static inline bool
bounded_is_over(const PtSort *sort)
{
	return unlikely(sort->options.bound > 0 &&
					sort->returned >= sort->options.bound);
}

#endif							/* PTSORT_BOUNDED_H */
