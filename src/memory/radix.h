/*-------------------------------------------------------------------------
 *
 * radix.h
 *	  Sort entries of a few 64-bit words by those words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_RADIX_H
#define PTSORT_RADIX_H

#include "compat.h"

/* Up to this many entries it takes no memory: counters would cost more. */
#define RADIX_FEW_ENTRIES	64

/*
 * radix_sort orders n entries of 'stride' (2 or 3) words each by their first
 * nkeys words, as unsigned integers, the first word first.  'scratch' has room
 * for 'room' entries; if that is not all of them it takes a quarter longer, and
 * entries whose words are equal do not remain in the order in which they were.
 */
extern void radix_sort(uint64 *entries, int64 n, int stride, int nkeys,
					   uint64 *scratch, int64 room);

/* Bytes that it takes besides the scratch. */
#define RADIX_MEMORY		(64 * 1024)

#endif							/* PTSORT_RADIX_H */
