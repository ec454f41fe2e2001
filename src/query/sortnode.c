/*-------------------------------------------------------------------------
 *
 * sortnode.c
 *	  Replaces the sorts of Sort nodes in queries, and reports on them: a line
 *	  in the server's log, a line of EXPLAIN if the server has a hook for it,
 *	  and ptsort_last_sort().
 *
 * "Sorts of queries" in src/README explains how ptsort takes over a node.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_opfamily_d.h"
#include "debug.h"
#include "executor/executor.h"
#include "key/key.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "order/sortextras.h"
#include "query/sortnode.h"
#include "sort/tuplesort.h"
#include "text/text_rank.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "variant/variants.h"

int			ptsort_sort = TAKE_NO_SORTS;
int			ptsort_min_sort_rows = 200;

/* TakenSort: a Sort node that ptsort took over. */
typedef struct TakenSort
{
	SortState  *node;
	ExecProcNodeMtd original;	/* ExecSort, or another extension's method */
	MemoryContext scratch;		/* for memory that types' functions leak */
	PtSort	   *sort;			/* NULL if no sort exists */
	bool		values;			/* true to sort single values, not rows */
	int64		bound;			/* current bound; 0: none */
	int64		sorts;			/* number of sorts so far */
	PtSortStats stats;			/* statistics, after 'sort' ended */
#ifdef USE_ASSERT_CHECKING
	TupleTableSlot *before;		/* the row returned last */
#endif
} TakenSort;

bool		ptsort_log_sort = false;

static SortReport last_report;
static bool has_report = false;

/* Number of active queries with Sort nodes that ptsort took over. */
static int	nqueries = 0;
static ExecutorStart_hook_type prev_start = NULL;
static ExecutorRun_hook_type next_run;
static ExecutorFinish_hook_type prev_finish = NULL;


/* Returns the TakenSort of a node, or NULL, from a field of table scans. */
static inline TakenSort *
taken_of(PlanState *planstate)
{
	return (TakenSort *) castNode(SortState, planstate)->ss.ss_currentScanDesc;
}

/* Free memory that types' functions leaked; usually there is none. */
static inline void
reset_scratch(TakenSort *taken)
{
	if (!taken->scratch->isReset || taken->scratch->firstchild != NULL)
		MemoryContextReset(taken->scratch);
}

/* Returns a sort's space for EXPLAIN, in bytes. */
static int64
space_used(const PtSortStats *stats)
{
	return ptsort_method_on_disk(stats->method) ?
		stats->temp_bytes : stats->peak_memory;
}

/* Store and log the report of a node's sorts. */
static void
publish(const PtSortStats *stats, int64 sorts, int keys)
{
	last_report.session_user = GetSessionUserId();
	last_report.role = GetOuterUserId();
	last_report.sorts = sorts;
	last_report.keys = keys;
	last_report.stats = *stats;
	has_report = true;
	ereport(ptsort_log_sort ? LOG_SERVER_ONLY : DEBUG1,
			(errhidestmt(true), errhidecontext(true),
			 errmsg_internal("ptsort: sorted " INT64_FORMAT " rows by %d %s"
							 ", sorts: " INT64_FORMAT ", %s, %s: " INT64_FORMAT
							 " kB, comparisons: " INT64_FORMAT,
							 stats->tuples, keys, keys == 1 ? "key" : "keys",
							 sorts, ptsort_method_name(stats->method),
							 ptsort_method_space(stats->method),
							 space_used(stats) / 1024, stats->comparisons)));
}

const SortReport *
sortreport_last(void)
{
	if (!has_report || last_report.session_user != GetSessionUserId() ||
		last_report.role != GetOuterUserId())
		return NULL;
	return &last_report;
}

void
sortreport_forget(void)
{
	has_report = false;
}

static void
end_sort(TakenSort *taken)
{
	PtSort	   *sort = taken->sort;

	if (sort == NULL)
		return;
	taken->sort = NULL;
	sort_stats(sort, &taken->stats);
	sort_end(sort);
	publish(&taken->stats, taken->sorts,
			((Sort *) taken->node->ss.ps.plan)->numCols);
}

/* Begin a sort in the query's memory context. */
static PtSort *
begin_sort(TakenSort *taken)
{
	Sort	   *plan = (Sort *) taken->node->ss.ps.plan;
	TupleDesc	desc = ExecGetResultType(outerPlanState(taken->node));
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = (int64) work_mem * 1024,
		.expected_tuples = (int64) Min(plan->plan.plan_rows, PG_INT32_MAX),
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
 * Make a sort ready for rows; reuse the last sort if both or neither have a
 * bound.  Returns false if ptsort would gain nothing, so the server must sort.
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
	if (taken->sort->order.nwords > 0 && learning_gains(taken->sort))
		return true;
	sort_end(taken->sort);
	taken->sort = NULL;
	return false;
}

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
	into->spaceUsed = space_used(&stats) / 1024;
}

