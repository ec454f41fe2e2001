/*-------------------------------------------------------------------------
 *
 * bounded.c
 *	  Sorts with a bound: the caller wants only the first tuples.
 *
 * The sort collects, in memory, twice as many tuples as the bound, sorts them
 * and drops the tuples beyond the bound.  From then on it compares each new
 * tuple with the last tuple within the bound.  If the new tuple comes later,
 * the sort drops it before copying it.  Words that are cheap to make nearly
 * always decide this comparison.  If words are expensive (words of a learned
 * code, or ICU sort keys), the sort compares values and makes words only for
 * the tuples that it keeps.  The server's heapsort copies every tuple before
 * comparing it.  For each tuple that enters the heap, the server makes more
 * comparisons than ptsort.
 *
 * If the tuples within the bound do not fit in memory, the sort spills like any
 * other sort, but no run has more tuples than the bound.  After the first run
 * with 'bound' tuples, the sort knows the last tuple within the bound.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/key.h"
#include "sort/tuplesort.h"

/*
 * The sort trims (drops tuples beyond the bound) only if there are at least
 * LEAST_MORE.  If memory is full, the larger of LEAST_MORE / 2 and 1 /
 * TRIM_PART of the bound is enough.  With fewer tuples the sort would trim too
 * often.
 */
#define LEAST_MORE		128
#define TRIM_PART		4

/* Free the copy of the last tuple within the bound. */
static void
free_last(PtSort *sort)
{
	if (sort->last)
		pfree(sort->last);
	sort->last = NULL;
}

void
bounded_begin(PtSort *sort)
{
	int64		bound = sort->options.bound;

	sort->last_known = false;
	sort->trimmed = false;
	sort->trim_at = PG_INT64_MAX;
	if (bound > 0 && bound < PG_INT64_MAX / 2)
		sort->trim_at = bound + Max(bound, LEAST_MORE);
	free_last(sort);
}

bool
bounded_refuses(PtSort *sort, const uint64 *words, const void *tuple)
{
	SortOrder  *order = &sort->order;
	int			cmp;

	if (!sort->last_known)
		return false;
	cmp = order_compare_words(words, sort->last_words, order->nwords);
	if (cmp < 0)
		return false;
	if (cmp == 0)
	{
		/* the caller put 'last' earlier, so an equal tuple comes later */
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

bool
bounded_drops(PtSort *sort, const Datum *values, const bool *isnull)
{
	SortOrder  *order = &sort->order;
	uint64		words[KEY_ENTRY_WORDS];
	int			cmp = 0;

	if (sort->last_by_words)
	{
		key_words(sort->key, values, isnull, words);
		cmp = order_compare_words(words, sort->last_words, order->nwords);
	}
	if (cmp == 0)
	{
		order->comparisons++;
		cmp = order->own->compare_values(values, isnull, sort->last,
										 order->state);
	}

	/* unless the sort is stable, bytes decide between equal tuples */
	if (cmp < 0 || (cmp == 0 && !order->stable))
		return false;
	sort->trimmed = true;
	sort->stats.tuples++;
	return true;
}

/* Copy an entry as the last tuple within the bound. */
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
	free_last(sort);
	sort->last = MemoryContextAllocHuge(sort->context, size);
	memcpy(sort->last, tuple, size);
}

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

bool
bounded_pays(const PtSort *sort)
{
	int64		bound = sort->options.bound;

	return bound > 0 &&
		sort->memsort->count - bound >= Max(bound / TRIM_PART, LEAST_MORE / 2);
}
