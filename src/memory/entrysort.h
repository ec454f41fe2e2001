/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Sorts entries in memory: by their words (radix.c), by comparing their
 *	  images (tiesort.c), and both (entrysort.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ENTRYSORT_H
#define PTSORT_ENTRYSORT_H

#include "compat.h"

#include "order/order.h"

/* EntrySort: the layout and the order of the entries of a sort. */
typedef struct EntrySort
{
	SortOrder  *order;
	int			stride;			/* number of words of an entry (memsort.h) */
	uint64	   *scratch;		/* room for all entries */
} EntrySort;

/*
 * Number of entries to prefetch ahead.  Images of sorted entries are scattered
 * in memory, and prefetching hides most of the latency.
 */
#define ENTRIES_AHEAD	16

/*
 * entrysort orders n entries, which the caller passes in input order.  For a
 * stable sort of images that are not inline, the caller must also store the
 * images' places in es->order.
 */
extern void entrysort(const EntrySort *es, uint64 *entries, int64 n);


/*
 * radix.c
 */

/*
 * For up to RADIX_FEW_ENTRIES entries, radix_sort allocates no counters,
 * because counters would cost more than they save.
 */
#define RADIX_FEW_ENTRIES	64

/* Number of bytes that radix_sort normally uses besides the scratch. */
#define RADIX_MEMORY		(64 * 1024)

/*
 * radix_sort orders n entries of 'stride' (2 or 3) words each by their first
 * nkeys words, as unsigned integers; the first word is the most significant.
 * The sort is stable.  'scratch' has room for n entries.
 */
extern void radix_sort(uint64 *entries, int64 n, int stride, int nkeys,
					   uint64 *scratch);


/*
 * tiesort.c: the entries have equal words
 */

/* Maximum number of keys in FewKeys, so that two comparisons find a key. */
#define FEW_KEYS		3

/*
 * FewKeys: the distinct keys found so far, numbered in the order in which
 * tiesort_find_key found them.  The caller must set all fields to 0 first.
 */
typedef struct FewKeys
{
	int			nkeys;
	int			order[FEW_KEYS];	/* key numbers, sorted by key */
	const char *images[FEW_KEYS];	/* first image with each key */
} FewKeys;

/*
 * tiesort_find_key adds an image's key if the key is new.  It returns the key's
 * number, or -1 if FEW_KEYS other keys exist.
 */
extern int	tiesort_find_key(FewKeys *keys, SortOrder *order,
							 const char *image);

/*
 * tiesort_few_keys orders n entries by their keys, and sets counts[] to the
 * number of entries with the first key, with the second key, and so on.
 * Entries with equal keys keep their order.  Returns the number of keys.  If
 * there are more than FEW_KEYS keys, returns 0 and leaves the entries
 * unchanged.
 */
extern int	tiesort_few_keys(const EntrySort *es, uint64 *entries, int64 n,
							 int64 *counts);

/*
 * tiesort orders n entries by their keys, or by the complete order if
 * 'keys_only' is false.  Returns true if it left entries with equal keys
 * unordered.
 */
extern bool tiesort(const EntrySort *es, uint64 *entries, int64 n,
					bool keys_only);

/* tiesort_group returns the number of leading entries with equal keys. */
extern int64 tiesort_group(const EntrySort *es, const uint64 *entries,
						   int64 n);

#endif							/* PTSORT_ENTRYSORT_H */
