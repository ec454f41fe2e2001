/*-------------------------------------------------------------------------
 *
 * tuplesort.h
 *	  The sort object behind ptsort.h and ptsort_variant.h.
 *
 * tuplesort.c begins, performs and ends a sort.  sortput.c and learning.c fill
 * the sort, sortruns.c writes its runs, merge.c merges them, slices.c cuts the
 * final merge, and sortread.c reads the result.  Functions of ptsort.h and
 * ptsort_variant.h have the prefix sort_ instead of ptsort_ here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TUPLESORT_H
#define PTSORT_TUPLESORT_H

#include "compat.h"

#include "debug.h"
#include "memory/memsort.h"
#include "tape/run.h"

/* Maximum block size of the sort's memory context, except for large chunks. */
#define SORT_BLOCK	(32 * 1024)

typedef enum SortPhase
{
	PHASE_PUTTING,
	PHASE_MEMORY,
	PHASE_MERGING,
	PHASE_RUN,
	PHASE_SLICES,
	PHASE_ANNOUNCED,
	PHASE_FAILED				/* an operation began but did not succeed */
} SortPhase;

typedef struct Merge Merge;

/* SortPosition: the position of the next get. */
typedef struct SortPosition
{
	int64		before;			/* MEMORY: tuples before the position; RUN: in
								 * a mark, a position in the run (run.h) */
	bool		at_end;			/* a forward get found no more tuples */
} SortPosition;

struct PtSort
{
	SortOrder	order;			/* must be first, see SortHead */
	PtSortOptions options;
	SortPhase	phase;
	MemoryContext variant_context;	/* holds this struct; sort_end deletes it */
	MemoryContext context;		/* child context for the rest of the sort */
	Size		write_buffer;

	MemSort    *memsort;		/* entries in phases PUTTING and MEMORY */
	PtSortKey  *key;			/* key of ptsort's own variants, or NULL */
	bool		learning;		/* the key will learn; until then words are 0
								 * or decide fewer comparisons than later */
	int64		learn_at;		/* number of tuples at which the key learns */
	int64		in_order;		/* while learning: number of leading tuples
								 * known to be in order */
	int64		learning_limit; /* bytes that the key may use while learning */
	bool		nested;			/* see throttle_is_nested */
	bool		all_put;		/* sort_perform began */
	Tapeset    *tapeset;		/* NULL until the first write */
	bool		run_is_open;	/* the last initial run accepts tuples that
								 * come after its last tuple */
	RunWriter	open_run;
	int64		open_tuples;	/* tuples of the open run */
	int64		run_memory;		/* largest result of sort_run_memory */
	Run		  **runs;			/* a queue: see sortruns.c below */
	int			nruns;
	int			maxruns;
	Merge	   *merge;			/* MERGING */
	int64		trim_at;		/* number of tuples at which a sort with a
								 * bound drops tuples */
	bool		trimmed;		/* the sort dropped a tuple */
	bool		last_known;		/* last_words and last are set to the last
								 * tuple within the bound */
	bool		last_by_words;	/* comparing words is the quickest way to see
								 * that a tuple comes after 'last' */
	uint64		last_words[PTSORT_MAX_WORDS + 1];
	char	   *last;			/* image of the last tuple, unless inline */
	bool		slice_taken;	/* serial: next_slice returned the slice */
	int64		slice_start;	/* tuples before the current slice */
	int64		returned;		/* number of tuples returned */
	uint64	   *batch;			/* inline images: the last entries read */
	const uint64 *batch_next;	/* the next entry of the batch to return */
	int			batch_left;		/* entries of the batch left to return */
	RunReader	reader;			/* RUN */
	SortPosition position;
	SortPosition mark;

	int64		edge_bytes;		/* total size of the copies of runs' edges */

	PtSortStats stats;			/* counts no comparisons; peaks and method are
								 * as of the last reset: see sort_stats */
	int64		peak_memory;	/* see sort_note_memory */
};


/*
 * tuplesort.c
 */

extern PtSort *sort_begin(const PtSortVariant *variant, void *state, int nwords,
						  MemoryContext context, const PtSortOptions *options);
extern void sort_perform(PtSort *sort);
extern void sort_end(PtSort *sort);
extern void sort_reset(PtSort *sort);
extern void sort_stats(PtSort *sort, PtSortStats *stats);

