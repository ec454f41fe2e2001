/*-------------------------------------------------------------------------
 *
 * memsort.h
 *	  Entries in memory: growth and accounting.
 *
 *		ms = memsort_create(order, budget)
 *		while (place = memsort_reserve(ms, size))			until ms is full
 *			make the image in place; memsort_commit(ms, words)
 *		memsort_sort(ms); memsort_entry(ms, 0 .. ms->count - 1)
 *		memsort_reset(ms)									start again
 *
 * An entry is 'stride' words: the words of the key, then the inline image or
 * the address of the image.  If the key has no words, the entry begins with 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MEMSORT_H
#define PTSORT_MEMSORT_H

#include "compat.h"

#include "memory/entrysort.h"
#include "order/order.h"
#include "util.h"

/* MemChunk: memory for images. */
typedef struct MemChunk
{
	char	   *start;			/* MAXALIGNed */
	Size		size;
} MemChunk;

/* MemSort: entries and images of one sort. */
typedef struct MemSort
{
	uint64	   *entries;
	int			stride;			/* number of words of an entry, 2 or 3 */
	int64		count;
	int64		peak;			/* highest value of memsort_used since the
								 * caller last set 'peak' */

	/* private to memsort.c */
	SortOrder  *order;
	MemoryContext context;
	int64		room;			/* capacity of 'entries' in entries, without
								 * the scratch */
	int64		budget;			/* limit of memsort_used */
	Size		chunk_size;		/* maximum size of a chunk for many tuples */
	int64		tuple_bytes;	/* total size of images */
	int64		chunk_bytes;	/* total size of chunks */
	MemChunk   *chunks;
	int			nchunks;
	int			maxchunks;
	int			filled;			/* chunks in use; later chunks are empty */
	OrderPlace *places;			/* stable sorts: chunks sorted by address */
	char	   *next;			/* free part of the chunk being filled */
	char	   *end;

	/* the last reservation, until memsort_commit */
	char	   *reserved;		/* NULL: none */
	Size		reserved_bytes;
	uint64		reserved_inline;	/* place for an inline image */

	Size		first_read;		/* number of bytes of an image to prefetch
								 * before a read; set by memsort_sort */
} MemSort;

/* memsort_create makes an empty MemSort that holds at most 'budget' bytes. */
extern MemSort *memsort_create(SortOrder *order, int64 budget);

/*
 * memsort_set_budget changes the budget.  An empty MemSort frees memory beyond
 * the new budget.
 */
extern void memsort_set_budget(MemSort *ms, int64 budget);

/*
 * memsort_used returns the total size of the entries, of the scratch that the
 * MemSort sets aside, and of the chunks.
 */
extern int64 memsort_used(const MemSort *ms);

/* memsort_allocated returns the number of bytes that a MemSort allocated. */
extern int64 memsort_allocated(const MemSort *ms);

/* memsort_tuple_cost returns the mean size of a tuple, including its entry. */
extern int64 memsort_tuple_cost(const MemSort *ms);

/*
 * memsort_narrow drops the second word of all entries.  ms->order->nwords must
 * already be 1.
 */
extern void memsort_narrow(MemSort *ms);

extern void memsort_sort(MemSort *ms);

/*
 * memsort_compact frees the images of entries that the caller removed, and
 * restores the input order of the remaining entries.
 */
extern void memsort_compact(MemSort *ms);

extern bool memsort_is_small(const MemSort *ms);

/*
 * memsort_reset removes all entries.  It keeps their memory for later entries,
 * except chunks of single large tuples.
 */
extern void memsort_reset(MemSort *ms);
extern void memsort_free(MemSort *ms);

/*
 * memsort_put_inline adds an entry with an inline image.  It returns false and
 * adds nothing if the budget does not allow the entry; the first tuple always
 * fits.
 */
extern bool memsort_put_inline(MemSort *ms, const uint64 *words, uint64 image);

/* private to the functions below */
extern char *memsort_reserve_slowly(MemSort *ms, Size need);

