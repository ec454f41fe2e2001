/*-------------------------------------------------------------------------
 *
 * heapscan.c
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * The rules are those of the server's heapam_index_build_range_scan(), but the
 * work is done once per page instead of once per tuple.  For each page:
 *
 * 1. Judge.  Under one share lock, decide for every tuple whether it gets an
 *	  index entry, and find the root line pointers of heap-only tuples.
 * 2. Emit.  With the pin only, read the values and call the callback, for one
 *	  index after the other.  That is safe: no process removes or moves tuples
 *	  of a pinned page, and this step does not read what other processes may
 *	  still change (hint bits, xmax, more line pointers).
 *
 * heapread.c may provide a page that is in no buffer as a copy, which needs no
 * lock.  If the hint bits do not prove that all tuples of the copy are live,
 * the scan reads the page into a buffer and judges it there.
 *
 * Nothing is emitted before the whole page is judged.  So if a tuple needs a
 * warning or a wait, because another transaction has it in progress, the
 * server's own scan can do that one block.  (An index build normally holds a
 * lock that excludes other writers, except on tables whose users release their
 * locks early.)
 *
 * Pages with recently dead tuples, or with the transaction's own changes, are
 * judged here: their rules need no waiting, and after a restore in a single
 * transaction, or while an old snapshot is held, all pages may be like that.
 *
 * The horizon: an index must have recently dead tuples, those that some
 * snapshot may still see, and need not have dead ones.  This scan determines
 * the horizon once at its start; the server's scan of a single block determines
 * it again, so that the two may differ, as do the horizons of the participants
 * in the server's own parallel builds.  That is harmless.  Each horizon was
 * right when it was determined, and all that precedes it is invisible to every
 * snapshot from then on.  Dead and recently dead tuples differ in nothing else:
 * neither kind is counted or checked for uniqueness.  Only the verdicts on
 * tuples of one HOT chain must agree, and these are on one page.
 *
 * In CONCURRENTLY builds one MVCC snapshot decides for all blocks and
 * participants.  With a new snapshot for each block, a row that moves meanwhile
 * would be seen twice or not at all.  So the server's scan, which would take a
 * new snapshot, must not do any block; nor does it need to, since a snapshot
 * decides without waiting.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "debug.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "team/heapcolumns.h"
#include "team/heapread.h"
#include "team/heapscan.h"
#include "util.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* Emits the tuples of a page to one index. */
typedef struct HeapEmitter
{
	HeapScanTarget *target;
	HeapColumns plan;			/* for an index of plain columns */

	/* for expressions and predicates; estate is NULL without these */
	EState	   *estate;
	ExprContext *econtext;
	TupleTableSlot *slot;
	ExprState  *predicate;
} HeapEmitter;

typedef struct HeapScan
{
	Relation	heap;
	bool		progress;
	int			nemitters;
	HeapEmitter *emitters;
	uint32		reach;			/* maximum HeapColumns.reach of the plans */

	HeapScanDesc scan;			/* server's scan: blocks, strategy, snapshot */
	Snapshot	snapshot;
	TransactionId oldest_xmin;	/* the horizon, with SnapshotAny only */

	/* the judged page */
	HeapReader *reader;
	HeapPage	here;
	int			nitems;			/* tuples that get an index entry */
	int			nlive;			/* tuples that count as live */
	int			nseen;			/* all tuples or, with MVCC, visible ones */
	bool		heap_only;		/* some tuples with an entry are heap-only */
	bool		broken_chain;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	bool		alive[MaxHeapTuplesPerPage];
	OffsetNumber roots[MaxHeapTuplesPerPage];	/* if heap_only */

	BlockNumber pages;
	BlockNumber copied_pages;	/* pages for which a copy sufficed */
	BlockNumber server_pages;	/* pages that the server's scan did */
} HeapScan;

/* How the scan treats a tuple. */
typedef enum Verdict
{
	SKIP,						/* no index entry */
	TAKE_LIVE,					/* entry; the tuple is live */
	TAKE_DELETED,				/* entry; recently dead, or deleted by this
								 * transaction */
	CHAIN_BROKEN,				/* no entry, though a snapshot may see it */
	ASK_SERVER					/* another transaction has it in progress */
} Verdict;


/*
 * Judging a page
 */

