/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Parallel sorts of other extensions: ptsort_parallel.h.
 *
 * A parallel sort is the work of a team (team.h) whose processes scan a table
 * through slots, or call the user's fill, or both.
 *
 * The leader destroys the parallel context and leaves parallel mode before the
 * user reads the stream.  So the user may meanwhile write to the database and
 * run other parallel queries.  Only the segment stays until the end, since the
 * files of the runs belong to it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/relscan.h"
#include "access/table.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "team/parallel.h"
#include "team/request.h"
#include "team/team.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "variant/variants.h"

/* TeamKind's information for the workers of a parallel sort. */
typedef struct ParallelInfo
{
	Oid			table_id;		/* InvalidOid: none */
} ParallelInfo;

/*
 * Sorter: one process's state in a parallel sort.
 */
typedef struct Sorter
{
	Team		team;			/* must be first */
	PtParallel	parallel;		/* argument of the callbacks */
	const PtParallelOps *ops;
	ParallelInfo info;
	MemoryContext context;		/* leader: memory of the sort */
} Sorter;

#define SORTER_OF(parallel) \
	((Sorter *) ((char *) (parallel) - offsetof(Sorter, parallel)))

/* Update and return the argument of the callbacks. */
static PtParallel *
parallel_of(Team *team)
{
	PtParallel *parallel = &((Sorter *) team)->parallel;

	parallel->participants = team->participants;
	parallel->participant = team->participant;
	parallel->shared = team->shared;
	return parallel;
}


/*
 * What every participant does: TeamKind
 */

static PtSort *
parallel_begin(Team *team, const PtSortOptions *options)
{
	return ((Sorter *) team)->ops->begin(parallel_of(team), options);
}

/* Put this process's part of the table's rows; returns their number. */
static double
scan_table(Team *team, PtParallel *parallel)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;
	TupleTableSlot *slot = table_slot_create(parallel->table, NULL);
	TableScanDesc scan;
	double		rows = 0;

	if (team->scan != NULL)
		scan = table_beginscan_parallel(parallel->table, team->scan);
	else
		scan = table_beginscan(parallel->table, team->snapshot, 0, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (ops->put != NULL)
			ops->put(parallel, team->sort, slot);
		else
			variant_put_slot(team->sort, slot);
		rows++;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return rows;
}

static void
parallel_fill(Team *team)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;
	PtParallel *parallel = parallel_of(team);

	if (parallel->table != NULL)
		team->slot->rows = scan_table(team, parallel);
	if (ops->fill != NULL)
		ops->fill(parallel, team->sort);
}

static void
parallel_read(Team *team)
{
	((Sorter *) team)->ops->read_slices(parallel_of(team), team->sort);
}

static Size
parallel_shared_size(Team *team, int processes, int slices)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;

	if (ops->shared_size == NULL)
		return 0;
	return request_shared_size(ops->shared_size(parallel_of(team), processes,
												slices));
}

static void
parallel_shared_init(Team *team, int processes, int slices)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;

	if (ops->shared_init != NULL)
		ops->shared_init(parallel_of(team), processes, slices);
}

/*
 * Find the callbacks.  The leader does that, too, not only the workers: so it
 * reports a wrong name before the launch, and a sort without workers uses the
 * same function.
 */
static void
find_callbacks(Sorter *self)
{
	Team	   *team = &self->team;
	const PtParallelOps *ops = request_callbacks("parallel sort",
												 team->library,
												 team->function);
	bool		has_table = self->parallel.table != NULL;
	const CallbackRule rules[] = {
		{"begin", ops->begin != NULL, true, false},
		{"fill", ops->fill != NULL, !has_table, false},
		{"put", ops->put != NULL, false, !has_table}
	};

	request_check_callbacks(team->library, team->function, rules,
							lengthof(rules));
	self->ops = ops;
	team->slices = ops->read_slices != NULL;
}

static void
parallel_open(Team *team)
{
	Sorter	   *self = (Sorter *) team;
	PtParallel *parallel = &self->parallel;
	const ParallelInfo *info = team->info;

	if (OidIsValid(info->table_id))
		parallel->table = table_open(info->table_id, AccessShareLock);
	parallel->arg = team->arg;
	parallel->arg_size = team->arg_size;
	find_callbacks(self);
}

static void
parallel_close(Team *team)
{
	Sorter	   *self = (Sorter *) team;

	if (self->parallel.table != NULL)
		table_close(self->parallel.table, AccessShareLock);
}

