/*-------------------------------------------------------------------------
 *
 * sortput.h
 *	  Filling a sort: tuples in memory, and initial runs when it is full.
 *
 * sort_put is ptsort_put, sort_reserve and sort_commit are ptsort_reserve and
 * ptsort_commit.  sort_reserve may let the key learn: whoever has a key that
 * does makes the words after it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTPUT_H
#define PTSORT_SORTPUT_H

#include "compat.h"

#include "sort/sortstate.h"

/* Developer GUC: entries of an initial run; 0 is off. */
extern int	ptsort_debug_spill_entries;

/*
 * Developer GUC: a serial sort learns from this many tuples on; -1: where that
 * pays.
 */
extern int	ptsort_debug_learn_tuples;

/* sort_begin_putting prepares for tuples to be put. */
extern void sort_begin_putting(PtSort *sort);

/*
 * sort_put_again prepares for other tuples to be put, and keeps little of the
 * memory of those before.
 */
extern void sort_put_again(PtSort *sort);

extern void sort_put(PtSort *sort, const void *tuple, Size size,
					 const uint64 *words);
extern void *sort_reserve(PtSort *sort, Size size);
extern void sort_commit(PtSort *sort, const uint64 *words);

/*
 * sort_learn_or_forgo decides whether a key that has yet to learn will, when
 * all tuples of a serial sort are in memory.
 */
extern void sort_learn_or_forgo(PtSort *sort);

/*
 * sort_entries_in_memory orders what is in memory.  A key that has yet to learn
 * does so first.
 */
extern void sort_entries_in_memory(PtSort *sort);

/*
 * sort_end_runs writes what is in memory, ends the last initial run, gives the
 * entries' memory back and joins runs that do not overlap.
 */
extern void sort_end_runs(PtSort *sort);

#endif							/* PTSORT_SORTPUT_H */
