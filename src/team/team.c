/*-------------------------------------------------------------------------
 *
 * team.c
 *	  The processes that sort together: team.h.
 *
 * Every participant's first sort has the role PTSORT_WORKER.  team_collect
 * begins a second sort, which reads the runs of all first ones: in the role
 * PTSORT_SLICE_LEADER in the leader and PTSORT_SLICE in every worker or, if the
 * participants do not read slices, PTSORT_LEADER in the leader only.
 *
 * This file has no lock and no wait of its own.  Each worker writes its own
 * slot only, and the leader reads it after an event that orders the two (see
 * TeamSlot).  The sort waits for runs; the server's functions wait for the end
 * of the workers.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "debug.h"
#include "fault.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "sort/shared.h"
#include "sort/sortread.h"
#include "sort/tuplesort.h"
#include "stamp.h"
#include "tcop/tcopprot.h"
#include "team/team.h"
#include "util.h"
#include "utils/backend_status.h"
#include "utils/rel.h"

/*
 * The pieces of the segment, each under a key of its own in the table of
 * contents.  The segment does not contain pieces of size 0.
 */
typedef enum TeamPiece
{
	PIECE_SHARED,				/* one TeamShared */
	PIECE_SLOTS,				/* a TeamSlot for each participant */
	PIECE_SCAN,					/* ParallelTableScanDesc of the table AM */
	PIECE_SORT,					/* PtSortShared */
	PIECE_USER,					/* the user's memory, see shared_size */
	PIECE_LIBRARY,				/* string: Team.library */
	PIECE_FUNCTION,				/* string: Team.function */
	PIECE_ARG,					/* the user's argument: Team.arg */
	PIECE_INFO,					/* the kind's information: Team.info */
	PIECE_QUERY,				/* string: the leader's debug_query_string */
	PIECE_WAL,					/* a WalUsage for each participant */
	PIECE_BUFFERS,				/* a BufferUsage for each participant */
	NUM_PIECES
} TeamPiece;


/*
 * TeamShared: what all processes must know.  The leader writes it, the strings,
 * the argument and the kind's information before it launches workers; all of
 * them are immutable from then on.
 */
typedef struct TeamShared
{
	BuildStamp	stamp;			/* must be first */
	int			participants;	/* planned number of those that put tuples */
	int			processes;		/* the leader and the planned workers */
	int64		budget;			/* bytes, for all participants together */
	int64		expected;		/* tuples of all participants; 0: unknown */
	Size		arg_size;
	bool		restartable;	/* SortOptions.restartable of all sorts */
	uint64		query_id;
} TeamShared;

void
team_append_name(StringInfo names, const char *name)
{
	appendStringInfo(names, names->len > 0 ? ", %s" : "%s", name);
}

const void *
team_callbacks(const char *what, const char *library, const char *function)
{
	const void *(*get_ops) (void);
	const void *ops;

	if (library == NULL || function == NULL)
		elog(ERROR, "request for a %s does not say where its callbacks are",
			 what);
	get_ops = (const void *(*) (void))
		load_external_function(library, function, true, NULL);
	ops = get_ops();
	if (ops == NULL)
		elog(ERROR, "function \"%s\" in \"%s\" returned no callbacks",
			 function, library);
	return ops;
}

/*
 * team_forbidden: see team.h.  To forbid parallel work, a hook sets
 * rel_parallel_workers to 0, as Citus does for its columnar tables, whose
 * access method cannot scan in parallel.  For the server this overrides the
 * table's own option, so the option is not passed to the hook here.  The
 * planner's data structures are those that plan_create_index_workers() makes.
 */
bool
team_forbidden(Relation table)
{
	PlannerInfo *root;
	RangeTblEntry *rte;
	RelOptInfo *rel;

	if (get_relation_info_hook == NULL)
		return false;

	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(table);
	rte->relkind = RELKIND_RELATION;
	rte->rellockmode = AccessShareLock;
	rte->inh = true;			/* do not look at the indexes */

	root = makeNode(PlannerInfo);
	root->parse = makeNode(Query);
	root->parse->commandType = CMD_SELECT;
	root->parse->rtable = list_make1(rte);
	pt_add_permission_info(root->parse, rte);
	root->glob = makeNode(PlannerGlobal);
	root->query_level = 1;
	root->planner_cxt = CurrentMemoryContext;
	root->wt_param_id = -1;
	setup_simple_rel_arrays(root);

	rel = build_simple_rel(root, 1, NULL);
	rel->rel_parallel_workers = -1;
	get_relation_info_hook(root, rte->relid, rte->inh, rel);
	return rel->rel_parallel_workers == 0;
}

