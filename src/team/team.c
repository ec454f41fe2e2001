/*-------------------------------------------------------------------------
 *
 * team.c
 *	  The processes that sort together; see team.h.
 *
 * This file uses no locks and does not wait: the sort waits for runs, and the
 * server's functions wait for the end of the workers (see TeamSlot).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "model/work.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "stamp.h"
#include "tcop/tcopprot.h"
#include "team/team.h"
#include "util.h"
#include "utils/memutils.h"

/*
 * TeamPiece: the pieces of the segment.  Each piece's number is its key in the
 * table of contents.  The segment does not contain pieces of size 0.
 */
typedef enum TeamPiece
{
	PIECE_SHARED,				/* one TeamShared */
	PIECE_SLOTS,				/* a TeamSlot for each participant */
	PIECE_SCAN,					/* ParallelTableScanDesc of the table AM */
	PIECE_SORT,					/* PtSortShared */
	PIECE_KIND,					/* the kind's memory, see shared_size */
	PIECE_LIBRARY,				/* string: Team.library */
	PIECE_FUNCTION,				/* string: Team.function */
	PIECE_ARG,					/* the user's argument: Team.arg */
	PIECE_INFO,					/* the kind's information: Team.info */
	PIECE_MARKS,				/* Team.marks */
	PIECE_QUERY,				/* string: the leader's debug_query_string */
	NUM_PIECES
} TeamPiece;

/* TeamShared: what all processes must know; immutable after the launch. */
typedef struct TeamShared
{
	BuildStamp	stamp;			/* must be first */
	int			participants;	/* planned processes that put tuples */
	int			processes;		/* the leader and the planned workers */
	int64		budget;			/* bytes, for all participants together */
	int64		expected;		/* tuples of all participants; 0: unknown */
	Size		arg_size;
	dsm_handle	throttle;		/* DSM_HANDLE_INVALID: no limits */
	uint64		query_id;
} TeamShared;

static int64
count_put(const Team *team)
{
	int64		put = 0;

	for (int i = 0; i <= team->launched; i++)
		put += team->slots[i].put;
	return put;
}

static void
enter_phase(Team *team, TeamPhase phase)
{
	if (team->kind->enter_phase != NULL)
		team->kind->enter_phase(team, phase);
	if (team->throttle == NULL)
		return;
	throttle_point();
	if (team->is_leader && phase == TEAM_READS)
		pg_atomic_write_u64(&ptsort_work.shared->total, count_put(team));
	if (team->is_leader &&
		(phase == TEAM_FILLS || team->about->job.key != JOB_NONE))
		work_enter((WorkPhase) phase);
}

/* Call this in the leader before it adds workers' counts. */
static void
end_throttle(Team *team)
{
	if (team->throttle == NULL)
		return;
	team->slot->paused_ms = ptsort_work.counts[WORK_PAUSED] / 1000.0;
	dsm_detach(team->throttle);
	team->throttle = NULL;
}

static int
count_slices(const Team *team, int processes)
{
	if (team->stored != NULL)
		processes = shared_processes(team->stored);
	else if (processes == 1)
		return 1;
	return shared_slices(processes);
}

/* Piece: a piece of the segment; zeros if 'content' is NULL. */
typedef struct Piece
{
	Size		size;
	const void *content;
} Piece;

static Size
string_size(const char *string)
{
	return string == NULL ? 0 : add_size(strlen(string), 1);
}

/* Create the segment.  Returns false if the server has no room for it. */
static bool
create_segment(Team *team, const Piece *pieces)
{
	ParallelContext *pcxt = team->pcxt;

	for (int i = 0; i < NUM_PIECES; i++)
	{
		if (pieces[i].size == 0)
			continue;
		shm_toc_estimate_chunk(&pcxt->estimator, pieces[i].size);
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}
	InitializeParallelDSM(pcxt);
	team->segment = pcxt->seg;
	team->toc = pcxt->toc;
	return pcxt->seg != NULL;
}

