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

static PtSort *
ginbuild_begin(Team *team, const PtSortOptions *options)
{
	Build	   *build = (Build *) team;
	bool		puts = options->role == PTSORT_SERIAL ||
		options->role == PTSORT_WORKER;
	PtSortOptions ours = *options;

	indexbuild_start(build, "");
	ours.expected_tuples = 0;	/* not the number of rows */
	return variant_begin_gin(build->index, puts ?
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
	GinCollector *collector = gincollect_begin(team->sort);

	build_scan_index((Build *) team, ginbuild_put, collector);
	gincollect_end(collector);
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

const IndexBuildKind ginbuild_kind = {
	.team = {
		.worker_main = "ptsort_ginbuild_worker_main",
		.open = indexbuild_open,
		.close = build_close,
		.begin = ginbuild_begin,
		.fill = ginbuild_fill,
		.read = indexbuild_read,
		.shared_size = indexbuild_shared_size,
		.shared_init = indexbuild_shared_init,
		.enter_phase = ginbuild_enter_phase
	},
	.load = &ginload
};

TEAM_WORKER_MAIN(ptsort_ginbuild_worker_main, Build, ginbuild_kind.team);
