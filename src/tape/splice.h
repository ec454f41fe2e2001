/*-------------------------------------------------------------------------
 *
 * splice.h
 *	  Joining runs that do not overlap without rewriting them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SPLICE_H
#define PTSORT_SPLICE_H

#include "compat.h"

#include "tape/run.h"

/*
 * splice_runs appends runs of this process to each other if the last tuple of
 * one comes before the first tuple of the next.  Returns the number of runs
 * that remain in the array.  A run whose first and last tuples are not known
 * stays unchanged.  Spliced runs cannot be read backward.
 *
 * The runs of a stable sort are in the order in which their tuples were put.
 * Of these, only neighbours are joined, which keeps that order, so more runs
 * may remain.
 */
extern int	splice_runs(SortOrder *order, Run **runs, int nruns);

/*
 * splice_comes_before: true if a run with this last tuple comes before a run
 * with this first tuple; false if either is NULL.
 */
extern bool splice_comes_before(SortOrder *order, const uint64 *last,
								const uint64 *first);

#endif							/* PTSORT_SPLICE_H */
