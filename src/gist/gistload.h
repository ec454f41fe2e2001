/*-------------------------------------------------------------------------
 *
 * gistload.h
 *	  One or several processes load a GiST index from sorted tuples.
 *
 * As in the server's sorted build, up to GIST_LOAD_PAGES pages of a level
 * collect tuples; then the class's picksplit divides them into pages, whose
 * unions go to the level above.  No order between leaves is necessary, so
 * participants load slices independently: they write the leaves of a slice, and
 * a list of these leaves' downlinks.  The leader adds the lists, in the order
 * of the slices, to the inner levels.  (If each participant also made inner
 * pages, their keys would overlap: a search of 1 million points by 2
 * participants' index read 18 % more pages.)
 *
 * The list also has the tuples at both ends of the slice whose group of pages
 * lies in two slices; the leader makes these leaves.  If all tuples have the
 * same size, the groups are those of one process, and so are the pages of the
 * index.
 *
 * Order of calls:
 *
 *		leader						every participant (leader too)
 *									gistload_begin
 *									for each slice that it loads:
 *										gistload_begin_slice
 *										gistload_add ...
 *										gistload_report, now and then
 *										gistload_end_slice
 *									gistload_end
 *		(all others ended)
 *		gistload_finish
 *
 * The leader calls gistload_finish() instead of gistload_end().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GISTLOAD_H
#define PTSORT_GISTLOAD_H

#include "access/itup.h"
#include "team/build.h"

/* Pages of a level that picksplit divides (GIST_SORTED_BUILD_PAGE_NUM) */
#define GIST_LOAD_PAGES	4

typedef struct GistLoad GistLoad;

/* TeamKind.shared_size and shared_init */
extern Size gistload_shared_size(Team *team, int processes, int slices);
extern void gistload_shared_init(Team *team, int processes, int slices);

extern GistLoad *gistload_begin(const Build *build);

/* 'start' is the number of tuples before the slice. */
extern void gistload_begin_slice(GistLoad *load, int slice, int64 start);
extern void gistload_end_slice(GistLoad *load);

/* gistload_add adds a copy of a tuple. */
extern void gistload_add(GistLoad *load, IndexTuple tuple);

/*
 * gistload_report adds this participant's unreported tuples to the count of all
 * participants' tuples, and returns that count.
 */
extern int64 gistload_report(GistLoad *load);

/* Both return the number of pages that this participant wrote. */
extern int64 gistload_end(GistLoad *load);
extern int64 gistload_finish(GistLoad *load);

#endif							/* PTSORT_GISTLOAD_H */
