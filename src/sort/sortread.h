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

#include "ptsort_variant.h"

extern const void *sort_get(PtSort *sort, bool forward, Size *size);
extern const uint64 *sort_get_entries(PtSort *sort, int *n);
extern bool sort_next_slice(PtSort *sort, int *slice);
extern int64 sort_slice_start(PtSort *sort);
extern void sort_rescan(PtSort *sort);
extern void sort_mark(PtSort *sort);
extern void sort_restore(PtSort *sort);

#endif							/* PTSORT_SORTREAD_H */