/* sort_rebound resets a sort that has a bound, and sets a new bound. */
extern void sort_rebound(PtSort *sort, int64 bound);

/* sort_wrong_phase raises 'message' for an operation in the wrong phase. */
pt_noreturn extern void sort_wrong_phase(const PtSort *sort,
										 const char *message);

/*
 * sort_other_memory returns the number of bytes that the memory contexts of
 * the sort and its variant allocated for everything except the entries.
 * sort_note_memory, called while this number is high, records the sort's peak:
 * the number plus the peak of the entries since the last call.
 */
extern int64 sort_other_memory(const PtSort *sort);
extern void sort_note_memory(PtSort *sort);


/*
 * sortput.c
 *
 * sort_reserve may make the key learn, so a caller whose key learns must call
 * sort_reserve before making words.  ptsort's own variants call sort_place,
 * sort_add and sort_put_entry instead of sort_reserve, sort_commit and
 * sort_put: these run inline if memory has room.
 */

/*
 * sort_begin_putting prepares the sort for input.  It keeps the memory of
 * earlier tuples only if that memory is small.
 */
extern void sort_begin_putting(PtSort *sort);

extern void sort_put(PtSort *sort, const void *tuple, Size size,
					 const uint64 *words);
extern void *sort_reserve(PtSort *sort, Size size);
extern void sort_commit(PtSort *sort, const uint64 *words);

/*
 * sort_note_put removes the tuples beyond the bound when there are enough of
 * them, and lets the key learn when enough tuples are in memory.
 */
extern void sort_note_put(PtSort *sort);

/* sort_must_spill: true if a debug setting makes the sort write a run now. */
static inline bool
sort_must_spill(const PtSort *sort)
{
	return unlikely(ptsort_debug.spill_entries > 0 &&
					sort->memsort->count >= ptsort_debug.spill_entries);
}

/* True if the sort only needs to add the next tuple to memory. */
static inline bool
sort_just_fills(const PtSort *sort)
{
	return likely(sort->phase == PHASE_PUTTING && sort->memsort != NULL &&
				  !sort->last_known && !sort_must_spill(sort));
}

/* Count a tuple that was just added to memory. */
static inline void
sort_count_put(PtSort *sort)
{
	int64		count = sort->memsort->count;

	sort->stats.tuples++;
	if (unlikely(count >= sort->trim_at ||
				 (sort->learning && count >= sort->learn_at)))
		sort_note_put(sort);
}

/*
 * sort_next_place returns the address for the next flat image, or NULL if
 * memory has no room for 'most' bytes.  It reserves nothing: after making an
 * image there, the caller calls sort_add_next, or sort_place with its size, and
 * no other function of the sort before.
 */
static inline void *
sort_next_place(PtSort *sort, Size most)
{
	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, most))
		return sort->memsort->next;
	return NULL;
}

static inline void
sort_add_next(PtSort *sort, Size size, const uint64 *words)
{
	memsort_add_next(sort->memsort, size, words);
	sort_count_put(sort);
}

/* sort_place is sort_reserve for an image of at least 8 bytes. */
static inline void *
sort_place(PtSort *sort, Size size)
{
	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, size))
		return memsort_reserve(sort->memsort, size);
	return sort_reserve(sort, size);
}

/* sort_add is sort_commit for flat images. */
static inline void
sort_add(PtSort *sort, const uint64 *words)
{
	if (sort_just_fills(sort) && sort->memsort->reserved != NULL)
	{
		memsort_commit(sort->memsort, words);
		sort_count_put(sort);
	}
	else
		sort_commit(sort, words);
}

/* sort_put_entry is sort_put for an entry: words, then the inline image. */
static inline void
sort_put_entry(PtSort *sort, const uint64 *entry)
{
	int			nwords = sort->order.nwords;

	if (sort_just_fills(sort) && memsort_has_room(sort->memsort, 0))
	{
		memsort_add(sort->memsort, entry, entry[nwords]);
		sort_count_put(sort);
	}
	else
		sort_put(sort, &entry[nwords], sizeof(uint64), entry);
}

/*
 * sort_entries_in_memory sorts the tuples in memory.  Before sorting, it ends
 * learning, unless memory holds all tuples and the tuples came in order.
 */
