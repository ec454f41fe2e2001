/*-------------------------------------------------------------------------
 *
 * sortnode.c
 *	  Sort nodes of queries sort by ptsort.
 *
 * Plans do not change: when the executor has built the nodes of a plan, ptsort
 * replaces ExecSort(), the server's function, in each Sort node that it takes
 * over.  Our function differs only in the sort module that it calls.  It
 * maintains the fields of the node as ExecSort() does, so that nothing else
 * sees a difference: parents, EXPLAIN, rescans, bounds.
 *
 * The server sorts a node that may be read backward, marked or rewound, and a
 * node whose key would have no words, since ptsort gains nothing there.
 *
 * ExecReScanSort() ends the node's tuplesort when a node that has sorted must
 * sort again, and needs one to end.  So the node holds an empty tuplesort while
 * ptsort has the rows.  EXPLAIN would report that empty sort, so ptsort removes
 * it when the query has returned its last row, before EXPLAIN can report it.
 * (A report before that says "still in progress".)
 *
 * ptsort finds its data by the address of the node.  The data lives in the
 * query's memory context and goes away with it, however the query ends.
 *
 * A Gather Merge or Merge Append node compares the rows of sorted streams
 * again.  ptsort makes its comparisons of text as cheap as those of its own
 * sorts.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/parallel.h"
#include "catalog/pg_opfamily_d.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "fault.h"
#include "key/key.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "order/sortextras.h"
#include "query/sortnode.h"
#include "query/sortreport.h"
#include "sort/tuplesort.h"
#include "text/text_rank.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "variant/variants.h"

int			ptsort_sort = TAKE_NO_SORTS;
int			ptsort_min_sort_rows = 200;

/* A Sort node that ptsort performs. */
typedef struct TakenSort
{
	SortState  *node;
	ExecProcNodeMtd original;	/* the function before: the server's or that
								 * of another extension */
	MemoryContext scratch;		/* for memory that functions of types leave
								 * behind */
	PtSort	   *sort;			/* NULL: not begun */
	bool		values;			/* it sorts values, not rows */
	int64		bound;			/* current bound; 0: none */
	int64		sorts;			/* number of sorts so far */
	PtSortStats stats;			/* statistics, once 'sort' has ended */
	slist_node	link;			/* link in TakenQuery.sorts */
#ifdef USE_ASSERT_CHECKING
	SortSupport check;			/* the server's comparisons */
	TupleTableSlot *before;		/* the row returned last */
#endif
} TakenSort;

/* A query that has taken nodes. */
typedef struct TakenQuery
{
	EState	   *estate;
	slist_head	sorts;
	dlist_node	link;			/* link in 'queries' */
	MemoryContextCallback forget;
} TakenQuery;

static dlist_head queries = DLIST_STATIC_INIT(queries);

/* All taken nodes, by address. */
typedef struct NodeEntry
{
	SortState  *node;
	TakenSort  *taken;
	char		status;
} NodeEntry;

#define SH_PREFIX		nodes
#define SH_ELEMENT_TYPE NodeEntry
#define SH_KEY_TYPE		SortState *
#define SH_KEY			node
#define SH_HASH_KEY(tb, key) \
	murmurhash32((uint32) ((uintptr_t) (key) / MAXIMUM_ALIGNOF))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

static nodes_hash * nodes = NULL;

/*
 * In a worker: collation whose tables its provider contradicted; the worker's
 * error reports it.
 */
static Oid	reported = InvalidOid;

static ExecutorStart_hook_type prev_start = NULL;
static ExecutorRun_hook_type prev_run = NULL;
static ExecutorFinish_hook_type prev_finish = NULL;
static ExecutorEnd_hook_type prev_end = NULL;


/*
 * Sorting
 */

/* Result of the last find_taken, which may be called for each row. */
static TakenSort *last_found = NULL;

static TakenSort *
find_taken(SortState *node)
{
	NodeEntry  *entry;

	if (last_found != NULL && last_found->node == node)
		return last_found;
	entry = nodes ? nodes_lookup(nodes, node) : NULL;
	last_found = entry ? entry->taken : NULL;
	return last_found;
}

