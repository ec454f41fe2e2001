/*-------------------------------------------------------------------------
 *
 * participant.c
 *	  One process's part of a parallel index build: participant.h.
 *
 * Here is what every process of a build does, and the main function of the
 * workers.  See team.h for the phases, and build.c for the rules of a build.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/nbtree.h"		/* names of the phases in the progress view */
#include "access/table.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "build/heapscan.h"
#include "build/participant.h"
#include "fault.h"
#include "lib/stringinfo.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

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
 * The phases: TeamKind
 */

static PtSort *
begin(Team *team, const SortOptions *options)
{
	return ((Participant *) team)->ops->begin(participant_build(team),
											  &options->options);
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

/* Put this process's share of the table. */
static void
scan(Team *team)
{
	Participant *participant = (Participant *) team;
	PtBuild    *build = participant_build(team);

	team->slot->rows =
		heapscan_build(build->heap, build->index, build->index_info,
					   team->scan, participant->progress, put_tuple,
					   participant);
	if (participant->ops->scan_done != NULL)
		participant->ops->scan_done(build, team->sort);
	team->slot->broken_hot_chain = build->index_info->ii_BrokenHotChain;
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
	return ops->shared_size(participant_build(team), processes, slices);
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
	.worker_main = BUILD_WORKER_MAIN,
	.slices_name = "load_slices",
	.begin = begin,
	.fill = scan,
	.read = load,
	.shared_size = shared_size,
	.shared_init = shared_init,
	.init_late = true,			/* btree's takes a while, and is for the load */
	.enter_phase = report_phase
};


/*
 * Worker
 */

/*
 * Lock modes that index.c holds in the leader.
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

/*
 * Open the relations.
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
	participant->ops = participant_find_ops(team->library, team->function);
	team->slices = participant->ops->load_slices != NULL;
}

void
ptsort_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Participant self = {.team.kind = &participant_kind};
	MemoryContext old_context = CurrentMemoryContext;
	MemoryContext build_context = AllocSetContextCreate(old_context,
														"ptsort build",
														ALLOCSET_DEFAULT_SIZES);

	/* As nbtsort.c says: nothing but a safe CONCURRENTLY is inherited. */
	Assert(MyProc->statusFlags == 0 || MyProc->statusFlags == PROC_IN_SAFE_IC);

	MemoryContextSwitchTo(build_context);
	team_join(&self.team, segment, toc);
	worker_open(&self);
	team_serve(&self.team);

	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(build_context);
	index_close(self.build.index, index_lockmode(self.team.info));
	table_close(self.build.heap, heap_lockmode(self.team.info));
	fault_point("build: worker end");
}
