/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The driver of a parallel index build: ptsort_build.h.
 *
 * A build is the work of a team (team.h).  Its processes scan, sort and, if the
 * user has load_slices, load in slices.  A build without workers has one
 * participant and one slice; the user's callbacks need not be aware of that.
 *
 * The rules for processes that build an index together are those of the
 * server's own btree build (nbtsort.c).  Parallel mode lasts from before the
 * segment exists until after it is gone.  The workers lock the relations in the
 * modes that index.c used in the leader.  The scan uses SnapshotAny, or one
 * registered MVCC snapshot if the build is CONCURRENTLY.  The leader reports
 * broken HOT chains of all participants to index.c, and adds the buffer and WAL
 * usage of the workers to its own.
 *
 * If a collation contradicts its own tables, the sort fails.  If the user has
 * start_over, that undoes what was written, and the build begins again without
 * the tables.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "commands/progress.h"
#include "fault.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "team/build.h"
#include "team/heapscan.h"
#include "team/participant.h"
#include "team/request.h"
#include "text/text_rank.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Leader: the state of the process that performs the build's request.
 */
typedef struct Leader
{
	Participant self;
	SiblingKey	key;			/* of the siblings' runs, without the index */
	const PtBuildRequest *request;
	void		(*start_over) (PtBuild *build);
} Leader;

/*
 * Add up the counts of all participants' scans.  All runs must be there.
 */
static void
count_tuples(Leader *leader, PtBuildResult *result)
{
	const Team *team = &leader->self.team;
	IndexInfo  *index_info = leader->request->index_info;

	for (int i = 0; i <= team->launched; i++)
	{
		const TeamSlot *slot = &team->slots[i];

		result->heap_tuples += slot->rows;
		result->index_tuples += slot->put;
		if (slot->broken_hot_chain)
			index_info->ii_BrokenHotChain = true;
	}

	if (leader->self.progress)
	{
		const int	params[] = {
			PROGRESS_CREATEIDX_TUPLES_TOTAL,
			PROGRESS_SCAN_BLOCKS_TOTAL,
			PROGRESS_SCAN_BLOCKS_DONE
		};
		const int64 values[] = {(int64) result->index_tuples, 0, 0};

		pgstat_progress_update_multi_param(lengthof(params), params, values);
	}
}

/*
 * Raise an error unless all participants together read as many blocks as the
 * table has: the index could lack rows that no participant counted.
 */
static void
check_blocks(const Team *team)
{
	BlockNumber expected;
	int64		blocks = 0;

	if (team->scan == NULL || team->stored != NULL ||
		!heapscan_is_shareable(team->table))
		return;
	for (int i = 0; i <= team->launched; i++)
	{
		if (team->slots[i].blocks == InvalidBlockNumber)
			return;
		blocks += team->slots[i].blocks;
	}
	expected = participant_block_scan(team)->phs_nblocks;
	if (blocks != expected)
		elog(ERROR, "scan has read " INT64_FORMAT " of %u blocks of table \"%s\"",
			 blocks, expected, RelationGetRelationName(team->table));
}

/*
 * Load, in slices together with the workers or alone.  If a sort failed, undo
 * the load by start_over.  Otherwise raise an error if the load left tuples
 * unread: the index would lack them.
 */
static SortOutcome
load(Leader *leader)
{
	SortOutcome outcome;
	Team	   *team = &leader->self.team;
	const PtBuildOps *ops = leader->self.ops;

	team_read(team);
	team_wait(team);
	outcome = team_outcome(team);
	if (outcome.failed)
		leader->start_over(participant_build(team));
	else
	{
		check_blocks(team);
		team_check_read(team, "load");
		if (ops->finish != NULL)
			ops->finish(participant_build(team));
		fault_point("build: after finish");
	}
	return outcome;
}

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

/* Fill in the information for the workers. */
static void
init_info(BuildInfo *info, const PtBuildRequest *request,
		  const WaitingRuns *runs)
{
	const IndexInfo *index_info = request->index_info;

	info->heap_id = RelationGetRelid(request->heap);
	info->index_id = RelationGetRelid(request->index);
	info->is_unique = index_info->ii_Unique;
	info->nulls_not_distinct = index_info->ii_NullsNotDistinct;
	info->is_concurrent = index_info->ii_Concurrent;
	info->stored = runs == NULL ? DSM_HANDLE_INVALID :
		dsm_segment_handle(runs->segment);
}

static void
leader_init(Leader *leader, const PtBuildRequest *request,
			const BuildOps *ops, const WaitingRuns *runs)
{
	Team	   *team = &leader->self.team;
	PtBuild    *build = &leader->self.build;

	memset(leader, 0, sizeof(Leader));
	leader->request = request;
	init_info(&leader->self.info, request, runs);
	leader->start_over = ops->start_over;
	leader->self.ops = &ops->base;
	leader->self.progress = request->progress;

	team->kind = &participant_kind;
	team->worker_main = ops->worker_main;
	team->slices = ops->base.load_slices != NULL;
	team->library = request->library;
	team->function = request->ops_function;
	team->arg = request->arg;
	team->arg_size = request->arg_size;
	team->info = &leader->self.info;
	team->info_size = sizeof(leader->self.info);
	team->budget = request->budget;
	team->expected = expected_rows(request->heap);
	team->restartable = leader->start_over != NULL;
	team->is_leader = true;
	if (runs == NULL)
		team->table = request->heap;
	else
	{
		team->stored = siblings_sorts(runs->shared);
		team->stored_participants = runs->participants;
	}

	build->heap = request->heap;
	build->index = request->index;
	build->index_info = request->index_info;
	build->arg = request->arg;
	build->arg_size = request->arg_size;
	build->is_leader = true;
}

