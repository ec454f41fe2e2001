/*-------------------------------------------------------------------------
 *
 * heapread.c
 *	  Reads the pages of a heap table in the order of a scan.
 *
 * The server reads a large table into a ring of buffers.  If the table is in
 * the operating system's cache, a scan spends most of its time on system calls,
 * on finding buffers and on changing the buffer mapping.  So this file copies
 * pages from the table's file into private memory, many pages with one system
 * call.  The memory fits in the processor's cache.
 *
 * A copy is correct if the page is in no buffer.  A page with unwritten changes
 * is in a buffer, and a process must read a page into a buffer before it can
 * change the page.  The server, too, relies on these facts when it reads a
 * page.  To keep the pages out of buffers during the copy, the copying process
 * locks the pages' partitions of the buffer mapping in shared mode.  Under
 * these locks it copies the unbuffered pages.  It acquires the locks in
 * ascending order, as the server does (BufferAlloc, DropRelationBuffers).
 *
 * Other processes need these locks in exclusive mode to read pages into
 * buffers.  So the copying process must not wait for the device while it holds
 * the locks, and copies only pages that are in the system's cache (RWF_NOWAIT).
 * It stops copying for a while if another process waits for one of these locks.
 * The server's own functions read all other pages:
 *
 * - pages that are in a buffer, or not in the system's cache
 * - pages whose checksum or header is wrong: the server reports or repairs them
 * - pages on which the scan must set hint bits (heapread_pin)
 * - pages of tables in local buffers, and of tables so small that the server's
 *	 scan would leave them in shared buffers for the next query
 *
 * On 17 and later the server's scan has a stream that reads ahead.  A scan that
 * began to use the stream cannot leave it.  So after the first page outside the
 * system's cache, the scan reads all following pages from the stream.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/uio.h>

#include "access/syncscan.h"
#include "executor/instrument.h"
#include "limit/pace.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "segment.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "storage/proclist.h"
#include "team/heapread.h"
#include "util.h"
#include "utils/rel.h"

/* Number of blocks to copy at a time: they fit in the second-level cache */
#define BATCH		16

/* After useless copies: number of batches to read without copying */
#define PAUSE		16

/*
 * Maximum number of blocks of a small table: 64 MB.  The leader begins to scan
 * before the workers do, and sorting tuples takes longer than scanning them.
 * Without a limit, the leader would scan most of a small table and then sort
 * while the workers wait.
 */
#define SMALL_TABLE	8192

/*
 * If other processes wait: maximum number of batches without copying.  They
 * have the size of a small table.
 */
#define LONG_PAUSE	(SMALL_TABLE / BATCH)

/*
 * One read of so many is timed.  This is a prime number because the system
 * reads ahead in powers of two.
 */
static const int timed_one_of = 7;

struct HeapReader
{
	HeapScanDesc scan;			/* server's scan: blocks, strategy, stream */
	BlockNumber most;			/* end after this number of blocks, at the end
								 * of a chunk; InvalidBlockNumber: no limit */
	BlockNumber nblocks;		/* number of blocks taken from the scan */
	int			until_point;	/* pages until the next pace_point() */
	int			untimed;		/* reads since the last timed one */
	bool		copying;		/* true: try to copy pages */
	bool		streams;		/* if not copying, read the scan's stream */
	bool		ended;			/* true if the current batch is the last */
	bool		nested;			/* see pace_is_nested */
	Buffer		buffer;			/* buffer of the current page, or invalid */

	/* the batch */
	int			n;
	int			next;
	int			npinned;		/* copies that heapread_pin replaced */
	bool		others_wait;	/* another process waited for our locks */
	BlockNumber blocks[BATCH];
	bool		copied[BATCH];
	char	   *pages;			/* memory for BATCH pages */

	int			pause;			/* batches left to read without copying */
	int			last_pause;		/* last pause for waiters, in batches; 0 if no
								 * process waited after that pause */

	OpenSegment segment;		/* open segment of the file, if any */
};


/*
 * Blocks
 */

/*
 * Returns the next block, or InvalidBlockNumber after the last block.  The
 * fields of the server's scan contain the current position.
 */
