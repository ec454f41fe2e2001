/*-------------------------------------------------------------------------
 *
 * build.c
 *	  What all parallel index builds share, and ptsort_build(): build.h.
 *
 * The rules for processes that build an index together are those of the
 * server's own btree build (nbtsort.c).  Parallel mode lasts from before the
 * segment exists until after it is gone.  The workers lock the relations in the
 * modes that index.c used in the leader.  The scan uses SnapshotAny, or one
 * registered MVCC snapshot if the build is CONCURRENTLY.  The leader reports
 * broken HOT chains of all participants to index.c, and adds the buffer and WAL
 * usage of the workers to its own.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/nbtree.h"		/* names of the phases in the progress view */
#include "access/table.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "debug.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "team/build.h"
#include "team/request.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Leader
 */

/* Returns the planner's estimate of the table's rows. */
static int64
expected_rows(Relation heap)
{
	BlockNumber pages;
	double		tuples;
	double		all_visible;

	table_relation_estimate_size(heap, NULL, &pages, &tuples, &all_visible);
	return (int64) clamp_row_est(tuples);
}

void
build_init(Build *build, const TeamKind *kind, const PtBuildRequest *request,
		   BuildInfo *info, Size info_size)
{
	Team	   *team = &build->team;
	const IndexInfo *index_info = request->index_info;

	build->heap = request->heap;
	build->index = request->index;
	build->index_info = request->index_info;
	build->progress = request->progress;

	info->heap_id = RelationGetRelid(request->heap);
	info->index_id = RelationGetRelid(request->index);
	info->is_unique = index_info->ii_Unique;
	info->nulls_not_distinct = index_info->ii_NullsNotDistinct;
	info->is_concurrent = index_info->ii_Concurrent;

	team->kind = kind;
	team->info = info;
	team->info_size = info_size;
	team->budget = request->budget;
	team->expected = expected_rows(request->heap);
	team->is_leader = true;
	team->table = request->heap;
}

void
build_run(Build *build, int workers)
{
	Team	   *team = &build->team;

	/* A normal build judges visibility itself, so its scan must see all. */
	team->snapshot = build->index_info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	team_sort(team, workers);
	team_read(team);
	team_wait(team);
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
}

static void
check_blocks(const Build *build)
{
	const Team *team = &build->team;
	BlockNumber expected;
	int64		blocks = 0;

	if (team->scan == NULL || !heapscan_is_shareable(build->heap))
		return;
	for (int i = 0; i <= team->launched; i++)
	{
		if (team->slots[i].blocks == InvalidBlockNumber)
			return;
		blocks += team->slots[i].blocks;
	}
	expected = ((ParallelBlockTableScanDesc) team->scan)->phs_nblocks;
	if (blocks != expected)
		elog(ERROR, "scan has read " INT64_FORMAT " of %u blocks of table \"%s\"",
			 blocks, expected, RelationGetRelationName(build->heap));
}

void
build_check(const Build *build, const char *reader)
{
	check_blocks(build);
	team_check_read(&build->team, reader);
}


PtBuildStats
build_stats(const TeamSlot *slot)
{
	PtBuildStats stats = {
		.scan_ms = slot->stats.fill_ms,
		.load_ms = slot->stats.read_ms,
		.wal_bytes = slot->stats.wal_bytes,
		.sort = slot->stats.sort
	};

	return stats;
}


/*
 * Every participant
 */

void
build_scan(Build *build, HeapScanTarget *targets, int ntargets)
{
	TeamSlot   *slot = build->team.slot;

	slot->blocks = heapscan_build(build->heap, targets, ntargets,
								  build->team.scan, build->team.snapshot,
								  build->progress);
	slot->rows = targets[0].rows;
	for (int i = 0; i < ntargets; i++)
		slot->broken_hot_chain |= targets[i].index_info->ii_BrokenHotChain;
}

