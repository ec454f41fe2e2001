/*-------------------------------------------------------------------------
 *
 * lastsort.h
 *	  Sort tuples with equal keys by the word that comes last.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_LASTSORT_H
#define PTSORT_LASTSORT_H

#include "compat.h"

#include "order/order.h"

/*
 * lastsort orders n entries whose keys are equal.  'stride', 'scratch' and
 * 'room' are as in radix_sort.  False, and only first words have changed or the
 * order of entries that are equal, if their order is not all in a word.
 */
extern bool lastsort(const SortOrder *order, uint64 *entries, int64 n,
					 int stride, uint64 *scratch, int64 room);

/*
 * lastsort_same is lastsort of entries with equal words, which it keeps, if the
 * variant sees that their keys are the same; else false.  Those of a stable
 * sort must be in the order in which they were put.
 */
extern bool lastsort_same(const SortOrder *order, uint64 *entries, int64 n,
						  int stride, uint64 *scratch, int64 room);

#endif							/* PTSORT_LASTSORT_H */
