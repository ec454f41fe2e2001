/*-------------------------------------------------------------------------
 *
 * heapjudge.c
 *	  Page-at-a-time scan of a heap table: which tuples of a page to use.
 *
 * The rules are those of the server's heapam_index_build_range_scan() and
 * heapam_relation_copy_for_cluster(), but the work is done once per page
 * instead of once per tuple, under one share lock.  The callers then read a
 * copy of the page, so that they hold no pin while the sort writes a run, for
 * which VACUUM and pruning would have to wait.
 *
 * The server's scan decides about blocks and their order, the ring of buffers
 * and, with an MVCC snapshot, which tuples are visible.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/syncscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "team/heapjudge.h"
#include "util.h"
#include "utils/snapmgr.h"

#if PT_HEAP_SCAN_HAS_STREAM

/* Pin the next page; returns false after the last one. */
static bool
next_page(HeapScanDesc scan)
{
	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = read_stream_next_buffer(scan->rs_read_stream, NULL);
	if (!BufferIsValid(scan->rs_cbuf))
		return false;
	scan->rs_cblock = BufferGetBlockNumber(scan->rs_cbuf);
	if (scan->rs_base.rs_flags & SO_ALLOW_PAGEMODE)
		heap_prepare_pagescan(&scan->rs_base);
	return true;
}

#else

/* Returns the next block, InvalidBlockNumber after the last one. */
static BlockNumber
next_block(HeapScanDesc scan)
{
	Relation	heap = scan->rs_base.rs_rd;
	ParallelBlockTableScanDesc blocks =
		(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;
	bool		first = !scan->rs_inited;
	BlockNumber block;

	scan->rs_inited = true;
	if (blocks != NULL)
	{
		ParallelBlockTableScanWorker worker = scan->rs_parallelworkerdata;

		if (first)
			table_block_parallelscan_startblock_init(heap, worker, blocks);
		return table_block_parallelscan_nextpage(heap, worker, blocks);
	}

	if (scan->rs_nblocks == 0)
		return InvalidBlockNumber;
	if (first)
		return scan->rs_startblock;
	block = (scan->rs_cblock + 1) % scan->rs_nblocks;
	if (scan->rs_base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(heap, block);
	return block == scan->rs_startblock ? InvalidBlockNumber : block;
}

static bool
next_page(HeapScanDesc scan)
{
	BlockNumber block = next_block(scan);

	if (block == InvalidBlockNumber)
		return false;
	heapgetpage(&scan->rs_base, block);
	return true;
}

#endif

/*
 * Prefetch the headers and the values of all tuples.  A table in shared buffers
 * is too large for the processor's caches, so a scan spends most of its time
 * waiting for memory.
 *
 * Returns the last offset.  Callers must use it: gcc 12 drops calls of a
 * function that does nothing but prefetch.
 */
static inline OffsetNumber
prefetch_tuples(const HeapJudge *judge)
{
	OffsetNumber last = PageGetMaxOffsetNumber(judge->page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		char	   *tuple = judge->page +
			ItemIdGetOffset(PageGetItemId(judge->page, offset));

		pt_prefetch(tuple);
		pt_prefetch(tuple + judge->reach);
	}
	return last;
}

static inline void
add_item(HeapJudge *judge, OffsetNumber offset, HeapTupleHeader tuple,
		 bool alive)
{
	judge->offsets[judge->nitems] = offset;
	judge->alive[judge->nitems++] = alive;
	judge->nlive += alive;
	judge->heap_only |= HeapTupleHeaderIsHeapOnly(tuple);
}

/*
 * True if the hint bits alone prove the tuple live: a committed transaction
 * inserted it, and none deleted it.
 */
static inline bool
says_live(HeapTupleHeader tuple)
{
	const uint16 both = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & both) == both;
}

/* Judge a tuple whose hint bits do not suffice. */
static HeapVerdict
judge_by_horizon(const HeapJudge *judge, OffsetNumber offset)
{
	HeapTupleData tuple;
	HTSV_Result status;

	heapjudge_tuple(judge, offset, &tuple);
	status = HeapTupleSatisfiesVacuum(&tuple, judge->oldest_xmin,
									  judge->scan->rs_cbuf);
	return judge->decide(status, &tuple, judge->arg);
}

/*
 * Judge all tuples with SnapshotAny.  Returns false if the server must do the
 * page.
 */
static bool
judge_all(HeapJudge *judge)
{
	OffsetNumber last = prefetch_tuples(judge);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleHeader tuple;
		HeapVerdict verdict;

		if (!ItemIdIsNormal(PageGetItemId(judge->page, offset)))
			continue;
		judge->nseen++;
		tuple = heapjudge_header(judge, offset);
		verdict = says_live(tuple) ? HEAP_TAKE_LIVE :
			judge_by_horizon(judge, offset);

		if (verdict == HEAP_TAKE_LIVE || verdict == HEAP_TAKE_DELETED)
			add_item(judge, offset, tuple, verdict == HEAP_TAKE_LIVE);
		else if (verdict == HEAP_BREAK_CHAIN)
			judge->broken_chain = true;
		else if (verdict == HEAP_ASK_SERVER)
			return false;
	}
	return true;
}

