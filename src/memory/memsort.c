/*-------------------------------------------------------------------------
 *
 * memsort.c
 *	  Entries in memory: growth and accounting.
 *
 * All entries are in one array that grows.  Growing a large array copies
 * nothing, because the C library remaps it; if the caller expects a number of
 * tuples, the array gets its final size early and need not be remapped either.
 * Tuples are in chunks, each of which is filled from its start.  No tuple is
 * freed singly, so a tuple costs its size and one entry, and while sorting a
 * part of an entry in the scratch array.  When the budget is used up
 * memsort_reserve returns NULL and the caller writes a run.
 *
 * The budget here is what the rest of the sort leaves for the entries
 * (sort_other_memory in sortstate.c measures the rest), and the accounting here
 * covers only the entries, which have a memory context of their own.  It sets
 * aside scratch_cost() bytes of scratch per entry from the start.  The radix
 * sort works with any amount of scratch, so entries can fill nearly all of the
 * budget; it is faster with as much scratch as entries.  Three kinds of sorts
 * get that much: sorts of few entries, if there is room; sorts that need not
 * have all of their tuples in memory (memsort_want_scratch); and stable sorts,
 * because the radix sort is then stable and entries with equal words need not
 * be sorted by their places.
 *
 * A stable or bounded sort fills chunks strictly in the order of their list,
 * including chunks of single large tuples, so that the place of a tuple tells
 * when it was put.
 *
 * memsort opens the pages of a chunk (pages.c) as it fills the chunk, so that
 * it touches hardly any memory that it does not use.  Chunks are large so that
 * the kernel can use large pages.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "memory/entrysort.h"
#include "memory/memsort.h"
#include "memory/pages.h"
#include "memory/radix.h"
#include "miscadmin.h"
#include "util.h"
#include "utils/memutils.h"

/*
 * The first entries and the first chunk fit, with everything else, in the block
 * that a memory context keeps, so that a sort of a few tuples allocates
 * nothing.
 */
#define FIRST_ENTRIES	64
#define FIRST_CHUNK		(4 * 1024)

#define MIN_ENTRIES		1024
#define MIN_CHUNK		(32 * 1024)
#define MAX_CHUNK		(32 * 1024 * 1024)

/*
 * From LEAST_TO_EXPECT entries on, the array grows at once to the expected
 * number and one EXPECTED_PART-th more, because participants do not sort equal
 * shares.
 */
#define LEAST_TO_EXPECT	(4 * 1024)
#define EXPECTED_PART	4

#define MAX_STRIDE		(PTSORT_MAX_WORDS + 1)

/* A tuple that would waste too much of a chunk's end gets one of its own. */
#define LARGE_TUPLE		(MIN_CHUNK / 4)

/*
 * Up to this many bytes of entries are sorted with as much scratch, if there is
 * room.
 */
#define FULL_SCRATCH	(4 * 1024 * 1024)

/*
 * Bytes of scratch that an entry needs: its address, if tuples are compared;
 * all of it, if the radix sort must be stable; or a part of its share of the
 * radix sort.
 */
static int64
scratch_cost(const MemSort *ms)
{
	if (ms->all_scratch)
		return ms->stride * sizeof(uint64);
	if (ms->order->inline_image)
		return ms->stride;
	return ms->order->stable ? ms->stride * sizeof(uint64) : sizeof(uint64);
}

/* Bytes of an entry, with its part of the scratch array. */
static int64
entry_cost(const MemSort *ms)
{
	return ms->stride * sizeof(uint64) + ms->scratch_cost;
}

/*
 * memsort_tuple_cost returns the mean bytes of a tuple in memory and its entry.
 */
int64
memsort_tuple_cost(const MemSort *ms)
{
	return entry_cost(ms) + ms->tuple_bytes / Max(ms->count, 1);
}

/* Bytes that sorting uses besides the scratch. */
static int64
sort_memory(const MemSort *ms)
{
	return ms->order->nwords > 0 ? RADIX_MEMORY : 0;
}

/*
 * memsort_create makes an empty MemSort that holds at most 'budget' bytes.
 * 'expected' is the number of entries that may come, 0 if unknown.
 */
