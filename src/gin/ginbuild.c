/*-------------------------------------------------------------------------
 *
 * ginbuild.c
 *	  ptsort's GIN build: combines the scan, the table of keys, the sort and the
 *	  load.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "gin/gin.h"
#include "util.h"
#include "utils/memutils.h"
#include "write/buildreport.h"

/* GinBuild: a build, in one of its processes. */
typedef struct GinBuild
{
	Build		base;			/* must be first */
	BuildInfo	info;			/* leader */
	GinLoad    *load;			/* leader: kept until all loads end */
	const char *source;
	bool		started;
} GinBuild;

static void
ginbuild_open(Team *team)
{
	build_open(team);
	team->slices = true;
}

static PtSort *
ginbuild_begin(Team *team, const PtSortOptions *options)
{
	GinBuild   *self = (GinBuild *) team;
	bool		puts = options->role == PTSORT_SERIAL ||
		options->role == PTSORT_WORKER;
	PtSortOptions ours = *options;

	if (team->is_leader && !self->started)
		buildreport_start(&self->base, self->source, "");
	self->started = true;
	ours.expected_tuples = 0;	/* not the number of rows */
	return variant_begin_gin(self->base.index, puts ?
							 gin_table_size(options->budget) : 0, &ours);
}

/* IndexBuildCallback */
static void
ginbuild_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			 bool alive, void *collector)
{
	gincollect_row(collector, tid, values, isnull);
}

static void
ginbuild_fill(Team *team)
{
	GinBuild   *self = (GinBuild *) team;
	HeapScanTarget target = {
		.index = self->base.index,
		.index_info = self->base.index_info,
		.callback = ginbuild_put
	};

	target.state = gincollect_begin(team->sort);
	build_scan(&self->base, &target, 1);
	gincollect_end(target.state);
}

static void
ginbuild_load(Team *team)
{
	GinBuild   *self = (GinBuild *) team;
	GinLoad    *load = ginload_begin(&self->base);
	int			slice;
	const GinRecord *record;

	while (sort_next_slice(team->sort, &slice))
	{
		ginload_begin_slice(load, slice);
		while ((record = variant_get_gin(team->sort)) != NULL)
			ginload_add(load, record);
		ginload_end_slice(load);
	}
	if (team->is_leader)
		self->load = load;
	else
		team->slot->pages = ginload_end(load);
}

/* Report the phase; only since 18, GIN has names of phases after the scan. */
static void
ginbuild_enter_phase(Team *team, TeamPhase phase)
{
	build_enter_phase(team, phase);
	if (((Build *) team)->progress && phase != TEAM_FILLS)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 phase == TEAM_SORTS ? PT_GIN_SORTS :
									 PT_GIN_MERGES);
}

static const TeamKind ginbuild_kind = {
	.open = ginbuild_open,
	.close = build_close,
	.begin = ginbuild_begin,
	.fill = ginbuild_fill,
	.read = ginbuild_load,
	.shared_size = ginload_shared_size,
	.shared_init = ginload_shared_init,
	.enter_phase = ginbuild_enter_phase
};

TEAM_WORKER_MAIN(ptsort_ginbuild_worker_main, GinBuild, ginbuild_kind);

IndexBuildResult *
gin_build(Relation heap, Relation index, IndexInfo *index_info, int workers,
		  const char *source)
{
	PtParallelRequest what = build_request(heap, index, index_info);
	IndexBuildResult *result;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "ptsort build",
												  ALLOCSET_DEFAULT_SIZES);
	GinBuild   *self;
	GinLoadShared *shared;
	Team	   *team;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	MemoryContextSwitchTo(context);
	self = palloc0(sizeof(GinBuild));
	team = &self->base.team;
	build_init(&self->base, &ginbuild_kind, &what, &self->info,
			   sizeof(self->info));
	self->source = source;
	team->worker_main = "ptsort_ginbuild_worker_main";
	team->slices = true;
	build_run(&self->base, workers);
	build_check(&self->base, "ginbuild_load");
	team->slot->pages = ginload_finish(self->load);
	/* the server counts entries, not records, as the index's tuples */
	shared = team->shared;
	self->base.index_tuples = 0;
	for (int i = 0; i < shared->file.nparticipants; i++)
		self->base.index_tuples += shared->parts[i].entries;
	team_finish(team);
	MemoryContextSwitchTo(caller);
	result = buildreport_end(&self->base, false, pt_ms_since(start));
	team_leave(team);
	MemoryContextDelete(context);
	return result;
}
