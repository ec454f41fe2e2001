/*-------------------------------------------------------------------------
 *
 * drive.c
 *	  ptsort_test_sort(): runs sorts in all roles and checks their output.
 *
 * Shared memory has one block for each sort, and the specification, which the
 * leader writes before it launches workers.  Worker k puts share k of the
 * rows.  The leader's process puts the remaining shares: its own, and those of
 * workers that did not start.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "ptsort_test.h"

/* Keys in the segment's table of contents. */
#define KEY_SPEC		UINT64CONST(0x7074735445535401)
#define KEY_SORT(i)		(KEY_SPEC + 1 + (i))

/* Maximum size of a payload: memory holds several copies of a tuple */
#define MAX_WIDTH		(64 * 1024 * 1024)

/*
 * Maximum share, so that the sum of the shares times the number of rows fits
 * in an int64
 */
#define MAX_WEIGHT		1000000

/* Results of ptsort_test_sort(), summed over participants and sorts. */
typedef struct Totals
{
	PtSortStats stats;
	uint64		checksum;
	int64		data_bytes;
	TestSlices	slices;
	char	   *key;			/* description of the last sort's key */
} Totals;

extern PGDLLEXPORT void ptsort_test_worker(dsm_segment *segment, shm_toc *toc);

PG_FUNCTION_INFO_V1(ptsort_test_sort);

/*
 * Adds a sort's statistics to the totals.  The peak_memory of the totals is
 * the largest peak_memory of all sorts.
 */
static void
add_stats(Totals *totals, const PtSortStats *stats)
{
	totals->stats.tuples += stats->tuples;
	totals->stats.runs += stats->runs;
	totals->stats.comparisons += stats->comparisons;
	totals->stats.peak_memory = Max(totals->stats.peak_memory,
									stats->peak_memory);
	totals->stats.temp_bytes += stats->temp_bytes;
}

/* Checks that a serial sort, read in slices, has exactly one slice. */
static void
check_serial_slice(TestChecker *checker, PtSort *sort)
{
	int			slice;

	if (!ptsort_next_slice(sort, &slice) || slice != 0)
		elog(ERROR, "a serial sort begins with slice %d", slice);
	test_check_all(checker, sort);
	if (ptsort_next_slice(sort, &slice) || slice != -1 ||
		ptsort_next_slice(sort, &slice) || slice != -1)
		elog(ERROR, "a serial sort has slice %d", slice);
}

/*
 * Compares the tuples of a performed sort with the array, and ends the sort.
 * After a merge in slices, the tuples are in files of the shared block.
 */
static void
check_and_end(TestShape *shape, PtSort *sort, PtSortShared *shared,
			  int sort_number, Totals *totals)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort_test array",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	TestChecker *checker = test_checker(shape, sort_number);
	PtSortStats stats;

	if (shape->spec->slices && shared == NULL)
		check_serial_slice(checker, sort);
	else if (shape->spec->slices)
		test_check_slices(checker, shared, &totals->slices);
	else
		test_check_all(checker, sort);
	if (shape->spec->random_access)
		test_check_access(checker, sort);
	ptsort_stats(sort, &stats);
	add_stats(totals, &stats);
	totals->checksum = test_mix(totals->checksum, checker->checksum);
	totals->data_bytes += checker->data_bytes;
	MemoryContextSwitchTo(caller);
	totals->key = test_internals()->describe_key(sort);
	ptsort_end(sort);
	MemoryContextDelete(context);
}

/* Puts each row in [first, end) into all sorts. */
static void
put_rows(TestShape *shape, PtSort **sorts, int64 first, int64 end)
{
	for (int64 row = first; row < end; row++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < shape->spec->sorts; i++)
			test_put(shape, sorts[i], row, i);
	}
}

