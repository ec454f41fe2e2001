/*-------------------------------------------------------------------------
 *
 * sortstate.h
 *	  The inside of a sort object, shared by the files that are its phases.
 *
 * sortput.c fills it, sortruns.c writes and merges its runs, tuplesort.c begins
 * and performs it, sortread.c reads it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTSTATE_H
#define PTSORT_SORTSTATE_H

#include "compat.h"

#include "memory/memsort.h"
#include "sort/merge.h"
#include "tape/run.h"

/* Largest block of the sort's memory context, but for large pieces. */
#define SORT_BLOCK	(32 * 1024)

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

/* The place of a get; 'before' counts the tuples before it. */
typedef struct SortPosition
{
	int64		before;			/* tuples (MEMORY) or a position (RUN) */
	bool		at_end;			/* a forward get has found no more tuples */
} SortPosition;

struct PtSort
{
	SortOrder	order;			/* must be first, see SortHead */
	PtSortOptions options;
	SortPhase	phase;
	MemoryContext variant_context;	/* the sort is in it; deleted at end */
	MemoryContext context;		/* below it: all else of the engine's */
	Size		write_buffer;

	MemSort    *memsort;		/* PUTTING, MEMORY */
	PtSortKey  *key;			/* of a variant whose key learns; else NULL */
	bool		learning;		/* words mean nothing yet */
	int64		learn_at;		/* ... until there are so many tuples */
	int64		in_order;		/* ... the first of which were put in order:
								 * so many, as far as that is known */
	int64		learning_limit; /* bytes that the key may have until then */
	bool		all_in_memory;	/* serial: the memory has all tuples */
	Tapeset    *tapeset;		/* NULL until something is written */
	bool		run_is_open;	/* the last initial run can be continued by
								 * what comes after its last tuple */
	RunWriter	open_run;
	int64		open_tuples;	/* that it has */
	int64		run_memory;		/* most that sort_run_memory has said */
	Run		  **runs;			/* a queue: see sortruns.h */
	int			nruns;
	int			maxruns;
	Merge	   *merge;			/* MERGING */
	int64		trim_at;		/* bounded.c: when this many are in memory */
	bool		trimmed;		/* ... and whether any was forgotten */
	bool		last_known;		/* ... and the last one that may be wanted */
	bool		last_by_words;	/* ... from which words tell those that come
								 * after it, most quickly */
	uint64		last_words[PTSORT_MAX_WORDS + 1];
	char	   *last;			/* its image, if that is not inline */
	Size		last_room;
	bool		slice_taken;	/* serial: next_slice has given all there is */
	int64		slice_start;	/* tuples before the slice that is read */
	int64		returned;		/* tuples that get has returned */
	uint64	   *batch;			/* ... with inline images: those read last */
	const uint64 *batch_next;	/* of these the one to return next ... */
	int			batch_left;		/* ... and how many there are */
	RunReader	reader;			/* RUN */
	SortPosition position;
	SortPosition mark;

	const Oid  *contradicted;	/* restartable: the key's, see
								 * key_allow_restart; else NULL */
	bool		failed;			/* another participant's sort has failed */
	int64		edge_bytes;		/* of copies of runs' edges */

	PtSortStats stats;			/* but comparisons, and peaks and the method
								 * since the last reset: see sort_stats */
	int64		peak_memory;	/* see sort_note_memory */
};

/*
 * sort_wrong_phase raises an error with this message for an operation at the
 * wrong time.
 */
pt_noreturn extern void sort_wrong_phase(const PtSort *sort,
										 const char *message);

/*
 * sort_method returns how the sort has sorted, see PtSortStats.
 */
extern PtSortMethod sort_method(const PtSort *sort);

/*
 * sort_other_memory returns the bytes of all that the sort has besides its
 * entries: what its memory contexts, and those of its variant, have allocated.
 */
extern int64 sort_other_memory(const PtSort *sort);

/*
 * sort_note_memory keeps the most memory that the sort had at one time.  It
 * looks at what there is now, and at the most that the entries took since it
 * looked last; so it is to be called while much of the rest is there.
 */
extern void sort_note_memory(PtSort *sort);

/*
 * sort_merge_memory returns what the budget leaves for the readers of a merge
 * of these runs.
 */
extern int64 sort_merge_memory(const PtSort *sort, Run **runs, int nruns,
							   MergePurpose purpose);

/*
 * sort_list_memory returns what lists of blocks may grow by while such a merge
 * reads a run.
 */
extern int64 sort_list_memory(const Run *run, MergePurpose purpose);

/*
 * sort_create_merge starts a merge of runs within what is left of the budget;
 * with ranges, one per run, of those parts only.
 */
extern Merge *sort_create_merge(PtSort *sort, Run **runs, int nruns,
								const MergeRange *ranges, MergePurpose purpose);

#endif							/* PTSORT_SORTSTATE_H */
