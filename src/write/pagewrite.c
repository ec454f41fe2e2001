/*-------------------------------------------------------------------------
 *
 * pagewrite.c
 *	  Writes the finished pages of a new index file; see pagewrite.h.
 *
 * Participants log pages in batches.  Each batch wakes the WAL writer, as an
 * asynchronous commit does.  If the WAL writer slept, WAL buffers would fill
 * up.  Then each WAL insertion would write out 8 kB to find room, and all
 * insertions would wait for the sync at the end of each WAL segment.
 *
 * Durability.  The checkpointer does not know about pages that bypass shared
 * buffers, so pagewrite_sync() registers the file with the checkpointer at the
 * end.  If a checkpoint began after the first page was logged, pagewrite_sync()
 * syncs the file itself: that checkpoint did not sync it, and recovery from
 * that checkpoint does not replay earlier WAL.  If the server skips WAL
 * (wal_level = minimal), commit syncs the file.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "common/file_utils.h"	/* pg_pwritev_with_retry() since 16 */
#include "debug.h"
#include "throttle/throttle.h"
#include "port/pg_iovec.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "write/pagewrite.h"

/*
 * The chunks of all participants together have at most 1/CHUNK_PART of the
 * blocks still to come, because participants that end early leave blocks
 * unused, and at most 1/CHUNK_PART of the blocks already taken, because an
 * estimate based on a few leaves may be wrong.
 */
#define CHUNK_PART		16
#define MAX_CHUNK		(2 * PAGEWRITE_BATCH)

/* Per participant: maximum number of blocks that blocks_ahead() returns. */
#define MAX_AHEAD		(4 * MAX_CHUNK)

/* Number of page buffers to allocate at a time. */
#define BUFFERS			(PAGEWRITE_BATCH / 4)

void
pagewrite_init_shared(PageFileShared *shared, Relation rel, int nparticipants,
					  BlockNumber reserved)
{
	if (RelationGetNumberOfBlocks(rel) != 0)
		elog(ERROR, "relation \"%s\" already contains data",
			 RelationGetRelationName(rel));

	memset(shared, 0, sizeof(PageFileShared));
	shared->use_wal = RelationNeedsWAL(rel);
	shared->redo = GetRedoRecPtr();
	shared->nparticipants = nparticipants;
	shared->reserved = reserved;
	pg_atomic_init_u64(&shared->nblocks, reserved);
	pg_atomic_init_u32(&shared->size, 0);
	pg_atomic_init_u64(&shared->tuples, 0);
}

void
pagewrite_begin(PageWriter *writer, PageFileShared *shared, Relation index)
{
	memset(writer, 0, sizeof(PageWriter));
	writer->index = index;
	writer->shared = shared;
	writer->cxt = CurrentMemoryContext;
	writer->alone = (shared->nparticipants == 1);
	if (shared->use_wal != RelationNeedsWAL(index))
		elog(ERROR, "leader and worker disagree on WAL logging of index \"%s\"",
			 RelationGetRelationName(index));
}

Page
pagewrite_get_buffer(PageWriter *writer)
{
	Page		page = writer->free;

	if (page == NULL)
	{
		page = pt_palloc_io_pages(writer->cxt, BUFFERS);
		for (int i = 1; i < BUFFERS; i++)
			pagewrite_release_buffer(writer, page + i * BLCKSZ);
	}
	else
		writer->free = *(Page *) page;
	return page;
}

void
pagewrite_release_buffer(PageWriter *writer, Page page)
{
	*(Page *) page = writer->free;
	writer->free = page;
}

/*
 * Returns the number of blocks that the file should have beyond its first
 * 'taken' blocks.  Only three quarters of 'at_least' are safe to use, because
 * participants may hold blocks for tuples that they did not report yet.
 */
static BlockNumber
blocks_ahead(const PageWriter *writer, BlockNumber taken)
{
	BlockNumber ahead = writer->at_least - writer->at_least / 4;
	uint32		most = MAX_AHEAD * (uint32) writer->shared->nparticipants;

	return Min(Min(ahead, most), MaxBlockNumber - taken);
}

/*
 * Extend the file if it ends before 'end', the end of this participant's chunk.
 * Also extend it if it has at most half of the blocks that it should have after
 * 'end' (see blocks_ahead), but then do not wait for the extension lock.
 */
