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
 * bounded_may_drop: has the sort begun to drop tuples?  Then its key does not
 * learn any more.
 */
static inline bool
bounded_may_drop(const PtSort *sort)
{
	return sort->last_known && sort->phase == PHASE_PUTTING;
}

/*
 * bounded_drops_value is bounded_drops without words, by a comparison.  Unless
 * the sort's last_by_words is true, that takes less than to make words, so that
 * only those of tuples that are not dropped need be made.
 */
extern bool bounded_drops_value(PtSort *sort, const Datum *values,
								const bool *isnull);

/*
 * bounded_drops tells, if the sort may drop tuples, whether one with these
 * words and values is not one of those that are wanted: then it has been
 * counted as put, and need not be.  values and isnull are what the variant's
 * compare_values takes.
 */
static inline bool
bounded_drops(PtSort *sort, const uint64 *words, const Datum *values,
			  const bool *isnull)
{
	int			cmp = order_compare_words(words, sort->last_words,
										  sort->order.nwords);

	if (cmp < 0)
		return false;
	if (cmp == 0)
		return bounded_drops_value(sort, values, isnull);
	sort->trimmed = true;
	sort->stats.tuples++;
	return true;
}

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
