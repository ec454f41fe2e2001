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

#include "write/indexbuild.h"

/*
 * gistbuild_why_not returns NULL if the server would build the index by
 * sorting: all key columns have sort support, and buffering is not on.
 * Otherwise it returns the reason.
 */
extern const char *gistbuild_why_not(Relation index);

extern const IndexBuildKind gistbuild_kind;

/* gistload.c */
extern const LoadMethod gistload;

/* Pages of a level that picksplit divides (GIST_SORTED_BUILD_PAGE_NUM) */
#define GIST_LOAD_PAGES	4

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