/*
 * Prefetch the headers and the values of all tuples.  A table in shared buffers
 * is too large for the processor's caches, so a scan spends most of its time
 * waiting for memory.
 *
 * Returns the last offset.  Callers must use it: gcc 12 drops calls of a
 * function that does nothing but prefetch.
 */
static inline OffsetNumber
prefetch_tuples(const HeapScan *hs)
{
	OffsetNumber last = PageGetMaxOffsetNumber(hs->here.page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		char	   *tuple = hs->here.page +
			ItemIdGetOffset(PageGetItemId(hs->here.page, offset));

		pt_prefetch(tuple);
		pt_prefetch(tuple + hs->reach);
	}
	return last;
}

static inline HeapTupleHeader
tuple_of(const HeapScan *hs, ItemId item)
{
	return (HeapTupleHeader) PageGetItem(hs->here.page, item);
}

/* Set *tuple to the form that the server's visibility functions expect. */
static inline void
set_tuple(const HeapScan *hs, OffsetNumber offset, ItemId item,
		  HeapTupleData *tuple)
{
	tuple->t_data = tuple_of(hs, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(hs->heap);
	ItemPointerSet(&tuple->t_self, hs->here.block, offset);
}

static inline bool
is_own(TransactionId xid)
{
	return TransactionIdIsCurrentTransactionId(xid);
}

/*
 * Judge a tuple whose hint bits do not suffice, by the rules of the server's
 * scan without its "anyvisible" mode.
 */
static Verdict
judge_by_horizon(const HeapScan *hs, OffsetNumber offset, ItemId item)
{
	HeapTupleData tuple;
	HeapTupleHeader header;

	set_tuple(hs, offset, item, &tuple);
	header = tuple.t_data;
	switch (HeapTupleSatisfiesVacuum(&tuple, hs->oldest_xmin, hs->here.buffer))
	{
		case HEAPTUPLE_DEAD:
			return SKIP;
		case HEAPTUPLE_LIVE:
			return TAKE_LIVE;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return is_own(HeapTupleHeaderGetXmin(header)) ?
				TAKE_LIVE : ASK_SERVER;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			if (!is_own(HeapTupleHeaderGetUpdateXid(header)))
				return ASK_SERVER;
			/* FALLTHROUGH */
		case HEAPTUPLE_RECENTLY_DEAD:

			/*
			 * A snapshot may still see the tuple.  If the HOT chain
			 * continues, its only entry is for the live tuple at its end.
			 */
			return HeapTupleIsHotUpdated(&tuple) ? CHAIN_BROKEN : TAKE_DELETED;
	}
	return ASK_SERVER;			/* which raises an error */
}

static inline void
add_item(HeapScan *hs, OffsetNumber offset, HeapTupleHeader tuple, bool alive)
{
	hs->offsets[hs->nitems] = offset;
	hs->alive[hs->nitems++] = alive;
	hs->nlive += alive;
	if (HeapTupleHeaderIsHeapOnly(tuple))
		hs->heap_only = true;
}

/*
 * Judge all tuples with SnapshotAny.  Returns false if the server must do the
 * page, or if it is a copy and the hint bits of a tuple do not suffice.
 */
static bool
judge_all(HeapScan *hs)
{
	OffsetNumber last = prefetch_tuples(hs);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		item = PageGetItemId(hs->here.page, offset);
		HeapTupleHeader tuple;
		Verdict		verdict;

		if (!ItemIdIsNormal(item))
			continue;
		hs->nseen++;
		tuple = tuple_of(hs, item);
		if (heapread_says_live(tuple))
			verdict = TAKE_LIVE;
		else if (BufferIsValid(hs->here.buffer))
			verdict = judge_by_horizon(hs, offset, item);
		else
			return false;

		if (verdict == TAKE_LIVE || verdict == TAKE_DELETED)
			add_item(hs, offset, tuple, verdict == TAKE_LIVE);
		else if (verdict == CHAIN_BROKEN)
			hs->broken_chain = true;
		else if (verdict == ASK_SERVER)
			return false;
	}
	return true;
}

/*
 * Find the tuples that an MVCC snapshot sees.  Returns false if the page is a
 * copy and the hint bits of a tuple do not suffice.
 */
