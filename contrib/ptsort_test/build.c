/*-------------------------------------------------------------------------
 *
 * build.c
 *	  ptsort_test_build(): the interface of ptsort_build.h, used and misused.
 *
 * It runs a build over an index that exists already and leaves that index
 * alone: what it loads are the values of its first column, a bigint, which it
 * counts and adds up and whose order it checks.  So it can hold ptsort_build()
 * to all that its header promises: who calls what, with which numbers, in
 * which memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "ptsort_build.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "ptsort_test.h"

/* Every process gets it as the argument of the build. */
typedef struct TestBuildArg
{
	char		words[16];
} TestBuildArg;

static const TestBuildArg the_arg = {"what is built"};

/* What one process knows; PtBuild.local. */
typedef struct TestBuildLocal
{
	MemoryContext context;		/* of the first callback */
	int			begun;			/* sorts */
	int64		tuples;			/* loaded */
	int64		sum;
} TestBuildLocal;

/* A slice that has been loaded. */
typedef struct TestBuildSlice
{
	int			loads;
	int64		tuples;
	int64		sum;
	int64		first;
	int64		last;
} TestBuildSlice;

/* PtBuild.shared.  Everybody writes what nobody else does. */
typedef struct TestBuildShared
{
	int			processes;
	int			slices;
	TestBuildSlice slice[FLEXIBLE_ARRAY_MEMBER];	/* then a bool each */
} TestBuildShared;

/* What the leader's last callback has found; of the process. */
static TestBuildLocal loaded;
static int	filled_slices;

PG_FUNCTION_INFO_V1(ptsort_test_build);


/*
 * The callbacks
 */

static bool *
turned_up(TestBuildShared *shared)
{
	return (bool *) &shared->slice[shared->slices];
}

/*
 * What holds in every callback.  Returns the process's own state.
 */
static TestBuildLocal *
check_build(PtBuild *build)
{
	const TestBuildArg *arg = build->arg;

	if (build->local == NULL)
	{
		build->local = palloc0(sizeof(TestBuildLocal));
		((TestBuildLocal *) build->local)->context = CurrentMemoryContext;
	}
	if (((TestBuildLocal *) build->local)->context != CurrentMemoryContext)
		elog(ERROR, "callbacks are called in two memory contexts");
	if (build->is_leader != (build->participant == 0))
		elog(ERROR, "participant %d is not the leader", build->participant);
	if (build->is_leader != !IsParallelWorker())
		elog(ERROR, "participant %d is in the wrong process",
			 build->participant);
	if (arg == NULL || strcmp(arg->words, the_arg.words) != 0)
		elog(ERROR, "argument has not arrived");
	if (build->is_leader != (arg == &the_arg))
		elog(ERROR, "argument is not the leader's pointer, or a copy");
	return build->local;
}

static PtSort *
begin(PtBuild *build, const PtSortOptions *options)
{
	TestBuildLocal *local = check_build(build);

	if (build->participants < 1)
		elog(ERROR, "build has %d participants", build->participants);
	local->begun++;
	return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
							  options);
}

static void
put(PtBuild *build, PtSort *sort, ItemPointer tid, Datum *values,
	bool *isnull, bool alive)
{
	TestBuildLocal *local = check_build(build);

	if (local->begun != 1)
		elog(ERROR, "put is called at the wrong time");
	ptsort_put_datum(sort, values[0], isnull[0]);
}

/* Read all that the sort gives now. */
static TestBuildSlice
read_all(PtSort *sort)
{
	TestBuildSlice read = {.loads = 1};
	Datum		value;
	bool		isnull;

	while (ptsort_get_datum(sort, true, &value, &isnull))
	{
		if (isnull || (read.tuples > 0 && DatumGetInt64(value) < read.last))
			elog(ERROR, "values are not in order");
		if (read.tuples++ == 0)
			read.first = DatumGetInt64(value);
		read.last = DatumGetInt64(value);
		read.sum += read.last;
	}
	return read;
}

static void
load(PtBuild *build, PtSort *sort)
{
	TestBuildLocal *local = check_build(build);
	TestBuildSlice read = read_all(sort);

	if (!build->is_leader || build->shared != NULL)
		elog(ERROR, "load is called where load_slices should be");
	local->tuples = read.tuples;
	local->sum = read.sum;
	loaded = *local;
	filled_slices = 0;
}

