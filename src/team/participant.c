/*-------------------------------------------------------------------------
 *
 * participant.c
 *	  One process's part of a parallel index build: participant.h.
 *
 * This file has the callbacks of a build's team, which every process runs, and
 * the main function of the workers.  See team.h for the phases, and build.c for
 * the rules of a build.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/nbtree.h"		/* names of the phases in the progress view */
#include "access/table.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "fault.h"
#include "lib/stringinfo.h"
#include "order/sortextras.h"
#include "pgstat.h"
#include "sort/tuplesort.h"
#include "storage/proc.h"
#include "team/heapscan.h"
#include "team/participant.h"
#include "team/request.h"
#include "util.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Maximum size of a table, in blocks, for which the leader limits its share of
 * the scan (leader_share).
 */
#define MOST_SHARED_BLOCKS	8192

/*
 * Minimum time, in ms, that the leader must have scanned to wait for workers.
 * They begin some milliseconds after the leader.
 */
#define LEAST_SCAN_MS		2.5

/*
 * Raise an error that names the wrong callbacks if PtBuildOps does not allow
 * this set.  Without this check, calling a NULL would crash the process after
 * the scan, perhaps after hours.
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
		team_append_name(&missing, "begin");
	if (ops->put == NULL)
		team_append_name(&missing, "put");
	for (int i = 0; i < lengthof(of_slices); i++)
	{
		any_of_slices |= of_slices[i].given;
		if (ops->load != NULL && of_slices[i].given)
			team_append_name(&excess, of_slices[i].name);
	}
	if (ops->load == NULL && ops->load_slices == NULL)
		team_append_name(&missing,
						 any_of_slices ? "load_slices" : "load or load_slices");
	if (ops->load == NULL && half_shared)
		team_append_name(&missing,
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
	const PtBuildOps *ops = team_callbacks("build", library, function);

	check_ops(ops, library, function);
	return ops;
}

PtBuild *
participant_build(Team *team)
{
	PtBuild    *build = &((Participant *) team)->build;

	build->participants = team->participants;
	build->participant = team->participant;
	build->shared = team->shared;
	build->fileset = team_fileset(team);
	return build;
}


/*
 * Siblings
 */

/*
 * Add an index to the siblings of this build.  Its segment must be attached.
 */
static void
add_sibling(Participant *participant, Relation index, const SiblingInfo *info,
			dsm_segment *segment)
{
	Sibling    *sibling = &participant->siblings[participant->nsiblings++];
	PtBuild    *build = &sibling->build;

	memset(sibling, 0, sizeof(Sibling));
	sibling->ops = participant->ops;
	sibling->segment = segment;
	sibling->shared = siblings_shared(segment);
	build->heap = participant->build.heap;
	build->index = index;
	build->index_info = BuildIndexInfo(index);
	build->index_info->ii_Unique = info->is_unique;
	build->index_info->ii_NullsNotDistinct = info->nulls_not_distinct;
	participant->team.sorts = 1 + participant->nsiblings;
}

/*
 * Leader: make siblings of the candidates, in their order, until there is no
 * segment for the runs of the next one or no room in the budget for its sort.
 */
static void
make_siblings(Team *team, int processes)
{
	Participant *participant = (Participant *) team;
	BuildInfo  *info = &participant->info;
	int64		most = team->budget / team->participants / PTSORT_MIN_BUDGET;

	for (int i = 0; i < participant->ncandidates && i + 2 <= most; i++)
	{
		const Candidate *candidate = &participant->candidates[i];
		SiblingInfo *sibling = &info->siblings[info->nsiblings];
		dsm_segment *segment = siblings_create(sibling, processes);

		if (segment == NULL)
			break;
		sibling->index_id = RelationGetRelid(candidate->index);
		sibling->is_unique = candidate->is_unique;
		sibling->nulls_not_distinct = candidate->nulls_not_distinct;
		info->nsiblings++;
		add_sibling(participant, candidate->index, sibling, segment);
	}
}

