/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorts entries in memory.
 *
 * radix.c sorts the entries by their words.  bytesort.c then sorts each group
 * of entries with equal words.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/bytesort.h"
#include "memory/entrysort.h"
#include "memory/radix.h"
#include "miscadmin.h"
#include "util.h"

/* For inline images: call check_equal for neighbours with equal words. */
static void
check_ties(const EntrySort *es, uint64 *entries, int64 n)
{
	for (int64 i = 1; i < n; i++)
	{
		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		(void) order_compare_entries(es->order,
									 entries + (i - 1) * es->stride,
									 entries + i * es->stride);
	}
}

/* Prefetch the images of two neighbours if their words are equal. */
static inline void
prefetch_tie(const EntrySort *es, const uint64 *entry)
{
	const uint64 *before = entry - es->stride;

	if (!es->order->inline_image &&
		order_compare_words(entry, before, es->stride - 1) == 0)
	{
		pt_prefetch(entry_image(before, es->stride));
		pt_prefetch(entry_image(entry, es->stride));
	}
}

/* Find the groups of entries with equal words; check or order each group. */
static void
resolve_ties(const EntrySort *es, uint64 *entries, int64 n)
{
	int64		start = 0;

	for (int64 i = 1; i <= n; i++)
	{
		uint64	   *first = entries + start * es->stride;
		uint64	   *entry = entries + i * es->stride;

		if (i + ENTRIES_AHEAD < n)
			prefetch_tie(es, entry + ENTRIES_AHEAD * es->stride);
		if (i < n && order_compare_words(entry, first, es->stride - 1) == 0)
			continue;
		if (i - start > 1 && es->order->inline_image)
			check_ties(es, first, i - start);
		else if (i - start > 1)
			bytesort(es, first, i - start);
		start = i;
	}
}

/*
 * True if entries with equal words need further work after the radix sort.
 * Checking the first and the last entry suffices: words that leave tuples
 * undecided come first or last (see words_unless).
 */
static inline bool
leaves_ties(const EntrySort *es, const uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;

	if (order->inline_image)
		return order->own->check_equal != NULL;
	return !order->stable || !order_words_decide(order, entries) ||
		!order_words_decide(order, entries + (n - 1) * es->stride);
}

/* True if the collation's provider agrees with the words of two entries. */
static bool
spot_is_right(const EntrySort *es, const uint64 *a, const uint64 *b)
{
	return order_compare_words(a, b, es->stride - 1) == 0 ||
		order_spot_check(es->order, entry_image(a, es->stride),
						 entry_image(b, es->stride));
}

/*
 * Let the collation's provider compare some neighbours.  If a large group of
 * entries is misplaced, only a few neighbours are out of order.  So spot_check
 * also compares each pair's first entry with the previous pair's last entry.
 */
static void
spot_check(const EntrySort *es, const uint64 *entries, int64 n)
{
	const uint64 *last = entries;

	for (int64 i = TEXT_SPOT_EVERY / 2; i < n; i += TEXT_SPOT_EVERY)
	{
		const uint64 *b = entries + i * es->stride;
		const uint64 *a = b - es->stride;

		if (!spot_is_right(es, last, a) || !spot_is_right(es, a, b))
			return;
		last = b;
	}
}

void
entrysort(const EntrySort *es, uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;

	Assert(!order->stable || order->inline_image || es->room >= n);
	if (order->nwords > 0)
		radix_sort(entries, n, es->stride,
				   order->inline_image ? es->stride : es->stride - 1,
				   es->scratch, es->room);
	if (leaves_ties(es, entries, n))
		resolve_ties(es, entries, n);
	if (order->words_by_tables)
		spot_check(es, entries, n);
}
