/*-------------------------------------------------------------------------
 *
 * repair.h
 *	  Verify the order that hints gave, and correct it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REPAIR_H
#define PTSORT_REPAIR_H

#include "compat.h"

#include "sort/order.h"

/*
 * repair_is_hopeless tells whether the hints of entries, not yet sorted, are
 * wrong so often that comparisons alone are cheaper.  It looks at a sample, in
 * scratch.
 */
extern bool repair_is_hopeless(SortOrder *order, const uint64 *entries, int64 n,
							   int stride, uint64 *scratch);

/*
 * repair_spot_check checks some of the neighbours among n entries that are in
 * the order of words which are trusted (order_spot_check).
 */
extern void repair_spot_check(SortOrder *order, const uint64 *entries,
							  int64 n, int stride);

/*
 * repair_order compares neighbours among n entries of 'stride' words, the last
 * of which is the address of a tuple, and puts them in order by comparison if
 * some are not.  Entries with equal words must be in order among themselves.
 * scratch has room for all.  Returns how many neighbours were out of order.
 */
extern int64 repair_order(SortOrder *order, uint64 *entries, int64 n,
						  int stride, uint64 *scratch);

#endif							/* PTSORT_REPAIR_H */
