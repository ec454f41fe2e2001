/*-------------------------------------------------------------------------
 *
 * check.c
 *	  The SQL functions ptsort_check() and ptsort_check_indexes().
 *
 * ptsort_check_indexes() checks an index for which workers would pay with a
 * team of its own, as ptsort_check() does, and all others with teams that check
 * several indexes at a time (checkmany.c).  The caller alone checks an index
 * whose functions are not parallel safe, or whose table is temporary.
 *
 * The arrays of slots, here and in the segment, have at most a quarter of
 * maintenance_work_mem, which limits the indexes of a team.  The participants
 * divide the rest.  The server's caches are not part of maintenance_work_mem.
 * They need about as much, because they are emptied after each team.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "catalog/pg_type.h"
#include "check/check.h"
#include "funcapi.h"
#include "hook/hook.h"
#include "mb/pg_wchar.h"
#include "model/cost.h"
#include "postmaster/bgworker_internals.h"
#include "util.h"
#include "utils/inval.h"
#include "utils/tuplestore.h"

extern PGDLLEXPORT Datum ptsort_check(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_check_indexes(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_check);
PG_FUNCTION_INFO_V1(ptsort_check_indexes);

static const char *const kind_names[NUM_CHECK_KINDS] = {
	[CHECK_BAD_PAGE] = "bad page",
	[CHECK_OUT_OF_ORDER] = "out of order",
	[CHECK_BROKEN_LINK] = "broken link",
	[CHECK_DUPLICATE] = "duplicate",
	[CHECK_NO_ROW] = "entry without row",
	[CHECK_NO_ENTRY] = "row without entry"
};

/* Each participant of a check with rows sorts in a part of the budget. */
static void
limit_by_memory(CheckRequest *request)
{
	if (request->with_rows)
		request->workers = Min(request->workers,
							   Max(request->budget / PTSORT_MIN_BUDGET, 1) - 1);
}

/* Returns the length of a message, without half a character at its end. */
static int
clip(const char *message)
{
	int			length = strlen(message);

	return pg_mbcliplen(message, length, length);
}

static Datum
make_array(Datum *texts, int n)
{
	return PointerGetDatum(construct_array(texts, n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

/* Returns an array of texts, one for the first fault of each kind. */
static Datum
describe_faults(const CheckReport *report)
{
	Datum		texts[NUM_CHECK_KINDS];
	int			n = 0;

	for (int i = 0; i < NUM_CHECK_KINDS; i++)
	{
		const CheckFinding *finding = &report->findings[i];

		if (finding->count > 0)
			texts[n++] = CStringGetTextDatum(psprintf("%s at (%u,%u): %.*s",
													  kind_names[i],
													  finding->block,
													  finding->offset,
													  clip(finding->message),
													  finding->message));
	}
	return make_array(texts, n);
}

typedef struct CheckAll
{
	ReturnSetInfo *result;
	CheckRequest request;		/* without workers */
	bool		is_given;		/* true: 'workers' is an order */
	int			workers;		/* maximum */
	CheckSlot  *slots;			/* of indexes to check several at a time */
	int			capacity;
	int			n;
	CostSum		cost;			/* of builds of these indexes */
} CheckAll;

typedef struct CheckPlan
{
	const CheckAll *all;
	bool		is_only;		/* the function checks only this index */
	bool		waits;			/* out: check it with others at a time */
	Job			job;			/* out, if it waits: a build */
	char	   *name;			/* out */
	CheckSlot	slot;
} CheckPlan;

/*
 * Returns the number of workers for the check of an index alone: that with
 * which a build would be fastest.
 */
static int
plan_workers(const CheckPlan *plan, const CheckTarget *target)
{
	const CheckAll *all = plan->all;
	BtBuildRequest request = {.workers = all->workers,.source = ""};

	if (!plan->is_only || !all->is_given)
		planworkers_limit(&request, target->heap, target->index, NULL);
	return request.workers > 0 && all->is_given ? all->workers :
		request.workers;
}

/* CheckManyStep: check an index, unless workers would not pay. */
static void
check_index(void *arg)
{
	CheckPlan  *plan = arg;
	CheckSlot  *slot = &plan->slot;
	CheckRequest request = plan->all->request;
	CheckTarget target;
	CheckState	state = checkone_open(slot->index_id, request.with_rows,
									  &target);
	bool		is_parallel;
	bool		calls;
	instr_time	start;

	pg_atomic_write_u32(&slot->state, state);
	if (state != CHECK_RUNS)
		return;
	INSTR_TIME_SET_CURRENT(start);
	plan->name = pstrdup(RelationGetRelationName(target.index));
	/* without rows, workers call only the support functions, if any */
	calls = request.with_rows || target.index->rd_rel->relam != BTREE_AM_OID;
	is_parallel = planworkers_obstacle(target.heap, calls ?
									   target.index : NULL) == NULL;
	if (is_parallel)
		request.workers = plan_workers(plan, &target);
	plan->waits = is_parallel && request.workers == 0 && !plan->is_only;
	if (plan->waits)
	{
		size_job(&plan->job, false, target.heap, target.index);
		pg_atomic_write_u32(&slot->state, CHECK_WAITS);
	}
	else
	{
		limit_by_memory(&request);
		checkone_run(&target, &request, &slot->report);
		pg_atomic_write_u32(&slot->state, CHECK_DONE);
	}
	checkone_close(&target);
	slot->ms = pt_ms_since(start);
}

static Datum
make_row(FunctionCallInfo fcinfo, const char *name, const CheckSlot *slot)
{
	const CheckReport *report = &slot->report;
	TupleDesc	desc;
	Datum		values[7 + NUM_CHECK_KINDS];
	bool		isnull[lengthof(values)] = {0};
	int			n = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[n++] = CStringGetTextDatum(name);
	values[n++] = Int64GetDatum(report->pages);
	values[n++] = Int64GetDatum(report->tuples);
	values[n++] = Int64GetDatum(check_problems(report));
	for (int i = 0; i < NUM_CHECK_KINDS; i++)
		values[n++] = Int64GetDatum(report->findings[i].count);
	values[n++] = describe_faults(report);
	values[n++] = Int32GetDatum(report->participants);
	values[n++] = Float8GetDatum(pt_round(slot->ms));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 isnull));
}

/* Read the arguments after the first one.  Returns false if one is NULL. */
static bool
read_arguments(FunctionCallInfo fcinfo, CheckAll *all)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		return false;
	all->request.with_rows = PG_GETARG_BOOL(1);
	all->request.full = PG_GETARG_BOOL(3);
	all->request.budget = (int64) maintenance_work_mem * 1024;
	all->is_given = !PG_ARGISNULL(2);
	all->workers = all->is_given ? PG_GETARG_INT32(2) :
		planworkers_beside_others(max_parallel_maintenance_workers);
	if (all->workers < 0 || all->workers > MAX_PARALLEL_WORKER_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of workers must be between 0 and %d",
						MAX_PARALLEL_WORKER_LIMIT)));
	return true;
}

