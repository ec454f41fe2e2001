/*-------------------------------------------------------------------------
 *
 * misuse.c
 *	  ptsort_test_misuse(): misuses ptsort's interface.
 *
 * Each misuse must raise an error that states the mistake, and must leave
 * nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "compat.h"
#include "ptsort_test.h"

#define INT4_LESS	Int4LessOperator

/* Not an ordering operator: integer addition. */
#define INT4_PLUS	551

PG_FUNCTION_INFO_V1(ptsort_test_misuse);

/* Begins a sort of int4 datums and puts two values. */
static PtSort *
begin_with_two(bool random_access)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = PTSORT_MIN_BUDGET,
		.random_access = random_access
	};
	PtSort	   *sort = ptsort_begin_datum(INT4OID, INT4_LESS, InvalidOid, false,
										  &options);

	ptsort_put_datum(sort, Int32GetDatum(2), false);
	ptsort_put_datum(sort, Int32GetDatum(1), false);
	return sort;
}

static PtSort *
perform_two(bool random_access)
{
	PtSort	   *sort = begin_with_two(random_access);

	ptsort_perform(sort);
	return sort;
}

/* test_begin_int4 begins a sort of int4 datums with the given options. */
PtSort *
test_begin_int4(const PtSortOptions *options)
{
	return ptsort_begin_datum(INT4OID, INT4_LESS, InvalidOid, false, options);
}

/* test_make_block makes a shared block for the given number of processes. */
PtSortShared *
test_make_block(int processes)
{
	Size		size = ptsort_shared_estimate(processes);
	dsm_segment *segment = dsm_create(size, 0);
	PtSortShared *shared = dsm_segment_address(segment);

	ptsort_shared_init(shared, processes, segment);
	return shared;
}

static void
get_before_perform(void)
{
	Datum		value;
	bool		isnull;

	(void) ptsort_get_datum(begin_with_two(false), true, &value, &isnull);
}

static void
put_after_perform(void)
{
	ptsort_put_datum(perform_two(false), Int32GetDatum(3), false);
}

static void
put_into_leader(void)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = test_make_block(1),
		.participants = 1
	};

	ptsort_put_datum(test_begin_int4(&options), Int32GetDatum(1), false);
}

static void
get_of_worker(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = test_make_block(1)
	};
	PtSort	   *sort = test_begin_int4(&options);
	Datum		value;
	bool		isnull;

	ptsort_perform(sort);
	(void) ptsort_get_datum(sort, true, &value, &isnull);
}

static void
perform_twice(void)
{
	ptsort_perform(perform_two(false));
}

static void
get_of_other_variant(void)
{
	(void) ptsort_get_tuple(perform_two(false), true);
}

static void
put_of_other_variant(void)
{
	ItemPointerData tid;
	Datum		value = Int32GetDatum(1);
	bool		isnull = false;

	ItemPointerSet(&tid, 0, 1);
	ptsort_put_index(begin_with_two(false), &tid, &value, &isnull, true);
}

static void
rescan_without_access(void)
{
	ptsort_rescan(perform_two(false));
}

static void
mark_without_access(void)
{
	ptsort_mark(perform_two(false));
}

static void
restore_without_access(void)
{
	ptsort_restore(perform_two(false));
}

static void
backward_without_access(void)
{
	Datum		value;
	bool		isnull;

	(void) ptsort_get_datum(perform_two(false), false, &value, &isnull);
}

static void
rescan_before_perform(void)
{
	ptsort_rescan(begin_with_two(true));
}

static void
bad_operator(void)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};

	(void) ptsort_begin_datum(INT4OID, INT4_PLUS, InvalidOid, false, &options);
}

/* Begins a sort by the given column; the tuples have only one int4 column. */
static void
begin_tuple(int nkeys, AttrNumber attnum)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	Oid			operator = INT4_LESS;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	(void) ptsort_begin_tuple(desc, nkeys, &attnum, &operator, &collation,
							  &nulls_first, &options);
}

static void
bad_column(void)
{
	begin_tuple(1, 2);
}

static void
no_columns(void)
{
	begin_tuple(0, 1);
}

static void
worker_without_block(void)
{
	PtSortOptions options = {.role = PTSORT_WORKER};

	(void) ptsort_begin_datum(INT4OID, INT4_LESS, InvalidOid, false, &options);
}

static void
leader_without_block(void)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.participants = 1
	};

	(void) ptsort_begin_datum(INT4OID, INT4_LESS, InvalidOid, false, &options);
}

static void
slice_without_block(void)
{
	PtSortOptions options = {.role = PTSORT_SLICE};

	(void) ptsort_begin_datum(INT4OID, INT4_LESS, InvalidOid, false, &options);
}

