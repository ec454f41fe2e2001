/*-------------------------------------------------------------------------
 *
 * misuse.c
 *	  ptsort_test_misuse(): misuses ptsort's interface.
 *
 * Each misuse must raise an error that states the mistake, and must leave
 * nothing behind.  A table has all misuses: how a sort begins, and the call
 * that is a mistake.  If there is no such call, beginning the sort is the
 * mistake.  sizes.c passes numbers that are out of range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ptsort_test.h"

/* Not an ordering operator: integer addition. */
#define INT4_PLUS	551

PG_FUNCTION_INFO_V1(ptsort_test_misuse);
PG_FUNCTION_INFO_V1(ptsort_test_misuses);

typedef struct Misuse
{
	const char *name;

	/*
	 * The sort: of int4 datums, of the given variant's images, or of rows in
	 * the order of the named index.
	 */
	PtSortOptions options;
	Oid			operator;		/* 0: less */
	const PtSortVariant *variant;
	int			nwords;
	const char *index;

	/* Number of processes in the shared block, and those that sorted. */
	int			processes;
	int			took_part;		/* bit n: participant n */

	bool		performed;		/* true: perform the sort before the call */
	void		(*call) (PtSort *sort);
} Misuse;


/*
 * Beginning a sort
 */

static PtSort *
begin_datum(const Misuse *misuse, const PtSortOptions *options)
{
	return ptsort_begin_datum(INT4OID,
							  misuse->operator ? misuse->operator :
							  Int4LessOperator, InvalidOid, false, options);
}

/* Begins a sort of rows with one int4 column, in the named index's order. */
static PtSort *
begin_heap(const char *index, const PtSortOptions *options)
{
	RangeVar   *name = makeRangeVar(NULL, pstrdup(index), -1);
	Oid			index_oid = RangeVarGetRelid(name, AccessShareLock, false);
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	return ptsort_begin_heap(desc, index_open(index_oid, AccessShareLock),
							 options);
}

/* As the given participant, writes a run of one value. */
static void
take_part(const Misuse *misuse, PtSortShared *shared, int participant)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.shared = shared,
		.participant = participant
	};
	PtSort	   *sort = begin_datum(misuse, &options);

	ptsort_put_datum(sort, Int32GetDatum(participant), false);
	ptsort_perform(sort);
	ptsort_end(sort);
}

static PtSortShared *
make_block(const Misuse *misuse)
{
	Size		size = ptsort_shared_estimate(misuse->processes);
	dsm_segment *segment = dsm_create(size, 0);
	PtSortShared *shared = dsm_segment_address(segment);

	ptsort_shared_init(shared, misuse->processes, segment);
	for (int i = 0; i < misuse->processes; i++)
	{
		if (misuse->took_part & 1 << i)
			take_part(misuse, shared, i);
	}
	return shared;
}

static PtSort *
begin(const Misuse *misuse)
{
	PtSortOptions options = misuse->options;

	if (misuse->processes > 0)
		options.shared = make_block(misuse);
	if (misuse->variant)
		return ptsort_begin(misuse->variant, NULL, misuse->nwords, NULL,
							&options);
	if (misuse->index)
		return begin_heap(misuse->index, &options);
	return begin_datum(misuse, &options);
}


/*
 * The calls
 */

static void
get(PtSort *sort)
{
	Datum		value;
	bool		isnull;

	(void) ptsort_get_datum(sort, true, &value, &isnull);
}

static void
get_backward(PtSort *sort)
{
	Datum		value;
	bool		isnull;

	(void) ptsort_get_datum(sort, false, &value, &isnull);
}

static void
get_tuple(PtSort *sort)
{
	(void) ptsort_get_tuple(sort, true);
}

static void
get_heap(PtSort *sort)
{
	(void) ptsort_get_heap(sort, true);
}

static void
get_entries(PtSort *sort)
{
	int			n;

	(void) ptsort_get_entries(sort, &n);
}

