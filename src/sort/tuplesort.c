/*-------------------------------------------------------------------------
 *
 * tuplesort.c
 *	  The sort object: one state machine for all its roles.
 *
 *		PUTTING		tuples go to memory, and then to runs (serial, worker)
 *			|
 *		perform:	serial without runs		-> MEMORY
 *					serial with runs		-> MERGING, or RUN for random access
 *					worker					-> ANNOUNCED: runs, exported
 *					leader: wait, import	-> MERGING
 *					slice leader: wait, import, plan -> SLICES
 *					slice: wait for the plan, import -> SLICES
 *
 *		MEMORY, MERGING, RUN	get returns tuples in order
 *		SLICES		next_slice: -> MERGING, again for each slice until the last
 *					(a serial sort has one slice, and its phase does not change)
 *		reset		(serial) any phase except FAILED -> PUTTING
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "key/key.h"
#include "throttle/throttle.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"

/* Part of the budget for the write buffer, and its maximum in bytes. */
#define WRITE_BUFFER_PART	16
#define MAX_WRITE_BUFFER	(256 * 1024)

/*
 * Limit for the budget and the expected number of tuples, so that their sums
 * and products do not overflow.  No machine has 2^50 bytes of memory.
 */
#define MAX_SIZE		(INT64CONST(1) << 50)

StaticAssertDecl(offsetof(struct PtSort, order) == 0 &&
				 offsetof(SortOrder, variant) == offsetof(SortHead, variant) &&
				 offsetof(SortOrder, state) == offsetof(SortHead, state),
				 "a PtSort does not begin with a SortHead");

#define PERFORMED	gettext_noop("The sort has already been performed.")

/* What errors about a wrong phase say of each phase, and its method. */
static const struct
{
	const char *detail;
	PtSortMethod method;
}			phases[] = {

	[PHASE_PUTTING] = {gettext_noop("The sort has not been performed yet."),
	PTSORT_STILL_IN_PROGRESS},
	[PHASE_MEMORY] = {PERFORMED, PTSORT_IN_MEMORY},
	[PHASE_MERGING] = {PERFORMED, PTSORT_EXTERNAL_MERGE},
	[PHASE_RUN] = {PERFORMED, PTSORT_EXTERNAL_SORT},
	[PHASE_SLICES] = {gettext_noop("The sort has been performed, and has no current slice."),
	PTSORT_EXTERNAL_MERGE},
	[PHASE_ANNOUNCED] = {gettext_noop("The sort has been performed and has announced its runs to the leader."),
	PTSORT_EXTERNAL_SORT},
	[PHASE_FAILED] = {gettext_noop("The sort could not be performed."),
	PTSORT_STILL_IN_PROGRESS},
};

void
sort_wrong_phase(const PtSort *sort, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg_internal("%s", _(message)),
			 errdetail_internal("%s", _(phases[sort->phase].detail))));
}

static PtSortMethod
sort_method(const PtSort *sort)
{
	PtSortMethod now = phases[sort->phase].method;

	if (now == PTSORT_EXTERNAL_MERGE && sort->options.role == PTSORT_SERIAL &&
		tapeset_bytes(sort->tapeset) == 0)
		now = PTSORT_IN_MEMORY;
	if (now == PTSORT_IN_MEMORY && sort->trimmed)
		now = PTSORT_TOP_N;
	return Max(now, sort->stats.method);
}

void
sort_wrong_variant(const PtSort *sort, const PtSortVariant *variant)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("sort of variant \"%s\" cannot be used as a sort of variant \"%s\"",
					sort->order.variant->name, variant->name)));
}

int64
sort_other_memory(const PtSort *sort)
{
	int64		all = MemoryContextMemAllocated(sort->variant_context, true);

	return sort->memsort ? all - memsort_allocated(sort->memsort) : all;
}

void
sort_note_memory(PtSort *sort)
{
	int64		now = sort_other_memory(sort);

	if (sort->memsort)
	{
		now += sort->memsort->peak;
		sort->memsort->peak = memsort_used(sort->memsort);
	}
	sort->peak_memory = Max(sort->peak_memory, now);
}

void
sort_make_restartable(PtSort *sort)
{
	if (sort->key)
		sort->key->failure.restartable = true;
}

