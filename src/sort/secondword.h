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
 * secondword_begin lets the sort have one if many tuples are expected; it is to
 * be called before the first is put.  secondword_judge lets it keep that if it
 * tells those in memory apart.  secondword_drop has the sort do without it from
 * now on.  None of them changes anything if the key offers no such word.
 */
extern void secondword_begin(PtSort *sort);
extern void secondword_judge(PtSort *sort);
extern void secondword_drop(PtSort *sort);

#endif							/* PTSORT_SECONDWORD_H */