static void
next_slice_of_putting(void)
{
	int			slice;

	(void) ptsort_next_slice(begin_with_two(false), &slice);
}

/* As the given participant, writes a run of one value. */
static void
take_part(PtSortShared *shared, int participant)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = shared,
		.participant = participant
	};
	PtSort	   *sort = test_begin_int4(&options);

	ptsort_put_datum(sort, Int32GetDatum(participant), false);
	ptsort_perform(sort);
	ptsort_end(sort);
}

/*
 * Sorts as two of three participants: the leader's process and a worker.  Then
 * begins and performs a leader's sort, with the number of participants that
 * the caller passes.
 */
static PtSortShared *
collect(PtSortRole role, int participants)
{
	PtSortOptions options = {
		.role = role,
		.shared = test_make_block(3),
		.participants = participants
	};

	take_part(options.shared, 0);
	take_part(options.shared, 2);
	ptsort_perform(test_begin_int4(&options));
	return options.shared;
}

static void
leader_forgets_participants(void)
{
	(void) collect(PTSORT_LEADER, 0);
}

static void
slice_leader_forgets_participants(void)
{
	(void) collect(PTSORT_SLICE_LEADER, 0);
}

static void
leader_negative_participants(void)
{
	(void) collect(PTSORT_LEADER, -1);
}

static void
leader_of_too_few(void)
{
	(void) collect(PTSORT_LEADER, 1);
}

static void
slice_leader_of_too_few(void)
{
	(void) collect(PTSORT_SLICE_LEADER, 1);
}

static void
leader_of_too_many(void)
{
	(void) collect(PTSORT_LEADER, 4);
}

static void
slice_leader_of_too_many(void)
{
	(void) collect(PTSORT_SLICE_LEADER, 4);
}

/* The leader counts its own process, which did not sort, as a participant. */
static void
leader_that_did_not_sort(void)
{
	ParallelContext workers = {.nworkers_launched = 1};
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = test_make_block(2),
		.participants = 2,
		.workers = &workers
	};

	take_part(options.shared, 1);
	ptsort_perform(test_begin_int4(&options));
}

static void
participant_too_late(void)
{
	take_part(collect(PTSORT_SLICE_LEADER, 2), 1);
}

static void
participant_twice(void)
{
	PtSortShared *shared = test_make_block(2);

	take_part(shared, 1);
	take_part(shared, 1);
}

static void
participant_too_large(void)
{
	take_part(test_make_block(2), 2);
}

static void
participant_negative(void)
{
	take_part(test_make_block(2), -1);
}

/* Begins a sort in a role that takes no number of participants. */
static void
count_participants(PtSortRole role)
{
	PtSortOptions options = {
		.role = role,
		.shared = test_make_block(1),
		.participants = 1
	};

	(void) test_begin_int4(&options);
}

static void
worker_counts(void)
{
	count_participants(PTSORT_WORKER);
}

static void
slice_counts(void)
{
	count_participants(PTSORT_SLICE);
}

static void
serial_counts(void)
{
	count_participants(PTSORT_SERIAL);
}

static void
worker_access(void)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = test_make_block(1),
		.random_access = true
	};

	(void) test_begin_int4(&options);
}

static void
leader_access(void)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = test_make_block(1),
		.participants = 1,
		.random_access = true
	};

	(void) test_begin_int4(&options);
}

static void
unknown_role(void)
{
	PtSortOptions options = {.role = (PtSortRole) 5};

	(void) test_begin_int4(&options);
}

static void
block_for_nobody(void)
{
	(void) test_make_block(0);
}

static void
next_slice_of_leader(void)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = test_make_block(1),
		.participants = 1
	};
	PtSort	   *sort;
	int			slice;

	take_part(options.shared, 0);
	sort = test_begin_int4(&options);
	ptsort_perform(sort);
	(void) ptsort_next_slice(sort, &slice);
}

/*
 * Begins a merge in slices.  This process is the only participant, and its run
 * has one value.
 */
static PtSort *
begin_slices(void)
{
	PtSortOptions options = {
		.role = PTSORT_SLICE_LEADER,
		.shared = test_make_block(1),
		.participants = 1
	};

	take_part(options.shared, 0);
	return test_begin_int4(&options);
}

static PtSort *
perform_slices(void)
{
	PtSort	   *sort = begin_slices();

	ptsort_perform(sort);
	return sort;
}

static void
next_slice_before_perform(void)
{
	int			slice;

	(void) ptsort_next_slice(begin_slices(), &slice);
}

static void
put_into_slice(void)
{
	ptsort_put_datum(perform_slices(), Int32GetDatum(2), false);
}