/*
 * Launch workers.  If any start, the candidates become siblings.
 */
static void
start(Leader *leader, BuildScan *scan)
{
	Participant *self = &leader->self;
	Team	   *team = &self->team;
	const PtBuildRequest *request = leader->request;

	siblings_key(&leader->key, request->heap, request->workers,
				 request->budget);
	self->candidates = scan->candidates;
	self->ncandidates = scan->ncandidates;
	team_start(team, request->workers);
	if (team->launched == 0)
		participant_drop_siblings(self);
	scan->nsiblings = self->nsiblings;

	if (scan->runs != NULL)
	{
		/* an earlier team scanned: its counts become the leader's */
		team->slot->rows = scan->runs->counts.rows;
		team->slot->put = scan->runs->tuples;
		team->slot->broken_hot_chain = scan->runs->counts.broken_hot_chain;
	}
}

/*
 * Make the siblings' runs, which are all there, wait for their builds.
 */
static void
keep_siblings(Leader *leader)
{
	Participant *self = &leader->self;

	for (int i = 0; i < self->nsiblings; i++)
	{
		const SiblingInfo *info = &self->info.siblings[i];
		SiblingKey	key = leader->key;

		key.index_id = info->index_id;
		key.is_unique = info->is_unique;
		key.nulls_not_distinct = info->nulls_not_distinct;
		siblings_keep(&key, self->siblings[i].segment,
					  self->team.participants, self->build.index);
	}
}

/* Make the result, with room for the statistics of all processes. */
static PtBuildResult *
make_result(const Team *team)
{
	int			processes = team->launched + 1;
	PtBuildResult *result =
		palloc0(add_size(offsetof(PtBuildResult, stats),
						 mul_size(processes, sizeof(PtBuildStats))));

	result->participants = team->participants;
	result->workers_planned = team->planned;
	result->workers_launched = team->launched;
	return result;
}

/* Copy the statistics of all participants.  The workers must have ended. */
static void
take_stats(Team *team, PtBuildResult *result)
{
	team_finish(team);
	for (int i = 0; i <= team->launched; i++)
	{
		const PtParallelStats *stats = &team->slots[i].stats;

		result->stats[i].scan_ms = stats->fill_ms;
		result->stats[i].load_ms = stats->read_ms;
		result->stats[i].wal_bytes = stats->wal_bytes;
		result->stats[i].sort = stats->sort;
	}
}

/*
 * Scan, sort and load.  If a sort fails, *outcome says so, and everything is as
 * it was before.  The result is in the current memory context.
 */
static PtBuildResult *
attempt(const PtBuildRequest *request, const BuildOps *ops, BuildScan *scan,
		SortOutcome *outcome)
{
	Leader		leader;
	Team	   *team = &leader.self.team;
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext build_context = AllocSetContextCreate(caller_context,
														"ptsort build",
														ALLOCSET_DEFAULT_SIZES);
	PtBuildResult *result;

	MemoryContextSwitchTo(build_context);
	leader_init(&leader, request, ops, scan->runs);

	/* A normal build judges visibility itself, so its scan must see all. */
	team->snapshot = request->index_info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	start(&leader, scan);
	team_work(team);
	team_collect(team);

	MemoryContextSwitchTo(caller_context);
	result = make_result(team);
	MemoryContextSwitchTo(build_context);

	count_tuples(&leader, result);
	*outcome = load(&leader);
	keep_siblings(&leader);
	take_stats(team, result);
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	team_leave(team);

	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(build_context);
	return result;
}

/* Add the costs of a failed attempt to the leader's statistics. */
static void
add_failed(PtBuildResult *result, const PtBuildResult *failed)
{
	PtBuildStats *leader = &result->stats[0];

	for (int i = 0; i <= failed->workers_launched; i++)
	{
		leader->wal_bytes += failed->stats[i].wal_bytes;
		leader->sort.comparisons += failed->stats[i].sort.comparisons;
	}
}

/*
 * Stop using the tables of this collation, in this process and its workers,
 * because the collation contradicts them.
 */
static void
distrust_collation(Relation index, Oid collation)
{
	ereport(WARNING,
			(errmsg("collation \"%s\" contradicts its own tables",
					get_collation_name(collation)),
			 errdetail("%s orders two strings differently from the weights of their characters.  Index \"%s\" is built again without these.",
					   text_rank_provider(collation),
					   RelationGetRelationName(index))));
	(void) text_rank_distrust(collation);
}

PtBuildResult *
build_run(const PtBuildRequest *request)
{
	BuildScan	scan = {0};
	BuildOps	ops = {.worker_main = BUILD_WORKER_MAIN};

	ops.base = *participant_find_ops(request->library, request->ops_function);
	return build_own(request, &ops, &scan);
}

PtBuildResult *
build_own(const PtBuildRequest *request, const BuildOps *ops, BuildScan *scan)
{
	PtBuildResult *failed_result = NULL;
	BuildScan	again = {0};
	BuildScan  *now = scan;

	request_check("index build", request->workers, request->budget,
				  request->arg_size);
	for (;;)
	{
		SortOutcome outcome;
		PtBuildResult *result = attempt(request, ops, now, &outcome);

		if (failed_result != NULL)
		{
			add_failed(result, failed_result);
			pfree(failed_result);
		}
		if (!outcome.failed)
			return result;

		/* without the tables the sort cannot fail for this reason again */
		distrust_collation(request->index, outcome.contradicted);
		failed_result = result;
		now = &again;			/* scan the table, for this index only */
	}
}
