/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Put entries in memory into order.
 *
 * Words are sorted by radix (radix.c).  Then entries with equal words are
 * compared (tiesort.c, or stringsort.c), and where words are only hints all
 * neighbours are (repair.c).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "miscadmin.h"
#include "sort/entrysort.h"
#include "sort/radix.h"
#include "sort/repair.h"
#include "sort/stringsort.h"
#include "sort/tiesort.h"
#include "util.h"

/* Neighbours to look at between two checks for interrupts. */
#define CHECK_INTERVAL	100000

/* Hints are good if less than one in so many was wrong. */
#define GOOD_HINTS		10

static inline uint64 *
entry_at(const EntrySort *es, int64 i)
{
	return es->entries + i * es->stride;
}

/* Let the variant look at neighbours with equal words and inline images. */
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

/* Ask for the images of two neighbours, if their words are equal. */
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

/* Find the groups of entries with equal words; check or order each. */
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

/* Make all words equal, so that comparison decides everything. */
static void
forget_words(EntrySort *es)
{
	for (int64 i = 0; i < es->n; i++)
		memset(entry_at(es, i), 0, (es->stride - 1) * sizeof(uint64));
}

/* Verify what hints have made of the entries. */
static void
repair(EntrySort *es)
{
	int64		wrong = repair_order(es->order, es->entries, es->n,
									 es->stride, es->scratch);

	order_wrong_hints(es->order, wrong);
	es->hints_are_good = wrong < es->n / GOOD_HINTS;
}

/*
 * Is anything left to do for entries with equal words, which a radix sort has
 * put into order?  (Words that do not decide come first or last.)
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

/*
 * Is there scratch enough for a repair?  Not where hints were proved to be
 * right, and are not.
 */
static bool
can_repair(const EntrySort *es)
{
	return es->room >= es->n;
}

/* Is it better not to use hints at all? */
static bool
is_hopeless(EntrySort *es)
{
	if (!can_repair(es))
		return true;
	return !es->hints_are_good &&
		repair_is_hopeless(es->order, es->entries, es->n, es->stride,
						   es->scratch);
}

/* Order the entries by their words, then those that these leave equal. */
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

/* Order the entries by comparison. */
static void
sort_without_words(EntrySort *es)
{
	forget_words(es);
	order_wrong_hints(es->order, es->n);
	resolve_ties(es);
}

/* entrysort: see entrysort.h. */
void
entrysort(EntrySort *es)
{
	SortOrder  *order = es->order;

	Assert(!order->stable || order->inline_image || es->room >= es->n);
	if (!order_trusts_words(order) && is_hopeless(es))
	{
		sort_without_words(es);
		return;
	}
	sort_by_words(es);
	if (order_hopes(order))
		repair_spot_check(order, es->entries, es->n, es->stride);
	if (order_trusts_words(order))
		return;
	if (can_repair(es))
		repair(es);
	else
		sort_without_words(es);
}
