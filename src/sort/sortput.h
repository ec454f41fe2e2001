/*-------------------------------------------------------------------------
 *
 * sortput.h
 *	  Filling a sort: tuples in memory, and initial runs when it is full.
 *
 * sort_put is ptsort_put, sort_reserve and sort_commit are ptsort_reserve and
 * ptsort_commit.  sort_reserve may make the key learn, so a caller whose key
 * learns makes the words after calling it.
 *
 * ptsort's own variants call sort_place, sort_add and sort_put_entry, which do
 * the same.  While a tuple only has to be added to memory these run inline, so
 * that a tuple costs little more than copying it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTPUT_H
#define PTSORT_SORTPUT_H

#include "compat.h"

#include "debug.h"
#include "sort/sortstate.h"

/*
 * sort_begin_putting prepares for tuples to be put, for the first time or
 * again; then it frees the memory that the previous ones used, if it was much.
 */
extern void sort_begin_putting(PtSort *sort);

extern void sort_put(PtSort *sort, const void *tuple, Size size,
					 const uint64 *words);
extern void *sort_reserve(PtSort *sort, Size size);
extern void sort_commit(PtSort *sort, const uint64 *words);

/* sort_note_put trims or learns if enough tuples are in memory for that. */
extern void sort_note_put(PtSort *sort);

/* sort_must_spill: true if a debug setting makes the sort write a run now. */
static inline bool
sort_must_spill(const PtSort *sort)
{
	return unlikely(ptsort_debug.spill_entries > 0 &&
					sort->memsort->count >= ptsort_debug.spill_entries);
}

/* True if a tuple only has to be added to memory. */
static inline bool
sort_just_fills(const PtSort *sort)
{
	return likely(sort->phase == PHASE_PUTTING && sort->memsort != NULL &&
				  !sort->last_known && !sort_must_spill(sort));
}

/* Count a tuple that was just added to memory. */
static inline void
sort_count_put(PtSort *sort)
{
	int64		count = sort->memsort->count;

	sort->stats.tuples++;
	if (unlikely(count >= sort->trim_at ||
				 (sort->learning && count >= sort->learn_at)))
		sort_note_put(sort);
}

/*
 * sort_next_place returns the address of the next image, which is not inline,
 * if memory has room for 'most' bytes without growing; else NULL.  It reserves
 * nothing: a caller that makes an image there then calls sort_add_next, or
 * sort_place with the image's size.
 */
static inline void *
sort_next_place(PtSort *sort, Size most)
{
	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, most))
		return sort->memsort->next;
	return NULL;
}

/*
 * sort_add_next adds the image that was made at sort_next_place, if the sort
 * was not called since.
 */
static inline void
sort_add_next(PtSort *sort, Size size, const uint64 *words)
{
	memsort_add_next(sort->memsort, size, words);
	sort_count_put(sort);
}

/* sort_place is sort_reserve for an image of at least 8 bytes. */
static inline void *
sort_place(PtSort *sort, Size size)
{
	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, size))
		return memsort_reserve(sort->memsort, size);
	return sort_reserve(sort, size);
}

/* sort_add is sort_commit; not for inline images. */
static inline void
sort_add(PtSort *sort, const uint64 *words)
{
	if (sort_just_fills(sort) && sort->memsort->reserved != NULL)
	{
		memsort_commit(sort->memsort, words);
		sort_count_put(sort);
	}
	else
		sort_commit(sort, words);
}

/* sort_put_entry is sort_put of an inline image, which follows its words. */
static inline void
sort_put_entry(PtSort *sort, const uint64 *entry)
{
	int			nwords = sort->order.nwords;

	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, 0))
	{
		memsort_add(sort->memsort, entry, entry[nwords]);
		sort_count_put(sort);
	}
	else
		sort_put(sort, &entry[nwords], sizeof(uint64), entry);
}

/*
 * sort_entries_in_memory sorts the tuples in memory.  A key that is learning
 * ends learning first, unless these are all tuples and are in order.
 */
extern void sort_entries_in_memory(PtSort *sort);

/*
 * sort_end_runs writes the tuples in memory, ends the last initial run, frees
 * the memory of the entries and joins runs that do not overlap.
 */
extern void sort_end_runs(PtSort *sort);

#endif							/* PTSORT_SORTPUT_H */
