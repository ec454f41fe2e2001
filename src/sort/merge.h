/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  Merge several runs into one ordered stream.
 *
 *		merge = merge_create(order, runs, nruns, memory, MERGE_FINAL)
 *		merge_restart(merge, from, to)			optional
 *		while ((reader = merge_next(merge)) != NULL)
 *			... reader->words, reader->tuple, reader->size
 *		merge_free(merge)						does not close the runs
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MERGE_H
#define PTSORT_MERGE_H

#include "compat.h"

#include "tape/run.h"

typedef struct Merge Merge;

/* MergePurpose: the use of the merged stream. */
typedef enum MergePurpose
{
	MERGE_TO_RUN,				/* to write a run; recycles the input blocks */
	MERGE_FINAL					/* to return the result of the sort */
} MergePurpose;

extern Merge *merge_create(SortOrder *order, Run **runs, int nruns,
						   int64 memory, MergePurpose purpose);
extern void merge_restart(Merge *merge, const int64 *from, const int64 *to);
extern RunReader *merge_next(Merge *merge);
extern int	merge_next_entries(Merge *merge, uint64 *entries, int max);
extern void merge_free(Merge *merge);

#endif							/* PTSORT_MERGE_H */
