/*-------------------------------------------------------------------------
 *
 * failed.c
 *	  ptsort_test_failed(): what a sort does that has failed.
 *
 * An optimistic sort trusts hints until it finds a wrong one in its final
 * merge; then its stream just ends.  A caller that does not ask why must not
 * take that for the end of the tuples.  Such sorts are not for clients of
 * ptsort, so these come from its internals.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "ptsort_test.h"

/* Enough for many runs, with ptsort_test.spill_entries. */
#define FAILED_TUPLES	5000

PG_FUNCTION_INFO_V1(ptsort_test_failed);

const PtSortInternals *
test_internals(void)
{
	PtSortGetInternals get = (PtSortGetInternals)
		load_external_function("$libdir/ptsort", "ptsort_internals", true,
							   NULL);
	const PtSortInternals *internals = get();

	if (internals->size != sizeof(PtSortInternals))
		elog(ERROR, "ptsort_test was compiled for another ptsort");
	return internals;
}

/* Puts strings that look like random ones. */
static void
put_strings(PtSort *sort)
{
	for (int i = 0; i < FAILED_TUPLES; i++)
	{
		ItemPointerData tid;
		Datum		value;
		bool		isnull = false;

		ItemPointerSet(&tid, i, 1);
		value = CStringGetTextDatum(psprintf("%08x", (uint32) test_mix(i, 1)));
		ptsort_put_index(sort, &tid, &value, &isnull, true);
	}
}

/* Reads what the sort has now; returns how many tuples that were. */
static int
read_all(PtSort *sort)
{
	int			n = 0;

	while (ptsort_get_index(sort, true) != NULL)
		n++;
	return n;
}

static PtSort *
perform_serial(Relation heap, Relation index)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	PtSort	   *sort = test_internals()->begin_optimistic(heap, index,
														  &options);

	put_strings(sort);
	ptsort_perform(sort);
	return sort;
}

/* perform_serial as a parallel sort of this process alone. */
static PtSort *
perform_slices(Relation heap, Relation index, dsm_segment *segment)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = dsm_segment_address(segment)
	};
	PtSort	   *sort;

	ptsort_shared_init(options.shared, 1, segment);
	sort = test_internals()->begin_optimistic(heap, index, &options);
	put_strings(sort);
	ptsort_perform(sort);
	ptsort_end(sort);

	options.role = PTSORT_SLICE_LEADER;
	options.participants = 1;
	sort = test_internals()->begin_optimistic(heap, index, &options);
	ptsort_perform(sort);
	return sort;
}

/* Reads slices as if sorts never failed; returns the number of tuples. */
static int
read_slices(PtSort *sort)
{
	int			n = 0;
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		n += read_all(sort);
	return n;
}

/* Does what the SQL function is asked to; returns how many tuples came. */
static int
use_failed_sort(const char *what, Relation heap, Relation index)
{
	bool		slices = strcmp(what, "slices") == 0;
	dsm_segment *segment = dsm_create(ptsort_shared_estimate(1), 0);
	PtSort	   *sort = slices ? perform_slices(heap, index, segment) :
		perform_serial(heap, index);
	int			n = slices ? read_slices(sort) : read_all(sort);

	if (strcmp(what, "get") == 0)
		n += read_all(sort);
	else if (strcmp(what, "ask") == 0)
	{
		if (!test_internals()->has_failed(sort))
			elog(ERROR, "the sort has not failed");
		n += read_all(sort);
	}
	ptsort_end(sort);
	dsm_detach(segment);
	return n;
}

/* ptsort_test_failed(index, what): see the SQL script. */
Datum
ptsort_test_failed(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	Relation	heap = table_open(IndexGetRelation(index_id, false),
								  AccessShareLock);
	Relation	index = index_open(index_id, AccessShareLock);
	int			n = use_failed_sort(text_to_cstring(PG_GETARG_TEXT_PP(1)),
									heap, index);

	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_BOOL(n > 0 && n < FAILED_TUPLES);
}
