/*-------------------------------------------------------------------------
 *
 * memsort.c
 *	  Entries in memory: growth and accounting.
 *
 * All entries are in one array that grows.  Growing a large array copies
 * nothing, because the C library remaps it.  Tuples are in chunks; memsort
 * fills each chunk from its start.  It never frees single tuples, so a tuple
 * costs its size, one entry, and as much scratch.  When the budget is used up,
 * memsort_reserve returns NULL and the caller writes a run.
 *
 * The budget here is the memory that the rest of the sort (sort_other_memory)
 * leaves for entries.  The scratch of the radix sort is as large as the
 * entries, and follows them in the same array.
 *
 * memsort fills chunks strictly in the order of their list, so the places of
 * tuples show the order in which the caller put the tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/mman.h>
#include <unistd.h>

#include "debug.h"
#include "memory/memsort.h"
#include "miscadmin.h"
#include "util.h"
#include "utils/memutils.h"

/*
 * The keeper block of the memory context has room for the MemSort, the first
 * entries and the first chunk, so a sort of few tuples needs no other block.
 */
#define FIRST_ENTRIES	RADIX_FEW_ENTRIES
#define FIRST_CHUNK		(MIN_CHUNK / 8)

#define MIN_ENTRIES		1024
#define MIN_CHUNK		(32 * 1024)

/*
 * Maximum size of a chunk, except of a chunk for a single tuple.  An array or
 * chunk of at least this size gets large pages.
 */
#define MUCH_MEMORY		(4 * 1024 * 1024)

/*
 * Ask for large pages: the kernel clears a large page faster than the same
 * memory in small pages, the radix sort writes all over the array of entries,
 * and the caller reads sorted tuples all over the chunks.  The advice includes
 * the pages at both ends, because a block with a mapping of its own must remain
 * one mapping; otherwise the C library would grow the block by copying instead
 * of remapping.
 */
static void
want_large_pages(void *start, Size size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	page = getpagesize();
	uintptr_t	from = TYPEALIGN_DOWN(page, (uintptr_t) start);

	if (size >= MUCH_MEMORY)
		(void) madvise((void *) from,
					   TYPEALIGN(page, (uintptr_t) start + size) - from,
					   MADV_HUGEPAGE);
#endif
}

/* Returns the size of an entry plus the size of its part of the scratch. */
static int64
entry_cost(const MemSort *ms)
{
	return 2 * ms->stride * sizeof(uint64);
}

int64
memsort_tuple_cost(const MemSort *ms)
{
	return entry_cost(ms) + ms->tuple_bytes / Max(ms->count, 1);
}

int64
memsort_used(const MemSort *ms)
{
	return ms->room * entry_cost(ms) + ms->chunk_bytes;
}

/* Record the memory in use plus 'extra' bytes, if the sum is a new peak. */
static void
note_peak(MemSort *ms, int64 extra)
{
	ms->peak = Max(ms->peak, memsort_used(ms) + extra);
}

/* Returns the number of bytes that sorting uses besides the scratch. */
static int64
sort_memory(const MemSort *ms)
{
	return ms->order->nwords > 0 ? RADIX_MEMORY : 0;
}

MemSort *
memsort_create(SortOrder *order, int64 budget)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort entries",
												  ALLOCSET_DEFAULT_MINSIZE,
												  ALLOCSET_DEFAULT_INITSIZE,
												  ALLOCSET_DEFAULT_INITSIZE);
	MemSort    *ms = MemoryContextAllocZero(context, sizeof(MemSort));

	ms->order = order;
	ms->stride = Max(order->nwords, 1) + 1;
	ms->context = context;
	ms->first_read = MEMSORT_FIRST_READ;
	ms->room = FIRST_ENTRIES;
	ms->entries = MemoryContextAlloc(context, ms->room * entry_cost(ms));
	ms->maxchunks = 16;
	ms->chunks = MemoryContextAlloc(context,
									ms->maxchunks * sizeof(MemChunk));
	memsort_set_budget(ms, budget);
	return ms;
}

int64
memsort_allocated(const MemSort *ms)
{
	return MemoryContextMemAllocated(ms->context, true);
}

/* Resize the array of entries for 'room' entries and their scratch. */
static void
resize_entries(MemSort *ms, int64 room)
{
	Size		size = room * entry_cost(ms);

	ms->entries = repalloc_huge(ms->entries, size);
	want_large_pages(ms->entries, size);
	ms->room = room;
	note_peak(ms, 0);
}

/*
 * Make room for another entry.  The array doubles while the budget allows it.
 * When the budget is too small for doubling, the array grows once more, by the
 * number of tuples of mean size that the rest of the budget can hold.
 */