/* Set the node's fields as ExecSort() would. */
static void
mark_sorted(TakenSort *taken)
{
	SortState  *node = taken->node;
	MemoryContext caller =
		MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

	/* an empty tuplesort for ExecReScanSort(), of the cheapest kind */
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
/* Assert that the server does not order this row before the previous row. */
static void
check_order(TakenSort *taken, TupleTableSlot *slot)
{
	Sort	   *plan = (Sort *) taken->node->ss.ps.plan;
	bool		two = !TupIsNull(taken->before) && !TupIsNull(slot);
	int			order = 0;

	for (int i = 0; two && order == 0 && i < plan->numCols; i++)
	{
		SortSupportData ssup = {
			.ssup_cxt = taken->scratch,
			.ssup_collation = plan->collations[i],
			.ssup_nulls_first = plan->nullsFirst[i]
		};
		AttrNumber	attno = plan->sortColIdx[i];
		bool		left_null;
		bool		right_null;
		Datum		left = slot_getattr(taken->before, attno, &left_null);
		Datum		right = slot_getattr(slot, attno, &right_null);

		PrepareSortSupportFromOrderingOp(plan->sortOperators[i], &ssup);
		order = ApplySortComparator(left, left_null, right, right_null, &ssup);
	}
	Assert(order <= 0);
	if (TupIsNull(slot))
		ExecClearTuple(taken->before);
	else
		ExecCopySlot(taken->before, slot);
}
#endif

/* Returns the next row of the sort, in the result slot of the node. */
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

/* Replaces ExecSort() as ExecProcNode of a node that ptsort took over. */
static TupleTableSlot *
exec_sort(PlanState *planstate)
{
	EState	   *estate = planstate->state;
	TakenSort  *taken = taken_of(planstate);

	CHECK_FOR_INTERRUPTS();
	if (!taken->node->sort_Done)
	{
		ScanDirection direction = estate->es_direction;

		if (!open_sort(taken))
		{
			taken->node->ss.ss_currentScanDesc = NULL;
			ExecSetExecProcNode(planstate, taken->original);
			return taken->original(planstate);
		}
		estate->es_direction = ForwardScanDirection;
		put_rows(taken);
		estate->es_direction = direction;
		mark_sorted(taken);
#ifdef USE_ASSERT_CHECKING
		ExecClearTuple(taken->before);
#endif
	}
	return next_row(taken);
}


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

/*
 * True if each row is a single value of fixed length, so ptsort can sort the
 * values.  Longer values may be toast pointers, which only rows preserve.
 */
static bool
has_values(const SortState *node)
{
	TupleDesc	desc = ExecGetResultType(outerPlanState(node));

	return desc->natts == 1 && TupleDescAttr(desc, 0)->attlen > 0;
}

static void
take_sort(SortState *node)
{
	static Oid	reported;		/* never read: the error is the report */
	MemoryContext context = node->ss.ps.state->es_query_cxt;
	MemoryContext caller = MemoryContextSwitchTo(context);
	TakenSort  *taken = palloc0(sizeof(TakenSort));

	/*
	 * In a worker of the server's own parallel query, only the error reports
	 * a contradiction; ptsort_ExecutorRun in the leader detects that error.
	 */
	if (IsParallelWorker() && ptsort_report_to == NULL)
		ptsort_report_to = &reported;
	taken->node = node;
	taken->original = node->ss.ps.ExecProcNodeReal;
	taken->scratch = AllocSetContextCreate(context, "ptsort sort node",
										   ALLOCSET_SMALL_SIZES);
	taken->values = has_values(node);
#ifdef USE_ASSERT_CHECKING
	taken->before = MakeSingleTupleTableSlot(ExecGetResultType(&node->ss.ps),
											 &TTSOpsMinimalTuple);
	Assert(node->ss.ss_currentScanDesc == NULL);
#endif
	node->ss.ss_currentScanDesc = (struct TableScanDescData *) taken;
	ExecSetExecProcNode(&node->ss.ps, exec_sort);
	MemoryContextSwitchTo(caller);
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
	ours = key_operators(nkeys, lt_operators, collations, nulls_first)->support;
	for (int i = 0; i < nkeys; i++)
	{
		AttrNumber	attno = supports[i].ssup_attno;

		supports[i] = ours[i];
		supports[i].ssup_attno = attno;
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Take over the plan's Sort nodes that ptsort wants, and set *found if there is
 * one.  The walk visits a subplan once for each node that uses it.
 */
static bool
visit_node(PlanState *planstate, void *found)
{
	if (IsA(planstate, SortState))
	{
		SortState  *node = (SortState *) planstate;

		if (is_wanted(node) && taken_of(planstate) == NULL)
		{
			take_sort(node);
			*(bool *) found = true;
		}
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
	return planstate_tree_walker(planstate, visit_node, found);
}

/* Memory context callback: a query ended, normally or by an error. */
static void
forget_query(void *arg)
{
	nqueries--;
}

static void
ptsort_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	bool		found = false;

	if (prev_start)
		prev_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);
	if (ptsort_sort != TAKE_NO_SORTS && queryDesc->planstate != NULL &&
		!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		visit_node(queryDesc->planstate, &found);
	if (found)
	{
		MemoryContext context = queryDesc->estate->es_query_cxt;
		MemoryContextCallback *at_end =
			MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

		at_end->func = forget_query;
		MemoryContextRegisterResetCallback(context, at_end);
		nqueries++;
	}
}

/* True if text_compare_contradicted() raised the error, here or in a worker. */
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
 * A worker's list of distrusted collations is lost when the worker ends.  So if
 * a worker reports a contradiction, this session stops using the tables of all
 * collations by which the query sorts.
 */
static bool
distrust_collations(PlanState *planstate, void *context)
{
	if (IsA(planstate, SortState))
	{
		Sort	   *plan = (Sort *) planstate->plan;

		for (int i = 0; i < plan->numCols; i++)
		{
			if (OidIsValid(plan->collations[i]))
				(void) text_rank_distrust(plan->collations[i]);
		}
	}
	return planstate_tree_walker(planstate, distrust_collations, context);
}

/*
 * The workers of a query do not see this session's list of distrusted
 * collations.  So if the list is not empty, workers use no collation tables.
 */
static void
ptsort_ExecutorRun(PT_RUN_ARGUMENTS)
{
	int			distrusted = ptsort_distrusted.n;
	int			level;

	if (ptsort_sort == TAKE_NO_SORTS ||
		!queryDesc->plannedstmt->parallelModeNeeded)
	{
		next_run(PT_PASS_RUN_ARGUMENTS);
		return;
	}
	level = NewGUCNestLevel();
	if (distrusted > 0)
		(void) set_config_option("ptsort.use_collation_tables", "off",
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
	PG_TRY();
	{
		next_run(PT_PASS_RUN_ARGUMENTS);
	}
	PG_CATCH();
	{
		/* the list already grew if this process found the contradiction */
		if (ptsort_distrusted.n == distrusted && is_contradiction())
			distrust_collations(queryDesc->planstate, NULL);
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
}

/* End ptsort's sorts in a plan that returned its last row. */
static bool
finish_node(PlanState *planstate, void *context)
{
	TakenSort  *taken = IsA(planstate, SortState) ? taken_of(planstate) : NULL;

	if (taken != NULL && taken->sort != NULL)
	{
		SortState  *node = taken->node;

		ExecClearTuple(planstate->ps_ResultTupleSlot);
		if (node->tuplesortstate != NULL)
			tuplesort_end(node->tuplesortstate);
		node->tuplesortstate = NULL;
		node->sort_Done = false;
		end_sort(taken);
	}
	return planstate_tree_walker(planstate, finish_node, context);
}

/* The executor runs no node after this hook, but EXPLAIN may follow. */
static void
ptsort_ExecutorFinish(QueryDesc *queryDesc)
{
	if (prev_finish)
		prev_finish(queryDesc);
	else
		standard_ExecutorFinish(queryDesc);
	if (nqueries > 0)
		finish_node(queryDesc->planstate, NULL);
}

#ifdef PT_EXPLAIN_NODES
static explain_per_node_hook_type prev_explain = NULL;

/* Add a sort to EXPLAIN's output for its node. */
static void
explain_sort(const PtSortStats *stats, ExplainState *es)
{
	const char *method = psprintf("%s by ptsort",
								  ptsort_method_name(stats->method));
	const char *space = ptsort_method_space(stats->method);
	int64		kb = (space_used(stats) + 1023) / 1024;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainIndentText(es);
		appendStringInfo(es->str,
						 "Sort Method: %s  %s: " INT64_FORMAT "kB\n",
						 method, space, kb);
		return;
	}
	ExplainPropertyText("Sort Method", method, es);
	ExplainPropertyInteger("Sort Space Used", "kB", kb, es);
	ExplainPropertyText("Sort Space Type", space, es);
}

/* EXPLAIN ANALYZE: add the line that the server prints for its own sorts. */
static void
ptsort_explain_node(PlanState *planstate, List *ancestors,
					const char *relationship, const char *plan_name,
					ExplainState *es)
{
	if (prev_explain)
		prev_explain(planstate, ancestors, relationship, plan_name, es);
	if (es->analyze && IsA(planstate, SortState))
	{
		TakenSort  *taken = taken_of(planstate);

		if (taken == NULL || taken->sorts == 0)
			return;
		/* otherwise the sort ended and left its final statistics */
		if (taken->sort != NULL)
			sort_stats(taken->sort, &taken->stats);
		explain_sort(&taken->stats, es);
	}
}
#endif

void
sortnode_init(void)
{
	prev_start = ExecutorStart_hook;
	ExecutorStart_hook = ptsort_ExecutorStart;
	next_run = ExecutorRun_hook ? ExecutorRun_hook : standard_ExecutorRun;
	ExecutorRun_hook = ptsort_ExecutorRun;
	prev_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = ptsort_ExecutorFinish;
#ifdef PT_EXPLAIN_NODES
	prev_explain = explain_per_node_hook;
	explain_per_node_hook = ptsort_explain_node;
#endif
}
