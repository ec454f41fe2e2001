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
 * Memory: the arrays of slots, here and in the segment, have at most a quarter
 * of maintenance_work_mem.  The participants divide the rest.  So the number of
 * indexes of a team is limited, and there are several teams if there are more.
 * The server's caches are not part of maintenance_work_mem.  They need about as
 * much in each process as the slots and the sorts, because they are emptied
 * after each team.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_type.h"
#include "check/checkmany.h"
#include "fmgr.h"
#include "funcapi.h"
#include "hook/hook.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/size.h"
#include "postmaster/bgworker_internals.h"
#include "ptsort.h"
#include "util.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

extern PGDLLEXPORT Datum ptsort_check(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_check_indexes(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_check);
PG_FUNCTION_INFO_V1(ptsort_check_indexes);

/* Names of the kinds of faults, as in the columns of the result */
static const char *const kind_names[NUM_CHECK_KINDS] = {
	[CHECK_BAD_PAGE] = "bad page",
	[CHECK_OUT_OF_ORDER] = "out of order",
	[CHECK_BROKEN_LINK] = "broken link",
	[CHECK_DUPLICATE] = "duplicate",
	[CHECK_NO_ROW] = "entry without row",
	[CHECK_NO_ENTRY] = "row without entry"
};

/* Raise an error unless an argument is a possible number of workers. */
static void
check_number(int workers)
{
	if (workers < 0 || workers > MAX_PARALLEL_WORKER_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of workers must be between 0 and %d",
						MAX_PARALLEL_WORKER_LIMIT)));
}

/* Returns the maximum number of workers of a check without 'workers'. */
static int
default_workers(void)
{
	return planworkers_beside_others(max_parallel_maintenance_workers);
}

/*
 * Returns the number of workers, at most 'most', with which a build of the
 * index would be fastest.
 */
static int
choose_workers(Relation heap, Relation index, int most)
{
	BtBuildRequest request = {.workers = most,.source = ""};

	planworkers_limit(&request, heap, index, NULL);
	return request.workers;
}

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
	return PointerGetDatum(construct_array(texts, n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

static Datum
make_row(FunctionCallInfo fcinfo, const char *name, const CheckReport *report,
		 int participants, double ms)
{
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
	values[n++] = Int32GetDatum(participants);
	values[n++] = Float8GetDatum(pt_round(ms));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 isnull));
}

Datum
ptsort_check(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	CheckRequest request = {.budget = (int64) maintenance_work_mem * 1024};
	CheckTarget target;
	CheckReport report;
	CheckState	state;
	int			participants;
	instr_time	start;
	char	   *name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	INSTR_TIME_SET_CURRENT(start);
	request.with_rows = PG_GETARG_BOOL(1);
	request.full = PG_GETARG_BOOL(3);
	if (!PG_ARGISNULL(2))
		check_number(PG_GETARG_INT32(2));
	state = checkone_open(index_id, request.with_rows, &target);
	if (state == CHECK_IS_GONE)
		PG_RETURN_NULL();		/* dropped meanwhile */
	if (state != CHECK_RUNS)
		checkone_refuse(index_id, state);
	if (planworkers_obstacle(target.heap,
							 request.with_rows ? target.index : NULL) == NULL)
		request.workers = !PG_ARGISNULL(2) ? PG_GETARG_INT32(2) :
			choose_workers(target.heap, target.index, default_workers());
	limit_by_memory(&request);
	checkone_run(&target, &request, &report, &participants);
	name = pstrdup(RelationGetRelationName(target.index));
	checkone_close(&target);
	return make_row(fcinfo, name, &report, participants, pt_ms_since(start));
}


/*
 * Many indexes
 */

/* CheckAll: the state of ptsort_check_indexes(). */
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

/* CheckPlan: how to check an index. */
typedef struct CheckPlan
{
	const CheckAll *all;
	Oid			index_id;
	CheckState	state;			/* CHECK_RUNS: it can be checked */
	bool		alone;			/* not with others at a time */
	int			workers;		/* if alone */
	Job			job;			/* a build */
} CheckPlan;

/* CheckManyStep */
static void
plan_index(void *arg)
{
	CheckPlan  *plan = arg;
	const CheckAll *all = plan->all;
	bool		with_rows = all->request.with_rows;
	CheckTarget target;

	plan->state = checkone_open(plan->index_id, with_rows, &target);
	if (plan->state != CHECK_RUNS)
		return;
	size_job(&plan->job, false, target.heap, target.index);
	if (planworkers_obstacle(target.heap,
							 with_rows ? target.index : NULL) != NULL)
		plan->alone = true;
	else
	{
		plan->workers = choose_workers(target.heap, target.index,
									   all->workers);
		plan->alone = plan->workers > 0;
		if (plan->alone && all->is_given)
			plan->workers = all->workers;
	}
	checkone_close(&target);
}

/* Returns an array of one text: why an index was not checked. */
static Datum
describe_state(const CheckSlot *slot, CheckState state)
{
	const char *message = slot->report.findings[0].message;
	int			sqlstate;
	char	   *line;
	Datum		text;

	if (state == CHECK_FAILED)
		line = psprintf("not checked: %.*s", clip(message), message);
	else
		line = psprintf("not checked: %s", checkone_reason(state, &sqlstate));
	text = CStringGetTextDatum(line);
	return PointerGetDatum(construct_array(&text, 1, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

/* Add the result of a check to the function's result. */
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

/* Check the indexes of the slots, and empty the slots. */
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

/* Check an index, or add it to the slots. */
static void
check_next(CheckAll *all, Oid index_id)
{
	CheckPlan	plan = {.all = all,.index_id = index_id};
	CheckRequest request = all->request;
	CheckSlot	slot;

	checkmany_slot(&slot, index_id);
	if (checkmany_guard(plan_index, &plan, &slot))
	{
		if (plan.state == CHECK_RUNS && !plan.alone)
		{
			all->slots[all->n++] = slot;
			cost_add(&all->cost, &plan.job);
			if (all->n == all->capacity)
			{
				check_slots(all);
				/* else the caches would grow with the number of indexes */
				InvalidateSystemCaches();
			}
			return;
		}
		request.workers = plan.workers;
		limit_by_memory(&request);
		pg_atomic_write_u32(&slot.state, plan.state);
		if (plan.state == CHECK_RUNS)
			checkmany_alone(&slot, &request);
	}
	put_row(all, &slot);
}

Datum
ptsort_check_indexes(PG_FUNCTION_ARGS)
{
	CheckAll	all = {
		.result = (ReturnSetInfo *) fcinfo->resultinfo,
		.request.budget = (int64) maintenance_work_mem * 1024,
		.workers = default_workers()
	};
	MemoryContext context;
	Datum	   *indexes;
	bool	   *nulls;
	int			n;
	int64		most;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		return (Datum) 0;
	all.request.with_rows = PG_GETARG_BOOL(1);
	all.request.full = PG_GETARG_BOOL(3);
	if (!PG_ARGISNULL(2))
	{
		all.is_given = true;
		all.workers = PG_GETARG_INT32(2);
		check_number(all.workers);
	}
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