static void
sort_serially(TestShape *shape, Totals *totals)
{
	const TestSpec *spec = shape->spec;
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = spec->budget,
		.random_access = spec->random_access,
		.bound = spec->bound,
		.stable = spec->stable,
		.expected_tuples = spec->expected_tuples
	};
	PtSort	   *sorts[MAX_SORTS] = {NULL};

	shape->first_row = spec->data.n;
	for (int i = 0; i < spec->sorts; i++)
		sorts[i] = test_begin(shape, &options);
	put_rows(shape, sorts, 0, spec->data.n);
	for (int i = 0; i < spec->sorts; i++)
		ptsort_perform(sorts[i]);
	for (int i = 0; i < spec->sorts; i++)
		check_and_end(shape, sorts[i], NULL, i, totals);
}

/* Puts the shares in [first, end) as one participant, and writes runs. */
static void
participate(TestShape *shape, PtSortShared **shared, int first, int end)
{
	const TestSpec *spec = shape->spec;
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.budget = spec->budget,
		.stable = spec->stable,
		.participant = ParallelWorkerNumber + 1
	};
	PtSort	   *sorts[MAX_SORTS] = {NULL};

	for (int i = 0; i < spec->sorts; i++)
	{
		options.shared = shared[i];
		sorts[i] = test_begin(shape, &options);
	}
	put_rows(shape, sorts, first > 0 ? spec->share_end[first - 1] : 0,
			 spec->share_end[end - 1]);
	for (int i = 0; i < spec->sorts; i++)
	{
		ptsort_perform(sorts[i]);
		ptsort_end(sorts[i]);
	}
}

/*
 * Does a worker's part of a merge in slices (the second choice in step 4 of
 * ptsort.h).
 */
static void
merge_slices(TestShape *shape, PtSortShared **shared)
{
	const TestSpec *spec = shape->spec;
	PtSortOptions options = {
		.role = PTSORT_SLICE,
		.budget = spec->budget,
		.stable = spec->stable
	};
	PtSort	   *sorts[MAX_SORTS] = {NULL};

	for (int i = 0; i < spec->sorts; i++)
	{
		options.shared = shared[i];
		sorts[i] = test_begin(shape, &options);
	}
	for (int i = 0; i < spec->sorts; i++)
		ptsort_perform(sorts[i]);
	for (int i = 0; i < spec->sorts; i++)
	{
		test_take_slices(shape, sorts[i], shared[i]);
		ptsort_end(sorts[i]);
	}
}

/* ptsort_test_worker is the entry point of parallel workers. */
void
ptsort_test_worker(dsm_segment *segment, shm_toc *toc)
{
	TestSpec   *spec = shm_toc_lookup(toc, KEY_SPEC, false);
	PtSortShared *shared[MAX_SORTS] = {NULL};
	TestShape  *shape = test_shape_open(spec);

	for (int i = 0; i < spec->sorts; i++)
	{
		shared[i] = shm_toc_lookup(toc, KEY_SORT(i), false);
		ptsort_shared_attach(shared[i], segment);
	}
	participate(shape, shared, ParallelWorkerNumber, ParallelWorkerNumber + 1);
	if (spec->slices)
		merge_slices(shape, shared);
	test_shape_close(shape);
}

/* Makes the parallel context with all data that the workers need. */
static ParallelContext *
create_context(const TestSpec *spec, PtSortShared **shared)
{
	ParallelContext *pcxt = CreateParallelContext("ptsort_test",
												  "ptsort_test_worker",
												  spec->max_participants - 1);
	Size		size = ptsort_shared_estimate(spec->max_participants);
	TestSpec   *copy;

	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(TestSpec));
	shm_toc_estimate_keys(&pcxt->estimator, 1 + spec->sorts);
	for (int i = 0; i < spec->sorts; i++)
		shm_toc_estimate_chunk(&pcxt->estimator, size);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
		elog(ERROR, "could not get a segment of shared memory");

	copy = shm_toc_allocate(pcxt->toc, sizeof(TestSpec));
	*copy = *spec;
	shm_toc_insert(pcxt->toc, KEY_SPEC, copy);
	for (int i = 0; i < spec->sorts; i++)
	{
		shared[i] = shm_toc_allocate(pcxt->toc, size);
		ptsort_shared_init(shared[i], spec->max_participants, pcxt->seg);
		shm_toc_insert(pcxt->toc, KEY_SORT(i), shared[i]);
	}
	return pcxt;
}