static bool
judge_visible(HeapScan *hs)
{
	OffsetNumber last = prefetch_tuples(hs);
	bool		all_visible = PageIsAllVisible(hs->here.page) &&
		!hs->snapshot->takenDuringRecovery;

	pt_test_for_old_snapshot(hs->snapshot, hs->heap, hs->here.page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		item = PageGetItemId(hs->here.page, offset);
		HeapTupleHeader header;
		HeapTupleData tuple;

		if (!ItemIdIsNormal(item))
			continue;
		header = tuple_of(hs, item);

		/* as the visibility function decides, without the call */
		if (!all_visible &&
			!(heapread_says_live(header) &&
			  (HeapTupleHeaderXminFrozen(header) ||
			   TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(header),
									 hs->snapshot->xmin))))
		{
			if (!BufferIsValid(hs->here.buffer))
				return false;
			set_tuple(hs, offset, item, &tuple);
			if (!HeapTupleSatisfiesVisibility(&tuple, hs->snapshot,
											  hs->here.buffer))
				continue;
		}
		add_item(hs, offset, header, true);
	}
	hs->nseen = hs->nitems;
	return true;
}

/* True if every heap-only tuple that gets an entry has a known root. */
static bool
roots_are_known(HeapScan *hs)
{
	for (int i = 0; i < hs->nitems; i++)
	{
		OffsetNumber offset = hs->offsets[i];
		ItemId		item = PageGetItemId(hs->here.page, offset);
		HeapTupleHeader tuple = tuple_of(hs, item);

		if (!OffsetNumberIsValid(hs->roots[offset - 1]) &&
			HeapTupleHeaderIsHeapOnly(tuple))
			return false;
	}
	return true;
}

/*
 * Judge the page.  Returns false if the server must do it, or if a copy does
 * not suffice.
 */
static bool
judge_tuples(HeapScan *hs)
{
	hs->nitems = hs->nlive = hs->nseen = 0;
	hs->heap_only = hs->broken_chain = false;

	if (IsMVCCSnapshot(hs->snapshot) ? !judge_visible(hs) :
		ptsort_debug.server_pages || !judge_all(hs))
		return false;
	if (!hs->heap_only)
		return true;
	heap_get_root_tuples(hs->here.page, hs->roots);
	return roots_are_known(hs);
}

/* Judge a page in a buffer.  Returns false if the server must do it. */
static bool
judge_buffer(HeapScan *hs)
{
	bool		mvcc = IsMVCCSnapshot(hs->snapshot);
	bool		judged;

	/* the server's scans prune only where a snapshot decides */
	if (mvcc)
		heap_page_prune_opt(hs->heap, hs->here.buffer);

	LockBuffer(hs->here.buffer, BUFFER_LOCK_SHARE);
	judged = judge_tuples(hs);
	LockBuffer(hs->here.buffer, BUFFER_LOCK_UNLOCK);

	if (mvcc && !judged)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("failed to find parent tuple for heap-only tuple in block %u of table \"%s\"",
								 hs->here.block,
								 RelationGetRelationName(hs->heap))));
	return judged;
}

/*
 * Judge the page, by its copy if that suffices.  Returns false if the server
 * must do it.
 */
static bool
judge_page(HeapScan *hs)
{
	if (!BufferIsValid(hs->here.buffer))
	{
		if (judge_tuples(hs))
		{
			hs->copied_pages++;
			return true;
		}
		heapread_pin(hs->reader, &hs->here);
	}
	return judge_buffer(hs);
}


/*
 * Emitting a page
 */

/*
 * Evaluate the predicate and the expressions, through a slot as the server
 * does.  Returns false if the predicate excludes the tuple.
 */
static bool
evaluate(const HeapScan *hs, HeapEmitter *emitter, OffsetNumber offset,
		 ItemId item, HeapTupleData *tuple, Datum *values, bool *isnull)
{
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(emitter->econtext->ecxt_per_tuple_memory);
	set_tuple(hs, offset, item, tuple);
	ExecStoreHeapTuple(tuple, emitter->slot, false);
	if (emitter->predicate != NULL &&
		!ExecQual(emitter->predicate, emitter->econtext))
		return false;
	FormIndexDatum(emitter->target->index_info, emitter->slot,
				   emitter->estate, values, isnull);
	return true;
}