static bool
grow_entries(MemSort *ms)
{
	int64		rest = ms->budget - memsort_used(ms) + (ms->end - ms->next);
	int64		more = Min(ms->room, rest / memsort_tuple_cost(ms));

	if (ms->room < MIN_ENTRIES)
		more = ms->room;		/* the doubled array is still small */
	else if (more < MIN_ENTRIES / 8 && ms->count > 0)
		return false;
	resize_entries(ms, ms->room + Max(more, 1));
	return true;
}

/* Free an empty chunk; the last chunk of the list takes its place. */
static void
drop_chunk(MemSort *ms, int i)
{
	ms->chunk_bytes -= ms->chunks[i].size;
	pfree(ms->chunks[i].start);
	ms->chunks[i] = ms->chunks[--ms->nchunks];
}

/*
 * Append a new chunk.  If the budget is too small, free empty chunks first.
 * Returns false if the budget still does not allow the new chunk.
 */
static bool
add_chunk(MemSort *ms, Size size)
{
	MemChunk   *chunk;

	while (memsort_used(ms) + (int64) size > ms->budget &&
		   ms->nchunks > ms->filled)
		drop_chunk(ms, ms->nchunks - 1);
	if (memsort_used(ms) + (int64) size > ms->budget && ms->count > 0)
		return false;
	if (ms->nchunks == ms->maxchunks)
	{
		ms->maxchunks *= 2;
		ms->chunks = repalloc(ms->chunks, ms->maxchunks * sizeof(MemChunk));
	}
	chunk = &ms->chunks[ms->nchunks];
	chunk->start = MemoryContextAllocHuge(ms->context, size);
	want_large_pages(chunk->start, size);
	chunk->size = size;
	ms->nchunks++;
	ms->chunk_bytes += size;
	note_peak(ms, 0);
	return true;
}

/* Begin to fill the first empty chunk. */
static void
fill_chunk(MemSort *ms)
{
	const MemChunk *chunk = &ms->chunks[ms->filled++];

	ms->next = chunk->start;
	ms->end = chunk->start + chunk->size;
}

/* Forget all images; afterwards all chunks are empty. */
static void
forget_images(MemSort *ms)
{
	ms->filled = 0;
	ms->next = ms->end = ms->reserved = NULL;
	ms->tuple_bytes = 0;
}

void
memsort_set_budget(MemSort *ms, int64 budget)
{
	int64		excess;

	ms->budget = budget - sort_memory(ms);
	ms->chunk_size = Max(MIN_CHUNK, Min(MUCH_MEMORY, ms->budget / 32));
	note_peak(ms, 0);
	if (ms->count > 0)
		return;
	Assert(ms->filled == 0);
	while (memsort_used(ms) > ms->budget && ms->nchunks > 0)
		drop_chunk(ms, ms->nchunks - 1);
	excess = (memsort_used(ms) - ms->budget) / entry_cost(ms);
	excess = Min(excess, ms->room - MIN_ENTRIES);
	if (excess > 0)
		resize_entries(ms, ms->room - excess);
}

void
memsort_narrow(MemSort *ms)
{
	int64		allocated = ms->room * entry_cost(ms);
	int			stride = ms->stride;

	Assert(ms->order->nwords == 1 && !ms->order->inline_image);
	ms->stride = 2;
	for (int64 i = 0; i < ms->count; i++)
	{
		const uint64 *wide = ms->entries + i * stride;
		uint64		word = wide[0];
		uint64		place = wide[stride - 1];

		memsort_entry(ms, i)[0] = word;
		memsort_entry(ms, i)[1] = place;
	}
	ms->room = allocated / entry_cost(ms);
}

/*
 * Start the next chunk, for a tuple of 'need' bytes and later tuples.  Returns
 * false if the budget does not allow a new chunk.
 */
static bool
next_chunk(MemSort *ms, Size need)
{
	/* a chunk that held only a reservation is empty again */
	if (ms->filled > 0 && ms->next == ms->chunks[ms->filled - 1].start)
	{
		ms->filled--;
		ms->next = ms->end = NULL;
	}
	while (ms->filled < ms->nchunks && ms->chunks[ms->filled].size < need)
		drop_chunk(ms, ms->filled);
	if (ms->filled == ms->nchunks)
	{
		/* small sorts stay small: no chunk is larger than all tuples so far */
		Size		size = Min(ms->chunk_size,
							   Max(ms->tuple_bytes, FIRST_CHUNK));

		if (!add_chunk(ms, MAXALIGN(Max(size, need))))
			return false;
	}
	fill_chunk(ms);
	return true;
}

/* True if the chunk being filled has room for 'need' bytes. */
static inline bool
chunk_has_room(const MemSort *ms, Size need)
{
	return ms->end - ms->next >= (ptrdiff_t) need;
}

