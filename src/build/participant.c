/*-------------------------------------------------------------------------
 *
 * participant.c
 *	  One process's part of a parallel index build: participant.h.
 *
 * Here are the phases that every process of a build goes through, and the
 * main function of the workers.  See build.c for how they make a build, and for
 * its rules.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/nbtree.h"		/* names of the phases in the progress view */
#include "access/parallel.h"
#include "access/table.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "build/heapscan.h"
#include "build/participant.h"
#include "fault.h"
#include "lib/stringinfo.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "util.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Add a name to a list of names. */
static void
append_name(StringInfo names, const char *name)
{
	appendStringInfo(names, names->len > 0 ? ", %s" : "%s", name);
}

/*
 * Raise an error, naming what is wrong, if the set of callbacks is not one that
 * PtBuildOps allows: otherwise NULL would be called after a scan of hours.
 */
static void
check_ops(const PtBuildOps *ops, const char *library, const char *function)
{
	const struct
	{
		const char *name;
		bool		given;
	}			of_slices[] = {
		{"shared_size", ops->shared_size != NULL},
		{"shared_init", ops->shared_init != NULL},
		{"load_slices", ops->load_slices != NULL},
		{"finish", ops->finish != NULL}
	};
	bool		any_of_slices = false;
	bool		half_shared = (ops->shared_size == NULL) !=
		(ops->shared_init == NULL);
	StringInfoData missing;
	StringInfoData excess;

	initStringInfo(&missing);
	initStringInfo(&excess);
	if (ops->begin == NULL)
		append_name(&missing, "begin");
	if (ops->put == NULL)
		append_name(&missing, "put");
	for (int i = 0; i < lengthof(of_slices); i++)
	{
		any_of_slices |= of_slices[i].given;
		if (ops->load != NULL && of_slices[i].given)
			append_name(&excess, of_slices[i].name);
	}
	if (ops->load == NULL && ops->load_slices == NULL)
		append_name(&missing,
					any_of_slices ? "load_slices" : "load or load_slices");
	if (ops->load == NULL && half_shared)
		append_name(&missing,
					ops->shared_size ? "shared_init" : "shared_size");

	if (missing.len > 0)
		ereport(ERROR,
				(errmsg_internal("callbacks of \"%s\" in \"%s\" are incomplete",
								 function, library),
				 errdetail_internal("Missing: %s.", missing.data)));
	if (excess.len > 0)
		ereport(ERROR,
				(errmsg_internal("callbacks of \"%s\" in \"%s\" contradict each other",
								 function, library),
				 errdetail_internal("Not allowed together with load: %s.",
									excess.data)));
	pfree(missing.data);
	pfree(excess.data);
}

const PtBuildOps *
participant_find_ops(const char *library, const char *function)
{
	PtBuildGetOps get_ops;
	const PtBuildOps *ops;

	if (library == NULL || function == NULL)
		elog(ERROR, "request for a build does not say where its callbacks are");
	get_ops = (PtBuildGetOps) load_external_function(library, function, true,
													 NULL);
	ops = get_ops();
	if (ops == NULL)
		elog(ERROR, "function \"%s\" in \"%s\" returned no callbacks",
			 function, library);
	check_ops(ops, library, function);
	return ops;
}

