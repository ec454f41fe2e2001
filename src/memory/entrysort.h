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
 * How many entries ahead a reader of sorted entries asks for their images.
 * They are all over memory by then; this hides most of the latency.
 */
#define ENTRIES_AHEAD	16

/* EntrySort: what is to be sorted. */
typedef struct EntrySort
{
	SortOrder  *order;
	uint64	   *entries;
	int64		n;
	int			stride;			/* words of an entry; see memsort.h */
	uint64	   *scratch;
	int64		room;			/* of scratch, in entries */
} EntrySort;

/*
 * entrysort orders the entries, which are as they were put.  If the sort is
 * stable the order must know the places of images, and 'room' be for all.
 */
extern void entrysort(EntrySort *es);

#endif							/* PTSORT_ENTRYSORT_H */
