/*-------------------------------------------------------------------------
 *
 * bounded.c
 *	  Sorts of which only the first tuples are wanted.
 *
 * Tuples are collected until there are twice as many in memory as are wanted;
 * then they are sorted, and those that are not wanted are forgotten.  From then
 * on the last one that is left is a bound: a tuple that comes after it is
 * dropped before it is copied.  Where words are true and made quickly they
 * nearly always decide that; else one comparison does, and no way to select
 * tuples can do with less.  (Words by a learned code take 1.5 to 4 times as
 * long as a comparison of two strings does, the server's sort keys of ICU 10
 * times.)  Then only the tuples that are kept get words, to be sorted by.  The
 * server's way, a heap, costs a comparison of a whole tuple and a copy of it
 * for each, and more for each that gets into the heap.
 *
 * If the tuples that are wanted do not fit in memory the sort goes on as any
 * other, but no run has more of them than are wanted, so a bound is known from
 * the first run on that has as many.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/key.h"
#include "sort/bounded.h"

/* Even if few are wanted, there are this many more when they are sorted. */
#define LEAST_MORE		128

/*
 * When memory is full, what is not wanted must be at least so many, and this
 * part of what is, or they would be sorted too often.
 */
#define TRIM_LEAST		64
#define TRIM_PART		4

/* A larger copy of the bound is not kept for the tuples after a reset. */
#define LAST_KEEP		8192

/* bounded_begin: see bounded.h. */
void
bounded_begin(PtSort *sort)
{
	int64		bound = sort->options.bound;

	sort->last_known = false;
	sort->trimmed = false;
	sort->trim_at = PG_INT64_MAX;
	if (bound > 0 && bound < PG_INT64_MAX / 2)
		sort->trim_at = bound + Max(bound, LEAST_MORE);
	if (sort->last_room > LAST_KEEP)
	{
		pfree(sort->last);
		sort->last = NULL;
		sort->last_room = 0;
	}
}

/* The order of a tuple's words and those of the bound. */
static inline int
compare_words(const PtSort *sort, const uint64 *words)
{
	return order_compare_words(words, sort->last_words, sort->order.nwords);
}

/* bounded_refuses: see bounded.h. */
bool
bounded_refuses(PtSort *sort, const uint64 *words, const void *tuple)
{
	SortOrder  *order = &sort->order;
	int			cmp;

	if (!sort->last_known)
		return false;
	cmp = compare_words(sort, words);
	if (cmp < 0)
		return false;
	if (cmp == 0)
	{
		/* of equal tuples, the one that was put first comes first */
		if (order->inline_image)
			cmp = *(const uint64 *) tuple >= sort->last_words[order->nwords];
		else
			cmp = order_compare_tuples(order, tuple, sort->last) >= 0;
		if (cmp == 0)
			return false;
	}
	sort->trimmed = true;
	return true;
}

/* bounded_drops_value: see bounded.h. */
bool
bounded_drops_value(PtSort *sort, const Datum *values, const bool *isnull)
{
	SortOrder  *order = &sort->order;
	int			cmp;

	if (order->own->compare_values == NULL)
		return false;
	order->comparisons++;
	cmp = order->own->compare_values(values, isnull, sort->last, order->state);

	/* without stability, bytes decide between equal ones */
	if (cmp < 0 || (cmp == 0 && !order->stable))
		return false;
	sort->trimmed = true;
	sort->stats.tuples++;
	return true;
}

/* Keep a copy of an entry as the bound. */
static void
set_last(PtSort *sort, int64 i)
{
	const SortOrder *order = &sort->order;
	uint64	   *entry = memsort_entry(sort->memsort, i);
	const char *tuple = memsort_tuple(sort->memsort, entry);
	Size		size = order_size(order, tuple);

	memcpy(sort->last_words, entry, order->nwords * sizeof(uint64));
	sort->last_known = true;
	sort->last_by_words = sort->key == NULL || key_words_are_quick(sort->key);
	if (order->inline_image)
	{
		sort->last_words[order->nwords] = *(const uint64 *) tuple;
		return;
	}
	if (size > sort->last_room)
	{
		if (sort->last)
			pfree(sort->last);
		sort->last = NULL;
		sort->last_room = 0;
		sort->last = MemoryContextAllocHuge(sort->context, size);
		sort->last_room = size;
	}
	memcpy(sort->last, tuple, size);
}

/* bounded_cut: see bounded.h. */
void
bounded_cut(PtSort *sort)
{
	int64		bound = sort->options.bound;

	if (bound <= 0 || sort->memsort->count < bound)
		return;
	set_last(sort, bound - 1);
	sort->trimmed |= sort->memsort->count > bound;
	sort->memsort->count = bound;
}

/* bounded_pays: see bounded.h. */
bool
bounded_pays(const PtSort *sort)
{
	int64		bound = sort->options.bound;

	return bound > 0 &&
		sort->memsort->count - bound >= Max(bound / TRIM_PART, TRIM_LEAST);
}
