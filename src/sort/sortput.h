/*-------------------------------------------------------------------------
 *
 * sortput.h
 *	  Filling a sort: tuples in memory, and initial runs when it is full.
 *
 * sort_put is ptsort_put.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTPUT_H
#define PTSORT_SORTPUT_H

#include "compat.h"

#include "sort/sortstate.h"

/* Developer GUC: entries of an initial run; 0 is off. */
extern int	ptsort_debug_spill_entries;

/* sort_begin_putting prepares for tuples to be put. */
extern void sort_begin_putting(PtSort *sort);

extern void sort_put(PtSort *sort, const void *tuple, Size size,
					 const uint64 *words);

/* sort_entries_in_memory orders what is in memory. */
extern void sort_entries_in_memory(PtSort *sort);

/*
 * sort_end_runs writes what is in memory, ends the last initial run, gives the
 * entries' memory back and joins runs that do not overlap.
 */
extern void sort_end_runs(PtSort *sort);

/*
 * sort_learn_key lets a key learn for all participants, or adopt what the
 * first of them has learned; see key_learn.  'shared' is NULL if there is only
 * this process.
 */
extern bool sort_learn_key(PtSortKey *key, PtSortShared *shared);

#endif							/* PTSORT_SORTPUT_H */