static BlockNumber
next_block(HeapScanDesc scan)
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
			pt_parallelscan_startblock_init(heap, worker, blocks);
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
 * True if the reader took its share of the blocks.  No other process can read
 * the rest of this process's chunk, so the reader takes whole chunks.
 */
static bool
has_share(const HeapReader *reader)
{
	return reader->nblocks >= reader->most &&
		reader->scan->rs_parallelworkerdata->phsw_chunk_remaining == 0;
}

/* Fetch the block numbers of the next batch. */
static void
fill_batch(HeapReader *reader)
{
	int			limit = reader->copying ? BATCH : 1;

	reader->n = reader->next = reader->npinned = 0;
	reader->others_wait = false;
	while (reader->n < limit)
	{
		BlockNumber block = has_share(reader) ? InvalidBlockNumber :
			next_block(reader->scan);

		if (block == InvalidBlockNumber)
		{
			reader->ended = true;
			break;
		}
		reader->nblocks++;
		reader->copied[reader->n] = false;
		reader->blocks[reader->n++] = block;
	}
}


/*
 * Copies from the file
 */

#ifdef RWF_NOWAIT

/*
 * Returns the number of blocks, from the i-th on, that are consecutive and in
 * one segment of the file.
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

static int
by_number(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

/*
 * Lock the n blocks' partitions of the buffer mapping, and set buffered[i] to
 * true if the i-th block is in a buffer.
 *
 * Returns the number of locks.  Stores the locked partitions in 'partitions'.
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
 * Release the locks of lock_blocks.  Sets others_wait if another process waits
 * for one of these locks.  The function reads each lock's list of waiters
 * without locking the list, so others_wait may be wrong.  A wrong value causes
 * a needless pause, or delays a pause by one batch.
 */
static void
unlock_partitions(HeapReader *reader, const int *partitions, int n)
{
	for (int i = 0; i < n; i++)
	{
		LWLock	   *lock = BufMappingPartitionLockByIndex(partitions[i]);

		if (!proclist_is_empty(&lock->waiters))
			reader->others_wait = true;
		LWLockRelease(lock);
	}
}

/*
 * Copy n consecutive blocks, from the i-th on.  No block may be in a buffer.
 *
 * Returns the number of pages copied.  The copy ends before the first page that
 * is not in the system's cache.
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
 * Copy n consecutive blocks, beginning with the i-th, except blocks in buffers.
 * Returns false if the copy ended before a block outside the system's cache.
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
	unlock_partitions(reader, partitions, nlocks);
	return cached;
}

/* Discard copies of damaged pages, and count the rest as blocks read. */
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

/* Copy all pages of the batch that are cached and in no buffer. */
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
	if (!cached && reader->streams)
		reader->copying = false;
}

#else							/* older releases of musl lack preadv2() */

static void
copy_batch(HeapReader *reader)
{
	reader->copying = false;
}

#endif


/*
 * Pages
 */

/*
 * Returns the buffer of the next page of the scan's stream, or InvalidBuffer
 * after the last page.
 */
static Buffer
next_buffer(HeapReader *reader)
{
#if PT_HEAP_SCAN_HAS_STREAM
	return read_stream_next_buffer(reader->scan->rs_read_stream, NULL);
#else
	return InvalidBuffer;
#endif
}

/* Begin to measure the time of a read, if it is measured. */
static bool
begin_timing(HeapReader *reader, instr_time *start)
{
	if (++reader->untimed < timed_one_of)
		return false;
	reader->untimed = 0;
	INSTR_TIME_SET_CURRENT(*start);
	return true;
}

/* Count the time of reads since 'start' for this number of reads. */
static void
count_reading(const HeapReader *reader, instr_time start, int reads)
{
	if (!reader->nested)
		work_count(WORK_READING, (uint64) (pt_ms_since(start) * 1000 * reads));
}

HeapReader *
heapread_begin(HeapScanDesc scan, int shares)
{
	HeapReader *reader = palloc0(sizeof(HeapReader));

	reader->scan = scan;
	reader->nested = pace_is_nested();
	/* at least 1: fetching the first block initializes what has_share reads */
	reader->most = shares > 0 && scan->rs_nblocks <= SMALL_TABLE ?
		Max(scan->rs_nblocks / shares, 1) : InvalidBlockNumber;
	reader->buffer = InvalidBuffer;
	/* the stream has pins on the next pages, also during a pause */
	reader->streams = PT_HEAP_SCAN_HAS_STREAM && !pace_is_limited();
	reader->copying = scan->rs_strategy != NULL &&
		!RelationUsesLocalBuffers(scan->rs_base.rs_rd);
	if (reader->copying)
		reader->pages = pt_palloc_io_pages(CurrentMemoryContext, BATCH);
	return reader;
}