char *
memsort_reserve_slowly(MemSort *ms, Size need)
{
	ms->reserved = NULL;
	ms->reserved_bytes = need;
	if (ms->count == ms->room && !grow_entries(ms))
		return NULL;
	if (ms->order->inline_image)
		ms->reserved = (char *) &ms->reserved_inline;
	else if (chunk_has_room(ms, need) || next_chunk(ms, need))
		ms->reserved = ms->next;
	return ms->reserved;
}

bool
memsort_put_inline(MemSort *ms, const uint64 *words, uint64 image)
{
	ms->reserved = NULL;
	if (unlikely(ms->count == ms->room) && !grow_entries(ms))
		return false;
	memsort_add(ms, words, image);
	return true;
}

static int
compare_addresses(const void *a, const void *b)
{
	const char *left = ((const OrderPlace *) a)->start;
	const char *right = ((const OrderPlace *) b)->start;

	return (left > right) - (left < right);
}

/*
 * Record the places of images in the SortOrder, so that order_place can tell
 * which of two images the caller put first.
 */
static void
note_places(MemSort *ms)
{
	if (ms->places)
		pfree(ms->places);
	ms->places = MemoryContextAlloc(ms->context,
									Max(ms->filled, 1) * sizeof(OrderPlace));
	for (int i = 0; i < ms->filled; i++)
	{
		ms->places[i].start = ms->chunks[i].start;
		ms->places[i].number = i;
	}
	if (ms->filled > 1)
		qsort(ms->places, ms->filled, sizeof(OrderPlace), compare_addresses);
	ms->order->places = ms->places;
	ms->order->nplaces = ms->filled;
}

/* Returns the scratch, which follows all entries. */
static uint64 *
scratch_of(const MemSort *ms)
{
	return memsort_entry(ms, ms->room);
}

void
memsort_sort(MemSort *ms)
{
	EntrySort	es = {
		.order = ms->order,
		.stride = ms->stride,
		.scratch = scratch_of(ms)
	};

	fault_point("memsort: sort");
	ms->first_read = Max(ms->tuple_bytes / Max(ms->count, 1), 1);
	ms->first_read = Min(ms->first_read, MEMSORT_FIRST_READ);
	note_peak(ms, ms->count > RADIX_FEW_ENTRIES ? sort_memory(ms) : 0);
	if (ms->count < 2)
		return;
	if (ms->order->stable && !ms->order->inline_image)
		note_places(ms);
	entrysort(&es, ms->entries, ms->count);
	fault_point("memsort: sorted");
}

/*
 * Restore the input order of the entries, by the places of their images.  For
 * the sort, the place of an image replaces the first word of its entry, and
 * that first word replaces the address at the end of the entry.
 */
static void
sort_by_places(MemSort *ms)
{
	int			last = ms->stride - 1;

	note_places(ms);
	for (int64 i = 0; i < ms->count; i++)
	{
		uint64	   *entry = memsort_entry(ms, i);
		const char *image = memsort_tuple(ms, entry);

		entry[last] = entry[0];
		entry[0] = order_place(ms->order, image);
	}
	radix_sort(ms->entries, ms->count, ms->stride, 1, scratch_of(ms));
	for (int64 i = 0; i < ms->count; i++)
	{
		uint64	   *entry = memsort_entry(ms, i);
		uint64		word = entry[last];
		int			chunk = entry[0] >> PLACE_BITS;

		entry[last] = (uint64) (uintptr_t) ms->chunks[chunk].start +
			(entry[0] & PLACE_MASK);
		entry[0] = word;
	}
}

/*
 * Images move towards the start of the list of chunks, in input order, so no
 * image overwrites a later one.
 */
void
memsort_compact(MemSort *ms)
{
	if (ms->order->inline_image)
		return;
	sort_by_places(ms);
	forget_images(ms);
	for (int64 i = 0; i < ms->count; i++)
	{
		uint64	   *entry = memsort_entry(ms, i);
		char	   *image = memsort_tuple(ms, entry);
		Size		need = MAXALIGN(order_size(ms->order, image));

		while (!chunk_has_room(ms, need))
			fill_chunk(ms);
		memmove(ms->next, image, need);
		entry[ms->stride - 1] = (uint64) (uintptr_t) ms->next;
		ms->next += need;
		ms->tuple_bytes += need;
	}
}

bool
memsort_is_small(const MemSort *ms)
{
	return memsort_used(ms) <= MUCH_MEMORY / 16;
}

void
memsort_reset(MemSort *ms)
{
	forget_images(ms);
	ms->count = 0;
	for (int i = ms->nchunks - 1; i >= 0; i--)
	{
		if (ms->chunks[i].size > MUCH_MEMORY)
			drop_chunk(ms, i);
	}
}

void
memsort_free(MemSort *ms)
{
	MemoryContextDelete(ms->context);
}
