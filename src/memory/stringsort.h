/*-------------------------------------------------------------------------
 *
 * stringsort.h
 *	  Sort tuples with equal words by the bytes of a string.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_STRINGSORT_H
#define PTSORT_STRINGSORT_H

#include "compat.h"

#include "order/order.h"

/*
 * stringsort is tiesort for an order that has strings.  It returns false and
 * changes nothing if the string of a tuple cannot be read in place.
 */
extern bool stringsort(SortOrder *order, uint64 *entries, int64 n, int stride,
					   uint64 *scratch, int64 room);

#endif							/* PTSORT_STRINGSORT_H */
