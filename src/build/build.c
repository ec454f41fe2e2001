/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The driver of a parallel index build: ptsort_build.h.
 *
 * A build is the same sequence of phases in every participant,
 *
 *		open, begin, scan, sort, close, collect, load
 *
 * and around it, in the leader, launch and finish.  In every participant's
 * first sort its role is PTSORT_WORKER, and collect begins the sort that reads
 * what they left: a PTSORT_SLICE_LEADER in the leader and a PTSORT_SLICE in
 * every worker or, if the user cannot load in slices, a PTSORT_LEADER in the
 * leader only.
 *
 * A build without workers has one participant and one slice, and no segment:
 * its sort has role PTSORT_SERIAL and needs no collecting, and what processes
 * would share is in the leader's memory.  To the user it looks the same.
 *
 * The rules that the server lays down for processes that build an index
 * together are those that its own btree build keeps (nbtsort.c): parallel mode
 * from before the segment is made until after it is gone; the workers lock
 * the relations as index.c did in the leader; the scan uses SnapshotAny, or
 * one registered MVCC snapshot when the build is CONCURRENTLY; broken HOT
 * chains that any participant met are reported to index.c; buffer and WAL
 * usage of the workers is added to the leader's.
 *
 * Text is sorted optimistically (see SortOptions), if the user can start over:
 * should a sort fail, what was done is taken back, and the build begins again
 * without what made it fail.
 *
 * No process waits here for another one, and there is no lock: a worker's slot
 * is written by that worker only, and read by the leader after an event that
 * orders the two (see BuildSlot).  Waiting for runs is the sort's business,
 * waiting for the end of the workers the server's.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"		/* names of the phases in the progress view */
#include "access/parallel.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "build/build.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "fault.h"
#include "miscadmin.h"
#include "build/participant.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "util.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Leader: what only the process that was asked for the build knows.
 */
typedef struct Leader
{
	const PtBuildRequest *request;
	Participant self;
	void		(*start_over) (PtBuild *build, const char *reason);
	uint64		wal_before;		/* bytes of WAL when the build began */
	BuildSlot  *slots;			/* of all participants; [0] is self's */
	int			launched;		/* workers */

	/* in a build with workers only */
	ParallelContext *pcxt;
	Snapshot	snapshot;
	bool		leader_scans;
	WalUsage   *wal;			/* of all participants but the leader */
	BufferUsage *buffers;		/* the same */
} Leader;

/* GUC */
bool		ptsort_debug_leader_participates = true;


/*
 * Leader: launch
 */

/*
 * How many workers to plan for.  Limits under which fewer would start are
 * applied here already, so that the planned participants, over whom the budget
 * is divided, are no more than can be.  0 where there can be no workers:
 * inside other parallel work, without a postmaster, for tables in local
 * buffers.
 */
static int
plan_workers(const PtBuildRequest *request)
{
	int			limit = Min(max_parallel_workers, max_worker_processes);

	if (!IsUnderPostmaster || IsInParallelMode() ||
		RelationUsesLocalBuffers(request->heap))
		return 0;
	return Max(Min(request->workers, limit), 0);
}

static Size
string_size(const char *string)
{
	return string == NULL ? 0 : add_size(strlen(string), 1);
}

/*
 * Reserve all pieces and make the segment.  False if there can be none.
 */
static bool
create_segment(Leader *leader, Size *sizes)
{
	const PtBuildRequest *request = leader->request;
	ParallelContext *pcxt = leader->pcxt;
	Participant *self = &leader->self;
	int			processes = self->processes;

	sizes[PIECE_SHARED] = sizeof(BuildShared);
	sizes[PIECE_SLOTS] = mul_size(sizeof(BuildSlot), processes);
	sizes[PIECE_SCAN] = table_parallelscan_estimate(request->heap,
													leader->snapshot);
	sizes[PIECE_SORT] = ptsort_shared_estimate(processes);
	if (self->ops->shared_size != NULL)
		sizes[PIECE_LOAD] =
			self->ops->shared_size(&self->build, processes,
								   ptsort_shared_slices(processes));
	sizes[PIECE_LIBRARY] = string_size(request->library);
	sizes[PIECE_FUNCTION] = string_size(request->ops_function);
	sizes[PIECE_ARG] = request->arg == NULL ? 0 : request->arg_size;
	sizes[PIECE_QUERY] = string_size(debug_query_string);
	sizes[PIECE_WAL] = mul_size(sizeof(WalUsage), processes);
	sizes[PIECE_BUFFERS] = mul_size(sizeof(BufferUsage), processes);

	for (int piece = 0; piece < NUM_PIECES; piece++)
	{
		if (sizes[piece] == 0)
			continue;
		shm_toc_estimate_chunk(&pcxt->estimator, sizes[piece]);
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}
	InitializeParallelDSM(pcxt);
	return pcxt->seg != NULL;
}