static void
enter_phase(Team *team, TeamPhase phase)
{
	if (team->kind->enter_phase != NULL)
		team->kind->enter_phase(team, phase);
}

/*
 * Leader: start
 */

static Size
string_size(const char *string)
{
	return string == NULL ? 0 : add_size(strlen(string), 1);
}

/* Returns the number of slices for this many processes. */
static int
count_slices(const Team *team, int processes)
{
	if (team->stored != NULL)
		processes = shared_processes(team->stored);
	else if (processes == 1)
		return 1;
	return shared_count_slices(processes);
}

/*
 * Compute the sizes of all pieces and create the segment.  Returns false if
 * the server has no room for one.
 */
static bool
create_segment(Team *team, Size *sizes)
{
	ParallelContext *pcxt = team->pcxt;
	int			processes = team->processes;

	sizes[PIECE_SHARED] = sizeof(TeamShared);
	sizes[PIECE_SLOTS] = mul_size(sizeof(TeamSlot), processes);
	if (team->table != NULL)
		sizes[PIECE_SCAN] = table_parallelscan_estimate(team->table,
														team->snapshot);
	if (team->stored == NULL)
		sizes[PIECE_SORT] = shared_estimate(processes);
	sizes[PIECE_USER] =
		team->kind->shared_size(team, processes,
								count_slices(team, processes));
	sizes[PIECE_LIBRARY] = string_size(team->library);
	sizes[PIECE_FUNCTION] = string_size(team->function);
	sizes[PIECE_ARG] = team->arg == NULL ? 0 : team->arg_size;
	sizes[PIECE_INFO] = team->info_size;
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

/* Add a piece to the segment: a copy of 'content', or zeros if it is NULL. */
static void *
add_piece(const Team *team, TeamPiece piece, const Size *sizes,
		  const void *content)
{
	void	   *address;

	if (sizes[piece] == 0)
		return NULL;
	address = shm_toc_allocate(team->toc, sizes[piece]);
	if (content != NULL)
		memcpy(address, content, sizes[piece]);
	else
		memset(address, 0, sizes[piece]);
	shm_toc_insert(team->toc, piece, address);
	return address;
}

/* Fill the segment. */
static void
fill_segment(Team *team, const Size *sizes)
{
	TeamShared	shared = {
		.participants = team->participants,
		.processes = team->processes,
		.budget = team->budget,
		.expected = team->expected,
		.arg_size = sizes[PIECE_ARG],
		.restartable = team->restartable,
		.query_id = pgstat_get_my_query_id()
	};

	stamp_set(&shared.stamp);
	add_piece(team, PIECE_SHARED, sizes, &shared);
	add_piece(team, PIECE_LIBRARY, sizes, team->library);
	add_piece(team, PIECE_FUNCTION, sizes, team->function);
	add_piece(team, PIECE_ARG, sizes, team->arg);
	add_piece(team, PIECE_INFO, sizes, team->info);
	add_piece(team, PIECE_QUERY, sizes, debug_query_string);
	team->slots = add_piece(team, PIECE_SLOTS, sizes, NULL);
	team->wal = add_piece(team, PIECE_WAL, sizes, NULL);
	team->buffers = add_piece(team, PIECE_BUFFERS, sizes, NULL);

	team->slot = &team->slots[0];
	team->scan = add_piece(team, PIECE_SCAN, sizes, NULL);
	if (team->table != NULL)
		table_parallelscan_initialize(team->table, team->scan,
									  team->snapshot);
	team->sort_shared = team->stored;
	if (team->stored == NULL)
	{
		team->sort_shared = add_piece(team, PIECE_SORT, sizes, NULL);
		shared_init(team->sort_shared, team->processes, team->segment);
	}
	if (team->scan_is_all)
		sort_excuse_late(team->sort_shared);
	team->shared = add_piece(team, PIECE_USER, sizes, NULL);
}

static void
init_shared(Team *team)
{
	if (team->kind->shared_init != NULL)
		team->kind->shared_init(team, team->processes,
								count_slices(team, team->processes));
}

/* Reset all pointers into the segment. */
static void
forget_segment(Team *team)
{
	team->segment = NULL;
	team->toc = NULL;
	team->launched = 0;
	team->slots = NULL;
	team->slot = NULL;
	team->scan = NULL;
	team->sort_shared = NULL;
	team->shared = NULL;
	team->wal = NULL;
	team->buffers = NULL;
}

/*
 * Create the segment and launch the planned workers.  Returns true if any
 * worker started.
 */
static bool
launch(Team *team)
{
	Size		sizes[NUM_PIECES] = {0};
	bool		leader_works = ptsort_debug.leader_participates;

	team->processes = team->planned + 1;
	team->participants = team->planned + (leader_works ? 1 : 0);
	team->leader_rests = !leader_works;
	if (!create_segment(team, sizes))
		return false;
	if (team->kind->prepare != NULL)
		team->kind->prepare(team, team->processes);
	team->segment = team->pcxt->seg;
	team->toc = team->pcxt->toc;
	fill_segment(team, sizes);
	if (!team->kind->init_late)
		init_shared(team);

	fault_point("build: before launch");
	LaunchParallelWorkers(team->pcxt);
	team->launched = team->pcxt->nworkers_launched;
	team->participants = team->launched + (leader_works ? 1 : 0);
	if (team->launched == 0)
	{
		WaitForParallelWorkersToFinish(team->pcxt);
		return false;
	}
	if (team->kind->init_late)
		init_shared(team);
	return true;
}

/* Go on without workers, with the shared state in local memory. */
static void
stay_alone(Team *team)
{
	Size		size;

	team->slots = palloc0(sizeof(TeamSlot));
	team->slot = &team->slots[0];
	team->processes = 1;
	team->participants = 1;
	team->leader_rests = false;
	team->sorts = 0;
	team->sort_shared = team->stored;
	size = team->kind->shared_size(team, 1, count_slices(team, 1));
	if (size > 0)
		team->shared = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	init_shared(team);
}

/*
 * Returns the number of workers to plan for.  The planned participants divide
 * the budget, so the server's limits apply here already, not only at the
 * launch.  Returns 0 where there can be no workers: inside other parallel work,
 * without a postmaster, and for tables in local buffers.
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

void
team_start(Team *team, int workers)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (team->stored == NULL)
		enter_phase(team, TEAM_FILLS);
	team->wal_before = pgWalUsage.wal_bytes;
	team->planned = plan_workers(team, workers);
	if (team->planned > 0)
	{
		EnterParallelMode();
		team->pcxt = CreateParallelContext("ptsort", team->worker_main,
										   team->planned);
	}
	if (team->planned == 0 || !launch(team))
	{
		team_leave(team);
		stay_alone(team);
	}
	pt_log_part("start", start);
}

void
team_end_parallel(Team *team)
{
	if (team->pcxt == NULL)
		return;

	team->pcxt->seg = NULL;		/* the segment outlives the context */
	DestroyParallelContext(team->pcxt);
	ExitParallelMode();
	team->pcxt = NULL;
}

