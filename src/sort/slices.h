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

#include "sort/run.h"

/* Developer GUC: cut into this many slices, however small; 0 is off. */
extern int	ptsort_debug_slices;

/*
 * slices_plan cuts runs into nslices slices.  positions has room for (nslices
 * + 1) * nruns of them; slice k of run r is the records from positions[k *
 * nruns + r] to positions[(k + 1) * nruns + r].  Every tuple of a slice comes
 * before every tuple of the next one.  Slices may be empty.  It returns how
 * many bytes that has taken: about the budget at most, unless there are so many
 * runs that their samples and the smallest read buffers are more.
 */
extern int64 slices_plan(SortOrder *order, Run **runs, int nruns, int nslices,
						 int64 budget, int64 *positions);

#endif							/* PTSORT_SLICES_H */
