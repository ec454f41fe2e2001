/*-------------------------------------------------------------------------
 *
 * heapread.c
 *	  The pages of a heap table in the order of a scan.
 *
 * The server reads a large table into a ring of buffers, before 17 one page at
 * a time.  If the table is in the operating system's cache, this is most of the
 * cost of a scan: a system call, a search for a buffer and two changes of the
 * buffer mapping for every page.  So this file copies pages from the file, many
 * with one system call, into private memory that fits the processor's cache.
 *
 * A copy is correct if no buffer has the block.  A page that was changed since
 * it was written is in a buffer, and a process that wants to change a page must
 * read it into a buffer first.  So the file has the current content of a block
 * that is in no buffer and enters none during the copy; the server relies on
 * the same when it reads a block.  The copying process holds the locks of the
 * blocks' partitions of the buffer mapping in shared mode, from the look-up
 * until the end of the copy.  It acquires them in ascending order, as the
 * server does (BufferAlloc, DropRelationBuffers).  Looking up the blocks before
 * and after the copy, without locks in between, would not suffice: another
 * process could read the block into a buffer, change, write and evict it
 * meanwhile, and the copy could mix the old page and the new one.
 *
 * Other processes need these locks in exclusive mode for each page that they
 * read into a buffer.  So a process must not wait for the device while it holds
 * them, and copies only blocks that are in the system's cache (RWF_NOWAIT).  If
 * there are more participants than cores, one that holds locks may be
 * descheduled; taking fewer locks at a time did not reduce the effect of that
 * on other sessions (RESULTS.md).  The server's own functions read everything
 * else:
 *
 * - blocks that are in a buffer, or not in the system's cache
 * - pages whose checksum or header is wrong: the server reports or repairs them
 * - pages on which hint bits must be set (heapread_pin)
 * - tables in local buffers, and tables so small that the server's scan would
 *	 leave them in shared buffers for the next query
 *
 * On 17 and later the server's scan has a stream that reads ahead.  The scan
 * cannot leave a stream that it began.  So after the first block that is not in
 * the system's cache, it reads all following blocks from the stream.  A process
 * with a HeapShare, which may end before the scan does, has a stream of its
 * own.
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
 * Number of blocks to copy at a time: they fit the processor's second-level
 * cache.  Half or twice as many are as fast.
 */
#define BATCH		16

/* Maximum number of batches to read without copies after useless copies */
#define MAX_PAUSE	64

struct HeapReader
{
	HeapScanDesc scan;			/* server's scan: blocks, strategy, stream */
	const HeapShare *share;		/* or NULL */
	ReadStream *stream;			/* made here if there is a share, else the
								 * scan's */
	BlockNumber nblocks;		/* number of blocks got from the scan */
	bool		stays;			/* the share no longer limits the scan */
	bool		copying;		/* true: try to copy pages */
	bool		ended;			/* the batch is the last one */
	Buffer		buffer;			/* pinned buffer of the page, or invalid */
	Buffer		last;			/* last buffer that was pinned, or invalid */

	/* the batch */
	int			n;
	int			next;
	int			npinned;		/* copies that heapread_pin replaced */
	BlockNumber blocks[BATCH];
	bool		copied[BATCH];
	char	   *pages;			/* memory of BATCH pages */

	/* each time that copies were useless, pause about twice as long */
	int			pause;			/* length of the last pause, in batches */
	int			waiting;		/* batches left of the current pause */

	OpenSegment segment;		/* open segment of the file, if any */
};


/*
 * Blocks
 */

/*
 * Returns the next block, InvalidBlockNumber after the last one.  The position
 * is in the fields of the server's scan.
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
 * True if this process read its share and leaves the rest to the other ones.
 * It never stops in the middle of a chunk of the parallel scan, since no other
 * process would read the rest of that chunk.
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

/* Returns the next block of this process's share, or InvalidBlockNumber. */
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

/*
 * Returns the number of consecutive blocks from the i-th one on that are in one
 * segment of the file.
 */
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
 * Lock the partitions of the buffer mapping that n blocks belong to, and set
 * buffered[i] to true if the i-th block is in a buffer.
 *
 * Returns the number of locks, and sets 'partitions' to the locked ones.
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
		InitBufferTag(&tags[i], &heap->rd_locator, MAIN_FORKNUM, blocks[i]);
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
 * Copy n consecutive blocks from the i-th one on, none of which is in a buffer.
 *
 * Returns the number of pages copied: those before the first page that is not
 * in the system's cache.
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
 * Copy those of n consecutive blocks from the i-th one on that are in no
 * buffer.  Returns false after a block that is not in the system's cache.
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

/* Discard copies of damaged pages, and count the others as blocks read. */
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

/* Copy all pages of the batch that can be copied. */
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

/* Returns the buffer of the next page, invalid after the last one. */
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
 * After a batch of copies, decide whether to pause copying: if more than half
 * were useless, as in the first scan of a newly loaded table, which must set
 * hint bits on every page.
 */
static void
judge_copies(HeapReader *reader)
{
	reader->pause = reader->npinned <= reader->n / 2 ? 0 :
		Min(2 * reader->pause + 1, MAX_PAUSE);
	reader->waiting = reader->pause;
}

/* Fill the next batch.  Returns false after the last one. */
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

/* Set *page to the page of a pinned buffer, which the reader owns from now. */
static void
provide_buffer(HeapReader *reader, Buffer buffer, HeapPage *page)
{
	reader->buffer = reader->last = page->buffer = buffer;
	page->block = BufferGetBlockNumber(buffer);
	page->page = BufferGetPage(buffer);
}

/*
 * Pins and returns the buffer that follows the last one, if it has this block,
 * else InvalidBuffer.  Tables are usually read into buffers in order, and this
 * is faster than a search in the buffer mapping, whose memory is scattered.
 * (ReadRecentBuffer() does not raise the buffer's usage count, so the scan of a
 * build does not make the page stay in memory longer.)
 */
static Buffer
pin_next(const HeapReader *reader, Relation heap, BlockNumber block)
{
	Buffer		next = reader->last + 1;

	if (RelationUsesLocalBuffers(heap) || reader->last == InvalidBuffer ||
		next > NBuffers ||
		!ReadRecentBuffer(heap->rd_locator, MAIN_FORKNUM, block, next))
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
