/*-------------------------------------------------------------------------
 *
 * gist.h
 *	  ptsort's sorted GiST build, which replaces the server's gistbuild().
 *
 * One or several processes load the index from sorted tuples (gistload.c).
 *
 * As in the server's sorted build, up to GIST_LOAD_PAGES pages of a level
 * collect tuples; then the class's picksplit divides them into pages, whose
 * unions go to the level above.  No order between leaves is necessary, so
 * participants load slices independently: they write the leaves of a slice, and
 * a list of these leaves' downlinks.  The leader adds the lists, in the order
 * of the slices, to the inner levels.  (The keys of inner pages that each
 * participant made would overlap, and slow down searches.)
 *
 * The list also has the tuples at both ends of the slice whose group of pages
 * lies in two slices; the leader makes these leaves.  If all tuples have the
 * same size, the groups are those of one process, and so are the pages of the
 * index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GIST_H
#define PTSORT_GIST_H

#include "team/build.h"

/*
 * gistbuild_why_not returns NULL if the server would build the index by
 * sorting: all key columns have sort support, and buffering is not on.
 * Otherwise it returns the reason.
 */
extern const char *gistbuild_why_not(Relation index);

/*
 * gistbuild_build builds 'index' over 'heap' as the server's gistbuild would.
 * It logs the start and end lines and, on success, publishes its report.
 * 'source' is the reason for the number of workers.
 */
extern IndexBuildResult *gistbuild_build(Relation heap, Relation index,
										 IndexInfo *index_info, int workers,
										 const char *source);


/* Pages of a level that picksplit divides (GIST_SORTED_BUILD_PAGE_NUM) */
#define GIST_LOAD_PAGES	4

typedef struct GistLoad GistLoad;

/* TeamKind.shared_size and shared_init */
extern Size gistload_shared_size(Team *team, int processes, int slices);
extern void gistload_shared_init(Team *team, int processes, int slices);

/*
 * A load, as that of a btree (btbuild.h).  'start' is the number of tuples
 * before the slice.  gistload_add adds a copy of a tuple.
 */
extern GistLoad *gistload_begin(const Build *build);
extern void gistload_begin_slice(GistLoad *load, int slice, int64 start);
extern void gistload_add(GistLoad *load, IndexTuple tuple);
extern void gistload_end_slice(GistLoad *load);
extern int64 gistload_end(GistLoad *load);
extern int64 gistload_finish(GistLoad *load);

/* GistAxis: the type of a key, and of its four coordinates */
typedef enum GistAxis
{
	GIST_NO_AXIS,				/* not a box */
	GIST_BOX,					/* box of float8 */
	GIST_BOX2DF					/* PostGIS's box2df of float4 */
} GistAxis;

/* gistaxis_of returns the type of an index's first column. */
extern GistAxis gistaxis_of(Relation index);

/*
 * gistaxis_sort orders n tuples of the index by their first axis, nulls last,
 * if the keys of all are points; otherwise it does nothing.
 */
extern void gistaxis_sort(GistAxis axis, IndexTuple *tuples, int n,
						  Relation index);

#endif							/* PTSORT_GIST_H */
