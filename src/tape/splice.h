/*-------------------------------------------------------------------------
 *
 * splice.h
 *	  Runs that do not overlap become one run without being rewritten.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SPLICE_H
#define PTSORT_SPLICE_H

#include "compat.h"

#include "tape/run.h"

/*
 * splice_runs appends runs of this process to each other where the last tuple
 * of one comes before the first tuple of the next.  Returns how many are left,
 * in the same array.  A run whose edges are not known stays as it is.  What
 * was spliced cannot be read backward.
 */
extern int	splice_runs(SortOrder *order, Run **runs, int nruns);

/*
 * splice_neighbours is splice_runs for stable sorts, whose runs are in the
 * order in which their tuples were put: it appends neighbours only, so that
 * this is still so.  It leaves more runs where input is ordered in parts.
 */
extern int	splice_neighbours(SortOrder *order, Run **runs, int nruns);

/* splice_comes_before tells whether all of run a comes before all of run b. */
extern bool splice_comes_before(SortOrder *order, const uint64 *last,
								const uint64 *first);

#endif							/* PTSORT_SPLICE_H */