static void
put(PtSort *sort)
{
	ptsort_put_datum(sort, Int32GetDatum(3), false);
}

static void
put_index(PtSort *sort)
{
	ItemPointerData tid;
	Datum		value = Int32GetDatum(1);
	bool		isnull = false;

	ItemPointerSet(&tid, 0, 1);
	ptsort_put_index(sort, &tid, &value, &isnull, true);
}

static void
put_heap(PtSort *sort)
{
	HeapTupleData tuple = {0};

	ptsort_put_heap(sort, &tuple);
}

static void
perform(PtSort *sort)
{
	ptsort_perform(sort);
}

static void
rescan(PtSort *sort)
{
	ptsort_rescan(sort);
}

static void
mark(PtSort *sort)
{
	ptsort_mark(sort);
}

static void
restore(PtSort *sort)
{
	ptsort_restore(sort);
}

static void
reset(PtSort *sort)
{
	ptsort_reset(sort);
}

/* Resets a sort after an error in perform. */
static void
fail_and_reset(PtSort *sort)
{
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

static void
next_slice(PtSort *sort)
{
	int			slice;

	(void) ptsort_next_slice(sort, &slice);
}

static void
next_slice_rescan(PtSort *sort)
{
	next_slice(sort);
	ptsort_rescan(sort);
}

static void
slice_start(PtSort *sort)
{
	(void) ptsort_slice_start(sort);
}

static void
take_all_slices(PtSort *sort)
{
	int			slice;

	while (ptsort_next_slice(sort, &slice))
		;
}

static void
all_slices_start(PtSort *sort)
{
	take_all_slices(sort);
	slice_start(sort);
}

static void
all_slices_get(PtSort *sort)
{
	take_all_slices(sort);
	get(sort);
}

static const uint64 any_word = 1;

static void
reserve(PtSort *sort)
{
	(void) ptsort_reserve(sort, sizeof(uint64));
}

static void
reserve_too_little(PtSort *sort)
{
	(void) ptsort_reserve(sort, sizeof(uint64) - 1);
}

static void
reserve_too_much(PtSort *sort)
{
	(void) ptsort_reserve(sort, (Size) 1024 * 1024 * 1024 + 1);
}

static void
commit(PtSort *sort)
{
	ptsort_commit(sort, &any_word);
}

static void
commit_twice(PtSort *sort)
{
	memset(ptsort_reserve(sort, sizeof(uint64)), 0, sizeof(uint64));
	commit(sort);
	commit(sort);
}

static void
commit_after_put(PtSort *sort)
{
	reserve(sort);
	ptsort_put(sort, &any_word, sizeof(uint64), &any_word);
	commit(sort);
}

static void
commit_after_perform(PtSort *sort)
{
	reserve(sort);
	ptsort_perform(sort);
	commit(sort);
}

static void
begin_by_missing_column(PtSort *sort)
{
	test_begin_tuple(1, 2);
}

/* The only participant's sort is not stable, but the leader's sort is. */
static void
stable_leader(PtSort *sort)
{
	Misuse		leader = {.processes = 1,.took_part = 1};
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.shared = make_block(&leader),
		.stable = true,
		.participants = 1
	};

	ptsort_perform(begin_datum(&leader, &options));
}

/* Participant 1 begins after the leader collected the runs of two others. */
static void
participate_late(PtSort *sort)
{
	Misuse		leader = {.processes = 3,.took_part = 5};
	PtSortOptions options = {
		.role = PTSORT_SLICE_LEADER,
		.shared = make_block(&leader),
		.participants = 2
	};

	ptsort_perform(begin_datum(&leader, &options));
	take_part(&leader, options.shared, 1);
}

static void
participate_twice(PtSort *sort)
{
	Misuse		worker = {.processes = 2,.took_part = 2};

	take_part(&worker, make_block(&worker), 1);
}