MemSort *
memsort_create(SortOrder *order, int64 budget, int64 expected)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort entries",
												  ALLOCSET_DEFAULT_MINSIZE,
												  ALLOCSET_DEFAULT_INITSIZE,
												  ALLOCSET_DEFAULT_INITSIZE);
	MemoryContext old = MemoryContextSwitchTo(context);
	MemSort    *ms = palloc0(sizeof(MemSort));

	ms->order = order;
	ms->stride = Max(order->nwords, 1) + 1;
	ms->context = context;
	ms->capacity = ms->room = ms->opened = FIRST_ENTRIES;
	ms->expected = expected;
	ms->first_read = MEMSORT_FIRST_READ;
	ms->scratch_cost = scratch_cost(ms);
	ms->entries = palloc(ms->capacity * ms->stride * sizeof(uint64));
	ms->maxchunks = 16;
	ms->chunks = palloc(ms->maxchunks * sizeof(MemChunk));
	ms->used = ms->peak = ms->capacity * entry_cost(ms);
	memsort_set_budget(ms, budget);
	MemoryContextSwitchTo(old);
	return ms;
}

/* memsort_allocated returns how many bytes a MemSort has allocated. */
int64
memsort_allocated(const MemSort *ms)
{
	return MemoryContextMemAllocated(ms->context, true);
}

static void
account(MemSort *ms, int64 bytes)
{
	ms->used += bytes;
	ms->peak = Max(ms->peak, ms->used);
}

/* Bytes left in the chunk being filled. */
static int64
chunk_rest(const MemSort *ms)
{
	const MemChunk *chunk;

	if (ms->next == NULL)
		return 0;
	chunk = &ms->chunks[ms->current];
	return chunk->start + chunk->size - ms->next;
}

/* Bytes of n entries. */
static Size
entries_size(const MemSort *ms, int64 n)
{
	return n * ms->stride * sizeof(uint64);
}

/*
 * Allocate room for expected entries, which may never come.  If there is no
 * memory for them it returns false and changes nothing.
 */