void
participant_drop_siblings(Participant *participant)
{
	for (int i = 0; i < participant->nsiblings; i++)
		dsm_detach(participant->siblings[i].segment);
	participant->nsiblings = 0;
	participant->info.nsiblings = 0;
}


/*
 * The phases: TeamKind
 */

static PtSort *
begin(Team *team, const SortOptions *options)
{
	return ((Participant *) team)->ops->begin(participant_build(team),
											  &options->options);
}

/* Begin the sort of a sibling with the options of an ordinary build. */
static void
begin_sibling(const Team *team, Sibling *sibling)
{
	SortOptions with = {
		.options = {
			.role = PTSORT_WORKER,
			.budget = team_put_share(team),
			.shared = siblings_sorts(sibling->shared),
			.participant = team->participant,
			.expected_tuples = team_put_expected(team)
		},
		.restartable = team->restartable,
		.postpone = true
	};

	sibling->sort = sibling->ops->begin(&sibling->build, &with.options);
}

/* IndexBuildCallback: put_tuple for a sibling. */
static void
put_sibling_tuple(Relation index, ItemPointer tid, Datum *values,
				  bool *isnull, bool alive, void *state)
{
	Sibling    *sibling = (Sibling *) state;

	sibling->ops->put(&sibling->build, sibling->sort, tid, values, isnull,
					  alive);
}

/* IndexBuildCallback: pass one tuple of the table on to the user's put. */
static void
put_tuple(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Participant *participant = (Participant *) state;

	participant->ops->put(&participant->build, participant->team.sort, tid,
						  values, isnull, alive);
}

/* Store the siblings' counts, and add up their sorts' time during the scan. */
static void
count_for_siblings(Participant *participant, const HeapScanTarget *targets)
{
	for (int i = 0; i < participant->nsiblings; i++)
	{
		Sibling    *sibling = &participant->siblings[i];
		PtSortStats stats;

		sibling->counts.rows = targets[i].rows;
		sibling->counts.broken_hot_chain =
			targets[i].index_info->ii_BrokenHotChain;
		sort_stats(sibling->sort, &stats);
		participant->team.others_ms += stats.sort_ms + stats.run_ms;
	}
}

/* The argument of leave_rest. */
typedef struct LeaderScan
{
	const Team *team;
	instr_time	start;
} LeaderScan;

/*
 * True if the workers, when the leader leaves them the rest of the table, would
 * finish sorting their blocks before the leader finishes sorting its 'own'
 * ones.  The estimate assumes that all participants are equally fast, and sort
 * as fast as they scan.  The workers must scan and sort the blocks that the
 * scan did not give out, and sort those that they have.
 *
 * Also true if the workers will wait for the leader's key to learn: the sooner
 * it begins to learn the better.
 */
static bool
workers_end_first(const Team *team, BlockNumber own)
{
	ParallelBlockTableScanDesc scan = participant_block_scan(team);
	uint64		given = pg_atomic_read_u64(&scan->phs_nallocated);

	if (sort_is_to_learn(team->sort))
		return true;
	/* (2 (nblocks - given) + (given - own)) / (participants - 1) <= own */
	return own * (uint64) team->participants + given >=
		2 * (uint64) scan->phs_nblocks;
}

/*
 * HeapShare.leave_rest: true if the workers should scan the rest, which they
 * can only if they began.  The leader waits for them no longer than it has
 * scanned so far.
 */
static bool
leave_rest(void *arg, BlockNumber nblocks, bool wait)
{
	LeaderScan *scan = arg;
	const Team *team = scan->team;
	double		ms = wait ? pt_ms_since(scan->start) : 0;

	fault_point("build: leave rest");
	return sort_have_begun(team->sort_shared, team->participants,
						   ms < LEAST_SCAN_MS ? 0 : (long) ms) &&
		(wait || workers_end_first(team, nblocks));
}

