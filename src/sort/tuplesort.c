/*-------------------------------------------------------------------------
 *
 * tuplesort.c
 *	  The sort object: one phase machine for all its roles.
 *
 *		PUTTING		tuples go to memory; when the budget is used up they are
 *					sorted and spilled as an initial run, or appended to the
 *					last one if they come after it (serial, worker)
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
 *					(a serial sort is one slice: its phase stays)
 *		reset		(serial) any but FAILED -> PUTTING
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "key/key.h"
#include "sort/bounded.h"
#include "sort/options.h"
#include "sort/shared.h"
#include "sort/slices.h"
#include "sort/sortput.h"
#include "sort/sortread.h"
#include "sort/sortruns.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"

/* Part of the budget for the write buffer, and its maximum in bytes. */
#define WRITE_BUFFER_PART	16
#define MAX_WRITE_BUFFER	(256 * 1024)

/*
 * Limits for the budget and the expected number of tuples, so that sums and
 * products of them do not overflow.  No machine has so much memory.
 */
#define MAX_BUDGET		(INT64CONST(1) << 50)
#define MAX_EXPECTED	(INT64CONST(1) << 50)

/* Begin a sort; 'own' has the extras of ptsort's own variants. */
static PtSort *
begin(const PtSortVariant *variant, const SortVariant *own, void *state,
	  int nwords, MemoryContext context, const SortOptions *with)
{
	const PtSortOptions *options = &with->options;
	MemoryContext old;
	PtSort	   *sort;

	options_check(variant, with, nwords);
	if (context == NULL)
		context = AllocSetContextCreate(CurrentMemoryContext, "ptsort variant",
										ALLOCSET_SMALL_SIZES);
	sort = MemoryContextAllocZero(context, sizeof(PtSort));
	sort->options = *options;
	sort->options.budget = Min(Max(options->budget, PTSORT_MIN_BUDGET),
							   MAX_BUDGET);
	sort->options.expected_tuples = Min(options->expected_tuples,
										MAX_EXPECTED);
	sort->variant_context = context;
	/* small blocks, because the unused rest of a block is wasted */
	sort->context = AllocSetContextCreate(context, "ptsort",
										  ALLOCSET_DEFAULT_MINSIZE,
										  ALLOCSET_DEFAULT_INITSIZE,
										  SORT_BLOCK);
	old = MemoryContextSwitchTo(sort->context);
	order_begin(&sort->order, variant, own, state);
	sort->order.nwords = nwords;
	sort->order.stable = options->stable;
	sort->order.bounded = options->bound > 0;
	sort->write_buffer = Min(sort->options.budget / WRITE_BUFFER_PART,
							 MAX_WRITE_BUFFER);
	if (own->key)
		sort->key = own->key(state);
	if (sort->key && with->restartable)
	{
		key_failure(sort->key)->restartable = true;
		sort->contradicted = &key_failure(sort->key)->collation;
	}
	if (options->role == PTSORT_WORKER)
		shared_join(options->shared, options->participant);
	if (options->role == PTSORT_SERIAL || options->role == PTSORT_WORKER)
		sort_begin_putting(sort);
	MemoryContextSwitchTo(old);
	return sort;
}

/* sort_begin_with: see sortextras.h. */
PtSort *
sort_begin_with(const SortVariant *variant, void *state, int nwords,
				MemoryContext context, const SortOptions *options)
{
	return begin(&variant->base, variant, state, nwords, context, options);
}

/* sort_nwords: see tuplesort.h. */
int
sort_nwords(const PtSort *sort)
{
	return sort->order.nwords;
}

/* sort_begin: see ptsort_begin. */
PtSort *
sort_begin(const PtSortVariant *variant, void *state, int nwords,
		   MemoryContext context, const PtSortOptions *options)
{
	static const SortVariant no_extras = {0};
	SortOptions with = {.options = *options};

	return begin(variant, &no_extras, state, nwords, context, &with);
}

/* Prepare to read the only run in both directions; there may be none. */
static void
start_run(PtSort *sort)
{
	Size		buffer = Min(sort->options.budget, MAX_WRITE_BUFFER);

	sort->phase = PHASE_RUN;
	if (sort->nruns > 0)
		run_begin_read(&sort->reader, &sort->order, sort->runs[0], buffer,
					   false);
}

/* Merge the runs while they are read. */
static void
start_merging(PtSort *sort)
{
	sort_merge_down(sort, sort_merge_order(sort, MERGE_FINAL));
	sort->merge = sort_create_merge(sort, sort->runs, sort->nruns, NULL,
									MERGE_FINAL);
	sort->phase = PHASE_MERGING;
}

static void
perform_serial(PtSort *sort)
{
	if (!sort->run_is_open)
	{
		sort_all_in_memory(sort);
		bounded_cut(sort);
		sort->phase = PHASE_MEMORY;
		return;
	}
	sort_end_runs(sort);
	if (sort->options.random_access)
	{
		sort_merge_down(sort, 1);
		start_run(sort);
	}
	else
		start_merging(sort);
}

static void
perform_worker(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	int			participant = sort->options.participant;
	RunDesc    *descs = shared_own_runs(shared, participant);
	SortOutcome outcome;

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
	sort_outcome(sort, &outcome);
	shared_announce(shared, participant, sort->nruns, &sort->stats, &outcome);
}

