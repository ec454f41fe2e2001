/*-------------------------------------------------------------------------
 *
 * heapread.c
 *	  Reads the pages of a heap table in the order of a scan.
 *
 * The server reads a large table into a ring of buffers.  If the table is in
 * the operating system's cache, a scan spends most of its time on system calls
 * and on the buffer mapping.  So this file copies pages from the table's file
 * into private memory (pageread.c), many pages with one system call.  The
 * memory fits in the processor's cache.
 *
 * The copying process holds locks of the buffer mapping.  It stops copying for
 * a while if another process waits for one of these locks.  The server's own
 * functions read all pages of which there is no copy:
 *
 * - pages that are in a buffer, or not in the system's cache
 * - pages whose checksum or header is wrong: the server reports or repairs them
 * - pages on which the scan must set hint bits (heapread_pin)
 * - pages of tables in local buffers, and of tables so small that the server's
 *	 scan would leave them in shared buffers for the next query
 *
 * On 17 and later the server's scan has a stream that reads ahead.  A scan that
 * began to use the stream cannot leave it.  So after the first page outside the
 * system's cache, the scan reads all following pages from the stream.  Scans of
 * ranges read such pages into the system's cache and copy them.
 *
 * The scan of a check skips damaged pages.  It copies each page that is in no
 * buffer, and reads no page into a buffer of which it had no sound copy.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/syncscan.h"
#include "throttle/throttle.h"
#include "team/heapjudge.h"
#include "team/pageread.h"
#include "util.h"

/* Number of blocks to copy at a time: they fit in the second-level cache */
#define BATCH		(PAGEREAD_MOST / 2)

/* After useless copies: number of batches to read without copying */
#define PAUSE		16

/* Maximum number of blocks of a small table: 64 MB; see src/README */
#define SMALL_TABLE	8192

/* Maximum of a pause, in batches, if other processes wait */
#define LONG_PAUSE	(SMALL_TABLE / BATCH)

/* One read of 7 is timed: a prime, because systems read powers of two ahead */
#define TIMED_ONE_OF	7

struct HeapReader
{
	HeapScanDesc scan;			/* server's scan: blocks, strategy, stream */
	BlockNumber most;			/* end after this number of blocks, at the end
								 * of a chunk; InvalidBlockNumber: no limit */
	BlockNumber nblocks;		/* number of blocks taken from the scan */
	bool		ranged;			/* see heapread_range */
	BlockNumber range_next;
	BlockNumber range_end;
	int			until_point;	/* pages until the next throttle_point() */
	int			untimed;		/* reads since the last timed one */
	bool		copying;		/* true: try to copy pages */
	bool		streams;		/* if not copying, read the scan's stream */
	bool		skips;			/* skip damaged pages */
	bool		ended;			/* true if the current batch is the last */
	bool		nested;			/* see throttle_is_nested */
	Marks	   *wanted;			/* see heapread_begin */
	Buffer		buffer;			/* buffer of the current page, or invalid */

	PageBatch	batch;
	int			next;			/* next page of the batch */
	int			npinned;		/* copies that heapread_pin replaced */
	int			pause;			/* batches left to read without copying */
	int			last_pause;		/* last pause for waiters, or 0 */

	OpenSegment segment;		/* open segment of the file, if any */
};


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

/* Returns the next block to read, or InvalidBlockNumber. */
static BlockNumber
take_block(HeapReader *reader)
{
	if (reader->ranged)
		return reader->range_next < reader->range_end ?
			reader->range_next++ : InvalidBlockNumber;
	return has_share(reader) ? InvalidBlockNumber : next_block(reader->scan);
}

static void
fill_batch(HeapReader *reader)
{
	PageBatch  *batch = &reader->batch;
	int			limit = reader->copying ? BATCH : 1;

	batch->n = reader->next = reader->npinned = 0;
	batch->others_wait = false;
	while (batch->n < limit && !reader->ended)
	{
		BlockNumber block = take_block(reader);

		reader->ended = block == InvalidBlockNumber;
		if (reader->ended)
			break;
		reader->nblocks++;
		CHECK_FOR_INTERRUPTS();
		if (reader->wanted != NULL &&
			!marks_has(reader->wanted, block, MARK_READ))
			continue;
		batch->states[batch->n] = PAGE_UNREAD;
		batch->blocks[batch->n++] = block;
	}
}


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

/* Count the time of reads since 'start' for this number of reads. */
static void
count_reading(const HeapReader *reader, instr_time start, int reads)
{
	if (!reader->nested)
		work_count(WORK_READING, (uint64) (pt_ms_since(start) * 1000 * reads));
}

HeapReader *
heapread_begin(HeapScanDesc scan, int shares, bool skips, Marks *wanted)
{
	HeapReader *reader = palloc0(sizeof(HeapReader));

	reader->scan = scan;
	reader->nested = throttle_is_nested();
	/* at least 1: fetching the first block initializes what has_share reads */
	reader->most = shares > 0 && scan->rs_nblocks <= SMALL_TABLE ?
		Max(scan->rs_nblocks / shares, 1) : InvalidBlockNumber;
	reader->buffer = InvalidBuffer;
	reader->wanted = wanted;
	/* the stream has pins on the next pages, also during a pause */
	reader->streams = PT_HEAP_SCAN_HAS_STREAM && !skips && wanted == NULL &&
		!throttle_is_limited();
	reader->copying = (scan->rs_strategy != NULL || skips) &&
		!RelationUsesLocalBuffers(scan->rs_base.rs_rd);
	reader->skips = skips && reader->copying;
	if (reader->copying)
		reader->batch.pages = pt_palloc_io_pages(CurrentMemoryContext, BATCH);
	return reader;
}

