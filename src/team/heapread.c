/*-------------------------------------------------------------------------
 *
 * heapread.c
 *	  The pages of a heap table in the order of a scan.
 *
 * The server reads a large table 8 kB at a time (before 17) into a ring of
 * buffers.  Where the system has the table in its cache, that is most of what
 * a scan costs: a system call, a search for a buffer and two changes of the
 * buffer mapping for every page.  So we copy pages from the file, many by one
 * system call, into memory of our own that the processor's cache holds.
 *
 * When is the file right?  A page that has been changed since it was written is
 * in a buffer, and who wants to change it must get it into one first.  So a
 * block that no buffer has, and that gets none while we read it, is in the file
 * as it is: that is what the server itself relies on when it reads a block.  We
 * hold the locks of the buffer mapping's partitions that our blocks belong to,
 * shared, from the look until the copy is there, in ascending order as the
 * server does (BufferAlloc, DropRelationBuffers).  To look before and after the
 * copy, without locks between, would not do: meanwhile the block may have been
 * read into a buffer, changed, written and evicted, and the copy may have parts
 * of the page before and after.
 *
 * Others need these locks: exclusively for each page that they read into a
 * buffer.  So no lock is held while we wait for the device: only what the
 * system has in its cache is copied (RWF_NOWAIT).  Where there are more
 * participants than cores, one that holds locks may have to wait for its turn
 * to run; fewer locks at a time did not change what pgbench notices of that
 * (RESULTS.md).  The server's own functions read everything else:
 *
 * - blocks that a buffer has, or that are not in the system's cache
 * - pages whose checksum or header is wrong: the server says so, or repairs
 * - pages on which somebody must set hint bits (heapread_pin)
 * - tables in local buffers, and tables so small that the server's scan would
 *	 leave them in shared buffers, where the next query wants them
 *
 * On 17 and later the server's scan has a stream that reads ahead.  A stream
 * that has begun cannot be left in the middle; so there the first block that
 * the system does not have in its cache hands all that follow to the stream.
 * And who may end before the scan does has a stream of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/uio.h>

#include "access/syncscan.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "segment.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "team/heapread.h"
#include "utils/rel.h"

/*
 * Blocks that are copied at a time: few enough for the processor's second
 * cache.  With 8 and with 32 a scan takes as long.
 */
#define BATCH		16

/* How long to make no copies after some that were of no use, in batches */
#define MAX_PAUSE	64

struct HeapReader
{
	HeapScanDesc scan;			/* the server's: blocks, strategy, stream */
	const HeapShare *share;		/* or NULL */
	ReadStream *stream;			/* ours if there is a share, else the scan's */
	BlockNumber nblocks;		/* that we have got of the scan */
	bool		stays;			/* the share has no limit any more */
	bool		copying;		/* try to copy pages? */
	bool		ended;			/* no blocks after the batch */
	Buffer		buffer;			/* of the page that was provided; or invalid */
	Buffer		last;			/* the last one that was; or invalid */

	/* the batch */
	int			n;
	int			next;
	int			npinned;		/* copies that were of no use */
	BlockNumber blocks[BATCH];
	bool		copied[BATCH];
	char	   *pages;			/* BATCH of them */

	/* while copies are of no use, wait twice as long every time */
	int			pause;			/* batches to wait, the last time */
	int			waiting;		/* batches still to wait */

	OpenSegment segment;		/* of the file, if any is open */
};


/*
 * Blocks
 */

/*
 * The next block, InvalidBlockNumber after the last one.  The scan's own
 * fields tell where we are.
 */
