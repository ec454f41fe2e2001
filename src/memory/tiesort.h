/*-------------------------------------------------------------------------
 *
 * tiesort.h
 *	  Sort entries with equal words by comparing their images.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TIESORT_H
#define PTSORT_TIESORT_H

#include "compat.h"

#include "order/order.h"

/* EntrySort: how the entries of a sort are laid out, and ordered. */
typedef struct EntrySort
{
	SortOrder  *order;
	int			stride;			/* words of an entry; see memsort.h */
	uint64	   *scratch;		/* at least a word for each entry */
	int64		room;			/* entries that 'scratch' holds */
} EntrySort;

/*
 * Number of entries to prefetch ahead.  Images of sorted entries are all over
 * memory, and this hides most of the latency.
 */
#define ENTRIES_AHEAD	16

/* Which of the keys compared equal. */
typedef enum TiedKeys
{
	TIED_NONE,
	TIED_SOME,
	TIED_ALL
} TiedKeys;

/*
 * tiesort orders n entries by their keys, or by their whole order if
 * 'keys_only' is false; then no two are tied.  If the keys of all are tied the
 * entries stay as they are.
 */
extern TiedKeys tiesort(const EntrySort *es, uint64 *entries, int64 n,
						bool keys_only);

/* tiesort_group returns how many entries at the start of n have equal keys. */
extern int64 tiesort_group(const EntrySort *es, const uint64 *entries,
						   int64 n);

#endif							/* PTSORT_TIESORT_H */