/*
 * Set *share and *scan to limit the leader's part of a small table's scan, and
 * return 'share'; or return NULL for no limit.  The leader begins first and,
 * without a limit, could scan most of the table before the workers begin; but
 * its sort takes longer than its scan.  So it stops after an equal part of the
 * blocks, or at most a quarter more, if the workers began by then.
 */
static const HeapShare *
leader_share(const Team *team, LeaderScan *scan, HeapShare *share)
{
	BlockNumber nblocks;

	if (!team->is_leader || team->scan == NULL ||
		!heapscan_is_shareable(team->table))
		return NULL;
	nblocks = participant_block_scan(team)->phs_nblocks;
	if (nblocks > MOST_SHARED_BLOCKS)
		return NULL;
	scan->team = team;
	INSTR_TIME_SET_CURRENT(scan->start);
	share->least = nblocks / team->participants;
	share->most = share->least + share->least / 4;
	share->leave_rest = leave_rest;
	share->arg = scan;
	return share;
}

/* Put this process's part of the table, also into the siblings' sorts. */
static void
scan(Team *team)
{
	Participant *participant = (Participant *) team;
	PtBuild    *build = participant_build(team);
	int			ntargets = 1 + participant->nsiblings;
	HeapScanTarget *targets = palloc0(ntargets * sizeof(HeapScanTarget));
	LeaderScan	leader_scan;
	HeapShare	share;

	targets[0].index = build->index;
	targets[0].index_info = build->index_info;
	targets[0].callback = put_tuple;
	targets[0].state = participant;
	for (int i = 0; i < participant->nsiblings; i++)
	{
		Sibling    *sibling = &participant->siblings[i];
		HeapScanTarget *target = &targets[1 + i];

		begin_sibling(team, sibling);
		target->index = sibling->build.index;
		target->index_info = sibling->build.index_info;
		target->callback = put_sibling_tuple;
		target->state = sibling;
	}

	team->slot->blocks =
		heapscan_build(build->heap, targets, ntargets, team->scan,
					   leader_share(team, &leader_scan, &share),
					   participant->progress);
	team->slot->rows = targets[0].rows;
	team->slot->broken_hot_chain = build->index_info->ii_BrokenHotChain;
	count_for_siblings(participant, targets + 1);
	pfree(targets);
}

/* Perform the sorts of the siblings, which write and announce their runs. */
static void
perform_siblings(Team *team)
{
	Participant *participant = (Participant *) team;

	for (int i = 0; i < participant->nsiblings; i++)
	{
		Sibling    *sibling = &participant->siblings[i];
		SortOutcome outcome;

		siblings_count(sibling->shared, team->participant, &sibling->counts);
		fault_point("build: sort of sibling");
		sort_perform(sibling->sort);
		/* it also announced the outcome, which siblings_keep reads */
		sort_outcome(sibling->sort, &outcome);
		sort_end(sibling->sort);
		sibling->sort = NULL;
	}
}

static void
load(Team *team)
{
	const PtBuildOps *ops = ((Participant *) team)->ops;

	if (team->slices)
		ops->load_slices(participant_build(team), team->sort);
	else
		ops->load(participant_build(team), team->sort);
}

static Size
shared_size(Team *team, int processes, int slices)
{
	const PtBuildOps *ops = ((Participant *) team)->ops;

	if (ops->shared_size == NULL)
		return 0;
	return request_shared_size(ops->shared_size(participant_build(team),
												processes, slices));
}

static void
shared_init(Team *team, int processes, int slices)
{
	const PtBuildOps *ops = ((Participant *) team)->ops;

	if (ops->shared_init != NULL)
		ops->shared_init(participant_build(team), processes, slices);
}

/* Show nbtree's phases as progress. */
static void
report_phase(Team *team, TeamPhase phase)
{
	static const int64 nbtree_phases[] = {
		[TEAM_FILLS] = PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN,
		[TEAM_SORTS] = PROGRESS_BTREE_PHASE_PERFORMSORT_1,
		[TEAM_READS] = PROGRESS_BTREE_PHASE_LEAF_LOAD
	};

	if (((Participant *) team)->progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 nbtree_phases[phase]);
}

