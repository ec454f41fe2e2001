/*-------------------------------------------------------------------------
 *
 * sortruns.c
 *	  The runs of a sort: writing, queueing, merging.
 *
 * If there are more runs than the budget has read buffers for, they are merged
 * in several passes.  The merge order is the number of readers, each with a
 * buffer of one block, that fit in the budget.  Reading a run recycles its
 * blocks (tape.c), so passes need no more temporary space than the data.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"

/*
 * Bytes of a tape's block, which is the smallest read of a merge: a part of the
 * budget small enough for one merge to read many runs, but at least one of the
 * server's blocks.
 */
#define BLOCK_PART			512
#define MAX_TAPE_BLOCK		(32 * 1024)

/* Part of the budget for the samples of one run, and for those of all runs. */
#define SAMPLES_PART		16

/*
 * A sort that reads the runs of all participants has the same budget as one
 * that writes them, but needs more of it for other memory.  This part of the
 * merge order is reserved for that.
 */
#define READING_PART		4

/* Limits of the merge order.  More than MAX_MERGE_ORDER only costs cache. */
#define MIN_MERGE_ORDER		6
#define MAX_MERGE_ORDER		500

/*
 * A worker writes runs in any case, because other participants read them, so it
 * gains nothing by using a large budget.  Entries of this many bytes, and their
 * scratch memory, are sorted in cache, and the kernel need not clear fresh
 * memory.
 */
#define RUN_MEMORY			((int64) 16 * 1024 * 1024)

/* Most short runs of all participants together. */
#define SHORT_RUNS			32

bool
sort_wants_short_runs(const PtSort *sort)
{
	return sort->options.role == PTSORT_WORKER && sort->options.bound == 0 &&
		sort->options.budget > RUN_MEMORY + RUN_MEMORY / 4;
}

/* Most short runs of this participant. */
static int
most_short_runs(const PtSort *sort)
{
	return Max(SHORT_RUNS / shared_processes(sort->options.shared), 1);
}

int64
sort_short_runs_memory(const PtSort *sort)
{
	return sort_wants_short_runs(sort) ?
		RUN_MEMORY * most_short_runs(sort) : PG_INT64_MAX;
}

/*
 * The result is more than RUN_MEMORY if there are too many runs, or if the
 * tuples' size so far shows that there will be.
 */
int64
sort_run_memory(PtSort *sort)
{
	const MemSort *ms = sort->memsort;
	int			most;
	int64		bytes;
	double		needed;

	if (!sort_wants_short_runs(sort) || sort->learning)
		return PG_INT64_MAX;
	most = most_short_runs(sort);
	bytes = Max(RUN_MEMORY << Min(sort->nruns / most, 20), sort->run_memory);
	if (ms != NULL && ms->count > 0)
	{
		needed = (double) memsort_tuple_cost(ms) *
			sort->options.expected_tuples / most;
		bytes = Max(bytes, (int64) Min(needed, sort->options.budget));
	}
	sort->run_memory = bytes;
	return bytes;
}

/* Bytes of a tape's blocks. */
static int64
block_bytes(const PtSort *sort)
{
	int64		result = BLCKSZ;

	while (result < MAX_TAPE_BLOCK &&
		   result * 2 <= sort->options.budget / BLOCK_PART)
		result *= 2;
	return result;
}

/* The tapeset, created on first use. */
static Tapeset *
own_tapeset(PtSort *sort)
{
	if (sort->tapeset == NULL)
	{
		SharedFileSet *fileset = NULL;

		if (sort->options.role == PTSORT_WORKER)
			fileset = shared_fileset(sort->options.shared);
		sort->tapeset = tapeset_open(fileset, sort->options.participant,
									 block_bytes(sort), true);
	}
	return sort->tapeset;
}

/* Most samples of a run: a power of two. */
static int64
max_samples(const PtSort *sort)
{
	int64		bytes = sort->options.budget / SAMPLES_PART;
	int64		result = RUN_MAX_SAMPLES;

	while (result * (int64) sizeof(RunSample) > bytes)
		result /= 2;
	return result;
}

void
sort_begin_run(PtSort *sort, RunWriter *writer)
{
	run_begin_write(writer, &sort->order, own_tapeset(sort), sort->write_buffer,
					sort->options.role == PTSORT_WORKER ? max_samples(sort) :
					RUN_NO_SAMPLES);
}

/*
 * Keep the samples of all runs together within limits.  Each run, early or
 * late, keeps a number in proportion to its tuples.
 */
static void
limit_samples(PtSort *sort)
{
	int64		most = max_samples(sort);
	int64		samples = 0;
	double		tuples = 0;

	for (int i = 0; i < sort->nruns; i++)
	{
		samples += sort->runs[i]->desc.nsamples;
		tuples += sort->runs[i]->desc.tuples;
	}
	for (int i = 0; i < sort->nruns && samples > most; i++)
	{
		Run		   *run = sort->runs[i];
		int64		share = Max(most * (run->desc.tuples / tuples), 1);

		while (run->desc.nsamples > share)
			run_thin_samples(run);
	}
}

void
sort_add_run(PtSort *sort, Run *run)
{
	if (sort->nruns == sort->maxruns)
	{
		Size		room = sort->maxruns > 0 ? 2 * sort->maxruns : 16;

		sort->runs = sort->runs ?
			repalloc_huge(sort->runs, room * sizeof(Run *)) :
			palloc(room * sizeof(Run *));
		sort->maxruns = room;
	}
	sort->runs[sort->nruns++] = run;
}