static void
find_shared(Team *team)
{
	team->slots = shm_toc_lookup(team->toc, PIECE_SLOTS, false);
	team->slot = &team->slots[team->participant];
	team->scan = shm_toc_lookup(team->toc, PIECE_SCAN, true);
	team->shared = shm_toc_lookup(team->toc, PIECE_KIND, true);
	team->marks = shm_toc_lookup(team->toc, PIECE_MARKS, true);
	team->sort_shared = team->stored != NULL ? team->stored :
		shm_toc_lookup(team->toc, PIECE_SORT, true);
}

static void
fill_segment(Team *team, const Piece *pieces)
{
	for (int i = 0; i < NUM_PIECES; i++)
	{
		void	   *address;

		if (pieces[i].size == 0)
			continue;
		address = shm_toc_allocate(team->toc, pieces[i].size);
		if (pieces[i].content != NULL)
			memcpy(address, pieces[i].content, pieces[i].size);
		else
			memset(address, 0, pieces[i].size);
		shm_toc_insert(team->toc, i, address);
	}
	find_shared(team);
	if (team->table != NULL)
		table_parallelscan_initialize(team->table, team->scan,
									  team->snapshot);
	if (team->stored == NULL)
		shared_init(team->sort_shared, team->processes, team->segment);
}

static void
prepare(Team *team)
{
	if (team->kind->prepare != NULL)
		team->kind->prepare(team, team->processes);
}

/*
 * Create the segment and launch the planned workers.  Returns true if any
 * worker started.
 */
static bool
launch(Team *team)
{
	int			processes = team->planned + 1;
	int			resting = team->leader_rests ? 1 : 0;
	TeamShared	shared = {
		.participants = processes - resting,
		.processes = processes,
		.budget = team->budget,
		.expected = team->expected,
		.arg_size = team->arg == NULL ? 0 : team->arg_size,
		.throttle = team->throttle == NULL ? DSM_HANDLE_INVALID :
		dsm_segment_handle(team->throttle),
		.query_id = pgstat_get_my_query_id()
	};
	Piece		pieces[NUM_PIECES] = {
		[PIECE_SHARED] = {sizeof(shared), &shared},
		[PIECE_SLOTS] = {mul_size(sizeof(TeamSlot), processes)},
		[PIECE_LIBRARY] = {string_size(team->library), team->library},
		[PIECE_FUNCTION] = {string_size(team->function), team->function},
		[PIECE_ARG] = {shared.arg_size, team->arg},
		[PIECE_INFO] = {team->info_size, team->info},
		[PIECE_MARKS] = {team->marks == NULL ? 0 :
		marks_size(team->marks->nblocks), team->marks},
		[PIECE_QUERY] = {string_size(debug_query_string), debug_query_string}
	};

	stamp_set(&shared.stamp);
	team->processes = processes;
	team->participants = shared.participants;
	if (team->table != NULL)
		pieces[PIECE_SCAN].size = table_parallelscan_estimate(team->table,
															  team->snapshot);
	if (team->stored == NULL)
		pieces[PIECE_SORT].size = shared_estimate(processes);
	pieces[PIECE_KIND].size =
		team->kind->shared_size(team, processes,
								count_slices(team, processes));
	if (!create_segment(team, pieces))
		return false;
	prepare(team);
	fill_segment(team, pieces);
	team->kind->shared_init(team, processes, count_slices(team, processes));

	fault_point("build: before launch");
	LaunchParallelWorkers(team->pcxt);
	team->pcxt->seg = NULL;		/* it outlives the context and all workers */
	team->launched = team->pcxt->nworkers_launched;
	team->participants = team->launched + 1 - resting;
	if (team->launched == 0)
	{
		WaitForParallelWorkersToFinish(team->pcxt);
		return false;
	}
	return true;
}

