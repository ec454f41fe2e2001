/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Parallel sorts and index builds of other extensions (ptsort_parallel.h).
 *
 * The leader destroys the parallel context and leaves parallel mode before the
 * user reads the stream.  So the user may write to the database and run other
 * parallel queries while reading.  Only the segment stays until
 * ptsort_parallel_end(), because the files of the runs belong to it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "optimizer/pathnode.h"
#include "team/build.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/*
 * Maximum size of the callbacks' shared memory: more than any machine has, and
 * small enough that rounding and sums do not overflow.
 */
#define MAX_SHARED_SIZE		((Size) 1 << 46)

/* Sorter: one process's state in a parallel sort. */
typedef struct Sorter
{
	Build		base;			/* must be first */
	PtParallel	parallel;		/* argument of the callbacks */
	const PtParallelOps *ops;
	MemoryContext context;		/* leader: memory of the sort */
} Sorter;

#define SORTER_OF(parallel) \
	((Sorter *) ((char *) (parallel) - offsetof(Sorter, parallel)))

static PtParallel *
parallel_of(Team *team)
{
	Sorter	   *self = (Sorter *) team;
	PtParallel *parallel = &self->parallel;

	parallel->table = self->base.heap;
	parallel->index = self->base.index;
	parallel->index_info = self->base.index_info;
	parallel->arg = team->arg;
	parallel->arg_size = team->arg_size;
	parallel->is_leader = team->is_leader;
	parallel->participants = team->participants;
	parallel->participant = team->participant;
	parallel->shared = team->shared;
	return parallel;
}


static PtSort *
parallel_begin(Team *team, const PtSortOptions *options)
{
	return ((Sorter *) team)->ops->begin(parallel_of(team), options);
}

/* Put this process's rows of the table into the sort; return the row count. */
static double
scan_table(Team *team, PtParallel *parallel)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;
	TupleTableSlot *slot = table_slot_create(parallel->table, NULL);
	TableScanDesc scan;
	double		rows = 0;

	if (team->scan != NULL)
		scan = pt_table_beginscan_parallel(parallel->table, team->scan);
	else
		scan = table_beginscan_strat(parallel->table, team->snapshot, 0, NULL,
									 true, true);
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

/* IndexBuildCallback */
static void
put_index(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Sorter	   *self = state;

	self->ops->put_index(&self->parallel, self->base.team.sort, tid, values,
						 isnull, alive);
}

static void
parallel_fill(Team *team)
{
	Sorter	   *self = (Sorter *) team;
	PtParallel *parallel = parallel_of(team);

	if (parallel->index != NULL)
		build_scan_index(&self->base, put_index, self);
	else if (parallel->table != NULL)
		team->slot->rows = scan_table(team, parallel);
	if (self->ops->fill != NULL)
		self->ops->fill(parallel, team->sort);
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
	Size		size;

	if (ops->shared_size == NULL)
		return 0;
	size = ops->shared_size(parallel_of(team), processes, slices);
	if (size > MAX_SHARED_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("callback shared_size asks for %zu bytes", size),
				 errdetail("The maximum is %zu bytes.", MAX_SHARED_SIZE)));
	return size;
}

static void
parallel_shared_init(Team *team, int processes, int slices)
{
	const PtParallelOps *ops = ((Sorter *) team)->ops;

	if (ops->shared_init != NULL)
		ops->shared_init(parallel_of(team), processes, slices);
}

/* Report a wrong callback before a long scan, not after it. */
static void
check_callback(const Team *team, const char *name, bool given, bool required,
			   bool forbidden)
{
	if (given ? forbidden : required)
		elog(ERROR, "callback %s of \"%s\" in \"%s\" is %s",
			 name, team->function, team->library,
			 given ? "superfluous" : "missing");
}

/* The leader, too, finds the callbacks, to report errors before the launch. */
static void
find_callbacks(Sorter *self)
{
	Team	   *team = &self->base.team;
	bool		has_table = self->base.heap != NULL;
	bool		has_index = self->base.index != NULL;
	PtParallelGetOps get_ops;
	const PtParallelOps *ops;

	if (team->library == NULL || team->function == NULL)
		elog(ERROR, "request for a parallel sort does not name the function that returns its callbacks");
	get_ops = (PtParallelGetOps)
		load_external_function(team->library, team->function, true, NULL);
	ops = get_ops();
	if (ops == NULL)
		elog(ERROR, "function \"%s\" in \"%s\" returned no callbacks",
			 team->function, team->library);
	check_callback(team, "begin", ops->begin != NULL, true, false);
	check_callback(team, "fill", ops->fill != NULL, !has_table, false);
	check_callback(team, "put", ops->put != NULL, false,
				   !has_table || has_index);
	check_callback(team, "put_index", ops->put_index != NULL, has_index,
				   !has_index);
	check_callback(team, "shared_init", ops->shared_init != NULL, false,
				   ops->shared_size == NULL);
	self->ops = ops;
	team->slices = ops->read_slices != NULL;
}

