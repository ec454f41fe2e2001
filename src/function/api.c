/*-------------------------------------------------------------------------
 *
 * api.c
 *	  The table of functions that the public headers call.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "team/build.h"
#include "variant/variants.h"

extern PGDLLEXPORT const PtSortApi *ptsort_get_api(uint32 version, uint32 size);

static const PtSortApi api = {
	.version = PTSORT_API_VERSION,
	.size = sizeof(PtSortApi),

	.shared_estimate = shared_estimate,
	.shared_init = shared_init,
	.shared_attach = shared_attach,
	.shared_slices = shared_slices,
	.begin_index = variant_begin_index,
	.put_index = variant_put_index,
	.get_index = variant_get_index,
	.begin_heap = variant_begin_heap,
	.put_heap = variant_put_heap,
	.get_heap = variant_get_heap,
	.begin_datum = variant_begin_datum,
	.put_datum = variant_put_datum,
	.get_datum = variant_get_datum,
	.begin_tuple = variant_begin_tuple,
	.put_tuple = variant_put_tuple,
	.put_slot = variant_put_slot,
	.get_tuple = variant_get_tuple,
	.get_slot = variant_get_slot,
	.perform = sort_perform,
	.next_slice = sort_next_slice,
	.slice_start = sort_slice_start,
	.rescan = sort_rescan,
	.mark = sort_mark,
	.restore = sort_restore,
	.reset = sort_reset,
	.end = sort_end,
	.stats = sort_stats,

	.begin = sort_begin,
	.put = sort_put,
	.reserve = sort_reserve,
	.commit = sort_commit,
	.get = sort_get,
	.get_entries = sort_get_entries,

	.parallel = parallel_run,
	.parallel_end = parallel_end
};

/* Returns the number of functions in a table of 'size' bytes. */
static uint32
functions_in(uint32 size)
{
	return (size - offsetof(PtSortApi, shared_estimate)) / sizeof(void *);
}

/*
 * ptsort_get_api: see PtSortGetApi in ptsort.h.  A release that keeps the
 * interface version only appends functions to the table, so a smaller table is
 * a prefix of this table.
 */
const PtSortApi *
ptsort_get_api(uint32 version, uint32 size)
{
	if (version != PTSORT_API_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("extension was compiled against another version of ptsort's interface"),
				 errdetail("The extension uses version %u, the installed ptsort offers version %d.",
						   version, PTSORT_API_VERSION),
				 errhint("Recompile the extension with the installed headers.")));
	if (size > sizeof(PtSortApi))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ptsort is older than the extension expects"),
				 errdetail("The extension was compiled for %u functions of interface version %u, the installed ptsort has %u.",
						   functions_in(size), version,
						   functions_in(sizeof(PtSortApi))),
				 errhint("Install at least the version of ptsort whose headers the extension was compiled with.")));
	return &api;
}