/* Free what functions of types left behind; usually that is nothing. */
static inline void
reset_scratch(TakenSort *taken)
{
	if (!taken->scratch->isReset || taken->scratch->firstchild != NULL)
		MemoryContextReset(taken->scratch);
}

/* End the sort, and report what it did. */
static void
end_sort(TakenSort *taken)
{
	PtSort	   *sort = taken->sort;

	if (sort == NULL)
		return;
	taken->sort = NULL;
	sort_stats(sort, &taken->stats);
	sort_end(sort);
	sortreport_publish(&taken->stats, taken->sorts,
					   ((Sort *) taken->node->ss.ps.plan)->numCols);
}

/* Maximum of expected_tuples, whatever the planner expects. */
#define MAX_EXPECTED	1e9

/* Begin a sort in the query's memory context. */
static PtSort *
begin_sort(TakenSort *taken)
{
	Sort	   *plan = (Sort *) taken->node->ss.ps.plan;
	TupleDesc	desc = ExecGetResultType(outerPlanState(taken->node));
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = (int64) work_mem * 1024,
		.expected_tuples = (int64) Min(plan->plan.plan_rows, MAX_EXPECTED),
		.bound = taken->bound,
		.stable = true,
	};

	if (taken->values)
		return variant_begin_datum(TupleDescAttr(desc, 0)->atttypid,
								   plan->sortOperators[0], plan->collations[0],
								   plan->nullsFirst[0], &options);
	return variant_begin_tuple(desc, plan->numCols, plan->sortColIdx,
							   plan->sortOperators, plan->collations,
							   plan->nullsFirst, &options);
}

/*
 * Make a sort ready for rows, reusing the last one if it is of the same kind.
 * Returns false if ptsort gains nothing by sorting.
 */
static bool
open_sort(TakenSort *taken)
{
	SortState  *node = taken->node;
	int64		bound = node->bounded ? node->bound : 0;
	MemoryContext caller;

	fault_point("query: sort");
	if (taken->sort != NULL && (taken->bound > 0) == (bound > 0))
	{
		if (taken->bound == bound)
			sort_reset(taken->sort);
		else
			sort_rebound(taken->sort, bound);
		taken->bound = bound;
		return true;
	}
	end_sort(taken);
	taken->bound = bound;
	taken->sorts = 0;
	caller = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	taken->sort = begin_sort(taken);
	MemoryContextSwitchTo(caller);
	if (sort_nwords(taken->sort) > 0)
		return true;
	sort_end(taken->sort);
	taken->sort = NULL;
	return false;
}

/* Put all rows of the outer node into the sort, and sort them. */
static void
put_rows(TakenSort *taken)
{
	PlanState  *outer = outerPlanState(taken->node);
	MemoryContext caller = CurrentMemoryContext;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			break;
		MemoryContextSwitchTo(taken->scratch);
		if (taken->values)
		{
			slot_getsomeattrs(slot, 1);
			variant_put_datum(taken->sort, slot->tts_values[0],
							  slot->tts_isnull[0]);
		}
		else
			variant_put_slot(taken->sort, slot);
		MemoryContextSwitchTo(caller);
		reset_scratch(taken);
	}
	MemoryContextSwitchTo(taken->scratch);
	sort_perform(taken->sort);
	MemoryContextSwitchTo(caller);
	reset_scratch(taken);
}