void
sort_append_run(PtSort *sort, RunWriter *writer)
{
	Run		   *run = run_end_write(writer);

	sort_add_run(sort, run);
	limit_samples(sort);
	sort->stats.runs++;
	sort->stats.run_bytes += run->desc.bytes;
}

/*
 * The bytes by which lists of blocks may grow while a merge for this purpose
 * reads runs.  Each block of a tape that is read and recycled may take an
 * extent of the tape that is written, whose list has up to twice the room that
 * it needs.
 */
static int64
list_memory(Run **runs, int nruns, MergePurpose purpose)
{
	int64		blocks = 0;

	for (int i = 0; i < nruns && purpose == MERGE_TO_RUN; i++)
		blocks += tape_blocks(runs[i]->tape);
	return blocks * 2 * sizeof(TapeExtent);
}

/*
 * The part of the budget, in bytes, that is left for the readers of a merge and
 * for lists of blocks.
 */
static int64
merge_memory(const PtSort *sort, MergePurpose purpose)
{
	int64		memory = sort->options.budget - sort_other_memory(sort) -
		SORT_BLOCK;

	/* a list of extents or samples may also grow by a block here */
	if (purpose == MERGE_TO_RUN)
		memory -= sort->write_buffer + RUN_WRITER_MEMORY + SORT_BLOCK;
	return memory;
}

Merge *
sort_create_merge(PtSort *sort, Run **runs, int nruns, MergePurpose purpose)
{
	int64		memory = merge_memory(sort, purpose) -
		list_memory(runs, nruns, purpose);
	Merge	   *merge = merge_create(&sort->order, runs, nruns, memory,
									 purpose);

	sort_note_memory(sort);
	return merge;
}

int
sort_merge_order(const PtSort *sort, MergePurpose purpose)
{
	int			nruns = sort->nruns;
	int64		reader = 0;
	int64		order;

	if (ptsort_debug.merge_order > 0)
		return Max(ptsort_debug.merge_order, 2);
	for (int i = 0; i < nruns; i++)
		reader = Max(reader, run_reader_memory(sort->runs[i]));
	order = merge_memory(sort, purpose) /
		(block_bytes(sort) + reader +
		 list_memory(sort->runs, nruns, purpose) / Max(nruns, 1));
	return Min(Max(order, MIN_MERGE_ORDER), MAX_MERGE_ORDER);
}

int
sort_runs_to_leave(const PtSort *sort)
{
	int			processes = shared_processes(sort->options.shared);
	int			order = sort_merge_order(sort, MERGE_FINAL);

	order -= order / READING_PART;
	return Max(Min(order / processes, shared_most_runs(processes)), 1);
}

/*
 * Returns the index of the first of the n runs of the queue to merge next: the
 * first runs, or, in a stable sort, the neighbours with the fewest bytes.
 */
static int
first_to_merge(const PtSort *sort, int n)
{
	int64		bytes = 0;
	int64		fewest;
	int			result = 0;

	if (!sort->order.stable)
		return 0;
	for (int i = 0; i < n; i++)
		bytes += sort->runs[i]->desc.bytes;
	fewest = bytes;
	for (int i = n; i < sort->nruns; i++)
	{
		bytes += sort->runs[i]->desc.bytes - sort->runs[i - n]->desc.bytes;
		if (bytes < fewest)
		{
			fewest = bytes;
			result = i - n + 1;
		}
	}
	return result;
}

/* Close n runs of the queue. */
static void
close_merged(PtSort *sort, int first, int n)
{
	Run		  **merged = sort->runs + first;

	for (int i = 0; i < n; i++)
		run_close(merged[i]);
	sort->nruns -= n;
	memmove(merged, merged + n, (sort->nruns - first) * sizeof(Run *));
}

/* Move the last run of the queue to another place. */
static void
move_last(PtSort *sort, int place)
{
	Run		  **target = sort->runs + place;
	Run		   *run = sort->runs[sort->nruns - 1];

	memmove(target + 1, target, (sort->nruns - 1 - place) * sizeof(Run *));
	*target = run;
}

/* Merge n runs of the queue into one. */
static void
merge_runs(PtSort *sort, int n)
{
	RunWriter	writer;
	RunReader  *reader;
	int64		written = 0;
	int			first = first_to_merge(sort, n);
	Merge	   *merge = sort_create_merge(sort, sort->runs + first, n,
										  MERGE_TO_RUN);

	sort_begin_run(sort, &writer);
	while ((reader = merge_next(merge)) != NULL)
	{
		run_write(&writer, reader->words, reader->tuple, reader->size);
		if (unlikely(++written == sort->options.bound))
			break;
	}
	sort_note_memory(sort);
	merge_free(merge);
	close_merged(sort, first, n);
	sort_append_run(sort, &writer);
	if (sort->order.stable)
		move_last(sort, first);
}

/* The first merge may be smaller, so that all later ones are full. */
void
sort_merge_down(PtSort *sort, int target)
{
	int			order = sort_merge_order(sort, MERGE_TO_RUN);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (sort->nruns > target)
	{
		int			excess = sort->nruns - target;	/* runs too many */
		int			n = excess % (order - 1);

		n = n == 0 ? order : n + 1;
		merge_runs(sort, n);
	}
	sort->stats.run_ms += pt_ms_since(start);
}