void
team_leave(Team *team)
{
	dsm_segment *segment = team->segment;

	team_end_parallel(team);
	forget_segment(team);
	if (segment != NULL)
		dsm_detach(segment);
}


/*
 * Every participant
 */

/* team_put_share: see team.h. */
int64
team_put_share(const Team *team)
{
	return team->budget / team->participants / Max(team->sorts, 1);
}

/* team_put_expected: see team.h. */
int64
team_put_expected(const Team *team)
{
	return (team->expected + team->participants - 1) / team->participants;
}

/*
 * Returns the share of the budget, in bytes, of a sort of this role.  Sorts
 * that work at the same time have equal shares: one or more for each process
 * that puts tuples, or one for each process that may read slices.  (A worker
 * divides by the planned number, since it does not know how many workers were
 * launched.)  A SERIAL sort is the only one; so is a LEADER, which begins after
 * the sorts that wrote the runs.
 */
static int64
share_of_budget(const Team *team, PtSortRole role)
{
	switch (role)
	{
		case PTSORT_WORKER:
			return team_put_share(team);
		case PTSORT_SLICE_LEADER:
		case PTSORT_SLICE:
			return team->budget / team->processes;
		case PTSORT_SERIAL:
		case PTSORT_LEADER:
			break;
	}
	return team->budget;
}

