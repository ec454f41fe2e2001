/*-------------------------------------------------------------------------
 *
 * chunk.c
 *	  Large pieces of memory, kept from one sort for the next.
 *
 * Having the kernel provide pages, clear them and take them back costs more
 * than everything else that is done to a tuple in memory.  So chunk.c keeps the
 * chunks of a sort for the next one: a statement often sorts repeatedly, for
 * each index of a table, each partition, or each call of a function.
 *
 * Callers need not be aware of this.  What chunk.c keeps is never more than the
 * sort that ended was allowed to use.  It is in MessageContext, so it is freed
 * when the statement of the client is over, however that ends.  Sorts that end
 * outside a portal, as that of a query plan may, and processes without clients
 * keep nothing.  Beyond MOST_UNTOLD bytes, the kernel may reclaim kept memory
 * if memory is short (pages_leave); getting it back then costs less than
 * getting fresh memory.  Before allocating a new chunk, chunk.c uses a kept one
 * if it fits, and otherwise frees at least as much kept memory.
 *
 * Each chunk has a memory context of its own, which is a child of its owner's.
 * So it is accounted to its owner and freed with it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "lib/ilist.h"
#include "memory/chunk.h"
#include "memory/pages.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"

/* Smaller chunks are allocated in the owner's context and never kept. */
#define LEAST_KEPT		(64 * 1024)

/*
 * chunk.c offers the kernel only memory that is kept beyond MOST_UNTOLD bytes,
 * and only chunks of at least LEAST_LEFT bytes, because the system call has a
 * cost too.
 */
#define MOST_UNTOLD		(16 * 1024 * 1024)
#define LEAST_LEFT		(1024 * 1024)

/* ChunkHome: bookkeeping of a chunk that has a context of its own. */
typedef struct ChunkHome
{
	MemoryContext context;
	MemoryContextCallback callback;
	bool		is_kept;
	dlist_node	node;			/* link in the list of kept chunks */
	MemChunk	chunk;			/* the chunk itself */
} ChunkHome;

/* The chunks that are kept, and their bytes. */
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int64 kept_bytes = 0;

/* Unlist a chunk that is being reused or freed. */
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

/* Find a kept chunk of 'least' to 'most' bytes. */
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

/* Free at least 'bytes' bytes of kept memory, or all of it. */
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
