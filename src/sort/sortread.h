/*-------------------------------------------------------------------------
 *
 * sortread.h
 *	  Reading a sort that has been performed.
 *
 * The functions are those of the two public headers, with prefix sort_.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTREAD_H
#define PTSORT_SORTREAD_H

#include "compat.h"

#include "sort/merge.h"

#include "ptsort_variant.h"

/*
 * sort_merge_slice begins to merge a slice, whose place in each run the leader
 * has planned.
 */
extern void sort_merge_slice(PtSort *sort, int slice, MergePurpose purpose);

/*
 * sort_stream_slices makes get return the tuples of one slice after the other,
 * without a comparison in those that have been verified.
 */
extern void sort_stream_slices(PtSort *sort);

extern const void *sort_get(PtSort *sort, bool forward, Size *size);
extern const uint64 *sort_get_entries(PtSort *sort, int *n);
extern bool sort_next_slice(PtSort *sort, int *slice);
extern int64 sort_slice_start(PtSort *sort);
extern void sort_rescan(PtSort *sort);
extern void sort_mark(PtSort *sort);
extern void sort_restore(PtSort *sort);

#endif							/* PTSORT_SORTREAD_H */