static inline uint64 *
memsort_entry(const MemSort *ms, int64 i)
{
	return ms->entries + i * ms->stride;
}

/* memsort_add adds an entry.  The caller must ensure that there is room. */
static inline void
memsort_add(MemSort *ms, const uint64 *words, uint64 last)
{
	uint64	   *entry = memsort_entry(ms, ms->count++);

	entry[0] = ms->order->nwords > 0 ? words[0] : 0;
	if (ms->stride > 2)
		entry[1] = words[1];
	entry[ms->stride - 1] = last;
}

/*
 * memsort_has_room returns true if the allocated memory has room for another
 * entry and an image of 'size' bytes (0 for inline images).
 */
static inline bool
memsort_has_room(const MemSort *ms, Size size)
{
	return likely(ms->count < ms->room &&
				  ms->end - ms->next >= (ptrdiff_t) MAXALIGN(size));
}

/* memsort_add_next adds an image that the caller made at ms->next. */
static inline void
memsort_add_next(MemSort *ms, Size size, const uint64 *words)
{
	char	   *place = ms->next;

	Assert(memsort_has_room(ms, size));
	ms->reserved = NULL;
	ms->next += MAXALIGN(size);
	ms->tuple_bytes += MAXALIGN(size);
	memsort_add(ms, words, (uint64) (uintptr_t) place);
}

/*
 * memsort_reserve returns a MAXALIGNed place for an image of 'size' bytes.  The
 * image has no entry until memsort_commit, and the next reservation discards an
 * image without an entry.  Returns NULL if the budget does not allow the
 * image; the first tuple always fits.
 */
static inline char *
memsort_reserve(MemSort *ms, Size size)
{
	Size		need = MAXALIGN(size);

	if (!memsort_has_room(ms, size))
		return memsort_reserve_slowly(ms, need);
	ms->reserved = ms->next;
	ms->reserved_bytes = need;
	return ms->reserved;
}

/* memsort_commit adds an entry for the image in the reserved place. */
static inline void
memsort_commit(MemSort *ms, const uint64 *words)
{
	Assert(ms->reserved != NULL);
	Assert(ms->order->inline_image ||
		   MAXALIGN(order_size(ms->order, ms->reserved)) == ms->reserved_bytes);
	if (unlikely(ms->reserved == (char *) &ms->reserved_inline))
	{
		ms->reserved = NULL;
		memsort_add(ms, words, ms->reserved_inline);
		return;
	}
	memsort_add_next(ms, ms->reserved_bytes, words);
}

static inline char *
memsort_tuple(const MemSort *ms, uint64 *entry)
{
	uint64	   *last = entry + ms->stride - 1;

	return ms->order->inline_image ? (char *) last : (char *) (uintptr_t) *last;
}

/* memsort_ahead returns the image of the entry ENTRIES_AHEAD after the i-th. */
static inline const char *
memsort_ahead(const MemSort *ms, int64 i)
{
	i = Min(i + ENTRIES_AHEAD, ms->count - 1);
	return memsort_tuple(ms, memsort_entry(ms, i));
}

/*
 * memsort_prefetch prefetches the first 'bytes' bytes of the image that
 * memsort_ahead returns.  The loop can miss the last byte's cache line if the
 * image begins within a line.  util.h explains why pt_prefetch is a macro.
 */
#define memsort_prefetch(ms, i, bytes) \
	do { \
		const char *ahead_ = memsort_ahead(ms, i); \
		for (Size at_ = 0; at_ < (bytes); at_ += CACHE_LINE) \
			pt_prefetch(ahead_ + at_); \
		pt_prefetch(ahead_ + (bytes) - 1); \
	} while (0)

/*
 * Upper limit of first_read: a caller that gets a tuple usually reads at most
 * 2 * CACHE_LINE bytes of the image immediately.
 */
#define MEMSORT_FIRST_READ	(2 * CACHE_LINE)

#endif							/* PTSORT_MEMSORT_H */