/*
 * Reads slices in the leader, and waits for the workers.  A leader that put no
 * rows leaves all slices to the workers.
 */
static void
take_slices(TestShape *shape, ParallelContext *pcxt, PtSort **sorts,
			PtSortShared **shared, int participants)
{
	bool		idle = participants == pcxt->nworkers_launched;
	int			slice;

	if (idle)
		WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < shape->spec->sorts; i++)
	{
		if (!idle)
			test_take_slices(shape, sorts[i], shared[i]);
		else if (ptsort_next_slice(sorts[i], &slice))
			elog(ERROR, "the workers left slice %d", slice);
	}
	if (!idle)
		WaitForParallelWorkersToFinish(pcxt);
}

/* Does the leader's part of step 4 in ptsort.h. */
static void
merge_and_check(TestShape *shape, ParallelContext *pcxt,
				PtSortShared **shared, int participants, Totals *totals)
{
	const TestSpec *spec = shape->spec;
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.budget = spec->budget,
		.random_access = spec->random_access,
		.stable = spec->stable,
		.participants = participants,
		.workers = pcxt
	};
	PtSort	   *sorts[MAX_SORTS] = {NULL};
	PtSortStats stats;

	if (spec->slices)
		options.role = PTSORT_SLICE_LEADER;

	for (int i = 0; i < spec->sorts; i++)
	{
		options.shared = shared[i];
		sorts[i] = test_begin(shape, &options);
	}
	for (int i = 0; i < spec->sorts; i++)
		ptsort_perform(sorts[i]);
	if (spec->slices)
		take_slices(shape, pcxt, sorts, shared, participants);
	for (int i = 0; i < spec->sorts; i++)
	{
		Totals		before = *totals;

		check_and_end(shape, sorts[i], shared[i], i, totals);
		if (totals->stats.tuples - before.stats.tuples != spec->data.n)
			elog(ERROR, "the leader counted " INT64_FORMAT " tuples",
				 totals->stats.tuples - before.stats.tuples);
		for (int p = 0; p <= pcxt->nworkers_launched; p++)
		{
			bool		idle = p == 0 &&
				participants == pcxt->nworkers_launched;

			if (test_internals()->shared_stats(shared[i], p, &stats) == idle)
				elog(ERROR, "participant %d left %s statistics", p,
					 idle ? "some" : "no");
			if (idle)
				continue;
			stats.tuples = 0;	/* the leader's statistics count these tuples */
			add_stats(totals, &stats);
		}
	}
}

static void
sort_in_parallel(TestShape *shape, Totals *totals)
{
	const TestSpec *spec = shape->spec;
	PtSortShared *shared[MAX_SORTS] = {NULL};
	ParallelContext *pcxt;
	int			launched;
	int			participants;

	EnterParallelMode();
	pcxt = create_context(spec, shared);
	LaunchParallelWorkers(pcxt);
	launched = participants = pcxt->nworkers_launched;
	shape->first_row = spec->data.n;
	if (launched < spec->nshares)
	{
		/* participant 0 puts this row and all later rows */
		shape->first_row = launched > 0 ? spec->share_end[launched - 1] : 0;
		participate(shape, shared, launched, spec->nshares);
		participants++;
	}
	merge_and_check(shape, pcxt, shared, participants, totals);
	WaitForParallelWorkersToFinish(pcxt);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/* Cuts the rows into shares in proportion to the numbers in the array. */
static void
cut_shares(TestSpec *spec, ArrayType *array)
{
	Datum	   *weights = NULL;
	bool	   *isnull;
	int			nweights = spec->nshares;
	int64		total = 0;
	int64		sum = 0;

	if (array != NULL)
		deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT,
						  &weights, &isnull, &nweights);
	if (nweights != spec->nshares)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d shares given for %d participants",
						nweights, spec->nshares)));
	for (int i = 0; i < nweights; i++)
		total += weights ?
			test_in_range("shares", DatumGetInt32(weights[i]), 0, MAX_WEIGHT) :
			1;
	for (int i = 0; i < nweights; i++)
	{
		sum += weights ? DatumGetInt32(weights[i]) : 1;
		spec->share_end[i] = spec->data.n * sum / Max(total, 1);
	}
	if (nweights > 0)
		spec->share_end[nweights - 1] = spec->data.n;
}