/* Report the sort of a worker to EXPLAIN, in the server's terms. */
static void
instrument(TakenSort *taken, TuplesortInstrumentation *into)
{
	static const TuplesortMethod methods[] = {
		[PTSORT_STILL_IN_PROGRESS] = SORT_TYPE_STILL_IN_PROGRESS,
		[PTSORT_TOP_N] = SORT_TYPE_TOP_N_HEAPSORT,
		[PTSORT_IN_MEMORY] = SORT_TYPE_QUICKSORT,
		[PTSORT_EXTERNAL_SORT] = SORT_TYPE_EXTERNAL_SORT,
		[PTSORT_EXTERNAL_MERGE] = SORT_TYPE_EXTERNAL_MERGE,
	};
	PtSortStats stats;

	sort_stats(taken->sort, &stats);
	into->sortMethod = methods[stats.method];
	into->spaceType = ptsort_method_on_disk(stats.method) ?
		SORT_SPACE_TYPE_DISK : SORT_SPACE_TYPE_MEMORY;
	into->spaceUsed = sortreport_space(&stats) / 1024;
}

/* Set the node's fields as ExecSort() would. */
static void
mark_sorted(TakenSort *taken)
{
	SortState  *node = taken->node;
	MemoryContext caller =
		MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

	/* the kind that is cheapest to begin; it stays empty */
	Assert(node->tuplesortstate == NULL);
	node->tuplesortstate = tuplesort_begin_index_hash(NULL, NULL, 0, 0, 0, 64,
													  NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(caller);
	node->sort_Done = true;
	node->bounded_Done = node->bounded;
	node->bound_Done = node->bound;
	taken->sorts++;
	if (node->shared_info && node->am_worker)
		instrument(taken,
				   &node->shared_info->sinstrument[ParallelWorkerNumber]);
}

#ifdef USE_ASSERT_CHECKING
/* Prepare the server's own comparisons. */
static void
begin_check(TakenSort *taken)
{
	Sort	   *plan = (Sort *) taken->node->ss.ps.plan;
	TupleTableSlot *slot = taken->node->ss.ps.ps_ResultTupleSlot;
	MemoryContext caller =
		MemoryContextSwitchTo(taken->node->ss.ps.state->es_query_cxt);

	taken->check = palloc0(plan->numCols * sizeof(SortSupportData));
	for (int i = 0; i < plan->numCols; i++)
	{
		SortSupport ssup = &taken->check[i];

		ssup->ssup_cxt = CurrentMemoryContext;
		ssup->ssup_collation = plan->collations[i];
		ssup->ssup_nulls_first = plan->nullsFirst[i];
		ssup->ssup_attno = plan->sortColIdx[i];
		PrepareSortSupportFromOrderingOp(plan->sortOperators[i], ssup);
	}
	taken->before = MakeSingleTupleTableSlot(slot->tts_tupleDescriptor,
											 &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(caller);
}

/*
 * Assert that the server's comparisons put this row after the last one, too.
 */
static void
check_order(TakenSort *taken, TupleTableSlot *slot)
{
	int			nkeys = ((Sort *) taken->node->ss.ps.plan)->numCols;
	int			order = 0;

	if (taken->check == NULL)
		begin_check(taken);
	if (TupIsNull(slot))
	{
		ExecClearTuple(taken->before);
		return;
	}
	for (int i = 0; i < nkeys && order == 0 && !TupIsNull(taken->before); i++)
	{
		SortSupport ssup = &taken->check[i];
		bool		left_null;
		bool		right_null;
		Datum		left = slot_getattr(taken->before, ssup->ssup_attno,
										&left_null);
		Datum		right = slot_getattr(slot, ssup->ssup_attno, &right_null);

		order = ApplySortComparator(left, left_null, right, right_null, ssup);
	}
	Assert(order <= 0);
	ExecCopySlot(taken->before, slot);
}
#endif

/* Returns the next row in order, in the result slot of the node. */
static TupleTableSlot *
next_row(TakenSort *taken)
{
	TupleTableSlot *slot = taken->node->ss.ps.ps_ResultTupleSlot;
	MemoryContext caller = MemoryContextSwitchTo(taken->scratch);

	if (taken->values)
	{
		ExecClearTuple(slot);
		if (variant_get_datum(taken->sort, true, &slot->tts_values[0],
							  &slot->tts_isnull[0]))
			ExecStoreVirtualTuple(slot);
	}
	else
		variant_get_slot(taken->sort, true, slot);
#ifdef USE_ASSERT_CHECKING
	check_order(taken, slot);
#endif
	MemoryContextSwitchTo(caller);
	reset_scratch(taken);
	return slot;
}

/* ExecProcNode of a taken node, like the server's ExecSort(). */
static TupleTableSlot *
exec_sort(PlanState *planstate)
{
	SortState  *node = castNode(SortState, planstate);
	EState	   *estate = planstate->state;
	TakenSort  *taken = find_taken(node);

	CHECK_FOR_INTERRUPTS();
	if (!node->sort_Done)
	{
		ScanDirection direction = estate->es_direction;

		if (!open_sort(taken))
		{
			ExecSetExecProcNode(planstate, taken->original);
			return taken->original(planstate);
		}
		estate->es_direction = ForwardScanDirection;
		put_rows(taken);
		estate->es_direction = direction;
		mark_sorted(taken);
#ifdef USE_ASSERT_CHECKING
		if (taken->before)
			ExecClearTuple(taken->before);
#endif
	}
	return next_row(taken);
}


/*
 * Taking over nodes
 */

/* True if the key is text that is expensive to compare. */
static bool
is_slow_text(Oid lt_operator, Oid collation)
{
	Oid			opfamily;
	Oid			opcintype;

	return OidIsValid(collation) &&
		pt_ordering_op_opfamily(lt_operator, &opfamily, &opcintype) &&
		(opfamily == TEXT_BTREE_FAM_OID || opfamily == BPCHAR_BTREE_FAM_OID) &&
		!pt_collate_is_c(collation);
}

static bool
is_wanted(const SortState *node)
{
	const Sort *plan = (const Sort *) node->ss.ps.plan;

	return !node->randomAccess &&
		plan->plan.plan_rows >= ptsort_min_sort_rows &&
		(int64) work_mem * 1024 >= PTSORT_MIN_BUDGET &&
		(ptsort_sort == TAKE_SORTS ||
		 is_slow_text(plan->sortOperators[0], plan->collations[0]));
}

/* Forget a query that ended, normally or by an error. */
static void
forget_query(void *arg)
{
	TakenQuery *query = (TakenQuery *) arg;
	slist_iter	iter;

	last_found = NULL;
	slist_foreach(iter, &query->sorts)
		nodes_delete(nodes, slist_container(TakenSort, link, iter.cur)->node);
	dlist_delete(&query->link);
}

static TakenQuery *
find_query(const EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &queries)
	{
		TakenQuery *query = dlist_container(TakenQuery, link, iter.cur);

		if (query->estate == estate)
			return query;
	}
	return NULL;
}

static TakenQuery *
remember_query(EState *estate)
{
	TakenQuery *query = find_query(estate);

	if (query == NULL)
	{
		query = MemoryContextAllocZero(estate->es_query_cxt,
									   sizeof(TakenQuery));
		query->estate = estate;
		slist_init(&query->sorts);
		query->forget.func = forget_query;
		query->forget.arg = query;
		MemoryContextRegisterResetCallback(estate->es_query_cxt,
										   &query->forget);
		dlist_push_head(&queries, &query->link);
	}
	return query;
}

/*
 * True if the rows are single values, which ptsort sorts best.  False for
 * values of variable length, because only rows preserve toast pointers.
 */
static bool
has_values(const SortState *node)
{
	TupleDesc	desc = ExecGetResultType(outerPlanState(node));

	return desc->natts == 1 && TupleDescAttr(desc, 0)->attlen > 0;
}

/*
 * In a worker of the server's own parallel query only the error reports a
 * contradiction: ptsort_ExecutorRun in the leader detects it.  A worker of a
 * parallel sort has a place for it already.
 */
static void
report_by_error(void)
{
	Oid		   *place;

	if (!IsParallelWorker())
		return;
	place = text_rank_report_to(&reported);
	if (place != NULL)
		(void) text_rank_report_to(place);
}

static void
take_sort(SortState *node)
{
	EState	   *estate = node->ss.ps.state;
	TakenQuery *query = remember_query(estate);
	TakenSort  *taken = MemoryContextAllocZero(estate->es_query_cxt,
											   sizeof(TakenSort));
	bool		found;

	report_by_error();
	if (nodes == NULL)
		nodes = nodes_create(TopMemoryContext, 64, NULL);
	taken->node = node;
	taken->original = node->ss.ps.ExecProcNodeReal;
	taken->scratch = AllocSetContextCreate(estate->es_query_cxt,
										   "ptsort sort node",
										   ALLOCSET_SMALL_SIZES);
	taken->values = has_values(node);
	nodes_insert(nodes, node, &found)->taken = taken;
	Assert(!found);
	slist_push_head(&query->sorts, &taken->link);
	ExecSetExecProcNode(&node->ss.ps, exec_sort);
}

/* Make a merge node compare text as ptsort's sorts do. */
static void
ease_merge(PlanState *merge, int nkeys, SortSupport supports,
		   const Oid *lt_operators, const Oid *collations,
		   const bool *nulls_first)
{
	MemoryContext caller;
	SortSupport ours;
	bool		text = false;

	for (int i = 0; i < nkeys; i++)
		text |= is_slow_text(lt_operators[i], collations[i]);
	if (!text)
		return;
	caller = MemoryContextSwitchTo(merge->state->es_query_cxt);
	ours = key_support(key_columns(nkeys, lt_operators, collations,
								   nulls_first));
	for (int i = 0; i < nkeys; i++)
	{
		AttrNumber	attno = supports[i].ssup_attno;

		supports[i] = ours[i];
		supports[i].ssup_attno = attno;
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Take over the wanted nodes of a plan.  The walk visits a subplan more than
 * once if several nodes use it, as scans of partitions do.
 */
static bool
visit_node(PlanState *planstate, void *context)
{
	if (IsA(planstate, SortState))
	{
		SortState  *node = (SortState *) planstate;

		if (is_wanted(node) && find_taken(node) == NULL)
			take_sort(node);
	}
	else if (IsA(planstate, GatherMergeState))
	{
		GatherMergeState *node = (GatherMergeState *) planstate;
		GatherMerge *plan = (GatherMerge *) planstate->plan;

		ease_merge(planstate, node->gm_nkeys, node->gm_sortkeys,
				   plan->sortOperators, plan->collations, plan->nullsFirst);
	}
	else if (IsA(planstate, MergeAppendState))
	{
		MergeAppendState *node = (MergeAppendState *) planstate;
		MergeAppend *plan = (MergeAppend *) planstate->plan;

		ease_merge(planstate, node->ms_nkeys, node->ms_sortkeys,
				   plan->sortOperators, plan->collations, plan->nullsFirst);
	}
	return planstate_tree_walker(planstate, visit_node, context);
}

static void
ptsort_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	if (prev_start)
		prev_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);
	if (ptsort_sort != TAKE_NO_SORTS && queryDesc->planstate != NULL &&
		!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		visit_node(queryDesc->planstate, NULL);
}

/*
 * True if the current error is that of text_compare_contradicted(), in this
 * process or in a worker of this query.
 */
static bool
is_contradiction(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ErrorData  *error = CopyErrorData();
	bool		result = error->funcname != NULL &&
		strcmp(error->funcname, "text_compare_contradicted") == 0;

	FreeErrorData(error);
	MemoryContextSwitchTo(old);
	return result;
}

/*
 * A worker's list of distrusted collations ends with the worker.  So if a
 * worker reports a contradiction, this session stops using the tables of all
 * collations by which the query sorts.
 */
static void
distrust_collations(TakenQuery *query)
{
	slist_iter	iter;

	slist_foreach(iter, &query->sorts)
	{
		TakenSort  *taken = slist_container(TakenSort, link, iter.cur);
		Sort	   *plan = (Sort *) taken->node->ss.ps.plan;

		for (int i = 0; i < plan->numCols; i++)
		{
			if (OidIsValid(plan->collations[i]))
				(void) text_rank_distrust(plan->collations[i]);
		}
	}
}

static void
run(PT_RUN_ARGUMENTS)
{
	if (prev_run)
		prev_run(PT_PASS_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(PT_PASS_RUN_ARGUMENTS);
}

/*
 * Run a query that has workers.  These do not see this session's list of
 * distrusted collations, so if that is not empty they use no tables at all.
 */
static void
run_parallel(PT_RUN_ARGUMENTS)
{
	int			level = NewGUCNestLevel();

	if (text_rank_distrusted()->n > 0)
		(void) set_config_option("ptsort.use_collation_tables", "off", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	run(PT_PASS_RUN_ARGUMENTS);
	AtEOXact_GUC(true, level);
}

static void
ptsort_ExecutorRun(PT_RUN_ARGUMENTS)
{
	TakenQuery *query = find_query(queryDesc->estate);
	int			distrusted = text_rank_distrusted()->n;

	if (query == NULL || !queryDesc->plannedstmt->parallelModeNeeded)
	{
		run(PT_PASS_RUN_ARGUMENTS);
		return;
	}
	PG_TRY();
	{
		run_parallel(PT_PASS_RUN_ARGUMENTS);
	}
	PG_CATCH();
	{
		/* a contradiction in this process is on its list already */
		if (text_rank_distrusted()->n == distrusted && is_contradiction())
			distrust_collations(query);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* No rows are read after this, but EXPLAIN may follow. */
static void
ptsort_ExecutorFinish(QueryDesc *queryDesc)
{
	TakenQuery *query = find_query(queryDesc->estate);
	slist_iter	iter;

	if (prev_finish)
		prev_finish(queryDesc);
	else
		standard_ExecutorFinish(queryDesc);
	if (query == NULL)
		return;
	slist_foreach(iter, &query->sorts)
	{
		TakenSort  *taken = slist_container(TakenSort, link, iter.cur);
		SortState  *node = taken->node;

		if (taken->sort != NULL && node->tuplesortstate != NULL)
		{
			tuplesort_end(node->tuplesortstate);
			node->tuplesortstate = NULL;
			node->sort_Done = false;
		}
	}
}

static void
ptsort_ExecutorEnd(QueryDesc *queryDesc)
{
	TakenQuery *query = find_query(queryDesc->estate);
	slist_iter	iter;

	if (query != NULL)
	{
		slist_foreach(iter, &query->sorts)
		{
			TakenSort  *taken = slist_container(TakenSort, link, iter.cur);

			ExecClearTuple(taken->node->ss.ps.ps_ResultTupleSlot);
			end_sort(taken);
		}
	}
	if (prev_end)
		prev_end(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
}

#ifdef PT_EXPLAIN_NODES
static explain_per_node_hook_type prev_explain = NULL;

/*
 * EXPLAIN ANALYZE: add the line that the server has for its own sorts.  The
 * hook may run after the sort has ended.
 */
static void
ptsort_explain_node(PlanState *planstate, List *ancestors,
					const char *relationship, const char *plan_name,
					ExplainState *es)
{
	if (prev_explain)
		prev_explain(planstate, ancestors, relationship, plan_name, es);
	if (es->analyze && IsA(planstate, SortState))
	{
		TakenSort  *taken = find_taken((SortState *) planstate);

		if (taken == NULL || taken->sorts == 0)
			return;
		if (taken->sort != NULL)
			sort_stats(taken->sort, &taken->stats);
		sortreport_explain(&taken->stats, es);
	}
}
#endif

void
sortnode_init(void)
{
	prev_start = ExecutorStart_hook;
	ExecutorStart_hook = ptsort_ExecutorStart;
	prev_run = ExecutorRun_hook;
	ExecutorRun_hook = ptsort_ExecutorRun;
	prev_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = ptsort_ExecutorFinish;
	prev_end = ExecutorEnd_hook;
	ExecutorEnd_hook = ptsort_ExecutorEnd;
#ifdef PT_EXPLAIN_NODES
	prev_explain = explain_per_node_hook;
	explain_per_node_hook = ptsort_explain_node;
#endif
}