const TeamKind participant_kind = {
	.slices_name = "load_slices",
	.prepare = make_siblings,
	.begin = begin,
	.fill = scan,
	.perform_others = perform_siblings,
	.read = load,
	.shared_size = shared_size,
	.shared_init = shared_init,
	.init_late = true,			/* btree's is slow, and for the load only */
	.enter_phase = report_phase
};


/*
 * Worker
 */

/*
 * The lock modes that index.c holds in the leader
 */
static LOCKMODE
heap_lockmode(const BuildInfo *info)
{
	return info->is_concurrent ? ShareUpdateExclusiveLock : ShareLock;
}

static LOCKMODE
index_lockmode(const BuildInfo *info)
{
	return info->is_concurrent ? RowExclusiveLock : AccessExclusiveLock;
}

/* Attach a segment that the leader made besides that of the team. */
static dsm_segment *
attach(dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	return segment;
}

/* Attach the runs that wait for this build, and the siblings' segments. */
static void
worker_attach(Participant *participant)
{
	const BuildInfo *info = participant->team.info;

	if (info->stored != DSM_HANDLE_INVALID)
	{
		participant->stored = attach(info->stored);
		participant->team.stored =
			siblings_sorts(siblings_attach(participant->stored));
	}
	for (int i = 0; i < info->nsiblings; i++)
	{
		const SiblingInfo *sibling = &info->siblings[i];
		dsm_segment *segment = attach(sibling->handle);

		siblings_attach(segment);
		add_sibling(participant,
					index_open(sibling->index_id, AccessShareLock),
					sibling, segment);
	}
}

/* Detach the segments and close the indexes of worker_attach. */
static void
worker_detach(Participant *participant)
{
	for (int i = 0; i < participant->nsiblings; i++)
	{
		dsm_detach(participant->siblings[i].segment);
		index_close(participant->siblings[i].build.index, AccessShareLock);
	}
	if (participant->stored != NULL)
		dsm_detach(participant->stored);
}

/*
 * Open the relations, find the callbacks and attach the other segments.
 */
static void
worker_open(Participant *participant)
{
	Team	   *team = &participant->team;
	PtBuild    *build = &participant->build;
	const BuildInfo *info = team->info;

	build->heap = table_open(info->heap_id, heap_lockmode(info));
	build->index = index_open(info->index_id, index_lockmode(info));
	build->index_info = BuildIndexInfo(build->index);
	build->index_info->ii_Unique = info->is_unique;
	build->index_info->ii_NullsNotDistinct = info->nulls_not_distinct;
	build->index_info->ii_Concurrent = info->is_concurrent;
	build->arg = team->arg;
	build->arg_size = team->arg_size;
	if (participant->ops == NULL)
		participant->ops = participant_find_ops(team->library, team->function);
	team->slices = participant->ops->load_slices != NULL;
	worker_attach(participant);
}

/* participant_serve: see participant.h. */
void
participant_serve(dsm_segment *segment, shm_toc *toc, const PtBuildOps *ops)
{
	Participant self = {.team.kind = &participant_kind,.ops = ops};
	MemoryContext old_context = CurrentMemoryContext;
	MemoryContext build_context = AllocSetContextCreate(old_context,
														"ptsort build",
														ALLOCSET_DEFAULT_SIZES);

	/* as in nbtsort.c: a worker inherits no flag except PROC_IN_SAFE_IC */
	Assert(MyProc->statusFlags == 0 || MyProc->statusFlags == PROC_IN_SAFE_IC);

	MemoryContextSwitchTo(build_context);
	team_join(&self.team, segment, toc);
	worker_open(&self);
	team_serve(&self.team);

	worker_detach(&self);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(build_context);
	index_close(self.build.index, index_lockmode(self.team.info));
	table_close(self.build.heap, heap_lockmode(self.team.info));
	fault_point("build: worker end");
}

void
ptsort_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	participant_serve(segment, toc, NULL);
}
