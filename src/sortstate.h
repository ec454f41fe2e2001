/*-------------------------------------------------------------------------
 *
 * sortstate.h
 *	  The inside of a sort object, shared by tuplesort.c, which fills and
 *	  performs it, and sortread.c, which reads it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTSTATE_H
#define PTSORT_SORTSTATE_H

#include "compat.h"

#include "memsort.h"
#include "merge.h"
#include "run.h"

typedef enum SortPhase
{
	PHASE_PUTTING,
	PHASE_MEMORY,
	PHASE_MERGING,
	PHASE_RUN,
	PHASE_SLICES,
	PHASE_ANNOUNCED,
	PHASE_FAILED				/* perform has begun, and not ended well */
} SortPhase;

/* Where a get stands; `before` counts the tuples before it. */
typedef struct SortPosition
{
	int64		before;			/* tuples (MEMORY) or a position (RUN) */
	bool		at_end;			/* a forward get has found no more tuples */
} SortPosition;

struct PtSort
{
	SortOrder	order;			/* must be first, see ptsort_variant.h */
	PtSortOptions options;
	SortPhase	phase;
	MemoryContext variant_context;	/* deleted at end */
	MemoryContext context;		/* below it: all of the engine's memory */
	int			participant;	/* worker: its number */
	Size		write_buffer;

	MemSort    *memsort;		/* PUTTING, MEMORY */
	bool		learning;		/* words mean nothing yet */
	Tapeset    *tapeset;		/* NULL until something is written */
	bool		run_is_open;	/* the last initial run can be continued by
								 * what comes behind its last tuple */
	RunWriter	open_run;
	Run		  **runs;			/* a queue: merged from the front, results
								 * appended */
	int			nruns;
	int			maxruns;
	int		   *run_owners;		/* slice: the participants that left them */
	Merge	   *merge;			/* MERGING */
	uint64	   *batch;			/* ... with inline images: those read last */
	RunReader	reader;			/* RUN */
	SortPosition position;
	SortPosition mark;

	const Oid  *contradicted;	/* NULL, or see sort_watch */
	PtSortStats stats;			/* but comparisons and peaks: see sort_stats */
	int64		merge_peak;
};

/* sort_wrong_phase raises the error for an operation at the wrong time. */
pt_noreturn extern void sort_wrong_phase(const char *operation);

/*
 * sort_create_merge starts a merge of the first runs of the queue within so
 * much memory; with ranges, one per run, of those parts only.
 */
extern Merge *sort_create_merge(PtSort *sort, int nruns, int64 memory,
								const MergeRange *ranges, MergePurpose purpose);

#endif							/* PTSORT_SORTSTATE_H */