/* Take the tuples that the server's scan found visible. */
static void
take_visible(HeapJudge *judge)
{
	for (int i = 0; i < judge->scan->rs_ntuples; i++)
	{
		OffsetNumber offset = judge->scan->rs_vistuples[i];

		add_item(judge, offset, heapjudge_header(judge, offset), true);
	}
	judge->nseen = judge->nitems;
}

/* True if every heap-only tuple to use has a known root. */
static bool
roots_are_known(const HeapJudge *judge)
{
	for (int i = 0; i < judge->nitems; i++)
	{
		OffsetNumber offset = judge->offsets[i];

		if (!OffsetNumberIsValid(judge->roots[offset - 1]) &&
			HeapTupleHeaderIsHeapOnly(heapjudge_header(judge, offset)))
			return false;
	}
	return true;
}

/* Find the roots of the tuples to use.  Returns false if one has none. */
static bool
find_roots(HeapJudge *judge)
{
	if (!judge->heap_only || !judge->find_roots)
		return true;
	heap_get_root_tuples(judge->page, judge->roots);
	return roots_are_known(judge);
}

/* Judge the page.  Returns false if the server must do it. */
static bool
judge_page(HeapJudge *judge)
{
	bool		mvcc = IsMVCCSnapshot(judge->scan->rs_base.rs_snapshot);
	bool		judged = true;

	judge->nitems = judge->nlive = judge->nseen = 0;
	judge->heap_only = judge->broken_chain = false;

	LockBuffer(judge->scan->rs_cbuf, BUFFER_LOCK_SHARE);
	if (mvcc)
		take_visible(judge);
	else
		judged = judge_all(judge);
	judged = judged && find_roots(judge);
	memcpy(judge->copy.data, judge->page, BLCKSZ);
	judge->page = judge->copy.data;
	UnlockReleaseBuffer(judge->scan->rs_cbuf);
	judge->scan->rs_cbuf = InvalidBuffer;

	if (mvcc && !judged)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("failed to find parent tuple for heap-only tuple in block %u of table \"%s\"",
								 judge->block,
								 RelationGetRelationName(judge->heap))));
	return judged;
}

static void
report(const HeapJudge *judge, int param, BlockNumber blocks)
{
	if (judge->progress)
		pgstat_progress_update_param(param, blocks);
}

void
heapjudge_begin(HeapJudge *judge, ParallelTableScanDesc parallel,
				Snapshot snapshot)
{
	TableScanDesc scan;

	if (parallel != NULL)
		scan = table_beginscan_parallel(judge->heap, parallel);
	else
		scan = table_beginscan_strat(judge->heap, snapshot, 0, NULL, true,
									 true);
	judge->scan = (HeapScanDesc) scan;
	report(judge, judge->total_param, judge->scan->rs_nblocks);
}

/*
 * Returns the number of blocks that precede the current one in the order of the
 * scan: about the number that all participants together scanned.
 */
static BlockNumber
blocks_done(const HeapJudge *judge)
{
	const		ParallelBlockTableScanDescData *parallel =
		(ParallelBlockTableScanDesc) judge->scan->rs_base.rs_parallel;
	BlockNumber start = parallel != NULL ?
		parallel->phs_startblock : judge->scan->rs_startblock;

	if (judge->block >= start)
		return judge->block - start;
	return judge->scan->rs_nblocks - start + judge->block;
}

bool
heapjudge_next(HeapJudge *judge, bool *judged)
{
	if (!next_page(judge->scan))
		return false;
	CHECK_FOR_INTERRUPTS();
	judge->block = judge->scan->rs_cblock;
	judge->page = BufferGetPage(judge->scan->rs_cbuf);
	judge->pages++;
	report(judge, judge->done_param, blocks_done(judge));
	*judged = judge_page(judge);
	return true;
}

void
heapjudge_end(HeapJudge *judge)
{
	report(judge, judge->done_param, judge->scan->rs_nblocks);
	table_endscan(&judge->scan->rs_base);
}
