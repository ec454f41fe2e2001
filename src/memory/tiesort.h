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

/* Two comparisons find out which of this many keys a tuple has. */
#define FEW_KEYS		3

/*
 * FewKeys: the different keys found so far, numbered as they came; all zeros at
 * first.
 */
typedef struct FewKeys
{
	int			nkeys;
	int			order[FEW_KEYS];	/* key numbers in order */
	const char *images[FEW_KEYS];	/* first image of a key */
} FewKeys;

/*
 * tiesort_find_key returns the number of an image's key, which may be new; -1
 * if that is one too many.  All images have equal words.
 */
extern int	tiesort_find_key(FewKeys *keys, SortOrder *order,
							 const char *image);

/*
 * tiesort_few_keys orders n entries by their keys, and sets counts[] to the
 * number of entries with the first key, the second, ...  Entries with the same
 * key stay in their order.  It returns the number of keys, or 0 if there are
 * more than FEW_KEYS or if the scratch has no room for n entries; then the
 * entries stay as they are.
 */
extern int	tiesort_few_keys(const EntrySort *es, uint64 *entries, int64 n,
							 int64 *counts);

/*
 * tiesort orders n entries by their keys, or by their whole order if
 * 'keys_only' is false.  Returns true if it found equal keys, which it did not
 * order.
 */
extern bool tiesort(const EntrySort *es, uint64 *entries, int64 n,
					bool keys_only);

/* tiesort_group returns how many entries at the start of n have equal keys. */
extern int64 tiesort_group(const EntrySort *es, const uint64 *entries,
						   int64 n);

#endif							/* PTSORT_TIESORT_H */