static void
parallel_open(Team *team)
{
	build_open(team);
	find_callbacks((Sorter *) team);
}

static const TeamKind parallel_kind = {
	.worker_main = "ptsort_parallel_main",
	.open = parallel_open,
	.close = build_close,
	.begin = parallel_begin,
	.fill = parallel_fill,
	.read = parallel_read,
	.shared_size = parallel_shared_size,
	.shared_init = parallel_shared_init,
	.enter_phase = build_enter_phase
};

static void
check_numbers(const PtParallelRequest *request)
{
	if (request->workers < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have %d workers",
						request->workers),
				 errhint("Request 0 workers to sort in this process alone.")));
	if (request->budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget of parallel sort must not be negative"),
				 errdetail("It is " INT64_FORMAT ".", request->budget)));
	if (request->arg_size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument of parallel sort cannot have %zu bytes",
						request->arg_size),
				 errdetail("The maximum is %zu bytes.", (Size) MaxAllocSize)));
}

static void
check_request(const PtParallelRequest *request)
{
	Relation	table = request->table;

	check_numbers(request);
	if (request->index != NULL &&
		(table == NULL || request->index_info == NULL))
		elog(ERROR, "request for an index build lacks the table or the IndexInfo");
	if (table == NULL || request->index != NULL)
		return;
	if (table->rd_tableam == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot scan relation \"%s\"",
						RelationGetRelationName(table)),
				 errdetail_relkind_not_supported(table->rd_rel->relkind)));
	if (request->snapshot == NULL && !ActiveSnapshotSet())
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
	Team	   *team = &self->base.team;

	self->context = context;
	build_init(&self->base, &parallel_kind, request);
	if (request->table != NULL && request->snapshot == NULL &&
		request->index == NULL)
		team->snapshot = GetActiveSnapshot();
	find_callbacks(self);
	return self;
}

/*
 * A hook forbids parallel work by setting rel_parallel_workers to 0.  Citus
 * forbids it for columnar tables.  In the server the hook's value overrides the
 * table's own option, so this function does not pass the option to the hook.
 * It makes the planner data structures of plan_create_index_workers().
 */
bool
parallel_is_forbidden(Relation table)
{
	PlannerInfo *root;
	RangeTblEntry *rte;
	RelOptInfo *rel;

	if (pt_table_hook == NULL)
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
	pt_call_table_hook(root, rte, rel);
	return rel->rel_parallel_workers == 0;
}

PtParallel *
parallel_run(const PtParallelRequest *request)
{
	int			workers = request->workers;
	Sorter	   *self;
	Team	   *team;
	MemoryContext caller;

	check_request(request);
	self = make_sorter(request);
	team = &self->base.team;
	caller = MemoryContextSwitchTo(self->context);

	if (workers > 0 && request->table != NULL &&
		parallel_is_forbidden(request->table))
		workers = 0;
	build_run(&self->base, workers);
	build_check(&self->base, "read_slices");
	team_finish(team);
	team_end_parallel(team);
	(void) parallel_of(team);
	self->parallel.stream = team->slices ? NULL : team->sort;

	MemoryContextSwitchTo(caller);
	return &self->parallel;
}

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

PtParallelResult *
parallel_end(PtParallel *parallel)
{
	Sorter	   *self = SORTER_OF(parallel);
	Team	   *team = &self->base.team;
	MemoryContext caller = MemoryContextSwitchTo(self->context);
	PtParallelResult *result;

	if (parallel->stream != NULL)
	{
		team_end_reading(team);
		if (self->base.index != NULL)
			team_check_read(team, "caller of ptsort_parallel()");
	}
	parallel->stream = NULL;

	MemoryContextSwitchTo(caller);
	result = make_result(team);
	team_leave(team);
	MemoryContextDelete(self->context);
	return result;
}


TEAM_WORKER_MAIN(ptsort_parallel_main, Sorter, parallel_kind);