static void
grow_file(PageWriter *writer, BlockNumber end)
{
	PageFileShared *shared = writer->shared;
	BlockNumber have = pg_atomic_read_u32(&shared->size);

	pg_read_barrier();
	if (end > have)
		LockRelationForExtension(writer->index, ExclusiveLock);
	else if (have - end > blocks_ahead(writer, end) / 2)
		return;
	else if (!ConditionalLockRelationForExtension(writer->index,
												  ExclusiveLock))
		return;

	writer->eof = pg_atomic_read_u32(&shared->size);
	if (writer->eof < end || writer->eof == have)
	{
		uint64		nblocks = pg_atomic_read_u64(&shared->nblocks);
		BlockNumber taken = (BlockNumber) Min(nblocks, MaxBlockNumber);

		pagewrite_extend(writer, taken + blocks_ahead(writer, taken));
		fault_point("pagewrite: grow");
		pg_write_barrier();
		pg_atomic_write_u32(&shared->size, writer->eof);
	}
	UnlockRelationForExtension(writer->index, ExclusiveLock);
}

/*
 * Get a chunk of blocks.  The 64-bit counter cannot overflow, even if all other
 * participants add to it before this process's error reaches them.
 */
static void
get_chunk(PageWriter *writer)
{
	PageFileShared *shared = writer->shared;
	uint32		size;
	uint64		end;

	end = pg_atomic_read_u64(&shared->nblocks);
	size = Min(writer->to_come, end) / CHUNK_PART /
		(uint32) shared->nparticipants;
	size = Min(Max(size, 1), MAX_CHUNK);
	end = pg_atomic_add_fetch_u64(&shared->nblocks, size);
	if (end > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot extend file \"%s\" beyond %u blocks",
						RelationGetRelationName(writer->index),
						InvalidBlockNumber)));
	fault_point("pagewrite: chunk");
	grow_file(writer, (BlockNumber) end);

	writer->chunk.next = (BlockNumber) (end - size);
	writer->chunk.end = (BlockNumber) end;
}

BlockNumber
pagewrite_get_block(PageWriter *writer)
{
	while (writer->nspare > 0)
	{
		if (writer->spare->next < writer->spare->end)
			return writer->spare->next++;
		writer->spare++;
		writer->nspare--;
	}
	if (writer->alone)			/* smgrextend() limits the file's size */
		return (BlockNumber)
			pg_atomic_fetch_add_u64(&writer->shared->nblocks, 1);
	if (pagewrite_needs_chunk(writer))
		get_chunk(writer);
	return writer->chunk.next++;
}

void
pagewrite_page(PageWriter *writer, Page page, BlockNumber blkno)
{
	writer->pages[writer->npages] = page;
	writer->blknos[writer->npages] = blkno;
	if (++writer->npages == PAGEWRITE_BATCH)
		pagewrite_flush(writer);
}

static void
close_segment(PageWriter *writer)
{
	if (!segment_close(&writer->segment))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m",
						writer->segment.path)));
}

int64
pagewrite_end(PageWriter *writer)
{
	close_segment(writer);
	return writer->pages_written;
}

/*
 * Write pages to consecutive blocks of one segment with one system call.
 * Before 17, the server's storage manager writes one block per call, and each
 * call takes the file's lock.  So before 17, ptsort opens the segments itself,
 * one at a time.
 */
#ifdef PT_SMGR_WRITES_VECTORS
static void
write_in_segment(PageWriter *writer, const Page *pages, BlockNumber blkno,
				 int n)
{
	smgrwritev(RelationGetSmgr(writer->index), MAIN_FORKNUM, blkno,
			   (const void **) pages, n, true);
}
#else
StaticAssertDecl(PAGEWRITE_BATCH <= PG_IOV_MAX, "too many pages for one call");

static void
write_in_segment(PageWriter *writer, const Page *pages, BlockNumber blkno,
				 int n)
{
	OpenSegment *segment = &writer->segment;
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	struct iovec parts[PAGEWRITE_BATCH];
	ssize_t		written;

	if (segment->is_open && segment->number != blkno / RELSEG_SIZE)
		close_segment(writer);
	if (!segment_open(segment, writer->index, blkno, O_RDWR))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", segment->path)));
	for (int i = 0; i < n; i++)
	{
		parts[i].iov_base = pages[i];
		parts[i].iov_len = BLCKSZ;
	}
	errno = 0;
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_WRITE);
	written = pg_pwritev_with_retry(segment->fd, parts, n, offset);
	pgstat_report_wait_end();
	if (written != (ssize_t) n * BLCKSZ)
	{
		/* without an errno, assume that the disk is full */
		bool		no_room = errno == 0 || errno == ENOSPC;

		if (no_room)
			errno = ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write blocks %u..%u in file \"%s\": %m",
						blkno, blkno + n - 1, segment->path),
				 no_room ? errhint("Check free disk space.") : 0));
	}
}
#endif