static const TeamKind parallel_kind = {
	.open = parallel_open,
	.close = parallel_close,
	.begin = parallel_begin,
	.fill = parallel_fill,
	.read = parallel_read,
	.shared_size = parallel_shared_size,
	.shared_init = parallel_shared_init
};


/*
 * Leader
 */

/* Raise an error if the request is invalid. */
static void
check_request(const PtParallelRequest *request)
{
	Relation	table = request->table;

	request_check("parallel sort", request->workers, request->budget,
				  request->arg_size);
	if (table != NULL && table->rd_tableam == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot scan relation \"%s\"",
						RelationGetRelationName(table)),
				 errdetail_relkind_not_supported(table->rd_rel->relkind)));
	if (table != NULL && request->snapshot == NULL && !ActiveSnapshotSet())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot scan table \"%s\" without a snapshot",
						RelationGetRelationName(table)),
				 errhint("Set PtParallelRequest.snapshot, or push an active snapshot.")));
}

static Sorter *
make_sorter(const PtParallelRequest *request)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort parallel",
												  ALLOCSET_DEFAULT_SIZES);
	Sorter	   *self = MemoryContextAllocZero(context, sizeof(Sorter));
	Team	   *team = &self->team;
	PtParallel *parallel = &self->parallel;

	self->context = context;
	if (request->table != NULL)
		self->info.table_id = RelationGetRelid(request->table);

	team->kind = &parallel_kind;
	team->worker_main = "ptsort_parallel_main";
	team->library = request->library;
	team->function = request->ops_function;
	team->arg = request->arg;
	team->arg_size = request->arg_size;
	team->info = &self->info;
	team->info_size = sizeof(self->info);
	team->budget = request->budget;
	team->is_leader = true;
	team->table = request->table;
	team->snapshot = request->snapshot;
	if (request->table != NULL && request->snapshot == NULL)
		team->snapshot = GetActiveSnapshot();

	parallel->table = request->table;
	parallel->arg = request->arg;
	parallel->arg_size = request->arg_size;
	parallel->is_leader = true;
	find_callbacks(self);
	return self;
}

/* Returns the number of workers to request. */
static int
wanted_workers(const PtParallelRequest *request)
{
	if (request->workers > 0 && request->table != NULL &&
		request_parallel_forbidden(request->table))
		return 0;
	return request->workers;
}

/* Wait for the workers' end, check and add up what they did. */
static void
finish(Sorter *self)
{
	Team	   *team = &self->team;

	team_wait(team);
	if (team->slices)
		team_check_read(team, "read_slices");
	team_finish(team);
}

/* parallel_run: see ptsort_parallel. */
PtParallel *
parallel_run(const PtParallelRequest *request)
{
	Sorter	   *self;
	Team	   *team;
	MemoryContext caller;

	check_request(request);
	self = make_sorter(request);
	team = &self->team;
	caller = MemoryContextSwitchTo(self->context);

	team_sort(team, wanted_workers(request));
	self->parallel.stream = team->sort;
	if (team->slices)
	{
		team_read(team);
		self->parallel.stream = NULL;
	}
	finish(self);
	team_end_parallel(team);
	(void) parallel_of(team);

	MemoryContextSwitchTo(caller);
	return &self->parallel;
}

/* Make the result, in the current memory context. */
static PtParallelResult *
make_result(const Team *team)
{
	int			processes = team->launched + 1;
	PtParallelResult *result =
		palloc0(add_size(offsetof(PtParallelResult, stats),
						 mul_size(processes, sizeof(PtParallelStats))));

	result->participants = team->participants;
	result->workers_planned = team->planned;
	result->workers_launched = team->launched;
	for (int i = 0; i < processes; i++)
	{
		result->rows += team->slots[i].rows;
		result->tuples += team->slots[i].put;
		result->stats[i] = team->slots[i].stats;
	}
	return result;
}

/* parallel_end: see ptsort_parallel_end. */
PtParallelResult *
parallel_end(PtParallel *parallel)
{
	Sorter	   *self = SORTER_OF(parallel);
	Team	   *team = &self->team;
	MemoryContext caller = MemoryContextSwitchTo(self->context);
	PtParallelResult *result;

	if (parallel->stream != NULL)
		team_end_reading(team);
	parallel->stream = NULL;

	MemoryContextSwitchTo(caller);
	result = make_result(team);
	team_leave(team);
	MemoryContextDelete(self->context);
	return result;
}


/*
 * Worker
 */

void
ptsort_parallel_main(dsm_segment *segment, shm_toc *toc)
{
	Sorter		self = {.team.kind = &parallel_kind};

	team_serve(&self.team, segment, toc);
}
