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
#include "team/build.h"
#include "util.h"
#include "utils/memutils.h"
#include "utils/rel.h"
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

extern PGDLLEXPORT void ptsort_gistbuild_worker_main(dsm_segment *segment,
													 shm_toc *toc);

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
		ereport(buildreport_log_level(),
				(errmsg("ptsort: building index \"%s\": %s",
						RelationGetRelationName(self->base.index),
						buildreport_describe(team, self->source,
											 self->base.index))));
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
	uint32		n = 0;
	IndexTuple	tuple;

	while (sort_next_slice(team->sort, &slice))
	{
		gistload_begin_slice(load, slice, sort_slice_start(team->sort));
		while ((tuple = variant_get_gist(team->sort)) != NULL)
		{
			gistload_add(load, tuple);
			if (++n % BUILDREPORT_STEP == 0)
				build_report_loaded(team, gistload_report(load));
		}
		build_report_loaded(team, gistload_report(load));
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

void
ptsort_gistbuild_worker_main(dsm_segment *segment, shm_toc *toc)
{
	GistBuild	self = {.base.team.kind = &gistbuild_kind};

	team_serve(&self.base.team, segment, toc);
}

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
	build_report_loaded(team, gistload_report(self->load));
	team->slot->pages = gistload_finish(self->load);
	team_finish(team);
	buildreport_end(team, index, self->base.index_tuples, pt_ms_since(start));
	buildreport_publish(BUILD_REPORT_BUILD, index, team, false);
	MemoryContextSwitchTo(caller);
	result = build_result(&self->base);
	team_leave(team);
	MemoryContextDelete(context);
	return result;
}