void
participant_report_phase(const Participant *participant, int64 phase)
{
	if (participant->progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

/*
 * What a sort of this role may use of the build's budget.  Sorts that work at
 * the same time have equal shares: one for each process that scans (a worker
 * does not know yet how many were launched, and takes those that were
 * planned), or one for each that may load slices.  A SERIAL sort is the only
 * one; so is a LEADER, which begins when the sorts that wrote the runs have
 * ended.
 */
static int64
share_of_budget(const Participant *participant, PtSortRole role)
{
	switch (role)
	{
		case PTSORT_WORKER:
			return participant->budget / participant->build.participants;
		case PTSORT_SLICE_LEADER:
		case PTSORT_SLICE:
			return participant->budget / participant->processes;
		case PTSORT_SERIAL:
		case PTSORT_LEADER:
			break;
	}
	return participant->budget;
}

/*
 * A sort that plays another part than it was given would be a build that waits
 * for its run or its plan without end, or that loads nothing.
 */
static void
check_sort(const PtSort *sort, const PtSortOptions *options)
{
	if (sort == NULL || !sort_has_part(sort, options))
		ereport(ERROR,
				(errmsg_internal("callback begin has not begun the sort that it was asked for"),
				 errdetail_internal("It must begin a sort with the options that it is given, and return that.")));
}

/* Begin a sort, with what is the same in all of the participant's sorts. */
static void
begin_sort(Participant *participant, PtSortOptions options)
{
	SortOptions with = {
		.options = options,
		.optimistic = participant->optimistic,
		.restartable = participant->restartable
	};

	with.options.budget = share_of_budget(participant, options.role);
	with.options.shared = participant->sort_shared;
	with.options.participant = participant->build.participant;
	participant->sort = participant->ops->begin(&participant->build,
												&with.options);
	check_sort(participant->sort, &with.options);
}

void
participant_begin(Participant *participant, PtSortRole role)
{
	PtSortOptions options = {.role = role};

	begin_sort(participant, options);
}

/* IndexBuildCallback: pass one tuple of the table on to the user's put. */
static void
put_tuple(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Participant *participant = (Participant *) state;

	participant->ops->put(&participant->build, participant->sort, tid,
						  values, isnull, alive);
}

void
participant_scan(Participant *participant)
{
	PtBuild    *build = &participant->build;
	BuildSlot  *slot = participant->slot;
	PtSortStats sorted;
	instr_time	start;

	fault_point("build: before scan");
	INSTR_TIME_SET_CURRENT(start);

	slot->heap_tuples =
		heapscan_build(build->heap, build->index, build->index_info,
					   participant->scan, participant->progress, put_tuple,
					   participant);
	if (participant->ops->scan_done != NULL)
		participant->ops->scan_done(build, participant->sort);

	/*
	 * The time in which put sorted and wrote runs is not scan time; it is in
	 * the sort's own figures.
	 */
	ptsort_stats(participant->sort, &sorted);
	slot->index_tuples = sorted.tuples;
	slot->broken_hot_chain = build->index_info->ii_BrokenHotChain;
	slot->stats.scan_ms = pt_ms_since(start) - sorted.sort_ms -
		sorted.run_ms;
	fault_point("build: after scan");
}

void
participant_sort(Participant *participant)
{
	participant_report_phase(participant, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	ptsort_perform(participant->sort);
	ptsort_stats(participant->sort, &participant->slot->stats.sort);
	sort_outcome(participant->sort, &participant->slot->outcome);
	fault_point("build: after sort");
}

void
participant_close(Participant *participant)
{
	ptsort_end(participant->sort);
	participant->sort = NULL;
}

bool
participant_loads_slices(const Participant *participant)
{
	return participant->ops->load_slices != NULL;
}

void
participant_collect(Participant *participant, PtSortOptions options)
{
	begin_sort(participant, options);
	participant_report_phase(participant, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	ptsort_perform(participant->sort);
}

void
build_add_outcome(SortOutcome *sum, const SortOutcome *outcome)
{
	sum->failed |= outcome->failed;
	if (OidIsValid(outcome->contradicted))
		sum->contradicted = outcome->contradicted;
	sum->wrong_hints += outcome->wrong_hints;
}

/*
 * Add what the load's sort did to the statistics.  Without workers it is the
 * one that was put into, and its own figures are the sum already.
 */
static void
count_load(Participant *participant)
{
	PtSortStats *stats = &participant->slot->stats.sort;
	PtSortStats merge;
	SortOutcome outcome;

	if (participant->sort_shared == NULL)
	{
		ptsort_stats(participant->sort, stats);
		sort_outcome(participant->sort, &participant->slot->outcome);
		return;
	}
	ptsort_stats(participant->sort, &merge);
	stats->comparisons += merge.comparisons;
	stats->peak_memory = Max(stats->peak_memory, merge.peak_memory);
	sort_outcome(participant->sort, &outcome);
	build_add_outcome(&participant->slot->outcome, &outcome);
}

/*
 * Raise an error if load_slices has returned while slices are left: the index
 * would lack their tuples.
 * Asking again may be the moment at which we hear that another process has
 * failed; count_load comes after this and notes it.
 */
static void
check_slices(Participant *participant)
{
	SortOutcome outcome;
	int			slice;

	if (!participant_loads_slices(participant))
		return;
	sort_outcome(participant->sort, &outcome);
	if (!outcome.failed && ptsort_next_slice(participant->sort, &slice))
		elog(ERROR, "load_slices has returned before all slices were taken");
}

void
participant_load(Participant *participant)
{
	PtBuild    *build = &participant->build;
	const PtBuildOps *ops = participant->ops;
	instr_time	start;

	fault_point("build: before load");
	INSTR_TIME_SET_CURRENT(start);
	participant_report_phase(participant, PROGRESS_BTREE_PHASE_LEAF_LOAD);
	if (participant->sort_shared != NULL)
		build->fileset = ptsort_shared_fileset(participant->sort_shared);
	if (participant_loads_slices(participant))
		ops->load_slices(build, participant->sort);
	else
		ops->load(build, participant->sort);
	participant->slot->stats.load_ms = pt_ms_since(start);
	fault_point("build: after load");

	participant->slot->loaded = sort_returned(participant->sort);
	check_slices(participant);
	count_load(participant);
	participant_close(participant);
}


/*
 * Worker
 */

/*
 * Show the leader's statement as ours, to the log and to pg_stat_activity.
 */
static void
worker_report_activity(shm_toc *toc, const BuildShared *shared)
{
	debug_query_string = shm_toc_lookup(toc, PIECE_KEY(PIECE_QUERY), true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);
}

/*
 * Lock modes that index.c holds in the leader.
 */
static LOCKMODE
heap_lockmode(const BuildShared *shared)
{
	return shared->is_concurrent ? ShareUpdateExclusiveLock : ShareLock;
}

static LOCKMODE
index_lockmode(const BuildShared *shared)
{
	return shared->is_concurrent ? RowExclusiveLock : AccessExclusiveLock;
}

/*
 * Open the relations and find everything in the segment.
 */
static void
worker_open(Participant *participant, const BuildShared *shared,
			dsm_segment *segment, shm_toc *toc)
{
	PtBuild    *build = &participant->build;
	char	   *library = shm_toc_lookup(toc, PIECE_KEY(PIECE_LIBRARY), false);
	char	   *name = shm_toc_lookup(toc, PIECE_KEY(PIECE_FUNCTION), false);
	BuildSlot  *slots = shm_toc_lookup(toc, PIECE_KEY(PIECE_SLOTS), false);

	/* the leader is number 0 */
	build->participant = ParallelWorkerNumber + 1;
	if (shared->participants < 1 || build->participant < 1 ||
		build->participant >= shared->processes)
		elog(ERROR, "worker %d is not one of the %d of the build",
			 ParallelWorkerNumber, shared->processes - 1);
	build->heap = table_open(shared->heap_id, heap_lockmode(shared));
	build->index = index_open(shared->index_id, index_lockmode(shared));
	build->index_info = BuildIndexInfo(build->index);
	build->index_info->ii_Unique = shared->is_unique;
	build->index_info->ii_NullsNotDistinct = shared->nulls_not_distinct;
	build->index_info->ii_Concurrent = shared->is_concurrent;
	build->arg = shm_toc_lookup(toc, PIECE_KEY(PIECE_ARG), true);
	build->arg_size = shared->arg_size;
	build->participants = shared->participants;

	participant->ops = participant_find_ops(library, name);
	participant->budget = shared->budget;
	participant->processes = shared->processes;
	participant->optimistic = shared->optimistic;
	participant->restartable = shared->restartable;
	participant->slot = &slots[build->participant];
	participant->scan = shm_toc_lookup(toc, PIECE_KEY(PIECE_SCAN), false);
	participant->sort_shared = shm_toc_lookup(toc, PIECE_KEY(PIECE_SORT),
											  false);
	build->shared = shm_toc_lookup(toc, PIECE_KEY(PIECE_LOAD), true);
	ptsort_shared_attach(participant->sort_shared, segment);
}

/*
 * Leave our resource usage where the leader adds it up.
 */
static void
worker_report_usage(const PtBuild *build, shm_toc *toc)
{
	WalUsage   *wal = shm_toc_lookup(toc, PIECE_KEY(PIECE_WAL), false);
	BufferUsage *buffers = shm_toc_lookup(toc, PIECE_KEY(PIECE_BUFFERS), false);

	InstrEndParallelQuery(&buffers[build->participant],
						  &wal[build->participant]);
}

void
ptsort_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Participant self = {0};
	BuildShared *shared = shm_toc_lookup(toc, PIECE_KEY(PIECE_SHARED), false);
	const PtSortOptions slices = {.role = PTSORT_SLICE};
	MemoryContext old_context = CurrentMemoryContext;
	MemoryContext build_context = AllocSetContextCreate(old_context,
														"ptsort build",
														ALLOCSET_DEFAULT_SIZES);

	/* As nbtsort.c says: nothing but a safe CONCURRENTLY is inherited. */
	Assert(MyProc->statusFlags == 0 || MyProc->statusFlags == PROC_IN_SAFE_IC);

	stamp_check(&shared->stamp);
	worker_report_activity(toc, shared);
	fault_point("build: worker start");
	MemoryContextSwitchTo(build_context);
	worker_open(&self, shared, segment, toc);

	InstrStartParallelQuery();
	participant_begin(&self, PTSORT_WORKER);
	participant_scan(&self);
	participant_sort(&self);
	participant_close(&self);
	if (participant_loads_slices(&self))
	{
		participant_collect(&self, slices);
		participant_load(&self);
	}
	worker_report_usage(&self.build, toc);

	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(build_context);
	index_close(self.build.index, index_lockmode(shared));
	table_close(self.build.heap, heap_lockmode(shared));
	fault_point("build: worker end");
}