/* Go on without workers, with the shared state in local memory. */
static void
stay_alone(Team *team, Marks *marks)
{
	int			slices = count_slices(team, 1);
	Size		size;

	team->toc = NULL;
	team->shared = NULL;		/* it was in the segment */
	team->marks = marks;
	team->slots = team->slot = palloc0(sizeof(TeamSlot));
	team->processes = team->participants = 1;
	team->launched = 0;
	team->leader_rests = false;
	team->scan = NULL;
	team->sort_shared = team->stored;
	prepare(team);
	size = team->kind->shared_size(team, 1, slices);
	team->shared = size == 0 ? NULL :
		palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	team->kind->shared_init(team, 1, slices);
}

/*
 * Returns the number of workers to plan for.  The planned participants divide
 * the budget, so this function, and not only the launch, applies the server's
 * limits.
 */
static int
plan_workers(const Team *team, int workers)
{
	int			limit = Min(max_parallel_workers, max_worker_processes);

	if (!IsUnderPostmaster || IsParallelWorker() ||
		IsInParallelMode() ||
		(team->table != NULL && RelationUsesLocalBuffers(team->table)))
		return 0;
	return Max(Min(workers, limit), 0);
}

/* Launch the workers and set up the shared state. */
static void
set_up(Team *team, int workers)
{
	Marks	   *marks = team->marks;

	if (team->stored == NULL)
		enter_phase(team, TEAM_FILLS);
	team->wal_before = pgWalUsage.wal_bytes;
	team->throttle = throttle_begin(team->about);
	team->planned = plan_workers(team, workers);
	team->leader_rests = !ptsort_debug.leader_participates;
	if (team->planned > 0)
	{
		EnterParallelMode();
		team->pcxt = CreateParallelContext("ptsort", team->kind->worker_main,
										   team->planned);
	}
	if (team->planned == 0 || !launch(team))
	{
		team_leave(team);
		stay_alone(team, marks);
	}
	if (team->throttle != NULL)
		pg_atomic_write_u32(&ptsort_work.shared->participants,
							team->launched + 1);
}

void
team_end_parallel(Team *team)
{
	if (team->pcxt == NULL)
		return;

	DestroyParallelContext(team->pcxt);
	ExitParallelMode();
	team->pcxt = NULL;
}

void
team_leave(Team *team)
{
	dsm_segment *segment = team->segment;

	team_end_parallel(team);
	team->segment = NULL;
	if (segment != NULL)
		dsm_detach(segment);
}


/*
 * Sorts that run at the same time have equal shares of the budget.  Each
 * process that puts tuples has one or more WORKER sorts; each process that may
 * read slices has one SLICE or SLICE_LEADER sort.  (A worker divides by the
 * number of planned processes, because it does not know how many started.)  A
 * SERIAL sort is alone, and a LEADER sort begins after the sorts that wrote
 * the runs.
 */
static int64
share_of_budget(const Team *team, PtSortRole role)
{
	if (role == PTSORT_WORKER)
		return team->budget / team->participants / Max(team->sorts, 1);
	if (role == PTSORT_SLICE_LEADER || role == PTSORT_SLICE)
		return team->budget / team->processes;
	return team->budget;
}

/*
 * Raise an error if the user's begin callback did not begin a sort with the
 * given options: the team could wait forever for its runs or plan.
 */
static void
check_sort(const PtSort *sort, const PtSortOptions *options)
{
	if (sort == NULL || sort->options.role != options->role ||
		sort->options.shared != options->shared ||
		sort->options.participant != options->participant ||
		sort->options.participants != options->participants)
		ereport(ERROR,
				(errmsg_internal("callback begin did not begin the requested sort"),
				 errdetail_internal("It must begin a sort with the options that it receives, and return that sort.")));
}

PtSortOptions
team_options(const Team *team, PtSortRole role, PtSortShared *sort_shared)
{
	PtSortOptions options = {
		.role = role,
		.budget = share_of_budget(team, role),
		.shared = sort_shared,
		.participant = team->participant
	};

	if (role == PTSORT_WORKER || role == PTSORT_SERIAL)
		options.expected_tuples = (team->expected + team->participants - 1) /
			team->participants;
	else if (team->stored != NULL)
	{
		/* all runs exist, so the sort waits for no process */
		options.participants = team->stored_participants;
	}
	else if (team->is_leader)
	{
		options.participants = team->participants;
		options.workers = team->pcxt;
	}
	return options;
}

