/*-------------------------------------------------------------------------
 *
 * lastsort.h
 *	  Sort tuples with equal keys by their last word, the tie-breaker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_LASTSORT_H
#define PTSORT_LASTSORT_H

#include "compat.h"

#include "order/order.h"

/*
 * lastsort orders n entries whose keys are equal.  'stride', 'scratch' and
 * 'room' are as in radix_sort.  It overwrites the first words of the entries.
 * Returns false if the last words do not decide the whole order; equal entries
 * may then be in another order than before.
 */
extern bool lastsort(const SortOrder *order, uint64 *entries, int64 n,
					 int stride, uint64 *scratch, int64 room);

/*
 * lastsort_same is lastsort for entries with equal words, which it preserves.
 * It returns false as well if the variant does not find that their keys are the
 * same.  Entries of a stable sort must be in the order in which they were put.
 */
extern bool lastsort_same(const SortOrder *order, uint64 *entries, int64 n,
						  int stride, uint64 *scratch, int64 room);

#endif							/* PTSORT_LASTSORT_H */
