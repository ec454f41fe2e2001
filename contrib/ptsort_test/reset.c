/*-------------------------------------------------------------------------
 *
 * reset.c
 *	  ptsort_test_reset(): uses one sort object for many sorts.
 *
 * Each sort has different rows and a different number of rows.  The test
 * resets the sort object at a random stage: after putting some or all rows,
 * after performing the sort, after reading some tuples, or after comparing all
 * tuples with the sorted array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_reset);

/* Maximum number of sorts in one test */
#define MAX_RESETS	1000000

/* Results of ptsort_test_reset(). */
typedef struct Resets
{
	int64		checked;
	int64		put;			/* number of tuples put in all sorts */
	int64		most_memory;
} Resets;

/* Reads some of the tuples. */
static void
read_some(TestShape *shape, PtSort *sort, int64 n)
{
	TestTuple	tuple;

	for (int64 i = 0; i < n; i++)
	{
		if (!test_get(shape, sort, true, &tuple))
			elog(ERROR, "only " INT64_FORMAT " tuples came out", i);
	}
}

/* Reads all tuples, and compares them with the sorted array. */
static void
check(TestShape *shape, PtSort *sort)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort_test array",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	TestChecker *checker = test_checker(shape, 0);

	test_check_all(checker, sort);
	if (shape->spec->random_access)
		test_check_access(checker, sort);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Sorts once, up to the stage that 'dice' selects. */
static void
sort_once(TestShape *shape, PtSort *sort, uint64 dice, Resets *resets)
{
	const TestSpec *spec = shape->spec;
	int64		n = spec->data.n;
	int			way = dice % 8;
	int64		put = way == 0 ? n / 2 : n;

	shape->first_row = n;
	for (int64 row = 0; row < put; row++)
		test_put(shape, sort, row, 0);
	resets->put += put;
	if (way <= 1)
		return;
	ptsort_perform(sort);
	if (way == 2)
		return;
	if (way == 3)
		read_some(shape, sort,
				  spec->bound > 0 ? Min(n / 3, spec->bound) : n / 3);
	else
	{
		check(shape, sort);
		resets->checked++;
	}
}

/* Does 'sorts' sorts, and resets the sort object after each sort. */
static void
sort_again_and_again(TestShape *shape, TestSpec *spec, PtSort *sort,
					 MemoryContext context, int sorts, int64 max_n,
					 Resets *resets)
{
	int			seed = spec->data.seed;

	for (int i = 0; i < sorts; i++)
	{
		uint64		dice = test_mix(seed, i);

		CHECK_FOR_INTERRUPTS();
		/* many small sorts among a few large ones */
		spec->data.n = (dice >> 8) % ((dice & 16) ? max_n + 1 : 100);
		spec->data.seed = seed + i;
		spec->data.distinct_keys = (dice & 32) ? 10 : 0;
		sort_once(shape, sort, dice, resets);
		ptsort_reset(sort);
		resets->most_memory = Max(resets->most_memory,
								  MemoryContextMemAllocated(context, true));
	}
}

/* ptsort_test_reset: see the SQL script. */
Datum
ptsort_test_reset(PG_FUNCTION_ARGS)
{
	TestSpec	spec = {
		.variant = test_variant(text_to_cstring(PG_GETARG_TEXT_PP(0))),
		.index = PG_GETARG_OID(1),
		.budget = (int64) PG_GETARG_INT32(4) * 1024,
		.random_access = PG_GETARG_BOOL(5),
		.stable = PG_GETARG_BOOL(6),
		.bound = PG_GETARG_INT64(7),
		.data.null_every = 20,
		.data.seed = PG_GETARG_INT32(8)
	};
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = spec.budget,
		.random_access = spec.random_access,
		.bound = spec.bound,
		.stable = spec.stable
	};
	int			sorts = test_in_range("sorts", PG_GETARG_INT32(2), 0, MAX_RESETS);
	int64		max_n = test_in_range("max_n", PG_GETARG_INT64(3), 0, MAX_ROWS);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort_test sort",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller;
	TestShape  *shape;
	PtSort	   *sort;
	PtSortStats stats;
	Resets		resets = {0};
	TupleDesc	desc;
	Datum		values[6];
	bool		isnull[6] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	spec.heap = IndexGetRelation(spec.index, false);
	shape = test_shape_open(&spec);
	caller = MemoryContextSwitchTo(context);
	sort = test_begin(shape, &options);
	MemoryContextSwitchTo(caller);
	sort_again_and_again(shape, &spec, sort, context, sorts, max_n, &resets);
	ptsort_stats(sort, &stats);
	if (stats.tuples != resets.put)
		elog(ERROR, INT64_FORMAT " tuples were put, not " INT64_FORMAT,
			 resets.put, stats.tuples);
	ptsort_end(sort);
	test_shape_close(shape);

	values[0] = Int64GetDatum(resets.checked);
	values[1] = Int64GetDatum(stats.tuples);
	values[2] = CStringGetTextDatum(ptsort_method_name(stats.method));
	values[3] = CStringGetTextDatum(ptsort_method_space(stats.method));
	values[4] = Int64GetDatum(stats.runs);
	values[5] = Int64GetDatum(resets.most_memory);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
