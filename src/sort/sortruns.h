/*-------------------------------------------------------------------------
 *
 * sortruns.h
 *	  The runs of a sort: written, queued, merged into fewer.
 *
 * They are in a queue: merges read the first ones, and append what they write.
 * In a stable sort they are in the order in which their tuples were put: merges
 * read neighbours, and put what they write in their place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTRUNS_H
#define PTSORT_SORTRUNS_H

#include "compat.h"

#include "sort/sortstate.h"

/*
 * sort_begin_run starts a new run.  Any run of a worker may be the one that
 * others read, and so gets a sparse index.
 */
extern void sort_begin_run(PtSort *sort, RunWriter *writer);

/*
 * sort_wants_short_runs: are runs written in any case, and is there more memory
 * than they are worth?  sort_run_memory returns how many bytes of entries are
 * worth while to have in memory for one, and sort_short_runs_memory how many
 * make no more short ones than there shall be; both no limit of other sorts.
 */
extern bool sort_wants_short_runs(const PtSort *sort);
extern int64 sort_short_runs_memory(const PtSort *sort);
extern int64 sort_run_memory(PtSort *sort);

/* sort_append_run finishes a run and puts it at the end of the queue. */
extern void sort_append_run(PtSort *sort, RunWriter *writer);

/* sort_add_run puts a run that is finished at the end of the queue. */
extern void sort_add_run(PtSort *sort, Run *run);

/* sort_join_runs appends runs that do not overlap to each other. */
extern void sort_join_runs(PtSort *sort);

/* sort_merge_order: how many of these runs may a merge of that purpose read? */
extern int	sort_merge_order(const PtSort *sort, MergePurpose purpose);

/* sort_merge_down merges until at most 'target' runs are left. */
extern void sort_merge_down(PtSort *sort, int target);

/*
 * sort_runs_to_leave returns how many runs this participant of a parallel sort
 * may leave: all participants' together can be merged at once.
 */
extern int	sort_runs_to_leave(const PtSort *sort);

#endif							/* PTSORT_SORTRUNS_H */
