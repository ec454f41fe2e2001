/*-------------------------------------------------------------------------
 *
 * bounded.h
 *	  Sorts with a bound: the caller wants only the first tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BOUNDED_H
#define PTSORT_BOUNDED_H

#include "compat.h"

#include "sort/sortstate.h"

/* bounded_begin prepares any sort, with or without a bound, for its input. */
extern void bounded_begin(PtSort *sort);

/*
 * bounded_refuses: true if a tuple with these words, which is to be put, is
 * certainly beyond the bound.
 */
extern bool bounded_refuses(PtSort *sort, const uint64 *words,
							const void *tuple);

/*
 * bounded_may_drop: true if the sort can drop tuples now.  Its key no longer
 * learns then.
 */
static inline bool
bounded_may_drop(const PtSort *sort)
{
	return sort->last_known && sort->phase == PHASE_PUTTING;
}

/*
 * bounded_drops: true if a tuple with these values of all key columns is beyond
 * the bound; the sort counts it as put, and the caller does not put it.  Only
 * if bounded_may_drop, and if the variant has a key and compare_values.
 */
extern bool bounded_drops(PtSort *sort, const Datum *values,
						  const bool *isnull);

/*
 * bounded_cut drops the entries beyond the bound from memory, whose entries are
 * sorted, but keeps their images.
 */
extern void bounded_cut(PtSort *sort);

/*
 * bounded_pays: true if so many entries in memory are beyond the bound that
 * sorting all and cutting them pays.
 */
extern bool bounded_pays(const PtSort *sort);

#endif							/* PTSORT_BOUNDED_H */