/* Emit the tuples of the page to one index. */
static void
emit_to(const HeapScan *hs, HeapEmitter *emitter)
{
	HeapScanTarget *target = emitter->target;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	HeapTupleData stored;		/* in the slot */

	for (int i = 0; i < hs->nitems; i++)
	{
		OffsetNumber offset = hs->offsets[i];
		ItemId		item = PageGetItemId(hs->here.page, offset);
		HeapTupleHeader tuple = tuple_of(hs, item);
		ItemPointerData tid;

		/* the next page usually follows this one, in copies and in buffers */
		pt_prefetch((char *) tuple + BLCKSZ);
		if (emitter->estate == NULL)
			heapcolumns_take(&emitter->plan, tuple, values, isnull);
		else if (!evaluate(hs, emitter, offset, item, &stored, values, isnull))
			continue;

		if (HeapTupleHeaderIsHeapOnly(tuple))
			offset = hs->roots[offset - 1];
		ItemPointerSet(&tid, hs->here.block, offset);
		target->callback(target->index, &tid, values, isnull, hs->alive[i],
						 target->state);
	}
	if (emitter->slot != NULL)
		ExecClearTuple(emitter->slot);

	target->rows += hs->nlive;
	if (hs->broken_chain)
		target->index_info->ii_BrokenHotChain = true;
}

static void
emit_page(HeapScan *hs)
{
	for (int i = 0; i < hs->nemitters; i++)
		emit_to(hs, &hs->emitters[i]);
	pgstat_count_index_tuples(hs->heap, hs->nseen); /* tuples read */
}

/*
 * Call the server's scan for the page, once for each index.  That scan prepares
 * the index's expressions in an executor state of its own and frees them at its
 * end, so the expression states of this scan are set aside meanwhile.
 */
static void
leave_page_to_server(HeapScan *hs)
{
	for (int i = 0; i < hs->nemitters; i++)
	{
		HeapScanTarget *target = hs->emitters[i].target;
		IndexInfo  *index_info = target->index_info;
		List	   *expressions = index_info->ii_ExpressionsState;

		index_info->ii_ExpressionsState = NIL;
		target->rows +=
			table_index_build_range_scan(hs->heap, target->index, index_info,
										 false, false, false, hs->here.block,
										 1, target->callback, target->state,
										 NULL);
		index_info->ii_ExpressionsState = expressions;
	}
	hs->server_pages++;
}

static void
scan_pages(HeapScan *hs)
{
	while (heapread_next(hs->reader, &hs->here))
	{
		CHECK_FOR_INTERRUPTS();
		hs->pages++;
		if (hs->progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 heapread_done(hs->scan,
													   hs->here.block));
		if (judge_page(hs))
			emit_page(hs);
		else
			leave_page_to_server(hs);
	}
}


/*
 * The scan
 */

/*
 * heapscan_is_shareable: see heapscan.h.  This file reads pages of the server's
 * own heap only.
 */
bool
heapscan_is_shareable(Relation heap)
{
	return heap->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * True if this file can scan the table for the index.  In a serializable
 * transaction a scan with an MVCC snapshot must check every tuple for
 * conflicts, so the server does that scan.
 */
static bool
can_read_pages(Relation heap, const IndexInfo *index_info)
{
	return heapscan_is_shareable(heap) &&
		!(index_info->ii_Concurrent && IsolationIsSerializable());
}

static void
server_build_scan(Relation heap, HeapScanTarget *target,
				  ParallelTableScanDesc parallel, bool progress)
{
	TableScanDesc scan = parallel == NULL ? NULL :
		table_beginscan_parallel(heap, parallel);

	elog(DEBUG2, "ptsort: scanning table \"%s\" by the server's rules",
		 RelationGetRelationName(heap));
	/* this also ends the scan */
	target->rows += table_index_build_scan(heap, target->index,
										   target->index_info, true, progress,
										   target->callback, target->state,
										   scan);
}

static void
begin_evaluation(HeapEmitter *emitter, Relation heap)
{
	emitter->estate = CreateExecutorState();
	emitter->econtext = GetPerTupleExprContext(emitter->estate);
	/* a slot without a buffer, because the page may be a copy */
	emitter->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap),
											 &TTSOpsHeapTuple);
	emitter->econtext->ecxt_scantuple = emitter->slot;
	emitter->predicate =
		ExecPrepareQual(emitter->target->index_info->ii_Predicate,
						emitter->estate);
}

