/*-------------------------------------------------------------------------
 *
 * memsort.h
 *	  Entries in memory: growth, accounting, and sorting.
 *
 *		ms = memsort_create(order, budget)
 *		while (memsort_put(ms, words, tuple, size)) ...		until it is full
 *		memsort_sort(ms); memsort_entry(ms, 0 .. ms->count - 1)
 *		memsort_reset(ms)									and again
 *
 * An entry is 'stride' words: those of the key (at least one, which is 0 if
 * the key has none), then the inline image or the address of the image.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MEMSORT_H
#define PTSORT_MEMSORT_H

#include "compat.h"

#include "sort/order.h"

/* Memory for images. */
typedef struct MemChunk
{
	char	   *start;
	Size		size;
} MemChunk;

/* MemSort: one sort's entries and their images. */
typedef struct MemSort
{
	uint64	   *entries;
	int			stride;			/* words of an entry, 2 or 3 */
	int64		count;
	int64		used;			/* bytes of entries, scratch and chunks */
	int64		peak;			/* the most that were used since the caller
								 * has set it to 'used' */

	/* private to memsort.c */
	SortOrder  *order;
	MemoryContext context;
	int64		capacity;		/* of entries */
	int64		budget;			/* for 'used' */
	int64		tuple_bytes;	/* of them, in images */
	MemChunk   *chunks;			/* memory for images */
	int			nchunks;
	int			maxchunks;
	int			filled;			/* chunks in use; the rest are empty */
	char	   *next;			/* free part of the chunk being filled */
	char	   *end;
} MemSort;

/*
 * How many entries ahead a reader of sorted entries asks for their images.
 * They are all over memory by then; this hides most of the latency.
 */
#define MEMSORT_AHEAD	8

extern MemSort *memsort_create(SortOrder *order, int64 budget);
extern bool memsort_put(MemSort *ms, const uint64 *words, const void *tuple,
						Size size);
extern void memsort_set_budget(MemSort *ms, int64 budget);
extern int64 memsort_allocated(const MemSort *ms);
extern void memsort_sort(MemSort *ms);
extern void memsort_reset(MemSort *ms);
extern void memsort_free(MemSort *ms);

/* memsort_entry returns the i-th entry. */
static inline uint64 *
memsort_entry(const MemSort *ms, int64 i)
{
	return ms->entries + i * ms->stride;
}

/* memsort_tuple returns the image of an entry. */
static inline char *
memsort_tuple(const MemSort *ms, uint64 *entry)
{
	uint64	   *last = entry + ms->stride - 1;

	return ms->order->inline_image ? (char *) last : (char *) (uintptr_t) *last;
}

/* memsort_ahead returns the image some entries after the i-th, to prefetch. */
static inline const char *
memsort_ahead(const MemSort *ms, int64 i)
{
	i = Min(i + MEMSORT_AHEAD, ms->count - 1);
	return memsort_tuple(ms, memsort_entry(ms, i));
}

#endif							/* PTSORT_MEMSORT_H */
