/*-------------------------------------------------------------------------
 *
 * sortstate.h
 *	  The inside of a sort object, shared by the files that are its phases.
 *
 * sortput.c fills a sort, sortruns.c writes and merges its runs, tuplesort.c
 * begins and performs it, sortread.c reads it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTSTATE_H
#define PTSORT_SORTSTATE_H

#include "compat.h"

#include "memory/memsort.h"
#include "sort/merge.h"
#include "tape/run.h"

/* Largest block of the sort's memory context, except for large pieces. */
#define SORT_BLOCK	(32 * 1024)

typedef enum SortPhase
{
	PHASE_PUTTING,
	PHASE_MEMORY,
	PHASE_MERGING,
	PHASE_RUN,
	PHASE_SLICES,
	PHASE_ANNOUNCED,
	PHASE_FAILED				/* perform began, and has not succeeded */
} SortPhase;

/* The place of a get. */
typedef struct SortPosition
{
	int64		before;			/* MEMORY: tuples before it; RUN: a position */
	bool		at_end;			/* a forward get found no more tuples */
} SortPosition;

struct PtSort
{
	SortOrder	order;			/* must be first, see SortHead */
	PtSortOptions options;
	SortPhase	phase;
	MemoryContext variant_context;	/* has this struct; deleted at end */
	MemoryContext context;		/* child of it, for the rest of the sort */
	Size		write_buffer;

	MemSort    *memsort;		/* PUTTING, MEMORY */
	PtSortKey  *key;			/* of a variant whose key learns; else NULL */
	bool		learning;		/* the key will learn; words mean nothing */
	int64		learn_at;		/* the key learns from this many tuples */
	int64		in_order;		/* while learning: known number of leading
								 * tuples that were put in order */
	int64		learning_limit; /* bytes that the key may use while learning */
	bool		all_put;		/* perform began */
	Tapeset    *tapeset;		/* NULL until something is written */
	bool		run_is_open;	/* the last initial run can be continued with
								 * tuples that come after its last one */
	RunWriter	open_run;
	int64		open_tuples;	/* tuples of the open run */
	int64		run_memory;		/* most bytes that sort_run_memory returned */
	Run		  **runs;			/* a queue: see sortruns.h */
	int			nruns;
	int			maxruns;
	Merge	   *merge;			/* MERGING */
	int64		trim_at;		/* bounded.c trims at this many tuples */
	bool		trimmed;		/* bounded.c dropped a tuple */
	bool		last_known;		/* bounded.c: the last tuple that may be
								 * wanted is known (last_words and last) */
	bool		last_by_words;	/* bounded.c: comparing words is the quickest
								 * way to see that a tuple comes after it */
	uint64		last_words[PTSORT_MAX_WORDS + 1];
	char	   *last;			/* image of the last tuple, unless inline */
	bool		slice_taken;	/* serial: next_slice returned the one slice */
	int64		slice_start;	/* tuples before the slice that is read */
	int64		returned;		/* tuples that get returned */
	uint64	   *batch;			/* inline images: the entries read last */
	const uint64 *batch_next;	/* the entry of the batch to return next */
	int			batch_left;		/* entries of the batch not returned */
	RunReader	reader;			/* RUN */
	SortPosition position;
	SortPosition mark;

	const Oid  *contradicted;	/* restartable: collation in the key's
								 * key_failure; else NULL */
	bool		failed;			/* another participant's sort failed */
	int64		edge_bytes;		/* of copies of runs' edges */

	PtSortStats stats;			/* without comparisons; peaks and the method
								 * are as of the last reset: see sort_stats */
	int64		peak_memory;	/* see sort_note_memory */
};

/*
 * sort_wrong_phase raises an error with this message for an operation in the
 * wrong phase.
 */
pt_noreturn extern void sort_wrong_phase(const PtSort *sort,
										 const char *message);

/* sort_method returns the method that the sort used, see PtSortStats. */
extern PtSortMethod sort_method(const PtSort *sort);

/*
 * sort_other_memory returns the bytes that the sort's memory contexts, and
 * those of its variant, have allocated for everything except the entries.
 */
extern int64 sort_other_memory(const PtSort *sort);

/*
 * sort_note_memory records the peak of the sort's memory.  It adds the memory
 * in use now to the most that the entries used since the last call, so call it
 * while much of the other memory is in use.
 */
extern void sort_note_memory(PtSort *sort);

#endif							/* PTSORT_SORTSTATE_H */