static void
end_evaluation(HeapEmitter *emitter)
{
	IndexInfo  *index_info = emitter->target->index_info;

	ExecDropSingleTupleTableSlot(emitter->slot);
	FreeExecutorState(emitter->estate);
	/* these point into the executor state */
	index_info->ii_ExpressionsState = NIL;
	index_info->ii_PredicateState = NULL;
}

static void
begin_emitters(HeapScan *hs, HeapScanTarget *targets, int ntargets)
{
	hs->nemitters = ntargets;
	hs->emitters = palloc0(ntargets * sizeof(HeapEmitter));
	for (int i = 0; i < ntargets; i++)
	{
		HeapEmitter *emitter = &hs->emitters[i];
		const IndexInfo *index_info = targets[i].index_info;

		emitter->target = &targets[i];
		if (index_info->ii_Expressions != NIL ||
			index_info->ii_Predicate != NIL)
			begin_evaluation(emitter, hs->heap);
		else
			heapcolumns_plan(&emitter->plan, RelationGetDescr(hs->heap),
							 index_info);
		hs->reach = Max(hs->reach, emitter->plan.reach);
	}
}

static void
end_emitters(HeapScan *hs)
{
	for (int i = 0; i < hs->nemitters; i++)
	{
		HeapEmitter *emitter = &hs->emitters[i];

		if (emitter->estate != NULL)
			end_evaluation(emitter);
		if (emitter->plan.columns != NULL)
			pfree(emitter->plan.columns);
	}
	pfree(hs->emitters);
}

static void
report_blocks(const HeapScan *hs, int param)
{
	if (hs->progress)
		pgstat_progress_update_param(param, hs->scan->rs_nblocks);
}

/*
 * Begin the server's scan, which decides about blocks, strategy and start.  For
 * a serial CONCURRENTLY build, this registers a snapshot and returns it, else
 * NULL.  The caller unregisters it.
 */
static Snapshot
begin_scan(HeapScan *hs, ParallelTableScanDesc parallel, bool concurrent)
{
	Snapshot	snapshot = NULL;
	TableScanDesc scan;

	if (!concurrent)
		hs->oldest_xmin = GetOldestNonRemovableTransactionId(hs->heap);
	else if (parallel == NULL)
		snapshot = RegisterSnapshot(GetTransactionSnapshot());

	if (parallel != NULL)
		scan = table_beginscan_parallel(hs->heap, parallel);
	else
		scan = table_beginscan_strat(hs->heap,
									 snapshot != NULL ? snapshot : SnapshotAny,
									 0, NULL, true, true);
	hs->scan = (HeapScanDesc) scan;
	hs->snapshot = scan->rs_snapshot;
	return snapshot;
}

BlockNumber
heapscan_build(Relation heap, HeapScanTarget *targets, int ntargets,
			   ParallelTableScanDesc parallel, bool progress)
{
	const IndexInfo *index_info = targets[0].index_info;
	HeapScan   *hs;
	Snapshot	snapshot;
	BlockNumber pages;

	if (!can_read_pages(heap, index_info))
	{
		if (ntargets != 1)
			elog(ERROR, "cannot scan table \"%s\" for several indexes",
				 RelationGetRelationName(heap));
		server_build_scan(heap, targets, parallel, progress);
		return InvalidBlockNumber;
	}

	hs = palloc0(sizeof(HeapScan));
	hs->heap = heap;
	hs->progress = progress;
	begin_emitters(hs, targets, ntargets);
	snapshot = begin_scan(hs, parallel, index_info->ii_Concurrent);

	report_blocks(hs, PROGRESS_SCAN_BLOCKS_TOTAL);
	hs->reader = heapread_begin(hs->scan);
	scan_pages(hs);
	heapread_end(hs->reader);
	report_blocks(hs, PROGRESS_SCAN_BLOCKS_DONE);
	elog(DEBUG2, "ptsort: scanned %u pages of table \"%s\", %u of them by the server's rules, %u as copies",
		 hs->pages, RelationGetRelationName(heap), hs->server_pages,
		 hs->copied_pages);

	table_endscan((TableScanDesc) hs->scan);
	if (snapshot != NULL)
		UnregisterSnapshot(snapshot);
	end_emitters(hs);
	pages = hs->pages;
	pfree(hs);
	return pages;
}
