/*-------------------------------------------------------------------------
 *
 * sortread.h
 *	  Reading the result of a sort.
 *
 * The functions are those of the two public headers, with prefix sort_, and
 * sort_next for ptsort's own variants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTREAD_H
#define PTSORT_SORTREAD_H

#include "compat.h"

#include "sort/sortstate.h"

extern const void *sort_get(PtSort *sort, bool forward, Size *size);
extern const uint64 *sort_get_entries(PtSort *sort, int *n);

/*
 * sort_get_entry is ptsort_get for inline images; it returns the entry, that is
 * the words and the image after them.
 */
extern const uint64 *sort_get_entry(PtSort *sort, bool forward);

extern bool sort_next_slice(PtSort *sort, int *slice);
extern int64 sort_slice_start(PtSort *sort);
extern void sort_rescan(PtSort *sort);
extern void sort_mark(PtSort *sort);
extern void sort_restore(PtSort *sort);

/* memory_next returns the next entry in memory; NULL if there is none. */
static inline uint64 *
memory_next(PtSort *sort)
{
	const MemSort *ms = sort->memsort;

	if (unlikely(sort->phase != PHASE_MEMORY ||
				 sort->position.before >= ms->count))
		return NULL;
	sort->returned++;
	return memsort_entry(ms, sort->position.before++);
}

/* sort_next is sort_get, for images that are not inline. */
static inline const void *
sort_next(PtSort *sort, bool forward)
{
	uint64	   *entry = likely(forward) ? memory_next(sort) : NULL;
	Size		size;

	if (unlikely(entry == NULL))
		return sort_get(sort, forward, &size);
	memsort_prefetch(sort->memsort, sort->position.before,
					 sort->memsort->first_read);
	return memsort_tuple(sort->memsort, entry);
}

/* sort_next_entry is sort_get_entry. */
static inline const uint64 *
sort_next_entry(PtSort *sort, bool forward)
{
	const uint64 *entry = likely(forward) ? memory_next(sort) : NULL;

	return likely(entry != NULL) ? entry : sort_get_entry(sort, forward);
}

#endif							/* PTSORT_SORTREAD_H */