static bool
try_entries(MemSort *ms, int64 room)
{
	Size		size = entries_size(ms, room);
	uint64	   *entries =
		MemoryContextAllocExtended(ms->context, size,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (entries == NULL)
		return false;
	memcpy(entries, ms->entries, entries_size(ms, ms->capacity));
	pfree(ms->entries);
	ms->entries = entries;
	ms->room = room;
	pages_advise(entries, size);
	return true;
}

/* Allocate room for 'room' entries. */
static void
allocate_entries(MemSort *ms, int64 room)
{
	ms->room = room;
	ms->entries = repalloc_huge(ms->entries, entries_size(ms, room));
	pages_advise(ms->entries, entries_size(ms, room));
}

/*
 * Number of entries to allocate room for: 'more' additional ones, or all that
 * the caller expects, but at most 'most' additional ones.  Room uses no memory
 * until it is filled, and then it gets large pages, which an array loses when
 * the C library remaps it.
 */
static int64
room_for(const MemSort *ms, int64 more, int64 most)
{
	int64		least = ms->capacity + more;
	int64		wanted = ms->expected + ms->expected / EXPECTED_PART;

	if (ms->capacity < LEAST_TO_EXPECT)
		return least;
	wanted = Min(wanted, ms->capacity + most);
	return Max(wanted, least);
}

/* Allocate room for 'more' additional entries, or for the expected ones. */
static void
make_room(MemSort *ms, int64 more, int64 most)
{
	int64		room = room_for(ms, more, most);

	if (room == ms->capacity + more || !try_entries(ms, room))
		allocate_entries(ms, ms->capacity + more);
}

/*
 * Make room for another entry.  Capacity doubles until the budget does not
 * allow that; it then grows once more, to what the rest of the budget can hold
 * at the mean tuple size.
 */
static bool
grow_entries(MemSort *ms)
{
	int64		rest = ms->budget - ms->used + chunk_rest(ms);
	int64		mean = memsort_tuple_cost(ms);
	int64		more = Min(ms->capacity, rest / mean);

	if (ms->capacity < MIN_ENTRIES)
		more = ms->capacity;	/* little memory, however large tuples are */
	else if (more < MIN_ENTRIES / 8 && ms->count > 0)
		return false;
	more = Max(more, 1);
	if (ms->capacity + more > ms->room)
		make_room(ms, more, rest / mean);
	ms->capacity += more;
	account(ms, more * entry_cost(ms));
	return true;
}

/* Open the pages of more entries, after making room for them if necessary. */
static bool
open_entries(MemSort *ms)
{
	int64		step = PAGES_STEP / entries_size(ms, 1);
	int64		more;

	if (ms->opened == ms->capacity && !grow_entries(ms))
		return false;
	more = Min(ms->capacity - ms->opened, step);
	(void) pages_open((char *) memsort_entry(ms, ms->opened),
					  entries_size(ms, more));
	ms->opened += more;
	return true;
}

/* Allocate a chunk of about 'size' bytes, at least 'least', and list it. */
static char *
add_chunk(MemSort *ms, Size least, Size size)
{
	MemChunk   *chunk;
	int64		most = Min(2 * (int64) size, ms->budget - ms->used);

	if (ms->nchunks == ms->maxchunks)
	{
		ms->maxchunks *= 2;
		ms->chunks = repalloc(ms->chunks, ms->maxchunks * sizeof(MemChunk));
	}
	chunk = &ms->chunks[ms->nchunks];
	chunk_take(chunk, ms->context, Max(least, size / 2), size,
			   Max((int64) size, most));
	account(ms, chunk->size);
	ms->nchunks++;
	return chunk->start;
}

/* Free the chunk at the end of the list. */
static void
drop_chunk(MemSort *ms)
{
	MemChunk   *last = &ms->chunks[--ms->nchunks];

	account(ms, -(int64) last->size);
	chunk_free(last);
}

/* Free the scratch that is kept, if any. */
static void
free_scratch(MemSort *ms)
{
	if (ms->scratch.size > 0)
		chunk_free(&ms->scratch);
	ms->scratch.size = 0;
}

/*
 * memsort_set_budget changes the budget and recomputes the cost of scratch,
 * since the words of the entries may have changed.  An empty MemSort frees the
 * memory that it keeps beyond the new budget.
 */
void
memsort_set_budget(MemSort *ms, int64 budget)
{
	int64		cost = scratch_cost(ms);
	int64		excess;

	ms->budget = budget - sort_memory(ms);
	ms->chunk_size = Max(MIN_CHUNK, Min(MAX_CHUNK, ms->budget / 32));
	account(ms, ms->capacity * (cost - ms->scratch_cost));
	ms->scratch_cost = cost;
	if (ms->count > 0)
		return;
	Assert(ms->filled == 0);
	while (ms->used > ms->budget && ms->nchunks > 0)
		drop_chunk(ms);
	excess = (ms->used - ms->budget) / entry_cost(ms);
	excess = Min(excess, ms->capacity - MIN_ENTRIES);
	if (excess > 0)
	{
		ms->capacity -= excess;
		ms->opened = Min(ms->opened, ms->capacity);
		allocate_entries(ms, ms->capacity);
		account(ms, -excess * entry_cost(ms));
	}
	/* keep no more scratch than is set aside */
	if ((int64) ms->scratch.size > ms->capacity * ms->scratch_cost)
		free_scratch(ms);
}

/*
 * memsort_want_scratch gives an empty MemSort as much scratch as entries.  The
 * MemSort keeps the scratch from one sort to the next.
 */
void
memsort_want_scratch(MemSort *ms)
{
	int64		cost = ms->scratch_cost;

	Assert(ms->count == 0);
	ms->all_scratch = true;
	ms->scratch_cost = scratch_cost(ms);
	account(ms, ms->capacity * (ms->scratch_cost - cost));
}

/*
 * memsort_narrow gives entries as many words as the order now has, one instead
 * of two.  They keep the first word.
 */
void
memsort_narrow(MemSort *ms)
{
	Size		allocated = entries_size(ms, ms->room);
	int64		cost = ms->capacity * entry_cost(ms);
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
	ms->scratch_cost = scratch_cost(ms);
	ms->room = allocated / entries_size(ms, 1);
	ms->capacity = Min(ms->room, cost / entry_cost(ms));
	ms->opened = Min(ms->opened, ms->capacity);
	account(ms, ms->capacity * entry_cost(ms) - cost);
}

/*
 * Make room for a large tuple: a chunk of its own, which is last in the list
 * until it is filled.  Empty chunks that an earlier run left are freed if their
 * memory is needed.  Returns NULL if the budget forbids it.
 */
static char *
place_large(MemSort *ms, Size need)
{
	while (ms->used + (int64) need > ms->budget && ms->nchunks > ms->filled)
		drop_chunk(ms);
	if (ms->used + (int64) need > ms->budget && ms->count > 0)
		return NULL;
	return add_chunk(ms, need, need);
}

/*
 * Start the next chunk, for a tuple of 'need' bytes and later ones.  Returns
 * false if the budget forbids it.
 */
static bool
next_chunk(MemSort *ms, Size need)
{
	Size		size = ms->chunk_size;

	if (ms->filled < ms->nchunks && ms->chunks[ms->filled].size < need)
	{
		while (ms->nchunks > ms->filled)
			drop_chunk(ms);
	}
	if (ms->filled == ms->nchunks)
	{
		/*
		 * Small sorts stay small: a new chunk is no larger than all tuples so
		 * far.
		 */
		size = MAXALIGN(Min(size, Max(ms->tuple_bytes, FIRST_CHUNK)));
		size = Max(size, need);
		if (ms->used + (int64) size > ms->budget && ms->count > 0)
			return false;
		(void) add_chunk(ms, need, size);
	}
	ms->next = ms->chunks[ms->filled].start;
	ms->end = ms->next + ms->chunks[ms->filled].opened;
	ms->current = ms->filled++;
	return true;
}

/*
 * Open more pages of the chunk being filled, until a tuple of 'need' bytes has
 * room.  Returns false if the chunk is too small.
 */
static bool
open_chunk(MemSort *ms, Size need)
{
	MemChunk   *chunk = &ms->chunks[ms->current];

	if (chunk_rest(ms) < (int64) need)
		return false;
	while (ms->end - ms->next < (ptrdiff_t) need)
	{
		chunk->opened += pages_open(ms->end, chunk->size - chunk->opened);
		ms->end = chunk->start + chunk->opened;
	}
	return true;
}

/* True if images must be placed in the order in which they were put. */
static inline bool
keeps_places(const MemSort *ms)
{
	return ms->order->stable || ms->order->bounded;
}

/* memsort_reserve_slowly: see memsort_reserve. */
char *
memsort_reserve_slowly(MemSort *ms, Size need)
{
	ms->reserved = NULL;
	ms->reserved_bytes = need;
	ms->reserved_alone = false;
	if (ms->count == ms->opened && !open_entries(ms))
		return NULL;
	if (ms->order->inline_image)
		ms->reserved = (char *) &ms->reserved_inline;
	else if (open_chunk(ms, need))
		ms->reserved = ms->next;
	else if (need > LARGE_TUPLE && !keeps_places(ms))
	{
		ms->reserved = place_large(ms, need);
		ms->reserved_alone = true;
	}
	else if (next_chunk(ms, need) && open_chunk(ms, need))
		ms->reserved = ms->next;
	return ms->reserved;
}

/*
 * memsort_take_chunk lists the newly allocated chunk of a large tuple as
 * filled, before the chunk being filled.
 */
void
memsort_take_chunk(MemSort *ms)
{
	MemChunk	own = ms->chunks[ms->nchunks - 1];

	Assert(own.start == ms->reserved);
	ms->chunks[ms->nchunks - 1] = ms->chunks[ms->filled];
	ms->chunks[ms->filled++] = own;
}

/*
 * memsort_put_inline adds an entry with an inline image.  It returns false and
 * adds nothing if the budget does not allow it; the first tuple always finds
 * room.
 */
bool
memsort_put_inline(MemSort *ms, const uint64 *words, uint64 image)
{
	ms->reserved = NULL;
	if (unlikely(ms->count == ms->opened) && !open_entries(ms))
		return false;
	memsort_add(ms, words, image);
	return true;
}

/* Order places by address. */
static int
compare_addresses(const void *a, const void *b)
{
	const char *left = ((const OrderPlace *) a)->start;
	const char *right = ((const OrderPlace *) b)->start;

	return (left > right) - (left < right);
}

/*
 * Tell the order where images are, from which it can tell which was put first.
 */
static void
note_places(MemSort *ms)
{
	if (ms->filled > ms->maxplaces)
	{
		if (ms->places)
			pfree(ms->places);
		ms->places = MemoryContextAlloc(ms->context,
										ms->maxchunks * sizeof(OrderPlace));
		ms->maxplaces = ms->maxchunks;
	}
	for (int i = 0; i < ms->filled; i++)
	{
		ms->places[i].start = ms->chunks[i].start;
		ms->places[i].end = ms->chunks[i].start + ms->chunks[i].size;
		ms->places[i].number = i;
	}
	if (ms->filled > 1)
		qsort(ms->places, ms->filled, sizeof(OrderPlace), compare_addresses);
	ms->order->places = ms->places;
	ms->order->nplaces = ms->filled;
}

/* Order the entries, with 'room' bytes of scratch. */
static void
sort_entries(MemSort *ms, uint64 *scratch, int64 room)
{
	EntrySort	es = {
		.order = ms->order,
		.entries = ms->entries,
		.n = ms->count,
		.stride = ms->stride,
		.scratch = scratch,
		.room = room / (ms->stride * sizeof(uint64))
	};

	if (ms->order->stable && !ms->order->inline_image)
		note_places(ms);
	entrysort(&es);
}

/*
 * Bytes of scratch to sort with.  'used' includes the scratch set aside for all
 * entries up to the capacity.
 */
static int64
scratch_room(const MemSort *ms)
{
	int64		all = ms->count * ms->stride * sizeof(uint64);
	int64		least = ms->count * ms->scratch_cost;
	int64		most = ms->budget - ms->used + ms->capacity * ms->scratch_cost;

	return all <= FULL_SCRATCH ? Max(Min(all, most), least) : least;
}

/*
 * Allocate scratch of at least 'room' bytes.  If the MemSort keeps it, allocate
 * all that is set aside, since later sorts may need it.
 */
static void
take_scratch(MemSort *ms, MemChunk *scratch, int64 room)
{
	int64		reserved = ms->capacity * ms->scratch_cost;
	int64		most = Min(Max(reserved, room), 2 * room);

	if (!ms->all_scratch)
		chunk_take(scratch, ms->context, room, room, most);
	else
	{
		if ((int64) ms->scratch.size < room)
		{
			free_scratch(ms);
			chunk_take(&ms->scratch, ms->context, most, most, most);
		}
		*scratch = ms->scratch;
	}
}

/* Free the scratch, or keep it for later sorts. */
static void
leave_scratch(MemSort *ms, MemChunk *scratch, bool fits)
{
	if (ms->all_scratch)
		ms->scratch = *scratch;
	else
		chunk_keep(scratch, fits ? ms->budget : 0);
}

/* True if the words are in order, so that little scratch is used. */
static bool
is_in_order(const MemSort *ms)
{
	for (int64 i = 1; i < ms->count; i++)
	{
		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (order_compare_words(memsort_entry(ms, i), memsort_entry(ms, i - 1),
								ms->order->nwords) < 0)
			return false;
	}
	return true;
}

/* memsort_sort orders the entries. */
void
memsort_sort(MemSort *ms)
{
	int64		reserved = ms->capacity * ms->scratch_cost;
	int64		room;			/* bytes of scratch */
	int64		extra;			/* bytes used while sorting */
	MemChunk	scratch;

	fault_point("memsort: sort");
	ms->first_read = Max(ms->tuple_bytes / Max(ms->count, 1), 1);
	ms->first_read = Min(ms->first_read, MEMSORT_FIRST_READ);
	if (ms->count < 2)
		return;
	if (ms->count <= RADIX_FEW_ENTRIES)
	{
		uint64		small[RADIX_FEW_ENTRIES * MAX_STRIDE];

		sort_entries(ms, small, sizeof(small));
		return;
	}
	room = scratch_room(ms);
	take_scratch(ms, &scratch, room);
	extra = (int64) scratch.size - reserved + sort_memory(ms);
	account(ms, extra);
	if (scratch.opened < (Size) room && !is_in_order(ms))
	{
		pages_open_all(scratch.start + scratch.opened,
					   room - scratch.opened);
		scratch.opened = room;
	}
	sort_entries(ms, (uint64 *) scratch.start, scratch.size);
	fault_point("memsort: sorted");
	account(ms, -extra);
	/* the scratch set aside counts as used, even if chunk.c keeps it */
	leave_scratch(ms, &scratch, extra <= sort_memory(ms));
}

/*
 * Order the entries as they were put, by the places of their images.  The place
 * becomes the first word of the entry while it is sorted, and the first word
 * takes the last position.
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
	radix_sort(ms->entries, ms->count, ms->stride, 1, NULL, 0);
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

/* Move the image of an entry to the chunks that are being filled. */
static void
move_image(MemSort *ms, uint64 *entry)
{
	char	   *image = memsort_tuple(ms, entry);
	Size		need = MAXALIGN(order_size(ms->order, image));

	if (!open_chunk(ms, need))
	{
		(void) next_chunk(ms, need);
		(void) open_chunk(ms, need);
	}
	memcpy(ms->next, image, need);
	entry[ms->stride - 1] = (uint64) (uintptr_t) ms->next;
	ms->next += need;
	ms->tuple_bytes += need;
}

/*
 * memsort_compact frees the images of entries that were removed.  It moves the
 * other images to new chunks and frees each old chunk as soon as it is empty.
 * Afterwards the entries are in the order in which they were put.
 */
void
memsort_compact(MemSort *ms)
{
	MemChunk   *old = ms->chunks;
	int			nold = ms->nchunks;
	int64		budget = ms->budget;
	int64		i = 0;

	if (ms->order->inline_image)
		return;
	Assert(keeps_places(ms));
	sort_by_places(ms);
	ms->chunks = MemoryContextAlloc(ms->context,
									ms->maxchunks * sizeof(MemChunk));
	ms->nchunks = ms->filled = 0;
	ms->next = ms->end = ms->reserved = NULL;
	ms->tuple_bytes = 0;
	ms->budget = PG_INT64_MAX;	/* the new chunks need less than the old */
	for (int c = 0; c < nold; c++)
	{
		const char *end = old[c].start + old[c].size;

		for (; i < ms->count; i++)
		{
			uint64	   *entry = memsort_entry(ms, i);
			const char *image = memsort_tuple(ms, entry);

			if (image < old[c].start || image >= end)
				break;
			move_image(ms, entry);
		}
		account(ms, -(int64) old[c].size);
		chunk_free(&old[c]);
	}
	Assert(i == ms->count);
	ms->budget = budget;
	pfree(old);
}

/*
 * memsort_is_small returns true if the MemSort has little more than its initial
 * memory.
 */
bool
memsort_is_small(const MemSort *ms)
{
	return ms->capacity <= MIN_ENTRIES &&
		ms->used <= MIN_ENTRIES * entry_cost(ms) + MIN_CHUNK;
}

/*
 * memsort_reset removes all entries.  It keeps their memory for the next run,
 * except the chunks of single large tuples.
 */
void
memsort_reset(MemSort *ms)
{
	bool		small = memsort_is_small(ms);
	int			kept = 0;

	for (int i = 0; i < ms->nchunks; i++)
	{
		MemChunk	chunk = ms->chunks[i];

		if (small || (chunk.size <= MAX_CHUNK && chunk.size >= MIN_CHUNK))
			ms->chunks[kept++] = chunk;
		else
		{
			account(ms, -(int64) chunk.size);
			chunk_free(&chunk);
		}
	}
	ms->nchunks = kept;
	ms->filled = 0;
	ms->next = ms->end = ms->reserved = NULL;
	ms->count = 0;
	ms->tuple_bytes = 0;
}

/* memsort_free frees the MemSort and all of its memory. */
void
memsort_free(MemSort *ms)
{
	MemoryContextDelete(ms->context);
}

/*
 * memsort_leave is memsort_free, except that it leaves large chunks to later
 * sorts.
 */
void
memsort_leave(MemSort *ms)
{
	for (int i = 0; i < ms->nchunks; i++)
		chunk_keep(&ms->chunks[i], ms->budget);
	memsort_free(ms);
}
