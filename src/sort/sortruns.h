/*-------------------------------------------------------------------------
 *
 * sortruns.h
 *	  The runs of a sort: writing, queueing, merging.
 *
 * Runs are in a queue: a merge reads the first ones and appends its result.  In
 * a stable sort runs are in the order in which their tuples were put: a merge
 * reads neighbours and puts its result in their place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTRUNS_H
#define PTSORT_SORTRUNS_H

#include "compat.h"

#include "sort/sortstate.h"

/*
 * sort_begin_run starts a new run.  A worker's run gets a sparse index, because
 * other participants may read it.
 */
extern void sort_begin_run(PtSort *sort, RunWriter *writer);

/*
 * sort_wants_short_runs: true if the sort writes runs in any case, and its
 * budget is larger than a short run needs.  sort_run_memory returns the bytes
 * of entries that are worth collecting in memory for one run, and
 * sort_short_runs_memory the most bytes of entries that fit the maximum number
 * of short runs.  In other sorts both return no limit.
 */
extern bool sort_wants_short_runs(const PtSort *sort);
extern int64 sort_short_runs_memory(const PtSort *sort);
extern int64 sort_run_memory(PtSort *sort);

/* sort_append_run finishes a run and puts it at the end of the queue. */
extern void sort_append_run(PtSort *sort, RunWriter *writer);

/* sort_add_run puts a finished run at the end of the queue. */
extern void sort_add_run(PtSort *sort, Run *run);

/* sort_join_runs splices runs that do not overlap. */
extern void sort_join_runs(PtSort *sort);

/* sort_merge_order returns how many runs a merge for this purpose can read. */
extern int	sort_merge_order(const PtSort *sort, MergePurpose purpose);

/*
 * sort_create_merge starts a merge of runs within the rest of the budget.  With
 * ranges, one per run, it merges these parts of the runs only.
 */
extern Merge *sort_create_merge(PtSort *sort, Run **runs, int nruns,
								const MergeRange *ranges, MergePurpose purpose);

/* sort_merge_down merges until there are at most 'target' runs. */
extern void sort_merge_down(PtSort *sort, int target);

/*
 * sort_runs_to_leave returns how many runs this participant of a parallel sort
 * may have at its end, so that one merge can read those of all participants.
 */
extern int	sort_runs_to_leave(const PtSort *sort);

#endif							/* PTSORT_SORTRUNS_H */
