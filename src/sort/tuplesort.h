/*-------------------------------------------------------------------------
 *
 * tuplesort.h
 *	  The sort object, which ptsort.h and ptsort_variant.h give access to.
 *
 * The functions are those of the two public headers, with prefix sort_; the
 * ones that read a sort are in sortread.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TUPLESORT_H
#define PTSORT_TUPLESORT_H

#include "compat.h"

#include "ptsort_variant.h"

/* Developer GUCs: 0 is off. */
extern int	ptsort_debug_spill_entries; /* entries of an initial run */
extern int	ptsort_debug_merge_order;	/* most runs of a merge */

extern PtSort *sort_begin(const PtSortVariant *variant, void *state, int nwords,
						  MemoryContext context, const PtSortOptions *options);
extern void sort_put(PtSort *sort, const void *tuple, Size size,
					 const uint64 *words);
extern void sort_perform(PtSort *sort);
extern bool sort_learn_key(PtSortKey *key, PtSortShared *shared);
extern void sort_end(PtSort *sort);
extern void sort_stats(PtSort *sort, PtSortStats *stats);

#endif							/* PTSORT_TUPLESORT_H */