/*
 * The variants
 */

static Size
any_size(const void *tuple, void *state)
{
	return sizeof(uint64);
}

static int
any_compare(const void *a, const void *b, void *state)
{
	return 0;
}

static int
never_compares(const void *a, const void *b, void *state)
{
	elog(ERROR, "tuples cannot be compared");
}

static const PtSortVariant any = {
	.name = "any",.size = any_size,.compare = any_compare
};
static const PtSortVariant no_callbacks = {.name = "empty"};
static const PtSortVariant no_compare = {.name = "unordered",.size = any_size};
static const PtSortVariant no_size = {.name = "endless",.compare = any_compare};
static const PtSortVariant no_words = {.name = "inline",.inline_image = true};
static const PtSortVariant inline_and_flat = {
	.name = "inline and flat",.inline_image = true,.compare = any_compare
};
static const PtSortVariant incomparable = {
	.name = "never compares",.size = any_size,.compare = never_compares
};

/* Of the two processes, only a worker has sorted. */
static ParallelContext one_worker = {.nworkers_launched = 1};

/* A leader, a leader of slices, and their only participant's run. */
#define LEADER	.processes = 1, .took_part = 1, \
	.options = {.role = PTSORT_LEADER, .participants = 1}
#define SLICES	.processes = 1, .took_part = 1, \
	.options = {.role = PTSORT_SLICE_LEADER, .participants = 1}

/* The leader of participants 0 and 2, which counts them wrongly. */
#define COUNTS(leader, n)	.processes = 3, .took_part = 5, .call = perform, \
	.options = {.role = leader, .participants = n}

