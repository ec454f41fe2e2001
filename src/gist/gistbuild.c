/*-------------------------------------------------------------------------
 *
 * gistbuild.c
 *	  ptsort's GiST build: combines the scan, the sort and the load.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gist_private.h"
#include "debug.h"
#include "gist/gist.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"
#include "write/buildreport.h"

/* GistBuild: a build, in one of its processes. */
typedef struct GistBuild
{
	Build		base;			/* must be first */
	BuildInfo	info;			/* leader */
	GistLoad   *load;			/* leader: kept until all loads end */
	const char *source;
	bool		started;
} GistBuild;

const char *
gistbuild_why_not(Relation index)
{
	GiSTOptions *options = (GiSTOptions *) index->rd_options;

	if (options != NULL && options->buffering_mode == GIST_OPTION_BUFFERING_ON)
		return "GiST, buffering = on";
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (!OidIsValid(index_getprocid(index, i + 1, GIST_SORTSUPPORT_PROC)))
			return "GiST, a class without sort support";
	}
	return NULL;
}

static void
gistbuild_open(Team *team)
{
	build_open(team);
	team->slices = true;
}

static PtSort *
gistbuild_begin(Team *team, const PtSortOptions *options)
{
	GistBuild  *self = (GistBuild *) team;

	if (team->is_leader && !self->started)
		buildreport_start(&self->base, self->source, "");
	self->started = true;
	return variant_begin_gist(self->base.index, options);
}

/* IndexBuildCallback */
static void
gistbuild_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			  bool alive, void *sort)
{
	variant_put_gist(sort, tid, values, isnull);
}

static void
gistbuild_fill(Team *team)
{
	GistBuild  *self = (GistBuild *) team;
	HeapScanTarget target = {
		.index = self->base.index,
		.index_info = self->base.index_info,
		.callback = gistbuild_put,
		.state = team->sort
	};

	build_scan(&self->base, &target, 1);
}

static void
gistbuild_load(Team *team)
{
	GistBuild  *self = (GistBuild *) team;
	GistLoad   *load = gistload_begin(&self->base);
	int			slice;
	IndexTuple	tuple;

	while (sort_next_slice(team->sort, &slice))
	{
		gistload_begin_slice(load, slice, sort_slice_start(team->sort));
		while ((tuple = variant_get_gist(team->sort)) != NULL)
			gistload_add(load, tuple);
		gistload_end_slice(load);
	}
	if (team->is_leader)
		self->load = load;
	else
		team->slot->pages = gistload_end(load);
}

static const TeamKind gistbuild_kind = {
	.open = gistbuild_open,
	.close = build_close,
	.begin = gistbuild_begin,
	.fill = gistbuild_fill,
	.read = gistbuild_load,
	.shared_size = gistload_shared_size,
	.shared_init = gistload_shared_init,
	.enter_phase = build_enter_phase
};

TEAM_WORKER_MAIN(ptsort_gistbuild_worker_main, GistBuild, gistbuild_kind);

IndexBuildResult *
gistbuild_build(Relation heap, Relation index, IndexInfo *index_info,
				int workers, const char *source)
{
	PtParallelRequest what = build_request(heap, index, index_info);
	IndexBuildResult *result;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "ptsort build",
												  ALLOCSET_DEFAULT_SIZES);
	GistBuild  *self;
	Team	   *team;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	MemoryContextSwitchTo(context);
	self = palloc0(sizeof(GistBuild));
	team = &self->base.team;
	build_init(&self->base, &gistbuild_kind, &what, &self->info,
			   sizeof(self->info));
	self->source = source;
	team->worker_main = "ptsort_gistbuild_worker_main";
	team->slices = true;
	build_run(&self->base, workers);
	build_check(&self->base, "gistbuild_load");
	team->slot->pages = gistload_finish(self->load);
	team_finish(team);
	MemoryContextSwitchTo(caller);
	result = buildreport_end(&self->base, false, pt_ms_since(start));
	team_leave(team);
	MemoryContextDelete(context);
	return result;
}