static BlockNumber
next_of_scan(HeapScanDesc scan)
{
	Relation	heap = scan->rs_base.rs_rd;
	ParallelBlockTableScanDesc blocks =
		(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;
	bool		first = !scan->rs_inited;
	BlockNumber *position = &pt_heap_scan_position(scan);

	scan->rs_inited = true;
	if (blocks != NULL)
	{
		ParallelBlockTableScanWorker worker = scan->rs_parallelworkerdata;

		if (first)
			table_block_parallelscan_startblock_init(heap, worker, blocks);
		*position = table_block_parallelscan_nextpage(heap, worker, blocks);
		return *position;
	}

	if (scan->rs_nblocks == 0)
		return InvalidBlockNumber;
	if (first)
		*position = scan->rs_startblock;
	else
	{
		*position = (*position + 1) % scan->rs_nblocks;
		if (scan->rs_base.rs_flags & SO_ALLOW_SYNC)
			ss_report_location(heap, *position);
		if (*position == scan->rs_startblock)
			return InvalidBlockNumber;
	}
	return *position;
}

/*
 * Is our share read, and is the rest left to others?  Not in the middle of a
 * chunk of blocks: a parallel scan gives out chunks, and nobody else knows of
 * what is left of ours.
 */
static bool
ends_share(HeapReader *reader)
{
	const HeapShare *share = reader->share;
	HeapScanDesc scan = reader->scan;
	bool		wait = reader->nblocks >= share->most;

	if (reader->stays || reader->nblocks < share->least ||
		(scan->rs_inited &&
		 scan->rs_parallelworkerdata->phsw_chunk_remaining > 0))
		return false;
	reader->stays = wait;
	return share->leave_rest(share->arg, reader->nblocks, wait);
}

/* The next block of our share of the scan, or InvalidBlockNumber. */
static BlockNumber
next_block(HeapReader *reader)
{
	if (reader->share != NULL && ends_share(reader))
		return InvalidBlockNumber;
	reader->nblocks++;
	return next_of_scan(reader->scan);
}

/* Fetch the numbers of a batch's blocks. */
static void
fill_batch(HeapReader *reader)
{
	int			limit = reader->copying ? BATCH : 1;

	reader->n = reader->next = reader->npinned = 0;
	while (reader->n < limit)
	{
		BlockNumber block = next_block(reader);

		if (block == InvalidBlockNumber)
		{
			reader->ended = true;
			break;
		}
		reader->copied[reader->n] = false;
		reader->blocks[reader->n++] = block;
	}
}


/*
 * Copies from the file
 */

#ifdef RWF_NOWAIT

/* How many blocks from the i-th one on follow each other in one segment. */
static int
neighbours(const HeapReader *reader, int i)
{
	BlockNumber first = reader->blocks[i];
	int			n = 1;

	while (i + n < reader->n && reader->blocks[i + n] == first + n &&
		   (first + n) % RELSEG_SIZE != 0)
		n++;
	return n;
}

/* Compare partitions, for qsort() */
static int
by_number(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

/*
 * Lock the partitions of the buffer mapping that n blocks belong to, and tell
 * which of the blocks a buffer has.
 *
 * Returns the number of locks, and sets 'partitions' to what is locked.
 */
static int
lock_blocks(Relation heap, const BlockNumber *blocks, int n, int *partitions,
			bool *buffered)
{
	BufferTag	tags[BATCH];
	uint32		hashes[BATCH];
	int			nlocks = 0;

	for (int i = 0; i < n; i++)
	{
		pt_buffer_tag(&tags[i], heap, blocks[i]);
		hashes[i] = BufTableHashCode(&tags[i]);
		partitions[i] = BufTableHashPartition(hashes[i]);
	}
	qsort(partitions, n, sizeof(int), by_number);
	for (int i = 0; i < n; i++)
		if (i == 0 || partitions[i] != partitions[nlocks - 1])
			partitions[nlocks++] = partitions[i];
	for (int i = 0; i < nlocks; i++)
		LWLockAcquire(BufMappingPartitionLockByIndex(partitions[i]), LW_SHARED);
	for (int i = 0; i < n; i++)
		buffered[i] = BufTableLookup(&tags[i], hashes[i]) >= 0;
	return nlocks;
}

/*
 * Copy n neighbouring blocks from the i-th one, none of which a buffer has.
 *
 * Returns how many pages the system had in its cache, from the first one.
 */
static int
copy_cached(HeapReader *reader, int i, int n)
{
	struct iovec part;
	ssize_t		size;

	part.iov_base = reader->pages + (Size) i * BLCKSZ;
	part.iov_len = (Size) n * BLCKSZ;
	size = preadv2(reader->segment.fd, &part, 1,
				   (off_t) (reader->blocks[i] % RELSEG_SIZE) * BLCKSZ,
				   RWF_NOWAIT);
	return size < 0 ? 0 : size / BLCKSZ;
}

/*
 * Copy what can be copied of n neighbouring blocks from the i-th one.  False
 * if the system had some not in its cache.
 */
static bool
copy_neighbours(HeapReader *reader, int i, int n)
{
	int			partitions[BATCH];
	bool		buffered[BATCH];
	int			nlocks = lock_blocks(reader->scan->rs_base.rs_rd,
									 reader->blocks + i, n, partitions,
									 buffered);
	bool		cached = true;

	for (int from = 0, to; from < n && cached; from = to)
	{
		int			got;

		to = from + 1;
		if (buffered[from])
			continue;
		while (to < n && !buffered[to])
			to++;
		got = copy_cached(reader, i + from, to - from);
		memset(reader->copied + i + from, true, got);
		cached = got == to - from;
	}
	for (int lock = 0; lock < nlocks; lock++)
		LWLockRelease(BufMappingPartitionLockByIndex(partitions[lock]));
	return cached;
}

/* Keep only copies of sound pages, and count these as the server does. */
static void
check_copies(HeapReader *reader)
{
	int			ncopied = 0;

	for (int i = 0; i < reader->n; i++)
	{
		if (!reader->copied[i])
			continue;
		reader->copied[i] =
			pt_page_is_verified(reader->pages + (Size) i * BLCKSZ,
								reader->blocks[i]);
		ncopied += reader->copied[i];
	}
	pt_count_blocks_read(reader->scan->rs_base.rs_rd, ncopied);
}

/* Copy what can be copied of the batch. */
static void
copy_batch(HeapReader *reader)
{
	bool		cached = true;

	for (int i = 0, n; i < reader->n && cached; i += n)
	{
		n = neighbours(reader, i);
		if (!segment_open(&reader->segment, reader->scan->rs_base.rs_rd,
						  reader->blocks[i], O_RDONLY))
		{
			reader->copying = false;
			break;
		}
		cached = copy_neighbours(reader, i, n);
	}
	check_copies(reader);
	if (!cached && PT_HEAP_SCAN_HAS_STREAM)
		reader->copying = false;
}

#else							/* not Linux */

static void
copy_batch(HeapReader *reader)
{
	reader->copying = false;
}

#endif


/*
 * Pages
 */

#if PT_HEAP_SCAN_HAS_STREAM

/* ReadStreamBlockNumberCB */
static BlockNumber
next_of_stream(ReadStream *stream, void *reader, void *buffer_data)
{
	return next_block(reader);
}

static void
begin_stream(HeapReader *reader)
{
	HeapScanDesc scan = reader->scan;

	reader->stream = reader->share == NULL ? scan->rs_read_stream :
		read_stream_begin_relation(READ_STREAM_SEQUENTIAL, scan->rs_strategy,
								   scan->rs_base.rs_rd, MAIN_FORKNUM,
								   next_of_stream, reader, 0);
}

static void
end_stream(HeapReader *reader)
{
	if (reader->share != NULL)
		read_stream_end(reader->stream);
}

/* The next page's buffer, invalid after the last one. */
static Buffer
next_buffer(HeapReader *reader)
{
	return read_stream_next_buffer(reader->stream, NULL);
}

#else							/* before 17 */

static void
begin_stream(HeapReader *reader)
{
}

static void
end_stream(HeapReader *reader)
{
}

static Buffer
next_buffer(HeapReader *reader)
{
	return InvalidBuffer;
}

#endif

/* heapread_begin: see heapread.h. */
HeapReader *
heapread_begin(HeapScanDesc scan, const HeapShare *share)
{
	HeapReader *reader = palloc0(sizeof(HeapReader));

	reader->scan = scan;
	reader->share = share;
	reader->buffer = reader->last = InvalidBuffer;
	reader->copying = scan->rs_strategy != NULL &&
		!RelationUsesLocalBuffers(scan->rs_base.rs_rd);
	if (reader->copying)
		reader->pages = pt_palloc_io_pages(CurrentMemoryContext, BATCH);
	begin_stream(reader);
	return reader;
}

/*
 * After a batch of copies: go on, or make none for a while?  The first scan of
 * a table that was just loaded must set hint bits everywhere.
 */
static void
judge_copies(HeapReader *reader)
{
	reader->pause = reader->npinned <= reader->n / 2 ? 0 :
		Min(2 * reader->pause + 1, MAX_PAUSE);
	reader->waiting = reader->pause;
}

/* The next batch.  False after the last one. */
static bool
next_batch(HeapReader *reader)
{
	bool		copy;

	if (reader->ended)
		return false;
	if (reader->waiting > 0)
		reader->waiting--;
	else
		judge_copies(reader);
	copy = reader->copying && reader->waiting == 0;
	fill_batch(reader);
	if (copy)
		copy_batch(reader);
	return reader->n > 0;
}

/* Provide the page of a buffer, which is pinned. */
static void
provide_buffer(HeapReader *reader, Buffer buffer, HeapPage *page)
{
	reader->buffer = reader->last = page->buffer = buffer;
	page->block = BufferGetBlockNumber(buffer);
	page->page = BufferGetPage(buffer);
}

/*
 * The buffer after the last one that was provided, pinned, if it has this
 * block, else invalid.  A table is most often read into buffers in order, and a
 * search in the buffer mapping, which is all over memory, takes longer: 0.3 us
 * in warm processes, a microsecond where that memory is not mapped yet.  (What
 * ReadRecentBuffer() does not do is raise the buffer's usage count, so a scan
 * for a build does not make it stay longer.)
 */
static Buffer
pin_next(const HeapReader *reader, Relation heap, BlockNumber block)
{
	Buffer		next = reader->last + 1;

	if (RelationUsesLocalBuffers(heap) || reader->last == InvalidBuffer ||
		next > NBuffers ||
		!ReadRecentBuffer(pt_relation_file(heap), MAIN_FORKNUM, block, next))
		return InvalidBuffer;
	pt_count_block_hit(heap, reader->scan->rs_strategy != NULL);
	return next;
}

static void
provide_block(HeapReader *reader, BlockNumber block, HeapPage *page)
{
	Relation	heap = reader->scan->rs_base.rs_rd;
	Buffer		buffer = pin_next(reader, heap, block);

	if (!BufferIsValid(buffer))
		buffer = ReadBufferExtended(heap, MAIN_FORKNUM, block, RBM_NORMAL,
									reader->scan->rs_strategy);
	provide_buffer(reader, buffer, page);
}

static void
release_page(HeapReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	reader->buffer = InvalidBuffer;
}

/* heapread_next: see heapread.h. */
bool
heapread_next(HeapReader *reader, HeapPage *page)
{
	int			i;

	release_page(reader);
	if (reader->next == reader->n && !reader->ended && !reader->copying &&
		PT_HEAP_SCAN_HAS_STREAM)
	{
		Buffer		buffer = next_buffer(reader);

		if (BufferIsValid(buffer))
			provide_buffer(reader, buffer, page);
		return BufferIsValid(buffer);
	}
	if (reader->next == reader->n && !next_batch(reader))
		return false;
	i = reader->next++;
	if (!reader->copied[i])
		provide_block(reader, reader->blocks[i], page);
	else
	{
		page->block = reader->blocks[i];
		page->buffer = InvalidBuffer;
		page->page = reader->pages + (Size) i * BLCKSZ;
	}
	return true;
}

/* heapread_pin: see heapread.h. */
void
heapread_pin(HeapReader *reader, HeapPage *page)
{
	Assert(!BufferIsValid(page->buffer));
	reader->npinned++;
	provide_block(reader, page->block, page);
}

/* heapread_end: see heapread.h. */
void
heapread_end(HeapReader *reader)
{
	release_page(reader);
	end_stream(reader);
	(void) segment_close(&reader->segment);
	if (reader->pages != NULL)
		pfree(reader->pages);
	pfree(reader);
}

/* heapread_done: see heapread.h. */
BlockNumber
heapread_done(HeapScanDesc scan, BlockNumber block)
{
	ParallelBlockTableScanDesc parallel =
		(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;
	BlockNumber start = parallel != NULL ?
		parallel->phs_startblock : scan->rs_startblock;

	if (block >= start)
		return block - start;
	return scan->rs_nblocks - start + block;
}
