/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The functions that all parallel index builds share; see build.h.
 *
 * Processes that build an index together follow the rules of the server's own
 * btree build (nbtsort.c).  The leader enters parallel mode before it creates
 * the segment, and leaves parallel mode after it destroyed the parallel
 * context.  The workers lock the relations in the modes that index.c used in
 * the leader.  The scan uses SnapshotAny or, for CONCURRENTLY, one registered
 * MVCC snapshot.  The leader reports the broken HOT chains of all participants
 * to index.c, and adds the workers' buffer and WAL usage to its own.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"		/* phases in the progress view */
#include "access/table.h"
#include "team/build.h"

/* Part of the budget for marks of pages; the processes share another copy */
#define MARKS_PART		8

void
build_init(Build *build, const TeamKind *kind,
		   const PtParallelRequest *request)
{
	Team	   *team = &build->team;
	BuildInfo  *info = &build->info;
	const IndexInfo *index_info = request->index_info;

	build->heap = request->table;
	build->index = request->index;
	build->index_info = request->index_info;
	build->progress = request->progress && request->index != NULL;

	team->kind = kind;
	team->library = request->library;
	team->function = request->ops_function;
	team->arg = request->arg;
	team->arg_size = request->arg_size;
	team->info = info;
	team->info_size = sizeof(*info);
	team->budget = request->budget;
	team->is_leader = true;
	team->table = request->table;
	team->snapshot = request->snapshot;

	if (build->heap != NULL)
		info->heap_id = RelationGetRelid(build->heap);
	if (build->index == NULL)
		return;
	info->index_id = RelationGetRelid(build->index);
	info->is_unique = index_info->ii_Unique;
	info->nulls_not_distinct = index_info->ii_NullsNotDistinct;
	info->is_concurrent = index_info->ii_Concurrent;
	work_describe(&build->about, false, build->heap, build->index,
				  team->budget);
	team->about = &build->about;
	team->expected = build->about.job.rows;
}

PtParallelRequest
build_request(Relation heap, Relation index, IndexInfo *index_info)
{
	PtParallelRequest request = {
		.table = heap,
		.index = index,
		.index_info = index_info,
		.budget = (int64) maintenance_work_mem * 1024,
		.progress = true
	};

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	return request;
}

void
build_run(Build *build, int workers)
{
	Team	   *team = &build->team;
	bool		concurrent = build->index != NULL &&
		build->index_info->ii_Concurrent;

	/* Plain builds judge visibility, so their scans must return all tuples. */
	if (concurrent)
	{
		team->marks = marks_create(build->heap, team->budget / MARKS_PART);
		team->budget -= 2 * marks_size(team->marks->nblocks);
		team->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	}
	else if (build->index != NULL)
		team->snapshot = SnapshotAny;
	team_sort(team, workers);
	if (team->slices)
		team_read(team);
	else
		build_enter_phase(team, TEAM_READS);
	team_wait(team);
	if (concurrent)
	{
		marks_keep(RelationGetRelid(build->index), team->marks);
		UnregisterSnapshot(team->snapshot);
	}
}

static void
check_blocks(const Build *build)
{
	const Team *team = &build->team;
	BlockNumber expected;
	int64		blocks = 0;

	if (build->index == NULL || team->scan == NULL ||
		!heapscan_is_shareable(build->heap))
		return;
	for (int i = 0; i <= team->launched; i++)
	{
		if (team->slots[i].blocks == InvalidBlockNumber)
			return;
		blocks += team->slots[i].blocks;
	}
	expected = ((ParallelBlockTableScanDesc) team->scan)->phs_nblocks;
	if (blocks != expected)
		elog(ERROR, "scan read " INT64_FORMAT " of %u blocks of table \"%s\"",
			 blocks, expected, RelationGetRelationName(build->heap));
}

void
build_check(const Build *build, const char *reader)
{
	check_blocks(build);
	if (build->team.slices)
		team_check_read(&build->team, reader);
}

void
build_scan(Build *build, HeapScanTarget *targets, int ntargets)
{
	TeamSlot   *slot = build->team.slot;

	targets[0].marks = build->team.marks;
	slot->blocks = heapscan_build(build->heap, targets, ntargets,
								  build->team.scan, team_shares(&build->team),
								  build->team.snapshot, build->progress);
	slot->rows = targets[0].rows;
	for (int i = 0; i < ntargets; i++)
		slot->broken_hot_chain |= targets[i].index_info->ii_BrokenHotChain;
}

void
build_scan_index(Build *build, IndexBuildCallback callback, void *state)
{
	HeapScanTarget target = {
		.index = build->index,
		.index_info = build->index_info,
		.callback = callback,
		.state = state
	};

	build_scan(build, &target, 1);
}

/* In the leader, add up the counts of all participants' scans. */
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

/* Report the phase to the progress view, as a phase of a btree build. */
void
build_enter_phase(Team *team, TeamPhase phase)
{
	static const int64 nbtree_phases[] = {
		[TEAM_FILLS] = PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN,
		[TEAM_SORTS] = PROGRESS_BTREE_PHASE_PERFORMSORT_1,
		[TEAM_READS] = PROGRESS_BTREE_PHASE_LEAF_LOAD
	};
	Build	   *build = (Build *) team;

	if (team->is_leader && phase == TEAM_READS && build->index != NULL)
		count_tuples(build);
	if (build->progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 nbtree_phases[phase]);
}


/* The lock modes are those that index.c uses in the leader. */
static LOCKMODE
heap_lockmode(const BuildInfo *info)
{
	if (!OidIsValid(info->index_id))
		return AccessShareLock;
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

	if (OidIsValid(info->heap_id))
		build->heap = table_open(info->heap_id, heap_lockmode(info));
	if (!OidIsValid(info->index_id))
		return;
	/* as in nbtsort.c: a worker inherits no flag except PROC_IN_SAFE_IC */
	Assert(MyProc->statusFlags == 0 || MyProc->statusFlags == PROC_IN_SAFE_IC);
	build->index = index_open(info->index_id, index_lockmode(info));
	build->index_info = pt_build_index_info(build->index);
	build->index_info->ii_Unique = info->is_unique;
	build->index_info->ii_NullsNotDistinct = info->nulls_not_distinct;
	build->index_info->ii_Concurrent = info->is_concurrent;
}

void
build_close(Team *team)
{
	Build	   *build = (Build *) team;

	if (build->index != NULL)
		index_close(build->index, index_lockmode(team->info));
	if (build->heap != NULL)
		table_close(build->heap, heap_lockmode(team->info));
}