static const Misuse misuses[] = {
	{"get before perform",.call = get},
	{"put after perform",.performed = true,.call = put},
	{"put into a leader", LEADER,.call = put},
	{"get of a worker",.processes = 1,.options = {.role = PTSORT_WORKER},
	.performed = true,.call = get},
	{"perform twice",.performed = true,.call = perform},
	{"get of another variant",.performed = true,.call = get_tuple},
	{"put of another variant",.call = put_index},
	{"get a heap tuple of datums",.performed = true,.call = get_heap},
	{"put a heap tuple among datums",.call = put_heap},
	{"rescan without random access",.performed = true,.call = rescan},
	{"mark without random access",.performed = true,.call = mark},
	{"restore without random access",.performed = true,.call = restore},
	{"backward without random access",.performed = true,.call = get_backward},
	{"rescan before perform",.options = {.random_access = true},.call = rescan},
	{"bad operator",.operator = INT4_PLUS},
	{"bad column",.call = begin_by_missing_column},
	{"worker without block",.options = {.role = PTSORT_WORKER}},
	{"leader without block",
	.options = {.role = PTSORT_LEADER,.participants = 1}},
	{"slice without block",.options = {.role = PTSORT_SLICE}},
	{"leader forgets participants", COUNTS(PTSORT_LEADER, 0)},
	{"slice leader forgets participants", COUNTS(PTSORT_SLICE_LEADER, 0)},
	{"leader of too few", COUNTS(PTSORT_LEADER, 1)},
	{"slice leader of too few", COUNTS(PTSORT_SLICE_LEADER, 1)},
	{"leader of too many", COUNTS(PTSORT_LEADER, 4)},
	{"slice leader of too many", COUNTS(PTSORT_SLICE_LEADER, 4)},
	{"leader that did not sort",.processes = 2,.took_part = 2,.call = perform,
		.options = {
			.role = PTSORT_LEADER,.participants = 2,.workers = &one_worker
	}},
	{"participant too late",.call = participate_late},
	{"participant twice",.call = participate_twice},
	{"participant number too large",.processes = 2,
	.options = {.role = PTSORT_WORKER,.participant = 2},.call = perform},
	{"worker counts participants",.processes = 1,
	.options = {.role = PTSORT_WORKER,.participants = 1}},
	{"slice counts participants",.processes = 1,
	.options = {.role = PTSORT_SLICE,.participants = 1}},
	{"serial sort counts participants",.options = {.participants = 1}},
	{"random access of a worker",.processes = 1,
	.options = {.role = PTSORT_WORKER,.random_access = true}},
	{"random access of a leader",.processes = 1,
	.options = {.role = PTSORT_LEADER,.participants = 1,.random_access = true}},
	{"bound of a worker",.processes = 1,
	.options = {.role = PTSORT_WORKER,.bound = 1}},
	{"only the leader is stable",.call = stable_leader},
	{"next slice while putting",.call = next_slice},
	{"next slice of a leader", LEADER,.performed = true,.call = next_slice},
	{"next slice before perform", SLICES,.call = next_slice},
	{"put into a slice", SLICES,.performed = true,.call = put},
	{"get before a slice", SLICES,.performed = true,.call = get},
	{"get after all slices", SLICES,.performed = true,.call = all_slices_get},
	{"start before a slice", SLICES,.performed = true,.call = slice_start},
	{"start after all slices", SLICES,.performed = true,
	.call = all_slices_start},
	{"rescan of a slice", SLICES,.performed = true,.call = next_slice_rescan},
	{"variant without callbacks",.variant = &no_callbacks,.nwords = 1},
	{"variant without compare",.variant = &no_compare,.nwords = 1},
	{"variant without size",.variant = &no_size,.nwords = 1},
	{"variant of three words",.variant = &any,.nwords = PTSORT_MAX_WORDS + 1},
	{"inline images with a callback",.variant = &inline_and_flat,.nwords = 1},
	{"inline images without words",.variant = &no_words},
	{"entries of flat images",.performed = true,.variant = &any,.nwords = 1,
	.call = get_entries},
	{"commit without reserve",.variant = &any,.nwords = 1,.call = commit},
	{"commit twice",.variant = &any,.nwords = 1,.call = commit_twice},
	{"commit after put",.variant = &any,.nwords = 1,.call = commit_after_put},
	{"commit after perform",.variant = &any,.nwords = 1,
	.call = commit_after_perform},
	{"reserve after perform",.performed = true,.call = reserve},
	{"reserve in a leader", LEADER,.call = reserve},
	{"reserve too little",.variant = &any,.nwords = 1,
	.call = reserve_too_little},
	{"reserve too much",.variant = &any,.nwords = 1,.call = reserve_too_much},
	{"reset of a worker",.processes = 1,.options = {.role = PTSORT_WORKER},
	.call = reset},
	{"reset after an error",.variant = &incomparable,.call = fail_and_reset},
	{"heap tuples by a hash index",.index = "misuse_hash"},
	{"heap tuples of other columns",.index = "pg_class_relname_nsp_index"},
	{"heap tuples of another type",.index = "pg_class_oid_index"},
};

/* ptsort_test_misuse runs the named misuse, which must raise an error. */
Datum
ptsort_test_misuse(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (int i = 0; i < lengthof(misuses); i++)
	{
		PtSort	   *sort;

		if (strcmp(what, misuses[i].name) != 0)
			continue;
		sort = begin(&misuses[i]);
		if (misuses[i].performed)
			ptsort_perform(sort);
		if (misuses[i].call)
			misuses[i].call(sort);
		PG_RETURN_VOID();
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown misuse \"%s\"", what)));
}

/* ptsort_test_misuses returns the names of all misuses. */
Datum
ptsort_test_misuses(PG_FUNCTION_ARGS)
{
	Datum		names[lengthof(misuses)];

	for (int i = 0; i < lengthof(misuses); i++)
		names[i] = CStringGetTextDatum(misuses[i].name);
	PG_RETURN_ARRAYTYPE_P(construct_array(names, lengthof(misuses), TEXTOID,
										  -1, false, TYPALIGN_INT));
}
