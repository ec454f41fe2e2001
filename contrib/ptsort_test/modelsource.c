/*-------------------------------------------------------------------------
 *
 * modelsource.c
 *	  The source of the model test's tuples: the input of a query's Sort.
 *
 * The test plans and starts the query, but runs only the plan below its Sort.
 * So the tuples come in the slots that the executor would pass to the server's
 * sort.  The planner chooses operators, collations and the place of nulls from
 * ORDER BY.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/tcopprot.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "model.h"

/* Plans and starts the only statement of the text. */
static QueryDesc *
start_query(const char *text)
{
	List	   *parsed = pg_parse_query(text);
	List	   *queries;
	PlannedStmt *planned;
	QueryDesc  *query;

	if (list_length(parsed) != 1)
		elog(ERROR, "one statement is needed");
	queries = pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, parsed),
												 text, NULL, 0, NULL);
	if (list_length(queries) != 1 ||
		linitial_node(Query, queries)->commandType != CMD_SELECT)
		elog(ERROR, "a SELECT is needed");
	planned = pt_plan_query(linitial_node(Query, queries), text);
	query = CreateQueryDesc(planned, text, GetActiveSnapshot(),
							InvalidSnapshot, None_Receiver, NULL, NULL, 0);
	ExecutorStart(query, 0);
	return query;
}

/* Returns the plan's Sort; other nodes may be above the Sort. */
static SortState *
find_sort(QueryDesc *query)
{
	PlanState  *state = query->planstate;

	while (state != NULL && !IsA(state, SortState))
		state = outerPlanState(state);
	if (state == NULL)
		elog(ERROR, "the query's plan has no Sort: %s", query->sourceText);
	return castNode(SortState, state);
}

/* Returns the scanned table's column for a column of the plan. */
static AttrNumber
scan_column(Plan *plan, AttrNumber attnum)
{
	TargetEntry *entry = list_nth_node(TargetEntry, plan->targetlist,
									   attnum - 1);

	if (!IsA(entry->expr, Var))
		elog(ERROR, "sort key %d is not a column of the table", attnum);
	return castNode(Var, entry->expr)->varattno;
}

/*
 * Sets the comparison of a key column to the operator class's own function.
 * An operator can be in several families that agree on the order; open_key
 * uses the first family.
 */
static void
open_key(ModelSource *source, int column)
{
	TestKey    *key = &source->keys[column];
	CatCList   *members;

	key->operator = source->operators[column];
	key->collation = source->collations[column];
	key->nulls_first = source->nulls_first[column];
	key->heap_attno = source->attnums[column];
	members = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(key->operator));
	for (int i = 0; i < members->n_members; i++)
	{
		HeapTuple	tuple = &members->members[i]->tuple;
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(tuple);
		Oid			function;

		if (member->amopmethod != BTREE_AM_OID ||
			(member->amopstrategy != BTLessStrategyNumber &&
			 member->amopstrategy != BTGreaterStrategyNumber))
			continue;
		key->descending = member->amopstrategy == BTGreaterStrategyNumber;
		function = get_opfamily_proc(member->amopfamily,
									 member->amoplefttype,
									 member->amoprighttype, BTORDER_PROC);
		fmgr_info(function, &key->comparison);
		break;
	}
	ReleaseSysCacheList(members);
	if (key->comparison.fn_addr == NULL)
		elog(ERROR, "operator %u does not order", key->operator);
}

/* Returns the named kind of slot, or NULL for the plan's kind. */
static const TupleTableSlotOps *
slot_kind(const char *name)
{
	if (strcmp(name, "virtual") == 0)
		return &TTSOpsVirtual;
	if (strcmp(name, "heap") == 0)
		return &TTSOpsHeapTuple;
	if (strcmp(name, "minimal") == 0)
		return &TTSOpsMinimalTuple;
	if (strcmp(name, "plan") != 0 && strcmp(name, "scan") != 0)
		elog(ERROR, "unknown kind of slot \"%s\"", name);
	return NULL;
}

