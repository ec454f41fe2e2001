/*-------------------------------------------------------------------------
 *
 * build.c
 *	  ptsort_test_build(): uses and misuses the index builds of
 *	  ptsort_parallel.h.
 *
 * The test runs a build over an existing index and does not change the index.
 * The test reads, counts and adds up the values of the index's first column (a
 * bigint), and checks their order.  In each callback, the test checks the
 * promises of ptsort_parallel.h about the process, the participant's number,
 * the argument and the memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "ptsort_parallel.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "ptsort_test.h"

/* Argument of the build.  Every worker gets a copy. */
typedef struct TestBuildArg
{
	char		words[16];
} TestBuildArg;

static const TestBuildArg the_arg = {"what is built"};

/* State of one process (PtParallel.local). */
typedef struct TestBuildLocal
{
	MemoryContext context;		/* current in the first callback */
	int			begun;			/* number of sorts */
} TestBuildLocal;

/* Sums of the values read from a slice, or from the stream. */
typedef struct TestBuildSlice
{
	int			reads;
	int64		tuples;
	int64		sum;
	int64		first;
	int64		last;
} TestBuildSlice;

/*
 * Contents of PtParallel.shared.  No two processes write the same field.  An
 * array with a bool for each process follows the slices; turned_up() returns
 * this array.
 */
typedef struct TestBuildShared
{
	int			processes;
	int			slices;
	TestBuildSlice slice[FLEXIBLE_ARRAY_MEMBER];
} TestBuildShared;

/* Sums of all values read, and the number of slices with tuples. */
typedef struct TestBuildSum
{
	int64		tuples;
	int64		sum;
	int			filled_slices;
} TestBuildSum;

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
 * Checks what must hold in every callback.  Returns the process's own state.
 */
static TestBuildLocal *
check_build(PtParallel *build)
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
		elog(ERROR, "argument did not arrive");
	if (build->is_leader != (arg == &the_arg))
		elog(ERROR, "argument is not the leader's pointer, or a copy");
	return build->local;
}

static PtSort *
begin(PtParallel *build, const PtSortOptions *options)
{
	TestBuildLocal *local = check_build(build);

	if (build->participants < 1)
		elog(ERROR, "build has %d participants", build->participants);
	local->begun++;
	return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
							  options);
}

static void
put(PtParallel *build, PtSort *sort, ItemPointer tid, Datum *values,
	bool *isnull, bool alive)
{
	TestBuildLocal *local = check_build(build);

	if (local->begun != 1)
		elog(ERROR, "put is called at the wrong time");
	ptsort_put_datum(sort, values[0], isnull[0]);
}

/* Reads all tuples of the sort or of its current slice. */
static TestBuildSlice
read_all(PtSort *sort)
{
	TestBuildSlice read = {.reads = 1};
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

static Size
shared_size(PtParallel *build, int processes, int slices)
{
	Size		size = offsetof(TestBuildShared, slice);

	check_build(build);
	size = add_size(size, mul_size(slices, sizeof(TestBuildSlice)));
	return add_size(size, mul_size(processes, sizeof(bool)));
}

static void
shared_init(PtParallel *build, int processes, int slices)
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
read_slices(PtParallel *build, PtSort *sort)
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
			shared->slice[slice].reads > 0)
			elog(ERROR, "slice %d does not exist or was read twice", slice);
		shared->slice[slice] = read_all(sort);
	}
}

/* Begins a serial sort instead of a leader's sort. */
static PtSort *
begin_alone(PtParallel *build, const PtSortOptions *options)
{
	PtSortOptions mine = *options;

	if (options->role == PTSORT_LEADER || options->role == PTSORT_SLICE_LEADER)
	{
		memset(&mine, 0, sizeof(mine));
		mine.role = PTSORT_SERIAL;
	}
	return begin(build, &mine);
}

/* Puts no value. */
static void
put_slot(PtParallel *build, PtSort *sort, TupleTableSlot *slot)
{
}

/* Begins no sort. */
static PtSort *
begin_nothing(PtParallel *build, const PtSortOptions *options)
{
	return NULL;
}

/* Reads no slice.  All processes use this callback. */
static void
read_no_slices(PtParallel *build, PtSort *sort)
{
	check_build(build);
}

/* Reads only the first tuple of each slice. */
static void
read_first(PtParallel *build, PtSort *sort)
{
	Datum		value;
	bool		isnull;
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		(void) ptsort_get_datum(sort, true, &value, &isnull);
}

/*
 * The sets of callbacks
 */

extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_stream(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_unread(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_slices(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_lazy(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_first(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_alone(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_slices_alone(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_no_sort(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_named(void);
extern PGDLLEXPORT const PtParallelOps *ptsort_test_build_none(void);

const PtParallelOps *
ptsort_test_build_stream(void)
{
	static const PtParallelOps ops = {
		.begin = begin,
		.put_index = put
	};

	return &ops;
}

/* With this set, ptsort_test_build() reads no tuple of the stream. */
const PtParallelOps *
ptsort_test_build_unread(void)
{
	return ptsort_test_build_stream();
}

const PtParallelOps *
ptsort_test_build_slices(void)
{
	static const PtParallelOps ops = {
		.begin = begin,
		.put_index = put,
		.shared_size = shared_size,
		.shared_init = shared_init,
		.read_slices = read_slices
	};

	return &ops;
}

const PtParallelOps *
ptsort_test_build_lazy(void)
{
	static PtParallelOps ops;

	ops = *ptsort_test_build_slices();
	ops.read_slices = read_no_slices;
	return &ops;
}

const PtParallelOps *
ptsort_test_build_first(void)
{
	static PtParallelOps ops;

	ops = *ptsort_test_build_slices();
	ops.read_slices = read_first;
	return &ops;
}

const PtParallelOps *
ptsort_test_build_alone(void)
{
	static PtParallelOps ops;

	ops = *ptsort_test_build_stream();
	ops.begin = begin_alone;
	return &ops;
}

const PtParallelOps *
ptsort_test_build_slices_alone(void)
{
	static PtParallelOps ops;

	ops = *ptsort_test_build_slices();
	ops.begin = begin_alone;
	return &ops;
}

const PtParallelOps *
ptsort_test_build_no_sort(void)
{
	static PtParallelOps ops;

	ops = *ptsort_test_build_stream();
	ops.begin = begin_nothing;
	return &ops;
}

/*
 * Callbacks that the caller of ptsort_test_build() names.  Workers do not have
 * these callbacks.
 */
static PtParallelOps named_ops;

const PtParallelOps *
ptsort_test_build_named(void)
{
	return &named_ops;
}

const PtParallelOps *
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
		named_ops.put = put_slot;
	else if (strcmp(name, "put_index") == 0)
		named_ops.put_index = put;
	else if (strcmp(name, "shared_init") == 0)
		named_ops.shared_init = shared_init;
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

/* Adds up the sums of all processes' slices. */
static TestBuildSum
sum_of_slices(TestBuildShared *shared)
{
	TestBuildSum all = {0};
	const TestBuildSlice *before = NULL;

	if (!turned_up(shared)[0])
		elog(ERROR, "leader was not asked to read slices");
	for (int i = 0; i < shared->slices; i++)
	{
		const TestBuildSlice *slice = &shared->slice[i];

		if (slice->reads != 1)
			elog(ERROR, "slice %d was not read", i);
		if (slice->tuples == 0)
			continue;
		if (before != NULL && before->last > slice->first)
			elog(ERROR, "slice %d begins before the previous slice ends", i);
		before = slice;
		all.tuples += slice->tuples;
		all.sum += slice->sum;
		all.filled_slices++;
	}
	return all;
}

static TestBuildSum
sum_of_stream(PtSort *stream)
{
	TestBuildSlice read = read_all(stream);
	TestBuildSum all = {.tuples = read.tuples,.sum = read.sum};

	return all;
}

/*
 * Checks the result's numbers against each other and against the tuples read.
 */
static void
check_result(const PtParallelResult *result, const TestBuildSum *read)
{
	int64		tuples = 0;

	for (int i = 0; i <= result->workers_launched; i++)
		tuples += result->stats[i].sort.tuples;
	if (tuples != result->tuples || read->tuples != tuples)
		elog(ERROR, INT64_FORMAT " tuples were counted, " INT64_FORMAT " in all, and " INT64_FORMAT " read",
			 tuples, result->tuples, read->tuples);
	if (result->stats[0].fill_ms + result->stats[0].read_ms <= 0 &&
		result->participants > result->workers_launched)
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
	PtParallelRequest request = {
		.workers = PG_GETARG_INT32(3),
		.budget = PG_GETARG_INT32(4) * INT64CONST(1024),
		.library = "$libdir/ptsort_test",
		.ops_function = text_to_cstring(PG_GETARG_TEXT_PP(1)),
		.arg = &the_arg,
		.arg_size = sizeof(the_arg)
	};
	PtParallel *build;
	PtParallelResult *result;
	TestBuildSum read = {0};
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	name_callbacks(PG_GETARG_ARRAYTYPE_P(2));
	(void) GetCurrentTransactionId();
	request.table = table_open(heap_oid, ShareLock);
	request.index = index_open(index_oid, AccessExclusiveLock);
	request.index_info = BuildIndexInfo(request.index);
	if (TupleDescAttr(RelationGetDescr(request.index), 0)->atttypid != INT8OID)
		elog(ERROR, "first column of the index must be a bigint");
	if (request.ops_function[0] == '\0')
		request.ops_function = NULL;	/* simulates a missing name */

	build = ptsort_parallel(&request);
	if (IsInParallelMode())
		elog(ERROR, "parallel mode has not ended");
	if (build->stream == NULL)
		read = sum_of_slices(build->shared);
	else if (strcmp(request.ops_function, "ptsort_test_build_unread") != 0)
		read = sum_of_stream(build->stream);
	result = ptsort_parallel_end(build);
	check_result(result, &read);
	values[0] = Int32GetDatum(result->participants);
	values[1] = Int64GetDatum(read.tuples);
	values[2] = Int64GetDatum(read.sum);
	values[3] = Int32GetDatum(read.filled_slices);

	index_close(request.index, NoLock);
	table_close(request.table, NoLock);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}
