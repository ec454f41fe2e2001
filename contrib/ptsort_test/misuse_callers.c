/*-------------------------------------------------------------------------
 *
 * misuse_callers.c
 *	  Misuses of reset, and of stable and bounded sorts.
 *
 * See misuse.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ptsort_test.h"

static void
reset_worker(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = test_make_block(1)
	};

	ptsort_reset(test_begin_int4(&options));
}

static Size
eight_bytes(const void *tuple, void *state)
{
	return sizeof(uint64);
}

static int
never_compares(const void *a, const void *b, void *state)
{
	elog(ERROR, "tuples cannot be compared");
}

/* Resets a sort after an error in perform. */
static void
reset_failed(void)
{
	static const PtSortVariant variant = {
		.name = "never compares",
		.size = eight_bytes,
		.compare = never_compares,
	};
	PtSortOptions options = {.role = PTSORT_SERIAL};
	PtSort	   *sort = ptsort_begin(&variant, NULL, 0, NULL, &options);
	MemoryContext context = CurrentMemoryContext;
	uint64		image = 0;

	ptsort_put(sort, &image, sizeof(image), NULL);
	ptsort_put(sort, &image, sizeof(image), NULL);
	PG_TRY();
	{
		ptsort_perform(sort);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	ptsort_reset(sort);
}

/* The participant's sort is not stable, but the leader's sort is. */
static void
stable_leader(void)
{
	PtSortOptions worker = {
		.role = PTSORT_WORKER,
		.shared = test_make_block(1)
	};
	PtSortOptions leader = {
		.role = PTSORT_LEADER,
		.shared = worker.shared,
		.stable = true,
		.participants = 1
	};
	PtSort	   *sort = test_begin_int4(&worker);

	ptsort_put_datum(sort, Int32GetDatum(1), false);
	ptsort_perform(sort);
	ptsort_perform(test_begin_int4(&leader));
}

static void
bound_worker(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = test_make_block(1),
		.bound = 1
	};

	(void) test_begin_int4(&options);
}

static void
bound_negative(void)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.bound = -1
	};

	(void) test_begin_int4(&options);
}

const TestMisuse test_caller_misuses[] = {
	{"reset of a worker", reset_worker},
	{"reset after an error", reset_failed},
	{"only the leader is stable", stable_leader},
	{"bound of a worker", bound_worker},
	{"negative bound", bound_negative},
	{NULL, NULL},
};
