/*-------------------------------------------------------------------------
 *
 * heapjudge.c
 *	  Page-at-a-time scan of a heap table: which tuples of a page to use.
 *
 * This file follows the rules of the server's heapam_index_build_range_scan()
 * and heapam_relation_copy_for_cluster(), but locks each page once, not for
 * each tuple.  Reading the tuples later needs only the pin, not the lock: no
 * process removes or moves tuples of a pinned page.  Other processes may change
 * hint bits and xmax and add line pointers, but the callers read none of these.
 *
 * If a page is in no buffer, heapread.c may provide a copy, which needs no
 * lock.  If the hint bits do not prove that all tuples of the copy are live,
 * heapread.c reads the page into a buffer, and this file judges the tuples
 * there.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/transam.h"
#include "throttle/throttle.h"
#include "team/heapjudge.h"
#include "util.h"

/*
 * Prefetch the headers and the values of all tuples.  Returns the last offset
 * of the page.  Callers must use this result; otherwise gcc 12 drops the call,
 * as if the function had no effect.
 */
static inline OffsetNumber
prefetch_tuples(const HeapJudge *judge)
{
	OffsetNumber last = PageGetMaxOffsetNumber(judge->here.page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		char	   *tuple = judge->here.page +
			ItemIdGetOffset(PageGetItemId(judge->here.page, offset));

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
 * inserted it, and no transaction deleted it.
 */
static inline bool
says_live(HeapTupleHeader tuple)
{
	const uint16 both = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & both) == both;
}

/* Judge a buffered page's tuple whose hint bits do not prove it live. */
static HeapVerdict
judge_by_horizon(const HeapJudge *judge, OffsetNumber offset)
{
	HeapTupleData tuple;
	HTSV_Result status;

	heapjudge_tuple(judge, offset, &tuple);
	status = HeapTupleSatisfiesVacuum(&tuple, judge->oldest_xmin,
									  judge->here.buffer);
	return judge->decide(status, &tuple, judge->arg);
}

/*
 * Judge all tuples, for SnapshotAny.  Returns false if the server must scan the
 * page, or if the page is a copy and hint bits do not suffice to judge a tuple.
 */
static bool
judge_all(HeapJudge *judge)
{
	OffsetNumber last = prefetch_tuples(judge);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleHeader tuple;
		HeapVerdict verdict;

		if (!ItemIdIsNormal(PageGetItemId(judge->here.page, offset)))
			continue;
		judge->nseen++;
		tuple = heapjudge_header(judge, offset);
		if (says_live(tuple))
			verdict = HEAP_TAKE_LIVE;
		else if (BufferIsValid(judge->here.buffer))
			verdict = judge_by_horizon(judge, offset);
		else
			return false;

		if (verdict == HEAP_TAKE_LIVE || verdict == HEAP_TAKE_DELETED)
			add_item(judge, offset, tuple, verdict == HEAP_TAKE_LIVE);
		else if (verdict == HEAP_BREAK_CHAIN)
			judge->broken_chain = true;
		else if (verdict == HEAP_ASK_SERVER)
			return false;
	}
	return true;
}

/*
 * True if a tuple without hint bits is surely visible.  A crash or a failover
 * loses the hint bits of all-visible pages, and VACUUM skips these pages.
 */
static bool
is_proved(const HeapJudge *judge, HeapTupleHeader tuple, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple);

	return (tuple->t_infomask & HEAP_XMAX_INVALID) != 0 &&
		(tuple->t_infomask & (HEAP_XMIN_INVALID | HEAP_MOVED)) == 0 &&
		TransactionIdFollowsOrEquals(xmin,
									 judge->heap->rd_rel->relfrozenxid) &&
		TransactionIdPrecedes(xmin, snapshot->xmin) &&
		TransactionIdDidCommit(xmin);
}

/*
 * Find the tuples that an MVCC snapshot sees.  Returns false if the page is a
 * copy and hint bits do not suffice to judge a tuple.  The page has the mark
 * MARK_INDEXED only if the tuples themselves prove that the snapshot sees all:
 * a wrong flag of the page must not lose a row.
 */