static void
begin_sort(Team *team, PtSortRole role)
{
	PtSortOptions options = team_options(team, role, team->sort_shared);

	team->sort = team->kind->begin(team, &options);
	check_sort(team->sort, &options);
}

static void
fill(Team *team)
{
	TeamSlot   *slot = team->slot;
	PtSortStats sorted;
	instr_time	start;

	fault_point("build: before scan");
	INSTR_TIME_SET_CURRENT(start);
	team->kind->fill(team);
	sort_stats(team->sort, &sorted);
	slot->put = sorted.tuples;
	/* the sort's own statistics have the time in which it wrote runs */
	slot->stats.fill_ms = pt_ms_since(start) - sorted.sort_ms - sorted.run_ms -
		team->others_ms;
	fault_point("build: after scan");
}

/*
 * Put and sort this process's tuples.  If there are workers, also announce the
 * runs.  After the announcement, the leader may read the counts in the slot.
 */
static void
work(Team *team)
{
	if ((team->is_leader && team->leader_rests) || team->stored != NULL)
		return;
	begin_sort(team, team->sort_shared == NULL ? PTSORT_SERIAL : PTSORT_WORKER);
	fill(team);

	enter_phase(team, TEAM_SORTS);
	if (team->kind->perform_others != NULL)
		team->kind->perform_others(team);
	sort_perform(team->sort);
	sort_stats(team->sort, &team->slot->stats.sort);
	team->slot->contradicted = sort_contradicted(team->sort);
	fault_point("build: after sort");
	if (team->sort_shared != NULL)
		sort_end(team->sort);
}

/* Add to 'sum' the statistics of a sort in this or another process. */
static void
add_sort_stats(PtSortStats *sum, const PtSortStats *stats)
{
	sum->tuples += stats->tuples;
	sum->runs += stats->runs;
	sum->run_bytes += stats->run_bytes;
	sum->comparisons += stats->comparisons;
	sum->peak_memory = Max(sum->peak_memory, stats->peak_memory);
	sum->temp_bytes += stats->temp_bytes;
	sum->sort_ms += stats->sort_ms;
	sum->run_ms += stats->run_ms;
}

/*
 * Add to the slot the statistics of the sorts that wrote the stored runs.  The
 * sort of process number i counts for participant i or, if there is no
 * participant i, for the leader, who counts all tuples as its own.
 */
static void
count_stored(Team *team)
{
	int			processes = shared_processes(team->stored);

	for (int i = 0; i < processes; i++)
	{
		bool		mine = i == team->participant ||
			(team->is_leader && i > team->launched);
		PtSortStats stats;

		if (!shared_stats(team->stored, i, &stats))
			continue;
		if (mine)
			add_sort_stats(&team->slot->stats.sort, &stats);
		if (team->is_leader)
			team->slot->put += stats.tuples;
	}
}

/* Begin the sort that reads the runs, and wait for the runs. */
static void
collect(Team *team)
{
	if (team->sort_shared == NULL)
		return;
	if (team->stored != NULL)
		count_stored(team);
	if (!team->is_leader)
		begin_sort(team, PTSORT_SLICE);
	else
		begin_sort(team, team->slices ? PTSORT_SLICE_LEADER : PTSORT_LEADER);
	enter_phase(team, TEAM_SORTS);
	sort_perform(team->sort);
}

void
team_sort(Team *team, int workers)
{
	set_up(team, workers);
	work(team);
	collect(team);
}

