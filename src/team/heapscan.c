/*-------------------------------------------------------------------------
 *
 * heapscan.c
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * This file follows the rules of the server's heapam_index_build_range_scan().
 * For each page heapjudge.c decides which tuples get an index entry, and finds
 * the root line pointers of heap-only tuples.  Then, for each index in turn,
 * this file reads the values from the page and calls the index's callback.
 *
 * The scan judges the whole page before it emits a tuple.  So if a tuple needs
 * a warning or a wait, because another transaction is inserting or deleting it,
 * the server's own scan can process the page instead.  (Only tables whose
 * writers release their locks before they commit have tuples of this kind.)
 *
 * This file itself judges recently dead tuples, and tuples that the build's own
 * transaction inserted or deleted, because judging them needs no waiting.
 * After a restore in a single transaction, every page may have such tuples.
 *
 * An index must have entries for recently dead tuples, which some snapshot may
 * still see, but needs none for dead tuples.  The horizon separates these two
 * kinds.  Each participant determines the horizon once, when its scan starts,
 * and the server's scan of a single block determines it again.  These horizons
 * may differ.  The difference is harmless: a tuple deleted before one of these
 * horizons is invisible to all later snapshots, and only visibility
 * distinguishes recently dead tuples from dead ones.  Only the verdicts on one
 * HOT chain must agree, and a HOT chain is on one page.
 *
 * In CONCURRENTLY builds all participants use one MVCC snapshot for all blocks.
 * With a new snapshot for each block, the scan could see a moving row twice or
 * not at all.  The server would take a new snapshot for its scan, so the server
 * must not scan any block.  No block needs the server's scan, because an MVCC
 * snapshot decides without waiting.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "executor/executor.h"
#include "throttle/throttle.h"
#include "storage/procarray.h"
#include "team/heapjudge.h"
#include "team/heapscan.h"
#include "util.h"

/* ScanColumn: a column of the table, with the data for stepping over it. */
typedef struct ScanColumn
{
	int16		value;			/* number of the value in the index, or -1 */
	int16		len;
	bool		byval;
	char		align;
	uint32		offset;			/* from t_hoff; see fixed_values */
} ScanColumn;

/*
 * HeapColumns: a plan to extract an index's values from a tuple.  The first
 * nfixed columns have fixed lengths, so without NULLs their offsets are known
 * and walk_columns() starts after them.  'columns' ends with the last needed
 * column.
 */
typedef struct HeapColumns
{
	TupleDesc	desc;
	int			ncolumns;
	ScanColumn *columns;
	int			nfixed;
	uint32		fixed_end;		/* end of the nfixed-th column, from t_hoff */
	int			nfixed_values;
	ScanColumn	fixed_values[INDEX_MAX_KEYS];	/* indexed fixed columns */

	/* approximate offset of the values in the tuple, for prefetching */
	uint32		reach;
} HeapColumns;

/* HeapEmitter: emits the tuples of a page to one index. */
typedef struct HeapEmitter
{
	HeapScanTarget *target;
	HeapColumns plan;			/* used only if estate is NULL */

	/* State for evaluating expressions, predicates and repeated columns */
	EState	   *estate;
	ExprContext *econtext;
	TupleTableSlot *slot;
	ExprState  *predicate;
} HeapEmitter;

typedef struct HeapScan
{
	HeapJudge	judge;
	int			nemitters;
	HeapEmitter *emitters;
	BlockNumber server_pages;	/* pages that the server's scan read */
} HeapScan;

/* Compute the offsets of the leading columns of fixed length. */
static void
plan_fixed_part(HeapColumns *plan)
{
	uint32		offset = 0;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		ScanColumn *column = &plan->columns[i];

		if (column->len <= 0)
			break;
		offset = att_align_nominal(offset, column->align);
		column->offset = offset;
		if (column->value >= 0)
			plan->fixed_values[plan->nfixed_values++] = *column;
		offset += column->len;
		plan->nfixed = i + 1;
		plan->fixed_end = offset;
	}
	plan->reach = MAXALIGN(SizeofHeapTupleHeader) + offset;
}

