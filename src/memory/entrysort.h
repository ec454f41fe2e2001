/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Put entries in memory into order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ENTRYSORT_H
#define PTSORT_ENTRYSORT_H

#include "compat.h"

#include "order/order.h"

/*
 * Number of entries that a reader of sorted entries prefetches ahead.  By then
 * images are all over memory, and this hides most of the latency.
 */
#define ENTRIES_AHEAD	16

/* EntrySort: the entries to sort. */
typedef struct EntrySort
{
	SortOrder  *order;
	uint64	   *entries;
	int64		n;
	int			stride;			/* words of an entry; see memsort.h */
	uint64	   *scratch;
	int64		room;			/* entries that 'scratch' holds */
} EntrySort;

/*
 * entrysort orders the entries, which must be in the order in which they were
 * put.  For a stable sort of images that are not inline, the order must know
 * the places of the images, and 'room' must be at least n.
 */
extern void entrysort(EntrySort *es);

#endif							/* PTSORT_ENTRYSORT_H */