/* Check that a participant's run fits this sort, and note its properties. */
static void
check_run(PtSort *sort, const RunDesc *desc)
{
	/* learning may reduce the words of a run; this sort did not learn */
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

/* Open the runs of one participant. */
static void
import_from(PtSort *sort, int participant, bool with_samples)
{
	PtSortShared *shared = sort->options.shared;
	int			nruns;
	const RunDesc *descs = shared_runs(shared, participant, &nruns);
	Run		   *run = NULL;

	for (int i = 0; i < nruns; i++)
	{
		check_run(sort, &descs[i]);
		run = run_import(shared_fileset(shared), participant, run, &descs[i],
						 with_samples);
		sort_add_run(sort, run);
		sort->stats.tuples += descs[i].tuples;
	}
}

/* Open the runs of all participants; planning slices needs samples. */
static void
import_runs(PtSort *sort, bool with_samples)
{
	PtSortShared *shared = sort->options.shared;
	int			processes = shared_processes(shared);
	SortOutcome outcome;

	for (int i = 0; i < processes; i++)
	{
		if (shared_outcome(shared, i, &outcome))
			sort->failed |= outcome.failed;
		import_from(sort, i, with_samples);
	}
}

/* The runs of a failed sort are not in order: read none of them. */
static void
discard_runs(PtSort *sort)
{
	for (int i = 0; i < sort->nruns; i++)
		run_close(sort->runs[i]);
	sort->nruns = 0;
}

/* Plan the slices and publish the plan, which is empty if a sort failed. */
static void
plan_slices(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	int			nslices = shared_slices(shared_processes(shared));
	int			row = sort->nruns + 1;	/* see slices_plan */
	int64	   *slices;
	int64		others;			/* bytes in use without planning's own */
	int64		memory;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (sort->failed)
	{
		shared_fail(shared);
		shared_publish_plan(shared);
		return;
	}
	slices = palloc_extended((nslices + 1) * row * sizeof(int64),
							 MCXT_ALLOC_HUGE);
	others = sort_other_memory(sort);
	memory = slices_plan(&sort->order, sort->runs, sort->nruns, nslices,
						 Max(sort->options.budget - others, 0), slices);
	sort->peak_memory = Max(sort->peak_memory, others + memory);
	if (sort->contradicted != NULL && OidIsValid(*sort->contradicted))
		shared_fail(shared);
	for (int r = 0; r < sort->nruns; r++)
		run_forget_samples(sort->runs[r]);
	for (int slice = 0; slice <= nslices; slice++)
	{
		const int64 *planned = &slices[slice * row];

		memcpy(shared_slice(shared, slice), planned,
			   sort->nruns * sizeof(int64));
		*shared_slice_start(shared, slice) = planned[sort->nruns];
	}
	pfree(slices);
	pt_log_part("plan", start);
	shared_publish_plan(shared);
}

static void
perform_leader(PtSort *sort)
{
	shared_wait(sort->options.shared, sort->options.participants,
				sort->options.workers);
	import_runs(sort, false);
	if (sort->failed)
		discard_runs(sort);
	start_merging(sort);
}

static void
perform_slice_leader(PtSort *sort)
{
	shared_wait(sort->options.shared, sort->options.participants,
				sort->options.workers);
	import_runs(sort, true);
	plan_slices(sort);
	sort->phase = PHASE_SLICES;
}

static void
perform_slice(PtSort *sort)
{
	shared_wait_plan(sort->options.shared);
	import_runs(sort, false);
	sort->phase = PHASE_SLICES;
}

/* sort_perform: see ptsort_perform. */
void
sort_perform(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (sort->phase != PHASE_PUTTING)
		sort_wrong_phase(sort, "cannot perform sort");
	fault_point("sort: perform");
	sort->phase = PHASE_FAILED;
	switch (sort->options.role)
	{
		case PTSORT_SERIAL:
			perform_serial(sort);
			break;
		case PTSORT_WORKER:
			perform_worker(sort);
			break;
		case PTSORT_LEADER:
			perform_leader(sort);
			break;
		case PTSORT_SLICE_LEADER:
			perform_slice_leader(sort);
			break;
		case PTSORT_SLICE:
			perform_slice(sort);
			break;
	}
	MemoryContextSwitchTo(old);
}

/* sort_end: see ptsort_end. */
void
sort_end(PtSort *sort)
{
	for (int i = 0; i < sort->nruns; i++)
		run_close(sort->runs[i]);
	if (sort->tapeset)
		tapeset_close(sort->tapeset);
	MemoryContextDelete(sort->variant_context);
}

/* Free everything that a sort with runs has, including its files. */
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
	sort->last_room = 0;
	sort->memsort = NULL;
	MemoryContextReset(sort->context);
}

/* sort_reset: see ptsort_reset. */
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
	sort_put_again(sort);
	if (sort->order.own->reset)
		sort->order.own->reset(sort->order.state);
	sort->phase = PHASE_PUTTING;
	sort->all_in_memory = false;
	sort->slice_taken = false;
	sort->returned = 0;
	sort->batch_left = 0;
	sort->position.before = sort->mark.before = 0;
	sort->position.at_end = sort->mark.at_end = false;
	sort->failed = false;
}

/* sort_rebound: see tuplesort.h. */
void
sort_rebound(PtSort *sort, int64 bound)
{
	Assert(bound > 0 && sort->options.bound > 0);
	sort_reset(sort);
	sort->options.bound = bound;
	bounded_begin(sort);
}

/* sort_stats: see ptsort_stats. */
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
