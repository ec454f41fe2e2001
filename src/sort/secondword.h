/*-------------------------------------------------------------------------
 *
 * secondword.h
 *	  A second word of strings that are ordered by their bytes, in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SECONDWORD_H
#define PTSORT_SECONDWORD_H

#include "compat.h"

#include "sort/sortstate.h"

/*
 * secondword_begin keeps the second word only if many tuples are expected; call
 * it before the first tuple is put.  secondword_judge keeps it only if it tells
 * tuples in memory apart.  secondword_drop makes the sort continue without it.
 * None of them changes anything if the key has no second word of this kind.
 */
extern void secondword_begin(PtSort *sort);
extern void secondword_judge(PtSort *sort);
extern void secondword_drop(PtSort *sort);

#endif							/* PTSORT_SECONDWORD_H */
