/*-------------------------------------------------------------------------
 *
 * gistbuild.c
 *	  ptsort's GiST build: combines the scan, the sort and the load.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gist_private.h"
#include "gist/gist.h"
#include "variant/variants.h"

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

static PtSort *
gistbuild_begin(Team *team, const PtSortOptions *options)
{
	Build	   *build = (Build *) team;

	indexbuild_start(build, "");
	return variant_begin_gist(build->index, options);
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
	build_scan_index((Build *) team, gistbuild_put, team->sort);
}

const IndexBuildKind gistbuild_kind = {
	.team = {
		.worker_main = "ptsort_gistbuild_worker_main",
		.open = indexbuild_open,
		.close = build_close,
		.begin = gistbuild_begin,
		.fill = gistbuild_fill,
		.read = indexbuild_read,
		.shared_size = indexbuild_shared_size,
		.shared_init = indexbuild_shared_init,
		.enter_phase = build_enter_phase
	},
	.load = &gistload
};

TEAM_WORKER_MAIN(ptsort_gistbuild_worker_main, Build, gistbuild_kind.team);