Oid
sort_contradicted(const PtSort *sort)
{
	return sort->key ? sort->key->failure.collation : InvalidOid;
}

bool
sort_failed(const PtSort *sort)
{
	const SortVariant *own = sort->order.own;

	return OidIsValid(sort_contradicted(sort)) ||
		(own->has_postponed && own->has_postponed(sort->order.state)) ||
		(sort->options.shared && shared_has_failed(sort->options.shared));
}

static void
refuse_options(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg_internal("%s", _(message)),
			 hint ? errhint("%s", _(hint)) : 0));
}

static void
check_role(const PtSortOptions *options)
{
	const bool	serial = options->role == PTSORT_SERIAL;
	const bool	leader = options->role == PTSORT_LEADER ||
		options->role == PTSORT_SLICE_LEADER;

	if ((int) options->role < PTSORT_SERIAL || options->role > PTSORT_SLICE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized role of sort: %d", (int) options->role)));
	if (!serial && options->shared == NULL)
		refuse_options("parallel sort needs a shared block",
					   "Set PtSortOptions.shared to a block that this process has attached.");
	if (leader && options->participants < 1)
		refuse_options("leader of parallel sort must know the number of participants",
					   "Set PtSortOptions.participants to the number of sorts of role PTSORT_WORKER.");
	if (!leader && options->participants != 0)
		refuse_options("only the leader of a parallel sort can name the number of participants",
					   "Set PtSortOptions.participants in the roles PTSORT_LEADER and PTSORT_SLICE_LEADER only.");
	if (!serial && options->bound > 0)
		refuse_options("parallel sort cannot have a bound", NULL);
	if (!serial && options->random_access)
		refuse_options("parallel sort cannot have random access", NULL);
}

/* Raise an error for a negative size, which may come from an overflow. */
static void
check_size(int64 size, const char *what, const char *hint)
{
	if (size < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of sort must not be negative", what),
				 errdetail("It is " INT64_FORMAT ".", size),
				 errhint("%s", hint)));
}

/* Check that the variant has the callbacks that its kind of images needs. */
static void
check_variant(const PtSortVariant *variant)
{
	const char *problem = NULL;

	if (variant->inline_image)
	{
		if (variant->size || variant->compare || variant->same_slice)
			problem = "Images that are inline have no callbacks.";
	}
	else if (variant->size == NULL && variant->compare == NULL)
		problem = "The callbacks size and compare are missing.";
	else if (variant->size == NULL)
		problem = "The callback size is missing.";
	else if (variant->compare == NULL)
		problem = "The callback compare is missing.";
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot sort tuples of variant \"%s\"",
						variant->name),
				 errdetail_internal("%s", problem)));
}

/*
 * Raise an error for options that would cause a wrong result or an endless
 * wait, far from the mistake.  (shared.c checks the numbers of participants.)
 */
static void
check_options(const PtSortVariant *variant, const PtSortOptions *options,
			  int nwords)
{
	if (nwords < 0 || nwords > PTSORT_MAX_WORDS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sort key cannot have %d words", nwords),
				 errdetail("A sort key has at most %d words.",
						   PTSORT_MAX_WORDS)));
	check_variant(variant);
	if (variant->inline_image && nwords == 0)
		refuse_options("sort of inline images must have a sort key", NULL);
	check_role(options);
	check_size(options->budget, "budget",
			   "Set PtSortOptions.budget to a number of bytes.");
	check_size(options->expected_tuples, "expected number of tuples",
			   "Set PtSortOptions.expected_tuples to 0 if it is unknown.");
	check_size(options->bound, "bound",
			   "Set PtSortOptions.bound to 0 if all tuples are wanted.");
}