/*
 * Begin a pause in copying if heapread_pin replaced more than half of the last
 * batch's copies, as in the first scan of a newly loaded table, which must set
 * hint bits on every page.  Also begin a pause if other processes waited for
 * the last batch's locks.  If processes wait again after this pause, the next
 * is about twice as long.
 */
static void
begin_pause(HeapReader *reader)
{
	if (reader->batch.others_wait)
		reader->last_pause = Min(2 * reader->last_pause + 1, LONG_PAUSE);
	else
		reader->last_pause = 0;
	reader->pause = reader->last_pause;
	if (reader->npinned > reader->batch.n / 2)
		reader->pause = Max(reader->pause, PAUSE);
}

/* Fill the next batch, and count the time.  Returns false after the last. */
static bool
next_batch(HeapReader *reader)
{
	instr_time	start;

	if (reader->ended)
		return false;
	INSTR_TIME_SET_CURRENT(start);
	if (reader->pause > 0)
		reader->pause--;
	else
		begin_pause(reader);
	fill_batch(reader);
	if (reader->copying && reader->pause == 0 && reader->batch.n > 0 &&
		!pageread_copy(&reader->batch, reader->scan->rs_base.rs_rd,
					   &reader->segment, reader->ranged))
	{
		reader->copying = !reader->streams;
		reader->pause = reader->ranged ? LONG_PAUSE : 0;
	}
	count_reading(reader, start, 1);
	return reader->batch.n > 0;
}

/*
 * Set *page to a block in a pinned buffer, which the reader will release.
 * InvalidBlockNumber stands for the next block of the scan's stream.  Returns
 * false after the last page of the stream.
 */
static bool
provide_buffer(HeapReader *reader, BlockNumber block, HeapPage *page)
{
	HeapScanDesc scan = reader->scan;
	instr_time	start;
	bool		timed = ++reader->untimed >= TIMED_ONE_OF;

	INSTR_TIME_SET_ZERO(start);
	if (timed)
		INSTR_TIME_SET_CURRENT(start);
	reader->buffer = block == InvalidBlockNumber ? next_buffer(reader) :
		ReadBufferExtended(scan->rs_base.rs_rd, MAIN_FORKNUM, block,
						   RBM_NORMAL, scan->rs_strategy);
	if (timed)
	{
		count_reading(reader, start, TIMED_ONE_OF);
		reader->untimed = 0;
	}
	page->buffer = reader->buffer;
	if (!BufferIsValid(page->buffer))
		return false;
	page->block = BufferGetBlockNumber(page->buffer);
	page->page = BufferGetPage(page->buffer);
	return true;
}

void
heapread_release(HeapReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	reader->buffer = InvalidBuffer;
	throttle_hold(reader->nested);
}

bool
heapread_next(HeapReader *reader, HeapPage *page)
{
	PageBatch  *batch = &reader->batch;
	int			i;

	heapread_release(reader);
	if (--reader->until_point <= 0 && reader->next == batch->n)
	{
		throttle_point();
		reader->until_point = BATCH;
	}
	/* the tuples of the page may fill the memory of sorts */
	throttle_hold(true);
	if (reader->next == batch->n && !reader->ended && !reader->copying &&
		reader->streams && reader->most == InvalidBlockNumber)
		return provide_buffer(reader, InvalidBlockNumber, page);
	if (reader->next == batch->n && !next_batch(reader))
		return false;
	i = reader->next++;
	if (reader->skips && batch->states[i] == PAGE_UNREAD)
		batch->states[i] = pageread_one(batch->pages + (Size) i * BLCKSZ,
										batch->blocks[i],
										reader->scan->rs_base.rs_rd,
										&reader->segment);
	if (batch->states[i] != PAGE_COPIED &&
		!(reader->skips && batch->states[i] == PAGE_DAMAGED))
		return provide_buffer(reader, batch->blocks[i], page);
	page->block = batch->blocks[i];
	page->buffer = InvalidBuffer;
	page->page = batch->states[i] == PAGE_DAMAGED ? NULL :
		batch->pages + (Size) i * BLCKSZ;
	return true;
}

void
heapread_pin(HeapReader *reader, HeapPage *page)
{
	Assert(!BufferIsValid(page->buffer));
	reader->npinned++;
	(void) provide_buffer(reader, page->block, page);
}

void
heapread_range(HeapReader *reader, BlockNumber first, BlockNumber end)
{
	heapread_release(reader);
	reader->ranged = true;
	reader->streams = false;
	reader->range_next = first;
	reader->range_end = end;
	reader->ended = false;
	reader->batch.n = reader->next = 0;
}

void
heapread_end(HeapReader *reader)
{
	heapread_release(reader);
	(void) segment_close(&reader->segment);
	if (reader->batch.pages != NULL)
		pfree(reader->batch.pages);
	pfree(reader);
}

BlockNumber
heapread_done(const HeapReader *reader, BlockNumber block)
{
	HeapScanDesc scan = reader->scan;
	ParallelBlockTableScanDesc parallel =
		(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;
	BlockNumber start = parallel != NULL ?
		parallel->phs_startblock : scan->rs_startblock;

	if (reader->ranged)
		return block;
	if (block >= start)
		return block - start;
	return scan->rs_nblocks - start + block;
}