/*
 * model_source_open starts the query.  slots: "plan" for the slots of the plan
 * below the Sort, "scan" for the slots of the plan's table scan, or "virtual",
 * "heap", "minimal" for copies of the plan's slots.
 */
ModelSource *
model_source_open(const char *query, const char *slots)
{
	ModelSource *source = palloc0(sizeof(ModelSource));
	const TupleTableSlotOps *ops = slot_kind(slots);
	SortState  *state;
	Sort	   *sort;

	source->query = start_query(query);
	state = find_sort(source->query);
	sort = castNode(Sort, state->ss.ps.plan);
	source->input = outerPlanState(state);
	source->scan = strcmp(slots, "scan") == 0;
	if (source->scan && !IsA(source->input, SeqScanState))
		elog(ERROR, "the query does not simply scan a table");
	source->desc = source->scan ?
		((ScanState *) source->input)->ss_ScanTupleSlot->tts_tupleDescriptor :
		ExecGetResultType(source->input);
	if (ops != NULL)
		source->copy = MakeSingleTupleTableSlot(source->desc, ops);

	source->nkeys = sort->numCols;
	source->operators = sort->sortOperators;
	source->collations = sort->collations;
	source->nulls_first = sort->nullsFirst;
	source->attnums = palloc(sort->numCols * sizeof(AttrNumber));
	source->keys = palloc0(sort->numCols * sizeof(TestKey));
	for (int i = 0; i < sort->numCols; i++)
	{
		source->attnums[i] = sort->sortColIdx[i];
		if (source->scan)
			source->attnums[i] = scan_column(source->input->plan,
											 sort->sortColIdx[i]);
		open_key(source, i);
	}
	return source;
}

/* model_source_rewind goes back to the first tuple. */
void
model_source_rewind(ModelSource *source)
{
	ExecReScan(source->input);
}

/* model_source_next returns the next tuple's slot, or NULL at the end. */
TupleTableSlot *
model_source_next(ModelSource *source)
{
	MemoryContext caller =
		MemoryContextSwitchTo(source->query->estate->es_query_cxt);
	TupleTableSlot *slot = ExecProcNode(source->input);

	MemoryContextSwitchTo(caller);
	if (TupIsNull(slot))
		return NULL;
	if (source->scan)
		return ((ScanState *) source->input)->ss_ScanTupleSlot;
	if (source->copy != NULL)
		return ExecCopySlot(source->copy, slot);
	return slot;
}

/* model_source_close ends the query. */
void
model_source_close(ModelSource *source)
{
	if (source->copy != NULL)
		ExecDropSingleTupleTableSlot(source->copy);
	ExecutorFinish(source->query);
	ExecutorEnd(source->query);
	FreeQueryDesc(source->query);
}

/* Returns a column of a minimal tuple. */
static Datum
tuple_column(ModelSource *source, MinimalTuple minimal, AttrNumber attnum,
			 bool *isnull)
{
	HeapTupleData tuple;

	tuple.t_len = minimal->t_len + MINIMAL_TUPLE_OFFSET;
	tuple.t_data =
		(HeapTupleHeader) ((char *) minimal - MINIMAL_TUPLE_OFFSET);
	return heap_getattr(&tuple, attnum, source->desc, isnull);
}

/* model_compare orders two tuples by the sort's keys. */
int
model_compare(ModelSource *source, MinimalTuple a, MinimalTuple b)
{
	for (int i = 0; i < source->nkeys; i++)
	{
		bool		a_null;
		bool		b_null;
		Datum		a_value = tuple_column(source, a, source->attnums[i],
										   &a_null);
		Datum		b_value = tuple_column(source, b, source->attnums[i],
										   &b_null);
		int			result = test_compare_values(&source->keys[i],
												 a_value, a_null,
												 b_value, b_null);

		if (result != 0)
			return result;
	}
	return 0;
}