/*
 * Write consecutive pages.  A sole writer may have to extend the file.  In this
 * case, it writes the last page first.  Earlier blocks, and skipped blocks,
 * read as zeroes until a participant writes them.
 */
static void
write_neighbours(PageWriter *writer, const Page *pages, BlockNumber blkno,
				 int n)
{
	SMgrRelation reln = RelationGetSmgr(writer->index);

	if (writer->alone && blkno + n > writer->eof)
	{
		n--;
		smgrextend(reln, MAIN_FORKNUM, blkno + n, (char *) pages[n], true);
		writer->eof = blkno + n + 1;
	}
	while (n > 0)
	{
		int			here = Min(n, RELSEG_SIZE - blkno % RELSEG_SIZE);

		write_in_segment(writer, pages, blkno, here);
		blkno += here;
		pages += here;
		n -= here;
	}
}

/*
 * Write the pages to their blocks, without fsync requests: see pagewrite_sync.
 */
static void
write_pages(PageWriter *writer)
{
	const BlockNumber *blknos = writer->blknos;
	int			i = 0;

	for (int n = 0; n < writer->npages; n++)
		PageSetChecksum(writer->pages[n], blknos[n]);
	fault_point("pagewrite: write");
	while (i < writer->npages)
	{
		int			n = 1;

		while (i + n < writer->npages && blknos[i + n] == blknos[i] + n)
			n++;
		write_neighbours(writer, &writer->pages[i], blknos[i], n);
		i += n;
	}
}

/*
 * Log the pages and write them.  Do both again if a checkpoint moved the redo
 * pointer past the pages' WAL record before the pages were in the file: a base
 * backup that starts with that checkpoint may copy the file before the write,
 * and recovery from the backup replays only the second record.  A checkpoint
 * that begins after the loop's comparison also begins after the write, so a
 * backup that starts with this checkpoint copies the written pages.
 *
 * DELAY_CHKPT_START would make the checkpoint wait instead.  But a checkpoint
 * does not notice if a transaction clears the flag and soon sets it again, so
 * it would wait until the load ends.
 *
 * GetRedoRecPtr() reads a copy of the redo pointer, and the checkpointer sets
 * the copy a moment after the pointer.  This delay does no harm: a backup
 * copies files only after the whole checkpoint.  The checkpointer and this
 * process hold a spinlock while they access the copy.  So if the checkpointer
 * sets the copy after this process read it, the checkpointer and the backup
 * also see the written pages.  pg_memory_barrier() alone would not ensure this.
 */
static void
log_and_write_pages(PageWriter *writer)
{
	XLogRecPtr	first_end;		/* end of the pages' first WAL record */

	do
	{
		log_newpages(&writer->index->rd_locator, MAIN_FORKNUM, writer->npages,
					 writer->blknos, writer->pages, true);
		first_end = PageGetLSN(writer->pages[0]);
		/* the WAL writer writes and syncs the records in the background */
		XLogSetAsyncXactLSN(PageGetLSN(writer->pages[writer->npages - 1]));
		write_pages(writer);
		fault_point("pagewrite: written");
		pg_memory_barrier();
	} while (first_end <= GetRedoRecPtr());
}

void
pagewrite_flush(PageWriter *writer)
{
	if (writer->npages == 0)
		return;

	fault_point("pagewrite: log");
	space_take(&writer->guard, writer->index, NULL,
			   (Size) writer->npages * BLCKSZ);
	if (writer->shared->use_wal)
	{
		space_take_wal((Size) writer->npages * BLCKSZ +
					   (writer->shared->nparticipants - 1) * PAGEWRITE_WAL);
		log_and_write_pages(writer);
	}
	else
		write_pages(writer);
	writer->pages_written += writer->npages;
	throttle_point();
	for (int i = 0; i < writer->npages; i++)
		pagewrite_release_buffer(writer, writer->pages[i]);
	writer->npages = 0;
}