extern void sort_entries_in_memory(PtSort *sort);

/* sort_spill writes the tuples in memory to a run, although memory has room. */
extern void sort_spill(PtSort *sort);

/*
 * sort_end_runs writes the tuples in memory, ends the last initial run, frees
 * the memory of the entries and joins runs that do not overlap.
 */
extern void sort_end_runs(PtSort *sort);

/* bounded_begin prepares any sort, with or without a bound, for its input. */
extern void bounded_begin(PtSort *sort);

/*
 * bounded_may_drop: true if the sort can drop tuples now.  If true, the
 * sort's key is no longer learning.
 */
static inline bool
bounded_may_drop(const PtSort *sort)
{
	return sort->last_known && sort->phase == PHASE_PUTTING;
}

/*
 * bounded_drops: true if a tuple with these values of all key columns is beyond
 * the bound.  If true, the sort counts the tuple, and the caller must not put
 * it.  Requires bounded_may_drop, and a variant with a key and compare_values.
 */
extern bool bounded_drops(PtSort *sort, const Datum *values,
						  const bool *isnull);

/*
 * bounded_cut drops the entries beyond the bound from memory, but keeps their
 * images.  The entries must be sorted.
 */
extern void bounded_cut(PtSort *sort);

/*
 * learning.c: whether, when and from which tuples the key learns
 */

/* learning_begin prepares any sort for input, whether or not its key learns. */
extern void learning_begin(PtSort *sort);

/*
 * learning_gains returns false if reading the collation's tables would not pay
 * off for the expected number of tuples.  A serial sort would then gain
 * nothing: it would use the same abbreviated keys of text as the server's sort.
 */
extern bool learning_gains(const PtSort *sort);

/* learning_memory returns the bytes of the budget that learning may need. */
extern int64 learning_memory(const PtSort *sort);

/*
 * If the key is learning, learning_end ends this state: the key learns from the
 * tuples in memory or gives up, and the sort makes the words of these tuples
 * again if necessary.  When sort->learn_at tuples are in memory,
 * learning_note_put does so, or doubles learn_at to wait for more tuples.
 */
extern void learning_note_put(PtSort *sort);
extern void learning_end(PtSort *sort);

/*
 * learning_came_in_order: true if the key of a serial sort is learning and the
 * input is pre-sorted so far.  Then the sort needs no words until memory is
 * full: comparing a tuple with its predecessor is cheaper than making words.
 */
extern bool learning_came_in_order(PtSort *sort);


/*
 * merge.c
 */

/* MergePurpose: the use of the merged stream. */
typedef enum MergePurpose
{
	MERGE_TO_RUN,				/* to write a run; recycles the input blocks */
	MERGE_FINAL					/* to return the result of the sort */
} MergePurpose;

/*
 * merge_create starts a merge of runs, and divides 'memory' bytes among their
 * readers.  merge_free does not close the runs.
 */
extern Merge *merge_create(SortOrder *order, Run **runs, int nruns,
						   int64 memory, MergePurpose purpose);
extern void merge_free(Merge *merge);

/*
 * merge_restart restarts the merge, but reads only the records of run i at
 * positions [from[i], to[i]).  The contents of the read buffers remain usable.
 */
extern void merge_restart(Merge *merge, const int64 *from, const int64 *to);

/*
 * merge_next moves to the merged stream's next tuple.  It returns the reader of
 * this tuple, or NULL at the end.  The tuple is valid until the next call.
 * merge_next_entries copies the words and inline images of up to max tuples,
 * moves past them, and returns their number, 0 at the end.
 */
extern RunReader *merge_next(Merge *merge);
extern int	merge_next_entries(Merge *merge, uint64 *entries, int max);


/*
 * sortruns.c
 *
 * Runs are in a queue: a merge reads the first runs and appends its result.  In
 * a stable sort, runs are in the input order of their tuples: a merge reads
 * neighbouring runs and puts its result in their place.
 */

/*
 * sort_begin_run starts a new run, a worker's with a sparse index for other
 * participants.  sort_writer_memory returns the number of bytes by which
 * sort_other_memory() may then grow.
 */
extern void sort_begin_run(PtSort *sort, RunWriter *writer);
extern int64 sort_writer_memory(const PtSort *sort);