/* Allocate a piece and enter it; with content, copy that into it. */
static void *
add_piece(ParallelContext *pcxt, BuildPiece piece, const Size *sizes,
		  const void *content)
{
	void	   *address;

	if (sizes[piece] == 0)
		return NULL;
	address = shm_toc_allocate(pcxt->toc, sizes[piece]);
	if (content != NULL)
		memcpy(address, content, sizes[piece]);
	else
		memset(address, 0, sizes[piece]);
	shm_toc_insert(pcxt->toc, PIECE_KEY(piece), address);
	return address;
}

/*
 * Fill the segment.
 */
static void
fill_segment(Leader *leader, int participants, const Size *sizes)
{
	const PtBuildRequest *request = leader->request;
	ParallelContext *pcxt = leader->pcxt;
	Participant *self = &leader->self;
	BuildShared shared = {
		.heap_id = RelationGetRelid(request->heap),
		.index_id = RelationGetRelid(request->index),
		.is_unique = request->index_info->ii_Unique,
		.nulls_not_distinct = request->index_info->ii_NullsNotDistinct,
		.is_concurrent = request->index_info->ii_Concurrent,
		.participants = participants,
		.processes = self->processes,
		.budget = self->budget,
		.arg_size = sizes[PIECE_ARG],
		.optimistic = self->optimistic,
		.restartable = self->restartable,
		.query_id = pgstat_get_my_query_id()
	};

	stamp_set(&shared.stamp);
	add_piece(pcxt, PIECE_SHARED, sizes, &shared);
	add_piece(pcxt, PIECE_LIBRARY, sizes, request->library);
	add_piece(pcxt, PIECE_FUNCTION, sizes, request->ops_function);
	add_piece(pcxt, PIECE_ARG, sizes, request->arg);
	add_piece(pcxt, PIECE_QUERY, sizes, debug_query_string);
	leader->slots = add_piece(pcxt, PIECE_SLOTS, sizes, NULL);
	leader->wal = add_piece(pcxt, PIECE_WAL, sizes, NULL);
	leader->buffers = add_piece(pcxt, PIECE_BUFFERS, sizes, NULL);

	self->slot = &leader->slots[0];
	self->scan = add_piece(pcxt, PIECE_SCAN, sizes, NULL);
	table_parallelscan_initialize(request->heap, self->scan, leader->snapshot);
	self->sort_shared = add_piece(pcxt, PIECE_SORT, sizes, NULL);
	ptsort_shared_init(self->sort_shared, self->processes, pcxt->seg);
	self->build.shared = add_piece(pcxt, PIECE_LOAD, sizes, NULL);
}

/*
 * Take down what launch built up.  No worker is running.
 */
static void
leave_parallel(Leader *leader)
{
	if (IsMVCCSnapshot(leader->snapshot))
		UnregisterSnapshot(leader->snapshot);
	DestroyParallelContext(leader->pcxt);
	ExitParallelMode();

	leader->pcxt = NULL;
	leader->launched = 0;
	leader->slots = NULL;
	leader->self.slot = NULL;
	leader->self.scan = NULL;
	leader->self.sort_shared = NULL;
	leader->self.build.shared = NULL;
	leader->self.build.fileset = NULL;
}

/*
 * Launch up to this many workers.  If none starts, or there is no room for
 * the segment, the build is left as if none had been asked for.
 */
static void
launch(Leader *leader, int workers)
{
	Participant *self = &leader->self;
	Size		sizes[NUM_PIECES] = {0};
	int			participants;

	leader->leader_scans = ptsort_debug_leader_participates;
	participants = leader->leader_scans ? workers + 1 : workers;
	self->processes = workers + 1;

	/* A normal build judges visibility itself and so wants to see all. */
	EnterParallelMode();
	leader->snapshot = leader->request->index_info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	leader->pcxt = CreateParallelContext(PTSORT_LIBRARY,
										 BUILD_WORKER_MAIN, workers);
	if (!create_segment(leader, sizes))
	{
		leave_parallel(leader);
		return;
	}
	fill_segment(leader, participants, sizes);

	fault_point("build: before launch");
	LaunchParallelWorkers(leader->pcxt);
	leader->launched = leader->pcxt->nworkers_launched;
	if (leader->launched == 0)
	{
		WaitForParallelWorkersToFinish(leader->pcxt);
		leave_parallel(leader);
		return;
	}
	self->build.participants = leader->launched + leader->leader_scans;
	if (self->ops->shared_init != NULL)
	{
		/* nobody looks at it before we have planned the slices */
		self->ops->shared_init(&self->build, self->processes,
							   ptsort_shared_slices(self->processes));
	}
}