void
pagewrite_extend(PageWriter *writer, BlockNumber end)
{
	SMgrRelation reln = RelationGetSmgr(writer->index);
	Page		zero;
	BlockNumber last;

	if (writer->eof >= end)
		return;
	/* an all-zero page has no checksum; each block is logged later */
	zero = pagewrite_get_buffer(writer);
	memset(zero, 0, BLCKSZ);
	/* complete each segment before the next one: see pagewrite.h */
	last = (writer->eof / RELSEG_SIZE + 1) * RELSEG_SIZE - 1;
	for (; last < end - 1; last += RELSEG_SIZE)
		smgrextend(reln, MAIN_FORKNUM, last, (char *) zero, true);
	smgrextend(reln, MAIN_FORKNUM, end - 1, (char *) zero, true);
	pagewrite_release_buffer(writer, zero);
	writer->eof = end;
}

static int
compare_chunks(const void *a, const void *b)
{
	BlockNumber next_a = ((const PageChunk *) a)->next;
	BlockNumber next_b = ((const PageChunk *) b)->next;

	return (next_a > next_b) - (next_a < next_b);
}

void
pagewrite_take_over(PageWriter *writer, PageChunk *chunks, int nchunks)
{
	PageFileShared *shared = writer->shared;

	if (!writer->alone)
	{
		writer->alone = true;
		writer->eof = pg_atomic_read_u32(&shared->size);
		/* the file may still be empty */
		chunks[nchunks].next = (BlockNumber)
			pg_atomic_exchange_u64(&shared->nblocks,
								   Max(writer->eof, shared->reserved));
		chunks[nchunks++].end = writer->eof;
	}
	qsort(chunks, nchunks, sizeof(PageChunk), compare_chunks);
	writer->spare = chunks;
	writer->nspare = nchunks;
}

int64
pagewrite_report(PageWriter *writer)
{
	int64		added = writer->tuples - writer->reported;
	int64		all = (int64)
		pg_atomic_add_fetch_u64(&writer->shared->tuples, added);

	writer->reported = writer->tuples;
	work_count(WORK_READ, added);
	CHECK_FOR_INTERRUPTS();
	if (writer->reports)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, all);
	return all;
}

void
pagewrite_retire_spare(PageWriter *writer, void (*make_deleted) (Page page))
{
	bool		retired = false;

	fault_point("pagewrite: left-over blocks");

	/* write the pages first: the free space map must not list zeroed blocks */
	for (int i = 0; i < writer->nspare; i++)
	{
		PageChunk  *chunk = &writer->spare[i];

		for (BlockNumber blk = chunk->next; blk < chunk->end; blk++)
		{
			Page		page = pagewrite_get_buffer(writer);

			make_deleted(page);
			pagewrite_page(writer, page, blk);
			retired = true;
		}
	}
	pagewrite_flush(writer);

	for (int i = 0; i < writer->nspare; i++)
	{
		PageChunk  *chunk = &writer->spare[i];

		for (; chunk->next < chunk->end; chunk->next++)
			RecordFreeIndexPage(writer->index, chunk->next);
	}
	if (retired)
		IndexFreeSpaceMapVacuum(writer->index);

	writer->nspare = 0;
}

/*
 * Register the file with the checkpointer.  Returns false if a checkpoint
 * already began (see "Durability" above) or the checkpointer's queue is full.
 *
 * DELAY_CHKPT_START keeps a checkpoint from beginning after this function
 * compares the redo pointers and before it registers the file.
 */
static bool
register_logged_file(PageWriter *writer)
{
	bool		registered = false;

	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	if (writer->shared->redo == GetRedoRecPtr())
		registered = pt_smgrregistersync(writer->index, writer->eof);
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	return registered;
}

void
pagewrite_sync(PageWriter *writer)
{
	bool		registered;
	BlockNumber size = RelationGetNumberOfBlocks(writer->index);
	uint64		taken = pg_atomic_read_u64(&writer->shared->nblocks);

	Assert(writer->alone && writer->npages == 0);
	fault_point("pagewrite: sync");
	if (size != taken || size != writer->eof)
		elog(ERROR, "relation \"%s\" has %u blocks where %llu were expected",
			 RelationGetRelationName(writer->index), size,
			 (unsigned long long) taken);

	if (writer->shared->use_wal)
		registered = register_logged_file(writer);
	else
	{
		/*
		 * An unlogged index must reach the disk with the next checkpoint, or
		 * a clean shutdown could lose it.  Commit syncs a permanent index
		 * whose WAL is skipped, and the additional request here does no harm.
		 * A temporary index need not survive anything.
		 */
		registered = RelationUsesLocalBuffers(writer->index) ||
			pt_smgrregistersync(writer->index, size);
	}
	if (!registered)
		smgrimmedsync(RelationGetSmgr(writer->index), MAIN_FORKNUM);
}