/*
 * sort_wants_short_runs: true if runs need not be as large as the budget, which
 * is larger than a short run needs.  sort_run_memory returns the bytes
 * of entries worth collecting for one run, and sort_short_runs_memory the total
 * size of the maximum number of short runs; both PG_INT64_MAX without these.
 */
extern bool sort_wants_short_runs(const PtSort *sort);
extern int64 sort_short_runs_memory(const PtSort *sort);
extern int64 sort_run_memory(PtSort *sort);

/* Returns the bytes of runs that a serial sort may keep in memory, at most. */
extern int64 sort_memory_for_runs(int64 budget);

/* sort_add_run adds a run to the queue; sort_append_run ends a writer first. */
extern void sort_add_run(PtSort *sort, Run *run);
extern void sort_append_run(PtSort *sort, RunWriter *writer);

/*
 * sort_continues_run: true if there is an open run, and tuples from 'first' on
 * (words, then the image; or NULL) may follow it.  sort_join_runs joins runs of
 * the queue that do not overlap.  It needs copies of their first and last
 * tuples, and no reader can read joined runs backward.
 */
extern bool sort_continues_run(PtSort *sort, const uint64 *first);
extern void sort_join_runs(PtSort *sort);

/*
 * sort_expect_merges tells sessions that watch how much merging will follow, if
 * the rest of the scan adds runs as before (model/work.h).
 */
extern void sort_expect_merges(const PtSort *sort);

/* sort_merge_order returns the maximum number of runs that a merge can read. */
extern int	sort_merge_order(const PtSort *sort, MergePurpose purpose);

/* sort_create_merge starts a merge that may use the rest of the budget. */
extern Merge *sort_create_merge(PtSort *sort, Run **runs, int nruns,
								MergePurpose purpose);

/* sort_merge_down merges runs until at most 'target' runs are left. */
extern void sort_merge_down(PtSort *sort, int target);

/*
 * sort_plan_slices cuts the runs into the shared block's slices (slices.c), of
 * which some may be empty.  It uses at most about the rest of the budget,
 * unless the samples and smallest read buffers of very many runs need more.
 * After planning, the runs have no samples.
 */
extern void sort_plan_slices(PtSort *sort);

/*
 * sort_runs_to_leave returns the maximum number of runs that this participant
 * may announce, so that one merge can read the runs of all participants.
 */
extern int	sort_runs_to_leave(const PtSort *sort);


/*
 * sortread.c
 */

extern const void *sort_get(PtSort *sort, bool forward, Size *size);
extern const uint64 *sort_get_entries(PtSort *sort, int *n);

/*
 * sort_get_entry is ptsort_get for inline images.  It returns the entry: the
 * words, then the image.
 */
extern const uint64 *sort_get_entry(PtSort *sort, bool forward);

extern bool sort_next_slice(PtSort *sort, int *slice);
extern int64 sort_slice_start(PtSort *sort);
extern void sort_rescan(PtSort *sort);
extern void sort_mark(PtSort *sort);
extern void sort_restore(PtSort *sort);

/* memory_next returns the next entry in memory, or NULL if there is none. */
static inline uint64 *
memory_next(PtSort *sort)
{
	const MemSort *ms = sort->memsort;

	if (unlikely(sort->phase != PHASE_MEMORY ||
				 sort->position.before >= ms->count))
		return NULL;
	sort->returned++;
	return memsort_entry(ms, sort->position.before++);
}

/* sort_next is sort_get for flat images. */
static inline const void *
sort_next(PtSort *sort, bool forward)
{
	uint64	   *entry = likely(forward) ? memory_next(sort) : NULL;
	Size		size;

	if (unlikely(entry == NULL))
		return sort_get(sort, forward, &size);
	memsort_prefetch(sort->memsort, sort->position.before,
					 sort->memsort->first_read);
	return memsort_tuple(sort->memsort, entry);
}

/* sort_next_entry is sort_get_entry, inline for entries in memory. */
static inline const uint64 *
sort_next_entry(PtSort *sort, bool forward)
{
	const uint64 *entry = likely(forward) ? memory_next(sort) : NULL;

	return likely(entry != NULL) ? entry : sort_get_entry(sort, forward);
}

#endif							/* PTSORT_TUPLESORT_H */
