/*-------------------------------------------------------------------------
 *
 * bytesort.h
 *	  Sort tuples that compare equal by the bytes of their images.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BYTESORT_H
#define PTSORT_BYTESORT_H

#include "compat.h"

#include "order/order.h"

/*
 * bytesort puts n entries with equal words, each followed by the address of an
 * image, into the order of order_compare_images.  'stride' and the scratch are
 * as in radix_sort.
 */
extern void bytesort(const SortOrder *order, uint64 *entries, int64 n,
					 int stride, uint64 *scratch, int64 room);

#endif							/* PTSORT_BYTESORT_H */
