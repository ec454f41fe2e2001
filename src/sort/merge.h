/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  Several runs as one ordered stream.
 *
 *		merge = merge_create(order, runs, nruns, memory, ranges or NULL,
 *							 MERGE_FINAL)
 *		while ((reader = merge_next(merge)) != NULL)
 *			... reader->words, reader->tuple, reader->size
 *		merge_free(merge)						does not close the runs
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MERGE_H
#define PTSORT_MERGE_H

#include "compat.h"

#include "sort/run.h"

typedef struct Merge Merge;

/* The part of a run that a slice has: positions [from, to). */
typedef struct MergeRange
{
	int64		from;
	int64		to;
} MergeRange;

/* What becomes of the stream. */
typedef enum MergePurpose
{
	MERGE_TO_RUN,				/* a run: see merge_was_wrong */
	MERGE_TO_VERIFY,			/* nothing: would words alone make the result
								 * of verified runs?  See merge_was_wrong */
	MERGE_VERIFIED,				/* the result, and they do */
	MERGE_FINAL					/* the result */
} MergePurpose;

/* merge_window_memory returns what a merge may have besides its readers. */
extern int64 merge_window_memory(const SortOrder *order, int64 memory,
								 MergePurpose purpose);
extern Merge *merge_create(SortOrder *order, Run **runs, int nruns,
						   int64 memory, const MergeRange *ranges,
						   MergePurpose purpose);
extern void merge_restart(Merge *merge, const MergeRange *ranges,
						  MergePurpose purpose);
extern RunReader *merge_next(Merge *merge);
extern int	merge_next_entries(Merge *merge, uint64 *entries, int max);
extern bool merge_was_wrong(Merge *merge);
extern void merge_free(Merge *merge);

#endif							/* PTSORT_MERGE_H */
