/*-------------------------------------------------------------------------
 *
 * tiesort.h
 *	  Sort tuples by comparison alone, where words do not decide.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TIESORT_H
#define PTSORT_TIESORT_H

#include "compat.h"

#include "order/order.h"

/*
 * tiesort orders n entries with equal words by comparing their images, whose
 * addresses follow the words.  'stride', 'scratch' and 'room' are as in
 * radix_sort, except that 'scratch' has room for at least n words.  Entries of
 * a stable sort must be in the order in which they were put.
 */
extern void tiesort(SortOrder *order, uint64 *entries, int64 n, int stride,
					uint64 *scratch, int64 room);

#endif							/* PTSORT_TIESORT_H */