/*
 * Fill in a zeroed plan for an index and for tuples that 'desc' describes.
 * Returns false if the index has expressions or repeats a column.
 */
static bool
plan_columns(HeapColumns *plan, TupleDesc desc,
			 const IndexInfo *index_info)
{
	if (index_info->ii_Expressions != NIL)
		return false;
	plan->desc = desc;
	for (int i = 0; i < index_info->ii_NumIndexAttrs; i++)
		plan->ncolumns = Max(plan->ncolumns,
							 index_info->ii_IndexAttrNumbers[i]);
	plan->columns = palloc0(plan->ncolumns * sizeof(ScanColumn));
	for (int i = 0; i < plan->ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		plan->columns[i].value = -1;
		plan->columns[i].len = att->attlen;
		plan->columns[i].byval = att->attbyval;
		plan->columns[i].align = att->attalign;
	}
	for (int i = 0; i < index_info->ii_NumIndexAttrs; i++)
	{
		ScanColumn *column =
			&plan->columns[index_info->ii_IndexAttrNumbers[i] - 1];

		if (column->value >= 0)
			return false;
		column->value = i;
	}
	plan_fixed_part(plan);
	return true;
}

/*
 * Extract the values of column 'from', counted from 0, and of all later
 * columns.  'offset' is the end, in the data, of the column before.
 */
static void
walk_columns(const HeapColumns *plan, HeapTupleHeader tuple, int from,
			 uint32 offset, Datum *values, bool *isnull)
{
	char	   *data = (char *) tuple + tuple->t_hoff;
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			natts = Min(HeapTupleHeaderGetNatts(tuple), plan->ncolumns);
	int			i;

	for (i = from; i < natts; i++)
	{
		const ScanColumn *column = &plan->columns[i];

		if (has_nulls && att_isnull(i, tuple->t_bits))
		{
			if (column->value >= 0)
			{
				values[column->value] = (Datum) 0;
				isnull[column->value] = true;
			}
			continue;
		}
		offset = att_align_pointer(offset, column->align, column->len,
								   data + offset);
		if (column->value >= 0)
		{
			values[column->value] = fetch_att(data + offset, column->byval,
											  column->len);
			isnull[column->value] = false;
		}
		offset = att_addlength_pointer(offset, column->len, data + offset);
	}

	/* columns added to the table after the tuple was inserted */
	for (; i < plan->ncolumns; i++)
	{
		int			value = plan->columns[i].value;

		if (value >= 0)
			values[value] = getmissingattr(plan->desc, i + 1, &isnull[value]);
	}
}

/*
 * Extract an index's values from a tuple.  Values passed by reference point
 * into the tuple or, if the tuple lacks the column, into the descriptor.
 */
static inline void
take_columns(const HeapColumns *plan, HeapTupleHeader tuple,
			 Datum *values, bool *isnull)
{
	int			from = 0;
	uint32		offset = 0;

	if ((tuple->t_infomask & HEAP_HASNULL) == 0 &&
		HeapTupleHeaderGetNatts(tuple) >= plan->nfixed)
	{
		char	   *data = (char *) tuple + tuple->t_hoff;

		for (int i = 0; i < plan->nfixed_values; i++)
		{
			const ScanColumn *fixed = &plan->fixed_values[i];

			values[fixed->value] = fetch_att(data + fixed->offset,
											 fixed->byval, fixed->len);
			isnull[fixed->value] = false;
		}
		from = plan->nfixed;
		offset = plan->fixed_end;
	}
	if (from < plan->ncolumns)
		walk_columns(plan, tuple, from, offset, values, isnull);
}


static bool
is_own(TransactionId xid)
{
	return TransactionIdIsCurrentTransactionId(xid);
}