/* Leader: add up the counts of all participants' scans. */
static void
count_tuples(Build *build)
{
	const Team *team = &build->team;
	const int	params[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	int64		values[] = {0, 0, 0};

	for (int i = 0; i <= team->launched; i++)
	{
		const TeamSlot *slot = &team->slots[i];

		build->heap_tuples += slot->rows;
		build->index_tuples += slot->put;
		build->index_info->ii_BrokenHotChain |= slot->broken_hot_chain;
	}
	values[0] = (int64) build->index_tuples;
	if (build->progress)
		pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/* Show nbtree's phases as progress. */
void
build_enter_phase(Team *team, TeamPhase phase)
{
	static const int64 nbtree_phases[] = {
		[TEAM_FILLS] = PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN,
		[TEAM_SORTS] = PROGRESS_BTREE_PHASE_PERFORMSORT_1,
		[TEAM_READS] = PROGRESS_BTREE_PHASE_LEAF_LOAD
	};
	Build	   *build = (Build *) team;

	if (team->is_leader && phase == TEAM_READS)
		count_tuples(build);
	if (build->progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 nbtree_phases[phase]);
}


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

void
build_open(Team *team)
{
	Build	   *build = (Build *) team;
	const BuildInfo *info = team->info;

	/* as in nbtsort.c: a worker inherits no flag except PROC_IN_SAFE_IC */
	Assert(MyProc->statusFlags == 0 || MyProc->statusFlags == PROC_IN_SAFE_IC);

	build->heap = table_open(info->heap_id, heap_lockmode(info));
	build->index = index_open(info->index_id, index_lockmode(info));
	build->index_info = BuildIndexInfo(build->index);
	build->index_info->ii_Unique = info->is_unique;
	build->index_info->ii_NullsNotDistinct = info->nulls_not_distinct;
	build->index_info->ii_Concurrent = info->is_concurrent;
}

void
build_close(Team *team)
{
	Build	   *build = (Build *) team;

	index_close(build->index, index_lockmode(team->info));
	table_close(build->heap, heap_lockmode(team->info));
}


/*
 * ptsort_build(): a build by the callbacks of another extension
 */

/* Embedded: one process of such a build. */
typedef struct Embedded
{
	Build		base;			/* must be first */
	PtBuild		build;			/* argument of the callbacks */
	const PtBuildOps *ops;
	BuildInfo	info;			/* leader: for the workers */
} Embedded;

/* Update and return the argument of the callbacks. */
static PtBuild *
build_of(Team *team)
{
	Embedded   *self = (Embedded *) team;
	PtBuild    *build = &self->build;

	build->heap = self->base.heap;
	build->index = self->base.index;
	build->index_info = self->base.index_info;
	build->arg = team->arg;
	build->arg_size = team->arg_size;
	build->is_leader = team->is_leader;
	build->participants = team->participants;
	build->participant = team->participant;
	build->shared = team->shared;
	return build;
}

static PtSort *
embedded_begin(Team *team, const PtSortOptions *options)
{
	return ((Embedded *) team)->ops->begin(build_of(team), options);
}

/* IndexBuildCallback */
static void
embedded_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			 bool alive, void *state)
{
	Embedded   *self = state;

	self->ops->put(&self->build, self->base.team.sort, tid, values, isnull,
				   alive);
}

static void
embedded_fill(Team *team)
{
	Embedded   *self = (Embedded *) team;
	HeapScanTarget target = {
		.index = self->base.index,
		.index_info = self->base.index_info,
		.callback = embedded_put,
		.state = self
	};

	(void) build_of(team);
	build_scan(&self->base, &target, 1);
}

static void
embedded_read(Team *team)
{
	const PtBuildOps *ops = ((Embedded *) team)->ops;

	if (team->slices)
		ops->load_slices(build_of(team), team->sort);
	else
		ops->load(build_of(team), team->sort);
}

static Size
embedded_shared_size(Team *team, int processes, int slices)
{
	const PtBuildOps *ops = ((Embedded *) team)->ops;

	if (ops->shared_size == NULL)
		return 0;
	return request_shared_size(ops->shared_size(build_of(team), processes,
												slices));
}

static void
embedded_shared_init(Team *team, int processes, int slices)
{
	const PtBuildOps *ops = ((Embedded *) team)->ops;

	if (ops->shared_init != NULL)
		ops->shared_init(build_of(team), processes, slices);
}

/*
 * Find the callbacks.  The leader does that, too, not only the workers: so it
 * reports a wrong name before the launch, and a build without workers uses the
 * same function.
 */
static void
find_callbacks(Embedded *self)
{
	Team	   *team = &self->base.team;
	const PtBuildOps *ops = request_callbacks("build", team->library,
											  team->function);
	bool		load = ops->load != NULL;
	bool		size = ops->shared_size != NULL;
	bool		init = ops->shared_init != NULL;
	bool		slices = ops->load_slices != NULL;
	bool		finish = ops->finish != NULL;
	bool		for_slices = size || init || slices || finish;
	const CallbackRule rules[] = {
		{"begin", ops->begin != NULL, true, false},
		{"put", ops->put != NULL, true, false},
		{"load or load_slices", load || for_slices, true, false},
		{"shared_size", size, init && !load, load},
		{"shared_init", init, size && !load, load},
		{"load_slices", slices, for_slices && !load, load},
		{"finish", finish, false, load}
	};

	request_check_callbacks(team->library, team->function, rules,
							lengthof(rules));
	self->ops = ops;
	team->slices = slices;
}

static void
embedded_open(Team *team)
{
	build_open(team);
	find_callbacks((Embedded *) team);
}

static const TeamKind embedded_kind = {
	.open = embedded_open,
	.close = build_close,
	.begin = embedded_begin,
	.fill = embedded_fill,
	.read = embedded_read,
	.shared_size = embedded_shared_size,
	.shared_init = embedded_shared_init,
	.enter_phase = build_enter_phase
};

/* Make the result, in the current memory context. */
static PtBuildResult *
make_result(const Build *build)
{
	const Team *team = &build->team;
	int			processes = team->launched + 1;
	PtBuildResult *result =
		palloc0(add_size(offsetof(PtBuildResult, stats),
						 mul_size(processes, sizeof(PtBuildStats))));

	result->heap_tuples = build->heap_tuples;
	result->index_tuples = build->index_tuples;
	result->participants = team->participants;
	result->workers_planned = team->planned;
	result->workers_launched = team->launched;
	for (int i = 0; i < processes; i++)
		result->stats[i] = build_stats(&team->slots[i]);
	return result;
}

PtBuildResult *
build_embedded(const PtBuildRequest *request)
{
	Embedded	self = {.ops = NULL};
	Team	   *team = &self.base.team;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context;
	PtBuildResult *result;

	request_check("index build", request->workers, request->budget,
				  request->arg_size);
	context = AllocSetContextCreate(caller, "ptsort build",
									ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	build_init(&self.base, &embedded_kind, request, &self.info,
			   sizeof(self.info));
	team->worker_main = "ptsort_build_worker_main";
	team->library = request->library;
	team->function = request->ops_function;
	team->arg = request->arg;
	team->arg_size = request->arg_size;
	find_callbacks(&self);

	build_run(&self.base, request->workers);
	build_check(&self.base, team->slices ? "load_slices" : "load");
	if (self.ops->finish != NULL)
		self.ops->finish(build_of(team));
	fault_point("build: after finish");
	team_finish(team);

	MemoryContextSwitchTo(caller);
	result = make_result(&self.base);
	team_leave(team);
	MemoryContextDelete(context);
	return result;
}

void
ptsort_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Embedded	self = {.base.team.kind = &embedded_kind};

	team_serve(&self.base.team, segment, toc);
}
