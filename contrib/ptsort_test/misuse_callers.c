/*-------------------------------------------------------------------------
 *
 * misuse_callers.c
 *	  What callers of reset, of stable and of bounded sorts, must not do.
 *
 * See misuse.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"

#include "ptsort_test.h"

/* Begins a sort of int4 datums. */
static PtSort *
begin_int4(const PtSortOptions *options)
{
	return ptsort_begin_datum(INT4OID, Int4LessOperator, InvalidOid, false,
							  options);
}

/* A shared block for one process. */
static PtSortShared *
make_block(void)
{
	Size		size = ptsort_shared_estimate(1);
	dsm_segment *segment = dsm_create(size, 0);
	PtSortShared *shared = dsm_segment_address(segment);

	ptsort_shared_init(shared, 1, segment);
	return shared;
}

static void
reset_worker(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = make_block()
	};

	ptsort_reset(begin_int4(&options));
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

/* A sort that an error has ended in perform. */
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

/* The participant's sort is not stable, and the leader's is. */
static void
stable_leader(void)
{
	PtSortOptions worker = {
		.role = PTSORT_WORKER,
		.shared = make_block()
	};
	PtSortOptions leader = {
		.role = PTSORT_LEADER,
		.shared = worker.shared,
		.stable = true,
		.participants = 1
	};
	PtSort	   *sort = begin_int4(&worker);

	ptsort_put_datum(sort, Int32GetDatum(1), false);
	ptsort_perform(sort);
	ptsort_perform(begin_int4(&leader));
}

static void
bound_worker(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = make_block(),
		.bound = 1
	};

	(void) begin_int4(&options);
}

static void
bound_negative(void)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.bound = -1
	};

	(void) begin_int4(&options);
}

static const struct
{
	const char *name;
	void		(*run) (void);
}			misuses[] =

{
	{"reset of a worker", reset_worker},
	{"reset after an error", reset_failed},
	{"only the leader is stable", stable_leader},
	{"bound of a worker", bound_worker},
	{"negative bound", bound_negative},
};

/* test_misuse_callers does what is named, if it is one of these. */
bool
test_misuse_callers(const char *what)
{
	for (int i = 0; i < lengthof(misuses); i++)
	{
		if (strcmp(what, misuses[i].name) == 0)
		{
			misuses[i].run();
			ereport(WARNING, (errmsg("no error")));
			return true;
		}
	}
	return false;
}