/*
 * Be the only participant, and all that is shared is in our memory.
 */
static void
stay_alone(Leader *leader)
{
	Participant *self = &leader->self;
	PtBuild    *build = &self->build;

	leader->slots = palloc0(sizeof(BuildSlot));
	self->slot = &leader->slots[0];
	self->processes = 1;
	build->participants = 1;
	if (self->ops->shared_size != NULL)
	{
		build->shared = palloc0(self->ops->shared_size(build, 1, 1));
		self->ops->shared_init(build, 1, 1);
	}
}


/*
 * Leader: collect, load, finish
 */

/* Scan and sort in this process. */
static void
leader_participate(Leader *leader)
{
	Participant *self = &leader->self;

	if (leader->pcxt == NULL)
	{
		participant_begin(self, PTSORT_SERIAL);
		participant_scan(self);
		participant_sort(self);
	}
	else if (leader->leader_scans)
	{
		participant_begin(self, PTSORT_WORKER);
		participant_scan(self);
		participant_sort(self);
		participant_close(self);
	}
}

/*
 * Begin the sort that reads the participants' runs, and wait for them.
 */
static void
leader_collect(Leader *leader)
{
	Participant *self = &leader->self;
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.participants = self->build.participants,
		.workers = leader->pcxt
	};

	if (participant_loads_slices(self))
		options.role = PTSORT_SLICE_LEADER;
	participant_collect(self, options);
}

/*
 * Add up what the scans found; all runs are there.
 */