static PtSort *
begin(const PtSortVariant *variant, const SortVariant *own, PtSortKey *key,
	  void *state, int nwords, MemoryContext context,
	  const PtSortOptions *options)
{
	MemoryContext old;
	PtSort	   *sort;

	check_options(variant, options, nwords);
	if (context == NULL)
		context = AllocSetContextCreate(CurrentMemoryContext, "ptsort variant",
										ALLOCSET_SMALL_SIZES);
	sort = MemoryContextAllocZero(context, sizeof(PtSort));
	sort->options = *options;
	sort->options.budget = Min(Max(options->budget, PTSORT_MIN_BUDGET),
							   MAX_SIZE);
	sort->options.expected_tuples = Min(options->expected_tuples, MAX_SIZE);
	sort->variant_context = context;
	/* small blocks, because the unused rest of a block is wasted */
	sort->context = AllocSetContextCreate(context, "ptsort",
										  ALLOCSET_DEFAULT_MINSIZE,
										  ALLOCSET_DEFAULT_INITSIZE,
										  SORT_BLOCK);
	old = MemoryContextSwitchTo(sort->context);
	order_begin(&sort->order, variant, own, key, state);
	sort->order.nwords = nwords;
	sort->order.stable = options->stable;
	sort->order.bounded = options->bound > 0;
	sort->nested = throttle_is_nested();
	sort->write_buffer = Min(sort->options.budget / WRITE_BUFFER_PART,
							 MAX_WRITE_BUFFER);
	sort->key = key;
	if (options->role == PTSORT_WORKER)
		shared_join(options->shared, options->participant);
	if (options->role == PTSORT_SERIAL || options->role == PTSORT_WORKER)
		sort_begin_putting(sort);
	MemoryContextSwitchTo(old);
	return sort;
}

PtSort *
sort_begin_records(const SortVariant *variant, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort records",
												  ALLOCSET_DEFAULT_SIZES);

	return sort_begin_own(variant, NULL, NULL, 1, context, options);
}

PtSort *
sort_begin_own(const SortVariant *variant, PtSortKey *key, void *state,
			   int nwords, MemoryContext context, const PtSortOptions *options)
{
	return begin(&variant->base, variant, key, state, nwords, context, options);
}

PtSort *
sort_begin(const PtSortVariant *variant, void *state, int nwords,
		   MemoryContext context, const PtSortOptions *options)
{
	static const SortVariant no_extras = {0};

	return begin(variant, &no_extras, NULL, state, nwords, context, options);
}

/* Start the final merge, which runs while the caller reads the result. */
static void
start_merging(PtSort *sort)
{
	sort_merge_down(sort, sort_merge_order(sort, MERGE_FINAL));
	sort->merge = sort_create_merge(sort, sort->runs, sort->nruns,
									MERGE_FINAL);
	sort->phase = PHASE_MERGING;
}

static void
perform_serial(PtSort *sort)
{
	if (!sort->run_is_open)
	{
		sort_entries_in_memory(sort);
		bounded_cut(sort);
		sort->phase = PHASE_MEMORY;
		return;
	}
	sort_end_runs(sort);
	if (!sort->options.random_access)
	{
		start_merging(sort);
		return;
	}
	sort_merge_down(sort, 1);
	sort->phase = PHASE_RUN;
	if (sort->nruns > 0)
		run_begin_read(&sort->reader, &sort->order, sort->runs[0],
					   Min(sort->options.budget, MAX_WRITE_BUFFER), false);
}

static void
perform_worker(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	int			participant = sort->options.participant;
	RunDesc    *descs = shared_own_runs(shared, participant);

	sort_end_runs(sort);
	sort_merge_down(sort, sort_runs_to_leave(sort));
	sort->stats.run_bytes = 0;
	for (int i = 0; i < sort->nruns; i++)
	{
		run_export(sort->runs[i], &descs[i]);
		descs[i].nwords = sort->order.nwords;
		descs[i].words_by_tables = sort->order.words_by_tables;
		descs[i].stable = sort->order.stable;
		sort->stats.run_bytes += descs[i].bytes;
	}
	sort->phase = PHASE_ANNOUNCED;
	sort_stats(sort, &sort->stats);
	shared_announce(shared, participant, sort->nruns, &sort->stats,
					sort_failed(sort));
}

static void
check_run(PtSort *sort, const RunDesc *desc)
{
	/* a run may have fewer words than this sort, if the run's key learned */
	if (desc->nwords > sort->order.nwords)
		elog(ERROR, "runs of %d and of %d words cannot be merged",
			 desc->nwords, sort->order.nwords);
	sort->order.nwords = desc->nwords;
	if (desc->stable != sort->order.stable)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort must be stable in all participants or in none")));
	sort->order.words_by_tables |= desc->words_by_tables;
}

