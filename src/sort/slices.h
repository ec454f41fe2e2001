/*-------------------------------------------------------------------------
 *
 * slices.h
 *	  Cut the final merge into slices of about equal size.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SLICES_H
#define PTSORT_SLICES_H

#include "compat.h"

#include "tape/run.h"

/* Slices for each participant. */
#define SLICES_EACH		8

/*
 * slices_plan cuts runs into nslices slices.  'slices' has nslices + 1 rows of
 * nruns + 1 numbers.  Slice k of run r consists of the records from position r
 * of row k to position r of row k + 1, and the last number of row k is the
 * number of tuples before the slice.  Every tuple of a slice comes before every
 * tuple of the next one.  Slices may be empty.  Returns the bytes of memory
 * that planning used: at most about the budget, unless the samples of very many
 * runs and their smallest read buffers need more.
 */
extern int64 slices_plan(SortOrder *order, Run **runs, int nruns, int nslices,
						 int64 budget, int64 *slices);

#endif							/* PTSORT_SLICES_H */