/* Reads the SQL function's arguments; only shares and live_rows may be null. */
static void
read_arguments(FunctionCallInfo fcinfo, TestSpec *spec)
{
	int			workers;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i) && i != 6 && i != 16)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument %d must not be null", i + 1)));
	}

	memset(spec, 0, sizeof(*spec));
	spec->variant = test_variant(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	spec->index = PG_GETARG_OID(1);
	spec->heap = IndexGetRelation(spec->index, false);
	spec->data.n = test_in_range("n", PG_GETARG_INT64(2), 0, MAX_ROWS);
	spec->budget = (int64) PG_GETARG_INT32(3) * 1024;
	workers = test_in_range("workers", PG_GETARG_INT32(4), 0, MAX_SHARES);
	spec->random_access = PG_GETARG_BOOL(7);
	spec->sorts = test_in_range("sorts", PG_GETARG_INT32(8), 1, MAX_SORTS);
	spec->data.pattern = test_pattern(text_to_cstring(PG_GETARG_TEXT_PP(9)));
	spec->data.distinct_keys = test_in_range("distinct_keys",
											 PG_GETARG_INT64(10), 0,
											 INT64CONST(1) << 62);
	spec->data.null_every = test_in_range("null_every", PG_GETARG_INT32(11),
										  0, PG_INT32_MAX);
	spec->data.width = test_in_range("width", PG_GETARG_INT32(12), 0,
									 MAX_WIDTH);
	spec->data.seed = PG_GETARG_INT32(13);
	spec->is_unique = PG_GETARG_BOOL(14);
	spec->nulls_not_distinct = PG_GETARG_BOOL(15);
	spec->data.live_rows = PG_ARGISNULL(16) ?
		PG_INT64_MAX :
		test_in_range("live_rows", PG_GETARG_INT64(16), 0, PG_INT64_MAX);
	spec->slices = PG_GETARG_BOOL(17);
	spec->stable = PG_GETARG_BOOL(18);
	spec->expected_tuples = PG_GETARG_INT64(19);
	spec->bound = PG_GETARG_INT64(20);

	if (workers > 0)
	{
		spec->nshares = workers + (PG_GETARG_BOOL(5) ? 1 : 0);
		spec->max_participants = workers + 1;
	}
	(void) test_in_range("number of participants", spec->nshares, 0,
						 MAX_SHARES);
	cut_shares(spec, PG_ARGISNULL(6) ? NULL : PG_GETARG_ARRAYTYPE_P(6));
}

/* ptsort_test_sort: see the SQL script. */
Datum
ptsort_test_sort(PG_FUNCTION_ARGS)
{
	TestSpec	spec;
	TestShape  *shape;
	Totals		totals = {0};
	TupleDesc	desc;
	Datum		values[11];
	bool		isnull[11] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	read_arguments(fcinfo, &spec);

	shape = test_shape_open(&spec);
	if (spec.nshares > 0)
		sort_in_parallel(shape, &totals);
	else
		sort_serially(shape, &totals);
	test_shape_close(shape);

	values[0] = Int64GetDatum(totals.stats.tuples);
	values[1] = Int64GetDatum(totals.stats.runs);
	values[2] = Int64GetDatum(totals.stats.comparisons);
	values[3] = Int64GetDatum(totals.stats.peak_memory);
	values[4] = Int64GetDatum(totals.stats.temp_bytes);
	values[5] = Int64GetDatum(totals.data_bytes);
	values[6] = Int64GetDatum((int64) totals.checksum);
	values[7] = Int64GetDatum(totals.slices.filled);
	values[8] = Int64GetDatum(totals.slices.smallest);
	values[9] = Int64GetDatum(totals.slices.largest);
	values[10] = CStringGetTextDatum(totals.key);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
