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

/*
 * For up to RADIX_FEW_ENTRIES entries, radix_sort allocates no counters,
 * because counters would cost more than they save.
 */
#define RADIX_FEW_ENTRIES	64

/*
 * radix_sort orders n entries of 'stride' (2 or 3) words each by their first
 * nkeys words, as unsigned integers; the first word is the most significant.
 * The sort is stable.  'scratch' has room for n entries.
 */
extern void radix_sort(uint64 *entries, int64 n, int stride, int nkeys,
					   uint64 *scratch);

/* Number of bytes that radix_sort normally uses besides the scratch. */
#define RADIX_MEMORY		(64 * 1024)

#endif							/* PTSORT_RADIX_H */