/* HeapJudge.decide: the server's rules, without the "anyvisible" mode. */
static HeapVerdict
decide(HTSV_Result status, HeapTuple tuple, void *arg)
{
	switch (status)
	{
		case HEAPTUPLE_DEAD:
			return HEAP_SKIP;
		case HEAPTUPLE_LIVE:
			return HEAP_TAKE_LIVE;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return is_own(HeapTupleHeaderGetXmin(tuple->t_data)) ?
				HEAP_TAKE_LIVE : HEAP_ASK_SERVER;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			if (!is_own(HeapTupleHeaderGetUpdateXid(tuple->t_data)))
				return HEAP_ASK_SERVER;
			pg_fallthrough;
		case HEAPTUPLE_RECENTLY_DEAD:

			/*
			 * A snapshot may still see the tuple.  If the tuple's HOT chain
			 * continues, the chain's only index entry is for the live tuple
			 * at the end.
			 */
			return HeapTupleIsHotUpdated(tuple) ?
				HEAP_BREAK_CHAIN : HEAP_TAKE_DELETED;
	}
	return HEAP_ASK_SERVER;		/* the server raises an error */
}

/*
 * Evaluate the predicate and the expressions, through a slot as the server
 * does.  Returns false if the predicate excludes the tuple.
 */
static bool
evaluate(const HeapJudge *judge, HeapEmitter *emitter, OffsetNumber offset,
		 HeapTupleData *tuple, Datum *values, bool *isnull)
{
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(emitter->econtext->ecxt_per_tuple_memory);
	heapjudge_tuple(judge, offset, tuple);
	ExecStoreHeapTuple(tuple, emitter->slot, false);
	if (emitter->predicate != NULL &&
		!ExecQual(emitter->predicate, emitter->econtext))
		return false;
	FormIndexDatum(emitter->target->index_info, emitter->slot,
				   emitter->estate, values, isnull);
	return true;
}

static void
emit_to(const HeapJudge *judge, HeapEmitter *emitter)
{
	HeapScanTarget *target = emitter->target;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	HeapTupleData stored;		/* tuple in the slot */

	for (int i = 0; i < judge->nitems; i++)
	{
		OffsetNumber offset = judge->offsets[i];
		HeapTupleHeader tuple = heapjudge_header(judge, offset);
		ItemPointerData tid;

		/* the next page (copy or buffer) usually follows this page in memory */
		pt_prefetch((char *) tuple + BLCKSZ);
		if (emitter->estate == NULL)
			take_columns(&emitter->plan, tuple, values, isnull);
		else if (!evaluate(judge, emitter, offset, &stored, values, isnull))
			continue;

		if (HeapTupleHeaderIsHeapOnly(tuple))
			offset = judge->roots[offset - 1];
		ItemPointerSet(&tid, judge->here.block, offset);
		target->callback(target->index, &tid, values, isnull,
						 judge->alive[i], target->state);
	}
	if (emitter->slot != NULL)
		ExecClearTuple(emitter->slot);

	target->rows += judge->nlive;
	if (judge->broken_chain)
		target->index_info->ii_BrokenHotChain = true;
}

static void
emit_page(HeapScan *hs)
{
	for (int i = 0; i < hs->nemitters; i++)
		emit_to(&hs->judge, &hs->emitters[i]);
	if (hs->judge.marking)
		marks_set(hs->emitters->target->marks, hs->judge.here.block,
				  hs->judge.marks);
	if (!hs->judge.nested)
		work_count(WORK_ROWS, hs->judge.nitems);
	/* pgstat_count_index_tuples() counts tuples read from the table */
	pgstat_count_index_tuples(hs->judge.heap, hs->judge.nseen);
}