static bool
judge_visible(HeapJudge *judge, Snapshot snapshot)
{
	OffsetNumber last = prefetch_tuples(judge);
	bool		all_visible = PageIsAllVisible(judge->here.page) &&
		!snapshot->takenDuringRecovery;

	judge->marks = MARK_INDEXED | (all_visible ? MARK_VISIBLE : 0);
	pt_test_for_old_snapshot(snapshot, judge->heap, judge->here.page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleHeader header;
		HeapTupleData tuple;

		if (!ItemIdIsNormal(PageGetItemId(judge->here.page, offset)))
			continue;
		header = heapjudge_header(judge, offset);

		/* the rule of HeapTupleSatisfiesVisibility(), without the call */
		if (!(says_live(header) &&
			  (HeapTupleHeaderXminFrozen(header) ||
			   TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(header),
									 snapshot->xmin))))
		{
			if (!all_visible && !BufferIsValid(judge->here.buffer))
				return false;
			heapjudge_tuple(judge, offset, &tuple);
			if (all_visible)
				judge->marks *= judge->marking &&
					is_proved(judge, header, snapshot);
			else if (!HeapTupleSatisfiesVisibility(&tuple, snapshot,
												   judge->here.buffer))
			{
				judge->marks = 0;
				continue;
			}
		}
		add_item(judge, offset, header, true);
	}
	judge->nseen = judge->nitems;
	return true;
}

/* True if the root of every selected heap-only tuple is known. */
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

/* Judge the tuples of the page.  Returns false as judge_all. */
static bool
judge_tuples(HeapJudge *judge)
{
	Snapshot	snapshot = judge->scan->rs_base.rs_snapshot;

	judge->nitems = judge->nlive = judge->nseen = 0;
	judge->heap_only = judge->broken_chain = false;

	if (IsMVCCSnapshot(snapshot) ? !judge_visible(judge, snapshot) :
		!judge_all(judge))
		return false;
	if (!judge->heap_only || !judge->find_roots)
		return true;
	heap_get_root_tuples(judge->here.page, judge->roots);
	return roots_are_known(judge);
}

/* Judge a buffer's page.  Returns false if the server must scan the page. */
static bool
judge_buffer(HeapJudge *judge)
{
	bool		mvcc = IsMVCCSnapshot(judge->scan->rs_base.rs_snapshot);
	bool		judged;

	/* the server, too, prunes pages only in a scan with an MVCC snapshot */
	if (mvcc)
		pt_heap_page_prune_opt(judge->scan, judge->here.buffer);

	LockBuffer(judge->here.buffer, BUFFER_LOCK_SHARE);
	judged = judge_tuples(judge);
	LockBuffer(judge->here.buffer, BUFFER_LOCK_UNLOCK);

	if (mvcc && !judged)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("failed to find parent tuple for heap-only tuple in block %u of table \"%s\"",
								 judge->here.block,
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
		scan = pt_table_beginscan_parallel(judge->heap, parallel);
	else
		scan = table_beginscan_strat(judge->heap, snapshot, 0, NULL, true,
									 true);
	judge->scan = (HeapScanDesc) scan;
	judge->nested = throttle_is_nested();
	judge->reader = heapread_begin(judge->scan, judge->shares,
								   judge->skips, judge->wanted);
	report(judge, judge->total_param, judge->scan->rs_nblocks);
}

bool
heapjudge_next(HeapJudge *judge, bool *judged)
{
	if (!heapread_next(judge->reader, &judge->here))
		return false;
	CHECK_FOR_INTERRUPTS();
	judge->pages++;
	if (!judge->nested)
		work_count(WORK_BLOCKS, 1);
	report(judge, judge->done_param,
		   heapread_done(judge->reader, judge->here.block));

	if (judge->here.page == NULL)
		return true;
	if (!BufferIsValid(judge->here.buffer))
	{
		*judged = judge_tuples(judge);
		judge->copied_pages += *judged;
		if (*judged)
			return true;
		heapread_pin(judge->reader, &judge->here);
	}
	*judged = judge_buffer(judge);
	return true;
}

void
heapjudge_end(HeapJudge *judge)
{
	heapread_end(judge->reader);
	report(judge, judge->done_param, judge->scan->rs_nblocks);
	table_endscan((TableScanDesc) judge->scan);
}