void
team_end_reading(Team *team)
{
	PtSortStats *stats = &team->slot->stats.sort;
	PtSortStats merge;

	team->slot->read = team->sort->returned;
	if (!OidIsValid(team->slot->contradicted))
		team->slot->contradicted = sort_contradicted(team->sort);
	sort_stats(team->sort, &merge);
	stats->comparisons += merge.comparisons;
	stats->peak_memory = Max(stats->peak_memory, merge.peak_memory);
	/* a SERIAL sort also received the tuples */
	if (team->sort_shared == NULL)
		*stats = merge;
	sort_end(team->sort);
}

void
team_read(Team *team)
{
	instr_time	start;

	enter_phase(team, TEAM_READS);
	fault_point("build: before load");
	INSTR_TIME_SET_CURRENT(start);
	team->kind->read(team);
	team->slot->stats.read_ms = pt_ms_since(start);
	fault_point("build: after load");
	team_end_reading(team);
}


void
team_wait(Team *team)
{
	if (team->launched > 0 && team->pcxt != NULL)
		WaitForParallelWorkersToFinish(team->pcxt);
}

Oid
team_contradicted(const Team *team)
{
	Oid			result = InvalidOid;

	for (int i = 0; i <= team->launched && !OidIsValid(result); i++)
		result = team->slots[i].contradicted;
	return result;
}

void
team_check_read(const Team *team, const char *name)
{
	int64		put = count_put(team);
	int64		was_read = 0;

	for (int i = 0; i <= team->launched; i++)
		was_read += team->slots[i].read;
	if (was_read != put)
		elog(ERROR, "%s read " INT64_FORMAT " of " INT64_FORMAT " tuples",
			 name, was_read, put);
}

void
team_finish(Team *team)
{
	end_throttle(team);
	team->slots[0].stats.wal_bytes = (int64) (pgWalUsage.wal_bytes -
											  team->wal_before);
	for (int i = 1; i <= team->launched; i++)
	{
		TeamSlot   *slot = &team->slots[i];

		slot->stats.wal_bytes = (int64) slot->wal.wal_bytes;
		InstrAccumParallelQuery(&slot->buffers, &slot->wal);
	}
}

/* Worker: fill in the team from the segment. */
static void
join(Team *team, dsm_segment *segment, shm_toc *toc)
{
	TeamShared *shared = shm_toc_lookup(toc, PIECE_SHARED, false);

	stamp_check(&shared->stamp);
	/* show the leader's statement as this worker's */
	debug_query_string = shm_toc_lookup(toc, PIECE_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);
	fault_point("build: worker start");

	/* the leader is number 0 */
	team->participant = ParallelWorkerNumber + 1;
	if (shared->participants < 1 || team->participant < 1 ||
		team->participant >= shared->processes)
		elog(ERROR, "worker %d is not one of the team's %d workers",
			 ParallelWorkerNumber, shared->processes - 1);
	team->toc = toc;
	team->segment = segment;
	team->participants = shared->participants;
	team->processes = shared->processes;
	team->budget = shared->budget;
	team->expected = shared->expected;
	team->arg_size = shared->arg_size;

	team->library = shm_toc_lookup(toc, PIECE_LIBRARY, true);
	team->function = shm_toc_lookup(toc, PIECE_FUNCTION, true);
	team->arg = shm_toc_lookup(toc, PIECE_ARG, true);
	team->info = shm_toc_lookup(toc, PIECE_INFO, true);
	find_shared(team);
	if (shared->throttle != DSM_HANDLE_INVALID)
		team->throttle = throttle_join(shared->throttle);
	if (team->sort_shared != NULL)
		shared_attach(team->sort_shared, segment);
}

void
team_serve(Team *team, dsm_segment *segment, shm_toc *toc)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "ptsort worker",
												  ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(context);
	join(team, segment, toc);
	team->kind->open(team);

	InstrStartParallelQuery();
	if (team->stored != NULL)
		team->sort_shared = team->stored;
	work(team);
	if (team->slices)
	{
		collect(team);
		team_read(team);
	}
	InstrEndParallelQuery(&team->slot->buffers, &team->slot->wal);
	end_throttle(team);

	team->kind->close(team);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	fault_point("build: worker end");
}