/*
 * Raise an error if the user's begin callback did not begin the sort with the
 * given role: the team would wait for its runs or its plan forever, or read
 * nothing.
 */
static void
check_sort(const PtSort *sort, const PtSortOptions *options)
{
	if (sort == NULL || !sort_has_part(sort, options))
		ereport(ERROR,
				(errmsg_internal("callback begin has not begun the sort that it was asked for"),
				 errdetail_internal("It must begin a sort with the options that it is given, and return that.")));
}

/* Begin a sort of this role with the team's options. */
static void
begin_sort(Team *team, PtSortRole role)
{
	SortOptions with = {
		.restartable = team->restartable
	};
	PtSortOptions *options = &with.options;

	options->role = role;
	options->budget = share_of_budget(team, role);
	options->shared = team->sort_shared;
	options->participant = team->participant;
	if (role == PTSORT_WORKER || role == PTSORT_SERIAL)
		options->expected_tuples = team_put_expected(team);
	if (role == PTSORT_LEADER || role == PTSORT_SLICE_LEADER)
	{
		options->participants = team->participants;
		options->workers = team->pcxt;
		if (team->stored != NULL)
		{
			/* all runs are there: wait for no process */
			options->participants = team->stored_participants;
			options->workers = NULL;
		}
	}
	team->sort = team->kind->begin(team, &with);
	check_sort(team->sort, options);
}

static void
end_sort(Team *team)
{
	sort_end(team->sort);
	team->sort = NULL;
}

/* Put this process's tuples. */
static void
fill(Team *team)
{
	TeamSlot   *slot = team->slot;
	PtSortStats sorted;
	instr_time	start;

	fault_point("build: before scan");
	INSTR_TIME_SET_CURRENT(start);
	team->kind->fill(team);

	/*
	 * Sorting and writing runs while tuples were put is not part of fill_ms:
	 * the sort's own statistics have those times.
	 */
	sort_stats(team->sort, &sorted);
	slot->put = sorted.tuples;
	slot->stats.fill_ms = pt_ms_since(start) - sorted.sort_ms - sorted.run_ms -
		team->others_ms;
	fault_point("build: after scan");
}

void
team_work(Team *team)
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
	sort_outcome(team->sort, &team->slot->outcome);
	fault_point("build: after sort");
	if (team->sort_shared != NULL)
		end_sort(team);
}

/* Add the statistics of another sort, of this process or another one. */
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
 * Add the statistics of the sorts that wrote the stored runs.  Each counts for
 * the participant of the same number or, if this team has none, the leader.
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

		if (mine && shared_stats(team->stored, i, &stats))
			add_sort_stats(&team->slot->stats.sort, &stats);
	}
}

void
team_collect(Team *team)
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

/* Add the outcome of another sort. */
static void
add_outcome(SortOutcome *sum, const SortOutcome *outcome)
{
	sum->failed |= outcome->failed;
	if (OidIsValid(outcome->contradicted))
		sum->contradicted = outcome->contradicted;
}

/*
 * Add the statistics and the outcome of the sort that was read to the slot.  In
 * a serial team it is the sort that received the tuples, and its statistics
 * are the sum already.
 */
static void
count_reading(Team *team)
{
	PtSortStats *stats = &team->slot->stats.sort;
	PtSortStats merge;
	SortOutcome outcome;

	if (team->sort_shared == NULL)
	{
		sort_stats(team->sort, stats);
		sort_outcome(team->sort, &team->slot->outcome);
		return;
	}
	sort_stats(team->sort, &merge);
	stats->comparisons += merge.comparisons;
	stats->peak_memory = Max(stats->peak_memory, merge.peak_memory);
	sort_outcome(team->sort, &outcome);
	add_outcome(&team->slot->outcome, &outcome);
}

/*
 * Raise an error if the user's callback returned before it read all slices: the
 * result would lack their tuples.  sort_next_slice() may find here that another
 * process failed, so count_reading must come after this.
 */
static void
check_slices(Team *team)
{
	SortOutcome outcome;
	int			slice;

	if (!team->slices || team->leaves_slices)
		return;
	sort_outcome(team->sort, &outcome);
	if (!outcome.failed && sort_next_slice(team->sort, &slice))
		elog(ERROR, "%s has returned before all slices were taken",
			 team->kind->slices_name);
}

void
team_end_reading(Team *team)
{
	team->slot->read = sort_returned(team->sort);
	check_slices(team);
	count_reading(team);
	end_sort(team);
}