/* Open the runs of all participants, with samples for planning slices. */
static void
import_runs(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;

	for (int i = 0; i < shared_processes(shared); i++)
	{
		int			nruns;
		const RunDesc *descs = shared_runs(shared, i, &nruns);
		Run		   *run = NULL;

		for (int r = 0; r < nruns; r++)
		{
			check_run(sort, &descs[r]);
			run = run_import(shared_fileset(shared), i, run, &descs[r],
							 sort->options.role == PTSORT_SLICE_LEADER);
			sort_add_run(sort, run);
			sort->stats.tuples += descs[r].tuples;
		}
	}
}

/* Wait for the runs of all participants, or for the plan of the slices. */
static void
perform_reading(PtSort *sort)
{
	const PtSortOptions *options = &sort->options;

	if (options->role == PTSORT_SLICE)
		shared_wait_plan(options->shared);
	else
		shared_wait(options->shared, options->participants, options->workers);
	import_runs(sort);
	if (options->role == PTSORT_LEADER)
	{
		start_merging(sort);
		return;
	}
	if (options->role == PTSORT_SLICE_LEADER)
	{
		if (!sort_failed(sort))
			sort_plan_slices(sort);
		shared_publish_plan(options->shared, sort_failed(sort));
	}
	sort->phase = PHASE_SLICES;
}

void
sort_perform(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (sort->phase != PHASE_PUTTING)
		sort_wrong_phase(sort, "cannot perform sort");
	fault_point("sort: perform");
	sort->phase = PHASE_FAILED;
	sort->all_put = true;
	if (sort->options.role == PTSORT_SERIAL)
		perform_serial(sort);
	else if (sort->options.role == PTSORT_WORKER)
		perform_worker(sort);
	else
		perform_reading(sort);
	MemoryContextSwitchTo(old);
}

void
sort_end(PtSort *sort)
{
	for (int i = 0; i < sort->nruns; i++)
		run_close(sort->runs[i]);
	if (sort->tapeset)
		tapeset_close(sort->tapeset);
	MemoryContextDelete(sort->variant_context);
}

static void
drop_runs(PtSort *sort)
{
	sort->stats.temp_bytes = Max(sort->stats.temp_bytes,
								 tapeset_bytes(sort->tapeset));
	tapeset_close(sort->tapeset);
	sort->tapeset = NULL;
	sort->run_is_open = false;
	sort->runs = NULL;
	sort->nruns = sort->maxruns = 0;
	sort->merge = NULL;
	sort->batch = NULL;
	memset(&sort->reader, 0, sizeof(RunReader));
	sort->edge_bytes = 0;
	sort->last = NULL;
	sort->memsort = NULL;
	MemoryContextReset(sort->context);
}

void
sort_reset(PtSort *sort)
{
	if (sort->options.role != PTSORT_SERIAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot reset sort"),
				 errdetail("Only sorts of the role PTSORT_SERIAL can be reset.")));
	if (sort->phase == PHASE_FAILED)
		sort_wrong_phase(sort, "cannot reset sort");
	sort->stats.method = sort_method(sort);
	if (sort->tapeset)
	{
		sort_note_memory(sort);
		drop_runs(sort);
	}
	sort_begin_putting(sort);
	if (sort->order.own->reset)
		sort->order.own->reset(sort->order.state);
	sort->phase = PHASE_PUTTING;
	sort->all_put = false;
	sort->slice_taken = false;
	sort->returned = 0;
	sort->batch_left = 0;
	memset(&sort->position, 0, sizeof(SortPosition));
	sort->mark = sort->position;
}

void
sort_rebound(PtSort *sort, int64 bound)
{
	Assert(bound > 0 && sort->options.bound > 0);
	sort_reset(sort);
	sort->options.bound = bound;
	bounded_begin(sort);
}

void
sort_stats(PtSort *sort, PtSortStats *stats)
{
	PtSortStats result;

	sort_note_memory(sort);
	result = sort->stats;
	result.comparisons = sort->order.comparisons;
	result.peak_memory = sort->peak_memory;
	result.method = sort_method(sort);
	if (sort->tapeset)
		result.temp_bytes = Max(result.temp_bytes,
								tapeset_bytes(sort->tapeset));
	*stats = result;
}
