/*-------------------------------------------------------------------------
 *
 * tuplesort.h
 *	  The sort object, which ptsort.h and ptsort_variant.h give access to.
 *
 * The functions are those of the two public headers, with prefix sort_.  The
 * functions that put tuples are in sortput.h, those that read in sortread.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TUPLESORT_H
#define PTSORT_TUPLESORT_H

#include "compat.h"

#include "ptsort_variant.h"

extern PtSort *sort_begin(const PtSortVariant *variant, void *state, int nwords,
						  MemoryContext context, const PtSortOptions *options);
extern void sort_perform(PtSort *sort);
extern void sort_end(PtSort *sort);
extern void sort_reset(PtSort *sort);
extern void sort_stats(PtSort *sort, PtSortStats *stats);

/* sort_rebound resets a sort that has a bound, and sets another bound. */
extern void sort_rebound(PtSort *sort, int64 bound);

/* sort_nwords returns the number of words of the sort's keys. */
extern int	sort_nwords(const PtSort *sort);

#endif							/* PTSORT_TUPLESORT_H */