static void
count_tuples(Leader *leader, PtBuildResult *result)
{
	IndexInfo  *index_info = leader->request->index_info;

	for (int i = 0; i <= leader->launched; i++)
	{
		const BuildSlot *slot = &leader->slots[i];

		result->heap_tuples += slot->heap_tuples;
		result->index_tuples += slot->index_tuples;
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

/* How have all the sorts ended?  All processes have ended their load. */
static SortOutcome
find_outcome(const Leader *leader)
{
	SortOutcome outcome = leader->slots[0].outcome;

	for (int i = 1; i <= leader->launched; i++)
		build_add_outcome(&outcome, &leader->slots[i].outcome);
	return outcome;
}

/*
 * A load that leaves tuples unread, in the middle of a slice perhaps, is not
 * one: better an error than an index that lacks them.
 */
static void
check_loaded(const Leader *leader)
{
	int64		put = 0;
	int64		loaded = 0;

	for (int i = 0; i <= leader->launched; i++)
	{
		put += leader->slots[i].index_tuples;
		loaded += leader->slots[i].loaded;
	}
	if (loaded != put)
		elog(ERROR, "load has read " INT64_FORMAT " of " INT64_FORMAT " tuples",
			 loaded, put);
}

/*
 * Load, in slices together with the others or alone.  If a sort has failed,
 * what was loaded is taken back.
 */
static SortOutcome
load(Leader *leader)
{
	SortOutcome outcome;
	Participant *self = &leader->self;

	participant_load(self);
	if (leader->pcxt != NULL)
		WaitForParallelWorkersToFinish(leader->pcxt);
	outcome = find_outcome(leader);
	if (outcome.failed)
		leader->start_over(&self->build,
						   OidIsValid(outcome.contradicted) ?
						   "its collation contradicts itself" :
						   "learned sort keys are not in its order");
	else
	{
		check_loaded(leader);
		if (self->ops->finish != NULL)
			self->ops->finish(&self->build);
		fault_point("build: after finish");
	}
	return outcome;
}

/*
 * Take the statistics and the usage of all participants, which have ended, and
 * leave parallel mode.
 */
static void
leader_finish(Leader *leader, PtBuildResult *result)
{
	leader->slots[0].stats.wal_bytes = (int64) (pgWalUsage.wal_bytes -
												leader->wal_before);
	for (int i = 1; i <= leader->launched; i++)
	{
		leader->slots[i].stats.wal_bytes = (int64) leader->wal[i].wal_bytes;
		InstrAccumParallelQuery(&leader->buffers[i], &leader->wal[i]);
	}
	for (int i = 0; i <= leader->launched; i++)
		result->stats[i] = leader->slots[i].stats;
	if (leader->pcxt != NULL)
		leave_parallel(leader);
}

static void
leader_init(Leader *leader, const PtBuildRequest *request,
			const PtBuildOps *ops, bool optimistic)
{
	Participant *self = &leader->self;
	PtBuild    *build = &self->build;

	memset(leader, 0, sizeof(Leader));
	leader->request = request;
	leader->wal_before = pgWalUsage.wal_bytes;
	/* only our own callbacks can have more than is public */
	if (strcmp(request->library, PTSORT_LIBRARY) == 0)
		leader->start_over = ((const BuildOps *) ops)->start_over;
	self->ops = ops;
	self->budget = request->budget;
	self->progress = request->progress;
	self->restartable = leader->start_over != NULL;
	self->optimistic = optimistic && self->restartable;
	build->heap = request->heap;
	build->index = request->index;
	build->index_info = request->index_info;
	build->arg = request->arg;
	build->arg_size = request->arg_size;
	build->is_leader = true;
}

/* The result, with room for the statistics of all processes. */
static PtBuildResult *
make_result(const Leader *leader, int workers_planned)
{
	int			processes = leader->launched + 1;
	PtBuildResult *result =
		palloc0(add_size(offsetof(PtBuildResult, stats),
						 mul_size(processes, sizeof(PtBuildStats))));

	result->participants = leader->self.build.participants;
	result->workers_planned = workers_planned;
	result->workers_launched = leader->launched;
	return result;
}

/*
 * Scan, sort and load.  If a sort has failed, everything is as it was before,
 * and *outcome says so.  The result is in the current memory context.
 */
static PtBuildResult *
attempt(const PtBuildRequest *request, const PtBuildOps *ops, bool optimistic,
		SortOutcome *outcome)
{
	Leader		leader;
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext build_context = AllocSetContextCreate(caller_context,
														"ptsort build",
														ALLOCSET_DEFAULT_SIZES);
	PtBuildResult *result;
	int			workers = plan_workers(request);

	MemoryContextSwitchTo(build_context);
	leader_init(&leader, request, ops, optimistic);

	participant_report_phase(&leader.self,
							 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	if (workers > 0)
		launch(&leader, workers);
	if (leader.pcxt == NULL)
		stay_alone(&leader);
	leader_participate(&leader);
	if (leader.pcxt != NULL)
		leader_collect(&leader);

	MemoryContextSwitchTo(caller_context);
	result = make_result(&leader, workers);
	MemoryContextSwitchTo(build_context);

	count_tuples(&leader, result);
	*outcome = load(&leader);
	leader_finish(&leader, result);

	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(build_context);
	return result;
}

/* Count what an attempt that failed has cost as the leader's. */
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
 * Have strings compared in full, here and in all workers, until the GUC nest
 * level ends, because this collation is not what it was proved to be.
 */
static void
compare_whole_strings(Relation index, Oid collation)
{
	ereport(WARNING,
			(errmsg("collation \"%s\" is not suited to prefix skipping",
					get_collation_name(collation)),
			 errdetail("It orders two strings differently from what follows the prefix that they share.  Index \"%s\" is built again by comparing strings in full.",
					   RelationGetRelationName(index))));
	(void) set_config_option("ptsort.skip_prefixes", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

PtBuildResult *
build_run(const PtBuildRequest *request)
{
	int64		wrong_hints;

	return build_run_with(request, &wrong_hints);
}

PtBuildResult *
build_run_with(const PtBuildRequest *request, int64 *wrong_hints)
{
	const PtBuildOps *ops = participant_find_ops(request->library,
												 request->ops_function);
	int			guc_level = NewGUCNestLevel();
	PtBuildResult *failed_result = NULL;
	bool		optimistic = true;

	*wrong_hints = 0;
	for (;;)
	{
		SortOutcome outcome;
		PtBuildResult *result = attempt(request, ops, optimistic, &outcome);

		*wrong_hints += outcome.wrong_hints;
		if (failed_result != NULL)
		{
			add_failed(result, failed_result);
			pfree(failed_result);
		}
		if (!outcome.failed)
		{
			AtEOXact_GUC(false, guc_level);
			return result;
		}

		/* Neither can happen again. */
		if (OidIsValid(outcome.contradicted))
			compare_whole_strings(request->index, outcome.contradicted);
		else
			optimistic = false;
		failed_result = result;
	}
}