static Size
shared_size(PtBuild *build, int processes, int slices)
{
	Size		size = offsetof(TestBuildShared, slice);

	check_build(build);
	size = add_size(size, mul_size(slices, sizeof(TestBuildSlice)));
	return add_size(size, mul_size(processes, sizeof(bool)));
}

static void
shared_init(PtBuild *build, int processes, int slices)
{
	TestBuildShared *shared = build->shared;
	const char *bytes = build->shared;

	if (MAXALIGN(bytes) != (uintptr_t) bytes)
		elog(ERROR, "shared memory is not aligned");
	for (Size i = 0; i < shared_size(build, processes, slices); i++)
	{
		if (bytes[i] != 0)
			elog(ERROR, "shared memory is not zeroed");
	}
	if (build->participants > processes)
		elog(ERROR, "there are %d participants in %d processes",
			 build->participants, processes);
	shared->processes = processes;
	shared->slices = slices;
}

static void
load_slices(PtBuild *build, PtSort *sort)
{
	TestBuildShared *shared = build->shared;
	int			slice;

	check_build(build);
	if (build->participant >= shared->processes)
		elog(ERROR, "participant %d is one too many", build->participant);
	turned_up(shared)[build->participant] = true;
	while (ptsort_next_slice(sort, &slice))
	{
		if (slice < 0 || slice >= shared->slices ||
			shared->slice[slice].loads > 0)
			elog(ERROR, "slice %d is loaded twice, or there is none", slice);
		shared->slice[slice] = read_all(sort);
	}
}

/* Begins a serial sort where that of a leader is asked for. */
static PtSort *
begin_alone(PtBuild *build, const PtSortOptions *options)
{
	PtSortOptions mine = *options;

	if (options->role == PTSORT_LEADER || options->role == PTSORT_SLICE_LEADER)
	{
		memset(&mine, 0, sizeof(mine));
		mine.role = PTSORT_SERIAL;
	}
	return begin(build, &mine);
}

/* Begins nothing. */
static PtSort *
begin_nothing(PtBuild *build, const PtSortOptions *options)
{
	return NULL;
}

/* Leaves all slices to others, which do the same. */
static void
load_no_slices(PtBuild *build, PtSort *sort)
{
	check_build(build);
}

/* Reads the first tuple only, of each slice or of all. */
static void
load_first(PtBuild *build, PtSort *sort)
{
	Datum		value;
	bool		isnull;
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		(void) ptsort_get_datum(sort, true, &value, &isnull);
}

static void
finish(PtBuild *build)
{
	TestBuildShared *shared = build->shared;
	TestBuildLocal *local = check_build(build);
	const TestBuildSlice *before = NULL;

	if (!build->is_leader || !turned_up(shared)[0])
		elog(ERROR, "finish is called before the leader's load");
	filled_slices = 0;
	for (int i = 0; i < shared->slices; i++)
	{
		const TestBuildSlice *slice = &shared->slice[i];

		if (slice->loads != 1)
			elog(ERROR, "slice %d was not loaded", i);
		if (slice->tuples == 0)
			continue;
		if (before != NULL && before->last > slice->first)
			elog(ERROR, "slice %d begins before the one before it ends", i);
		before = slice;
		local->tuples += slice->tuples;
		local->sum += slice->sum;
		filled_slices++;
	}
	loaded = *local;
}


/*
 * The sets of callbacks
 */

extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_load(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_slices(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_lazy(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_first(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_alone(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_slices_alone(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_no_sort(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_named(void);
extern PGDLLEXPORT const PtBuildOps *ptsort_test_build_none(void);

const PtBuildOps *
ptsort_test_build_load(void)
{
	static const PtBuildOps ops = {
		.begin = begin,
		.put = put,
		.load = load
	};

	return &ops;
}

const PtBuildOps *
ptsort_test_build_slices(void)
{
	static const PtBuildOps ops = {
		.begin = begin,
		.put = put,
		.shared_size = shared_size,
		.shared_init = shared_init,
		.load_slices = load_slices,
		.finish = finish
	};

	return &ops;
}

const PtBuildOps *
ptsort_test_build_lazy(void)
{
	static PtBuildOps ops;

	ops = *ptsort_test_build_slices();
	ops.load_slices = load_no_slices;
	return &ops;
}

const PtBuildOps *
ptsort_test_build_first(void)
{
	static PtBuildOps ops;

	ops = *ptsort_test_build_slices();
	ops.load_slices = load_first;
	return &ops;
}

const PtBuildOps *
ptsort_test_build_alone(void)
{
	static PtBuildOps ops;

	ops = *ptsort_test_build_load();
	ops.begin = begin_alone;
	return &ops;
}

const PtBuildOps *
ptsort_test_build_slices_alone(void)
{
	static PtBuildOps ops;

	ops = *ptsort_test_build_slices();
	ops.begin = begin_alone;
	return &ops;
}

const PtBuildOps *
ptsort_test_build_no_sort(void)
{
	static PtBuildOps ops;

	ops = *ptsort_test_build_load();
	ops.begin = begin_nothing;
	return &ops;
}

/* Those that the caller of ptsort_test_build() names; in the leader only. */
static PtBuildOps named_ops;

const PtBuildOps *
ptsort_test_build_named(void)
{
	return &named_ops;
}

const PtBuildOps *
ptsort_test_build_none(void)
{
	return NULL;
}

static void
name_callback(const char *name)
{
	if (strcmp(name, "begin") == 0)
		named_ops.begin = begin;
	else if (strcmp(name, "put") == 0)
		named_ops.put = put;
	else if (strcmp(name, "load") == 0)
		named_ops.load = load;
	else if (strcmp(name, "shared_size") == 0)
		named_ops.shared_size = shared_size;
	else if (strcmp(name, "shared_init") == 0)
		named_ops.shared_init = shared_init;
	else if (strcmp(name, "load_slices") == 0)
		named_ops.load_slices = load_slices;
	else if (strcmp(name, "finish") == 0)
		named_ops.finish = finish;
	else
		elog(ERROR, "there is no callback \"%s\"", name);
}

static void
name_callbacks(ArrayType *names)
{
	Datum	   *values;
	int			n;

	memset(&named_ops, 0, sizeof(named_ops));
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL,
					  &n);
	for (int i = 0; i < n; i++)
		name_callback(TextDatumGetCString(values[i]));
}


/*
 * The build
 */

/* The result's figures agree with each other and with what was loaded. */
static void
check_result(const PtBuildResult *result)
{
	double		tuples = 0;

	for (int i = 0; i <= result->workers_launched; i++)
		tuples += result->stats[i].sort.tuples;
	if (tuples != result->index_tuples || loaded.tuples != tuples)
		elog(ERROR, "%.0f tuples were counted, %.0f in all, and %lld loaded",
			 tuples, result->index_tuples, (long long) loaded.tuples);
	if (result->stats[0].load_ms <= 0)
		elog(ERROR, "the first statistics are not the leader's");
	if (result->workers_launched > result->workers_planned)
		elog(ERROR, "%d workers were launched, but %d planned",
			 result->workers_launched, result->workers_planned);
}

/*
 * ptsort_test_build(index regclass, ops text, callbacks text[], workers int,
 * budget_kb int, OUT participants int, OUT tuples bigint, OUT sum bigint, OUT
 * filled_slices int).
 */
Datum
ptsort_test_build(PG_FUNCTION_ARGS)
{
	Oid			index_oid = PG_GETARG_OID(0);
	Oid			heap_oid = IndexGetRelation(index_oid, false);
	PtBuildRequest request = {
		.workers = PG_GETARG_INT32(3),
		.budget = PG_GETARG_INT32(4) * INT64CONST(1024),
		.library = "$libdir/ptsort_test",
		.ops_function = text_to_cstring(PG_GETARG_TEXT_PP(1)),
		.arg = &the_arg,
		.arg_size = sizeof(the_arg)
	};
	PtBuildResult *result;
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	name_callbacks(PG_GETARG_ARRAYTYPE_P(2));
	(void) GetCurrentTransactionId();
	request.heap = table_open(heap_oid, ShareLock);
	request.index = index_open(index_oid, AccessExclusiveLock);
	request.index_info = BuildIndexInfo(request.index);
	if (TupleDescAttr(RelationGetDescr(request.index), 0)->atttypid != INT8OID)
		elog(ERROR, "first column of the index must be a bigint");
	memset(&loaded, 0, sizeof(loaded));
	if (request.ops_function[0] == '\0')
		request.ops_function = NULL;	/* somebody has forgotten it */

	result = ptsort_build(&request);
	check_result(result);
	values[0] = Int32GetDatum(result->participants);
	values[1] = Int64GetDatum(loaded.tuples);
	values[2] = Int64GetDatum(loaded.sum);
	values[3] = Int32GetDatum(filled_slices);

	index_close(request.index, NoLock);
	table_close(request.heap, NoLock);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}