void
team_read(Team *team)
{
	instr_time	start;

	fault_point("build: before load");
	INSTR_TIME_SET_CURRENT(start);
	enter_phase(team, TEAM_READS);
	team->kind->read(team);
	team->slot->stats.read_ms = pt_ms_since(start);
	fault_point("build: after load");
	team_end_reading(team);
}

SharedFileSet *
team_fileset(const Team *team)
{
	return team->sort_shared == NULL ? NULL :
		shared_fileset(team->sort_shared);
}


/*
 * Leader: the end
 */

void
team_wait(Team *team)
{
	if (team->launched > 0 && team->pcxt != NULL)
		WaitForParallelWorkersToFinish(team->pcxt);
}

SortOutcome
team_outcome(const Team *team)
{
	SortOutcome outcome = team->slots[0].outcome;

	for (int i = 1; i <= team->launched; i++)
		add_outcome(&outcome, &team->slots[i].outcome);
	return outcome;
}

void
team_check_read(const Team *team, const char *name)
{
	int64		put = 0;
	int64		was_read = 0;

	for (int i = 0; i <= team->launched; i++)
	{
		put += team->slots[i].put;
		was_read += team->slots[i].read;
	}
	if (was_read != put)
		elog(ERROR, "%s has read " INT64_FORMAT " of " INT64_FORMAT " tuples",
			 name, was_read, put);
}

void
team_finish(Team *team)
{
	team->slots[0].stats.wal_bytes = (int64) (pgWalUsage.wal_bytes -
											  team->wal_before);
	for (int i = 1; i <= team->launched; i++)
	{
		team->slots[i].stats.wal_bytes = (int64) team->wal[i].wal_bytes;
		InstrAccumParallelQuery(&team->buffers[i], &team->wal[i]);
	}
}


/*
 * Worker
 */

/*
 * Report the leader's statement as this worker's, in the log and in
 * pg_stat_activity.
 */
static void
report_activity(shm_toc *toc, const TeamShared *shared)
{
	debug_query_string = shm_toc_lookup(toc, PIECE_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);
}

void
team_join(Team *team, dsm_segment *segment, shm_toc *toc)
{
	TeamShared *shared = shm_toc_lookup(toc, PIECE_SHARED, false);
	TeamSlot   *slots;

	stamp_check(&shared->stamp);
	report_activity(toc, shared);
	fault_point("build: worker start");

	/* the leader is number 0 */
	team->participant = ParallelWorkerNumber + 1;
	if (shared->participants < 1 || team->participant < 1 ||
		team->participant >= shared->processes)
		elog(ERROR, "worker %d is not one of the %d of the team",
			 ParallelWorkerNumber, shared->processes - 1);
	team->toc = toc;
	team->segment = segment;
	team->participants = shared->participants;
	team->processes = shared->processes;
	team->budget = shared->budget;
	team->expected = shared->expected;
	team->arg_size = shared->arg_size;
	team->restartable = shared->restartable;

	team->library = shm_toc_lookup(toc, PIECE_LIBRARY, true);
	team->function = shm_toc_lookup(toc, PIECE_FUNCTION, true);
	team->arg = shm_toc_lookup(toc, PIECE_ARG, true);
	team->info = shm_toc_lookup(toc, PIECE_INFO, true);
	slots = shm_toc_lookup(toc, PIECE_SLOTS, false);
	team->slot = &slots[team->participant];
	team->scan = shm_toc_lookup(toc, PIECE_SCAN, true);
	team->sort_shared = shm_toc_lookup(toc, PIECE_SORT, true);
	team->shared = shm_toc_lookup(toc, PIECE_USER, true);
	if (team->sort_shared != NULL)
		shared_attach(team->sort_shared, segment);
}

/* Store this worker's WAL and buffer usage for the leader. */
static void
report_usage(const Team *team)
{
	WalUsage   *wal = shm_toc_lookup(team->toc, PIECE_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(team->toc, PIECE_BUFFERS,
										  false);

	InstrEndParallelQuery(&buffers[team->participant],
						  &wal[team->participant]);
}

void
team_serve(Team *team)
{
	InstrStartParallelQuery();
	if (team->stored != NULL)
		team->sort_shared = team->stored;
	team_work(team);
	if (team->slices)
	{
		team_collect(team);
		team_read(team);
	}
	report_usage(team);
}
