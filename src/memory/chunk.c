/*-------------------------------------------------------------------------
 *
 * chunk.c
 *	  Large pieces of memory, and those that the sorts before have left.
 *
 * To have the kernel give pages, clear them, and take them back again costs
 * more than all else that is done to a tuple in memory.  So what a sort leaves
 * is kept for the next one: a statement often sorts again and again, for each
 * index of a table, each partition, each call of a function.
 *
 * Nobody shall have to know that.  What is kept is never more than an ended
 * sort was allowed to have.  It goes when the statement that the client has
 * sent is over, however it ends, since it is in MessageContext; what ends when
 * nothing runs any more, as the plan of a query does, and processes without
 * clients keep nothing.  Meanwhile all but MOST_UNTOLD is the kernel's to take
 * if memory is short (pages_leave), which costs a quarter of what fresh memory
 * does.  And what is kept is used before a new chunk is asked for, or else
 * given back.
 *
 * Each chunk has a memory context of its own, which hangs below that of its
 * owner.  So it counts where it belongs, and goes with it, whoever that is.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "lib/ilist.h"
#include "memory/chunk.h"
#include "memory/pages.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"

/* Smaller chunks are in their owner's context. */
#define LEAST_KEPT		(64 * 1024)

/*
 * The kernel is told of what is kept beyond this, and of chunks of this size
 * only: to tell it costs as well.
 */
#define MOST_UNTOLD		(16 * 1024 * 1024)
#define LEAST_LEFT		(1024 * 1024)

/* ChunkHome: what a chunk of its own context has besides its memory. */
typedef struct ChunkHome
{
	MemoryContext context;
	MemoryContextCallback callback;
	bool		is_kept;
	dlist_node	node;			/* of those that are kept ... */
	MemChunk	chunk;			/* ... and which it is */
} ChunkHome;

/* The chunks that are kept, and their bytes. */
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int64 kept_bytes = 0;

/* The chunk is not kept any more, or not there any more. */
static void
forget(void *arg)
{
	ChunkHome  *home = arg;

	if (!home->is_kept)
		return;
	dlist_delete(&home->node);
	kept_bytes -= home->chunk.size;
	home->is_kept = false;
}

/* Find a chunk of such a size among those that are kept. */
static ChunkHome *
find_kept(Size least, Size most)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept)
	{
		ChunkHome  *home = dlist_container(ChunkHome, node, iter.cur);

		if (home->chunk.size >= least && home->chunk.size <= most)
			return home;
	}
	return NULL;
}

/* Give back at least so many bytes of what is kept, or all. */
static void
give_back(int64 bytes)
{
	int64		rest = Max(kept_bytes - bytes, 0);

	while (kept_bytes > rest)
	{
		ChunkHome  *last = dlist_tail_element(ChunkHome, node, &kept);

		MemoryContextDelete(last->context);
	}
}

/* chunk_give_back: see chunk.h. */
void
chunk_give_back(void)
{
	give_back(kept_bytes);
}

/* A chunk of fresh memory in a context of its own. */
static ChunkHome *
make_home(MemoryContext owner, Size size)
{
	MemoryContext context = AllocSetContextCreate(owner, "ptsort chunk",
												  ALLOCSET_SMALL_SIZES);
	ChunkHome  *home = MemoryContextAllocZero(context, sizeof(ChunkHome));

	home->context = context;
	home->chunk.home = home;
	home->chunk.size = size;
	home->chunk.start = MemoryContextAllocHuge(context, size);
	home->callback.func = forget;
	home->callback.arg = home;
	MemoryContextRegisterResetCallback(context, &home->callback);
	return home;
}

/* chunk_take: see chunk.h. */
void
chunk_take(MemChunk *chunk, MemoryContext owner, Size least, Size size,
		   Size most)
{
	ChunkHome  *home;

	if (size < LEAST_KEPT)
	{
		chunk->start = MemoryContextAlloc(owner, size);
		chunk->size = size;
		chunk->opened = 0;
		chunk->home = NULL;
		return;
	}
	home = find_kept(least, most);
	if (home == NULL)
	{
		give_back(size);
		home = make_home(owner, size);
	}
	else
	{
		forget(home);
		MemoryContextSetParent(home->context, owner);
		VALGRIND_MAKE_MEM_UNDEFINED(home->chunk.start, home->chunk.size);
	}
	*chunk = home->chunk;
}

/* chunk_free: see chunk.h. */
void
chunk_free(MemChunk *chunk)
{
	if (chunk->home)
		MemoryContextDelete(chunk->home->context);
	else
		pfree(chunk->start);
}

/* chunk_keep: see chunk.h. */
void
chunk_keep(MemChunk *chunk, int64 limit)
{
	ChunkHome  *home = chunk->home;

	if (home == NULL || PortalContext == NULL || MessageContext == NULL ||
		kept_bytes + (int64) chunk->size > limit)
	{
		chunk_free(chunk);
		return;
	}
#ifdef CLOBBER_FREED_MEMORY
	wipe_mem(chunk->start, chunk->opened);
#endif
	if (chunk->size >= LEAST_LEFT &&
		kept_bytes + (int64) chunk->size > MOST_UNTOLD)
		pages_leave(chunk->start, chunk->opened);
	home->chunk = *chunk;
	home->is_kept = true;
	dlist_push_tail(&kept, &home->node);
	kept_bytes += chunk->size;
	MemoryContextSetParent(home->context, MessageContext);
}