/*
 * Begin a pause in copying if the copies of more than half of the last batch
 * were useless, because heapread_pin replaced them.  This happens in a newly
 * loaded table's first scan, which must set hint bits on every page.  Also
 * begin a pause if other processes waited for the last batch's locks.  If
 * processes wait again after this pause, the next is about twice as long.
 */
static void
begin_pause(HeapReader *reader)
{
	if (reader->others_wait)
		reader->last_pause = Min(2 * reader->last_pause + 1, LONG_PAUSE);
	else
		reader->last_pause = 0;
	reader->pause = reader->last_pause;
	if (reader->npinned > reader->n / 2)
		reader->pause = Max(reader->pause, PAUSE);
}

/* Fill the next batch.  Returns false after the last batch. */
static bool
next_batch(HeapReader *reader)
{
	if (reader->ended)
		return false;
	if (reader->pause > 0)
		reader->pause--;
	else
		begin_pause(reader);
	fill_batch(reader);
	if (reader->copying && reader->pause == 0)
		copy_batch(reader);
	return reader->n > 0;
}

/* Set *page to a pinned buffer's page.  The reader will release the buffer. */
static void
provide_buffer(HeapReader *reader, Buffer buffer, HeapPage *page)
{
	reader->buffer = page->buffer = buffer;
	page->block = BufferGetBlockNumber(buffer);
	page->page = BufferGetPage(buffer);
}

static void
provide_block(HeapReader *reader, BlockNumber block, HeapPage *page)
{
	instr_time	start;
	bool		timed = begin_timing(reader, &start);
	Buffer		buffer = ReadBufferExtended(reader->scan->rs_base.rs_rd,
											MAIN_FORKNUM, block, RBM_NORMAL,
											reader->scan->rs_strategy);

	if (timed)
		count_reading(reader, start, timed_one_of);
	provide_buffer(reader, buffer, page);
}

static void
release_page(HeapReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	reader->buffer = InvalidBuffer;
	pace_hold(reader->nested);
}

/* Returns the next page of the scan's stream; see heapread_next. */
static bool
next_of_stream(HeapReader *reader, HeapPage *page)
{
	instr_time	start;
	bool		timed = begin_timing(reader, &start);
	Buffer		buffer = next_buffer(reader);

	if (timed)
		count_reading(reader, start, timed_one_of);
	if (BufferIsValid(buffer))
		provide_buffer(reader, buffer, page);
	return BufferIsValid(buffer);
}

/* Begin a batch, and count the time of copying its pages. */
static bool
begin_batch(HeapReader *reader)
{
	instr_time	start;
	bool		found;

	INSTR_TIME_SET_CURRENT(start);
	found = next_batch(reader);
	count_reading(reader, start, 1);
	return found;
}

/* Provide the next page of a batch; see heapread_next. */
static bool
next_of_batch(HeapReader *reader, HeapPage *page)
{
	int			i;

	if (reader->next == reader->n && !begin_batch(reader))
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

bool
heapread_next(HeapReader *reader, HeapPage *page)
{
	release_page(reader);
	if (--reader->until_point <= 0 && reader->next == reader->n)
	{
		pace_point();
		reader->until_point = BATCH;
	}
	/* the tuples of the page may fill the memory of sorts */
	pace_hold(true);
	if (reader->next == reader->n && !reader->ended && !reader->copying &&
		reader->streams && reader->most == InvalidBlockNumber)
		return next_of_stream(reader, page);
	return next_of_batch(reader, page);
}

void
heapread_pin(HeapReader *reader, HeapPage *page)
{
	Assert(!BufferIsValid(page->buffer));
	reader->npinned++;
	provide_block(reader, page->block, page);
}

void
heapread_end(HeapReader *reader)
{
	release_page(reader);
	(void) segment_close(&reader->segment);
	if (reader->pages != NULL)
		pfree(reader->pages);
	pfree(reader);
}

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