static void
get_before_slice(void)
{
	Datum		value;
	bool		isnull;

	(void) ptsort_get_datum(perform_slices(), true, &value, &isnull);
}

static void
start_before_slice(void)
{
	(void) ptsort_slice_start(perform_slices());
}

static void
start_after_slices(void)
{
	PtSort	   *sort = perform_slices();
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		;
	(void) ptsort_slice_start(sort);
}

static void
get_after_slices(void)
{
	PtSort	   *sort = perform_slices();
	Datum		value;
	bool		isnull;
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		;
	(void) ptsort_get_datum(sort, true, &value, &isnull);
}

static void
rescan_slice(void)
{
	PtSort	   *sort = perform_slices();
	int			slice;

	(void) ptsort_next_slice(sort, &slice);
	ptsort_rescan(sort);
}

static void
reserve_after_perform(void)
{
	(void) ptsort_reserve(perform_two(false), sizeof(uint64));
}

static void
reserve_in_leader(void)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = test_make_block(1),
		.participants = 1
	};

	(void) ptsort_reserve(test_begin_int4(&options), sizeof(uint64));
}

static void
call_get_api(uint32 version, uint32 size)
{
	PtSortGetApi get = (PtSortGetApi)
		load_external_function("$libdir/ptsort", "ptsort_get_api", true, NULL);

	(void) get(version, size);
}

static void
other_version(void)
{
	call_get_api(PTSORT_API_VERSION + 1, sizeof(PtSortApi));
}

static void
larger_table(void)
{
	call_get_api(PTSORT_API_VERSION, sizeof(PtSortApi) + sizeof(void *));
}

static const TestMisuse misuses[] = {
	{"get before perform", get_before_perform},
	{"put after perform", put_after_perform},
	{"put into a leader", put_into_leader},
	{"get of a worker", get_of_worker},
	{"perform twice", perform_twice},
	{"get of another variant", get_of_other_variant},
	{"put of another variant", put_of_other_variant},
	{"rescan without random access", rescan_without_access},
	{"mark without random access", mark_without_access},
	{"restore without random access", restore_without_access},
	{"backward without random access", backward_without_access},
	{"rescan before perform", rescan_before_perform},
	{"bad operator", bad_operator},
	{"bad column", bad_column},
	{"no columns", no_columns},
	{"worker without block", worker_without_block},
	{"leader without block", leader_without_block},
	{"slice without block", slice_without_block},
	{"leader forgets participants", leader_forgets_participants},
	{"slice leader forgets participants", slice_leader_forgets_participants},
	{"negative participants", leader_negative_participants},
	{"leader of too few", leader_of_too_few},
	{"slice leader of too few", slice_leader_of_too_few},
	{"leader of too many", leader_of_too_many},
	{"slice leader of too many", slice_leader_of_too_many},
	{"leader that did not sort", leader_that_did_not_sort},
	{"participant too late", participant_too_late},
	{"participant twice", participant_twice},
	{"participant number too large", participant_too_large},
	{"participant number negative", participant_negative},
	{"worker counts participants", worker_counts},
	{"slice counts participants", slice_counts},
	{"serial sort counts participants", serial_counts},
	{"random access of a worker", worker_access},
	{"random access of a leader", leader_access},
	{"unknown role", unknown_role},
	{"block for nobody", block_for_nobody},
	{"next slice while putting", next_slice_of_putting},
	{"next slice of a leader", next_slice_of_leader},
	{"next slice before perform", next_slice_before_perform},
	{"put into a slice", put_into_slice},
	{"get before a slice", get_before_slice},
	{"get after all slices", get_after_slices},
	{"start before a slice", start_before_slice},
	{"start after all slices", start_after_slices},
	{"rescan of a slice", rescan_slice},
	{"reserve after perform", reserve_after_perform},
	{"reserve in a leader", reserve_in_leader},
	{"another API version", other_version},
	{"larger API table", larger_table},
	{NULL, NULL},
};

/* Runs the named misuse; returns false if the list does not have it. */
static bool
run_misuse(const TestMisuse *misuse, const char *name)
{
	for (; misuse->name != NULL; misuse++)
	{
		if (strcmp(name, misuse->name) == 0)
		{
			misuse->run();
			ereport(WARNING, (errmsg("no error")));
			return true;
		}
	}
	return false;
}

/* ptsort_test_misuse runs the named misuse, which must raise an error. */
Datum
ptsort_test_misuse(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (run_misuse(misuses, what) || run_misuse(test_kind_misuses, what) ||
		run_misuse(test_variant_misuses, what) ||
		run_misuse(test_caller_misuses, what))
		PG_RETURN_VOID();
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown misuse \"%s\"", what)));
}
