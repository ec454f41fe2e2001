/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Put entries in memory into order.
 *
 * A radix sort orders the words (radix.c).  Entries with equal words are then
 * compared (tiesort.c or stringsort.c).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/entrysort.h"
#include "memory/radix.h"
#include "memory/stringsort.h"
#include "memory/tiesort.h"
#include "miscadmin.h"
#include "util.h"

static inline uint64 *
entry_at(const EntrySort *es, int64 i)
{
	return es->entries + i * es->stride;
}

/* Have the variant examine neighbours with equal words and inline images. */
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
prefetch_tie(const EntrySort *es, int64 i)
{
	uint64	   *entry = entry_at(es, i);

	if (!es->order->inline_image &&
		order_compare_words(entry, entry - es->stride, es->stride - 1) == 0)
	{
		pt_prefetch(entry_image(entry - es->stride, es->stride));
		pt_prefetch(entry_image(entry, es->stride));
	}
}

/* Find the groups of entries with equal words, and check or order each. */
static void
resolve_ties(EntrySort *es)
{
	int64		start = 0;

	for (int64 i = 1; i <= es->n; i++)
	{
		uint64	   *first = entry_at(es, start);
		uint64	   *entry = entry_at(es, i);

		if (i + ENTRIES_AHEAD < es->n)
			prefetch_tie(es, i + ENTRIES_AHEAD);
		if (i < es->n &&
			order_compare_words(entry, first, es->stride - 1) == 0)
			continue;
		if (i - start > 1)
		{
			if (es->order->inline_image)
				check_ties(es, first, i - start);
			else if (!es->order->has_strings ||
					 !stringsort(es->order, first, i - start, es->stride,
								 es->scratch, es->room))
				tiesort(es->order, first, i - start, es->stride, es->scratch,
						es->room);
		}
		start = i;
	}
}

/*
 * True if entries with equal words, which the radix sort has made neighbours,
 * need further work.  (Words that do not decide come first or last.)
 */
static inline bool
leaves_ties(const EntrySort *es)
{
	const SortOrder *order = es->order;

	if (order->inline_image)
		return order->own->check_equal != NULL;
	return !order->stable || !order_words_decide(order, entry_at(es, 0)) ||
		!order_words_decide(order, entry_at(es, es->n - 1));
}

/* Order the entries by their words, then those whose words are equal. */
static void
sort_by_words(EntrySort *es)
{
	SortOrder  *order = es->order;

	if (order->nwords > 0)
		radix_sort(es->entries, es->n, es->stride,
				   order->inline_image ? es->stride : es->stride - 1,
				   es->scratch, es->room);
	if (leaves_ties(es))
		resolve_ties(es);
}

/* True if the provider agrees with the words of two entries. */
static bool
spot_is_right(const EntrySort *es, const uint64 *a, const uint64 *b)
{
	return order_compare_words(a, b, es->stride - 1) == 0 ||
		order_spot_check(es->order, entry_image(a, es->stride),
						 entry_image(b, es->stride));
}

/*
 * Compare some neighbours by the provider of the collation.  If a group of many
 * entries is misplaced, few neighbours are in the wrong order; so each checked
 * entry is also compared with the one checked before it.
 */
static void
spot_check(const EntrySort *es)
{
	const uint64 *last = es->entries;

	for (int64 i = ORDER_SPOT_EVERY / 2; i < es->n; i += ORDER_SPOT_EVERY)
	{
		const uint64 *b = entry_at(es, i);
		const uint64 *a = b - es->stride;

		if (!spot_is_right(es, last, a) || !spot_is_right(es, a, b))
			return;
		last = b;
	}
}

/* entrysort: see entrysort.h. */
void
entrysort(EntrySort *es)
{
	Assert(!es->order->stable || es->order->inline_image || es->room >= es->n);
	sort_by_words(es);
	if (es->order->words_by_tables)
		spot_check(es);
}