/*
 * Have the server scan the page, once for each index.  Set the expression
 * states of 'hs' aside, because the server's scan frees its own at the end.
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
			table_index_build_range_scan(hs->judge.heap, target->index,
										 index_info, false, false, false,
										 hs->judge.here.block, 1,
										 target->callback, target->state,
										 NULL);
		index_info->ii_ExpressionsState = expressions;
	}
	hs->server_pages++;
}

static void
scan_pages(HeapScan *hs, bool mvcc)
{
	bool		judged;

	while (heapjudge_next(&hs->judge, &judged))
	{
		if (hs->judge.here.page == NULL)
			hs->emitters->target->damaged(hs->judge.here.block,
										  hs->emitters->target->state);
		else if (judged && (mvcc || !ptsort_debug.server_pages))
			emit_page(hs);
		else
			leave_page_to_server(hs);
	}
}


/* This file reads only pages of the server's own heap access method. */
bool
heapscan_is_shareable(Relation heap)
{
	return heap->rd_tableam == GetHeapamTableAmRoutine();
}

static void
server_build_scan(Relation heap, HeapScanTarget *target,
				  ParallelTableScanDesc parallel, bool progress)
{
	TableScanDesc scan = parallel == NULL ? NULL :
		pt_table_beginscan_parallel(heap, parallel);
	bool		nested = throttle_is_nested();

	elog(DEBUG2, "ptsort: scanning table \"%s\" by the server's rules",
		 RelationGetRelationName(heap));
	throttle_hold(true);
	/* table_index_build_scan() also ends the scan */
	target->rows += table_index_build_scan(heap, target->index,
										   target->index_info, true, progress,
										   target->callback, target->state,
										   scan);
	throttle_hold(nested);
}

static void
begin_evaluation(HeapEmitter *emitter, Relation heap)
{
	emitter->estate = CreateExecutorState();
	emitter->econtext = GetPerTupleExprContext(emitter->estate);
	/* make a slot without a buffer, because the page may be a copy */
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
	/* these states pointed into the freed executor state */
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
		if (index_info->ii_Predicate != NIL ||
			!plan_columns(&emitter->plan, RelationGetDescr(hs->judge.heap),
						  index_info))
			begin_evaluation(emitter, hs->judge.heap);
		hs->judge.reach = Max(hs->judge.reach, emitter->plan.reach);
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

BlockNumber
heapscan_build(Relation heap, HeapScanTarget *targets, int ntargets,
			   ParallelTableScanDesc parallel, int shares, Snapshot snapshot,
			   bool progress)
{
	bool		mvcc = targets[0].index_info->ii_Concurrent;
	HeapScan   *hs;
	BlockNumber pages;

	/* a serializable scan of visible tuples must check them for conflicts */
	if (!heapscan_is_shareable(heap) || (mvcc && IsolationIsSerializable()))
	{
		if (ntargets != 1)
			elog(ERROR, "cannot scan table \"%s\" for several indexes",
				 RelationGetRelationName(heap));
		server_build_scan(heap, targets, parallel, progress);
		return InvalidBlockNumber;
	}

	hs = palloc0(sizeof(HeapScan));
	hs->judge.heap = heap;
	hs->judge.progress = progress;
	hs->judge.total_param = PROGRESS_SCAN_BLOCKS_TOTAL;
	hs->judge.done_param = PROGRESS_SCAN_BLOCKS_DONE;
	hs->judge.find_roots = true;
	hs->judge.shares = shares;
	hs->judge.skips = targets[0].damaged != NULL;
	hs->judge.marking = targets[0].marks != NULL;
	hs->judge.decide = decide;
	begin_emitters(hs, targets, ntargets);
	if (!mvcc)
		hs->judge.oldest_xmin = GetOldestNonRemovableTransactionId(heap);

	heapjudge_begin(&hs->judge, parallel, snapshot);
	scan_pages(hs, mvcc);
	heapjudge_end(&hs->judge);
	pages = hs->judge.pages;
	elog(DEBUG2, "ptsort: scanned %u pages of table \"%s\", %u of them by the server's rules, %u as copies",
		 pages, RelationGetRelationName(heap), hs->server_pages,
		 hs->judge.copied_pages);

	end_emitters(hs);
	pfree(hs);
	return pages;
}