Datum
ptsort_check(PG_FUNCTION_ARGS)
{
	CheckAll	all = {0};
	CheckPlan	plan = {.all = &all,.is_only = true};
	CheckSlot  *slot = &plan.slot;

	if (!read_arguments(fcinfo, &all))
		PG_RETURN_NULL();
	checkmany_slot(slot, PG_GETARG_OID(0));
	check_index(&plan);
	if (!checkone_exists(slot->index_id, pg_atomic_read_u32(&slot->state)))
		PG_RETURN_NULL();		/* dropped meanwhile */
	return make_row(fcinfo, plan.name, slot);
}

/* Returns an array of one text: why an index was not checked. */
static Datum
describe_state(const CheckSlot *slot, CheckState state)
{
	int			sqlstate;
	const char *reason = state == CHECK_FAILED ?
		slot->report.findings[0].message : checkone_reason(state, &sqlstate);
	Datum		text = CStringGetTextDatum(psprintf("not checked: %.*s",
													clip(reason), reason));

	return make_array(&text, 1);
}

static void
put_row(CheckAll *all, CheckSlot *slot)
{
	CheckState	state = pg_atomic_read_u32(&slot->state);
	Datum		values[] = {
		ObjectIdGetDatum(slot->index_id),
		Int64GetDatum(check_problems(&slot->report)),
		(Datum) 0,
		Float8GetDatum(pt_round(slot->ms))
	};
	bool		nulls[lengthof(values)] = {false};

	if (state == CHECK_IS_FORBIDDEN)
		return;
	nulls[1] = state != CHECK_DONE;
	values[2] = state == CHECK_DONE ? describe_faults(&slot->report) :
		describe_state(slot, state);
	tuplestore_putvalues(all->result->setResult, all->result->setDesc, values,
						 nulls);
}

static void
check_slots(CheckAll *all)
{
	CheckRequest request = all->request;

	if (all->n == 0)
		return;
	all->cost.teams = 1;
	request.workers = Min(all->n - 1, all->is_given ? all->workers :
						  cost_fastest(&all->cost, all->workers));
	request.budget -= request.budget / 4;	/* the slots */
	limit_by_memory(&request);
	checkmany_run(all->slots, all->n, &request);
	for (int i = 0; i < all->n; i++)
		put_row(all, &all->slots[i]);
	all->n = 0;
	memset(&all->cost, 0, sizeof(CostSum));
}

static void
check_next(CheckAll *all, Oid index_id)
{
	CheckPlan	plan = {.all = all};

	checkmany_slot(&plan.slot, index_id);
	if (!checkmany_guard(check_index, &plan, &plan.slot) || !plan.waits)
	{
		put_row(all, &plan.slot);
		return;
	}
	all->slots[all->n++] = plan.slot;
	cost_add(&all->cost, &plan.job);
	if (all->n == all->capacity)
	{
		check_slots(all);
		/* else the caches would grow with the number of indexes */
		InvalidateSystemCaches();
	}
}

Datum
ptsort_check_indexes(PG_FUNCTION_ARGS)
{
	CheckAll	all = {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	MemoryContext context;
	Datum	   *indexes;
	bool	   *nulls;
	int			n;
	int64		most;

	InitMaterializedSRF(fcinfo, 0);
	if (!read_arguments(fcinfo, &all))
		return (Datum) 0;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), REGCLASSOID, sizeof(Oid), true,
					  TYPALIGN_INT, &indexes, &nulls, &n);
	most = Min(all.request.budget / 8, MaxAllocSize) / sizeof(CheckSlot);
	all.capacity = (int) Max(Min(most, n), 1);
	all.slots = palloc(mul_size(all.capacity, sizeof(CheckSlot)));
	context = AllocSetContextCreate(CurrentMemoryContext,
									"ptsort check of an index",
									ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			check_next(&all, DatumGetObjectId(indexes[i]));
		MemoryContextReset(context);
	}
	check_slots(&all);
	MemoryContextSwitchTo(MemoryContextGetParent(context));
	MemoryContextDelete(context);
	return (Datum) 0;
}
