/*-------------------------------------------------------------------------
 *
 * sortruns.c
 *	  The runs of a sort: writing, queueing, merging.
 *
 * If the budget has no room for a read buffer for each run, the sort merges the
 * runs in several passes.  The merge order is the number of readers that fit in
 * the budget, each with a buffer of one block.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "model/work.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"

/*
 * The smallest read of a merge is a tape's block: about 1 / BLOCK_PART of the
 * budget, from BLCKSZ to MAX_TAPE_BLOCK bytes, so a merge can read many runs.
 */
#define BLOCK_PART			512
#define MAX_TAPE_BLOCK		(32 * 1024)

/* Part of the budget for a new run's samples, and for all other samples. */
#define SAMPLES_PART		16

/*
 * Part of the merge order that sort_runs_to_leave keeps free: a sort that reads
 * the runs of all participants has the same budget, but more other memory.
 */
#define READING_PART		4

/* Limits of the merge order.  A higher maximum would only use more cache. */
#define MIN_MERGE_ORDER		6
#define MAX_MERGE_ORDER		500

/*
 * Size of a worker's short runs, with scratch memory (see "Runs" in src/README),
 * and their maximum number for all participants.
 */
#define RUN_MEMORY			((int64) 16 * 1024 * 1024)
#define SHORT_RUNS			32

bool
sort_wants_short_runs(const PtSort *sort)
{
	const PtSortOptions *options = &sort->options;

	return sort_memory_for_runs(options->budget) > 0 &&
		(options->role == PTSORT_WORKER ||
		 (options->role == PTSORT_SERIAL && options->bound == 0 &&
		  !options->random_access));
}

/* Maximum number of short runs of this participant. */
static int
most_short_runs(const PtSort *sort)
{
	if (sort->options.role == PTSORT_SERIAL)
		return Max(sort_merge_order(sort, MERGE_FINAL) / 2, 1);
	return Max(SHORT_RUNS / shared_processes(sort->options.shared), 1);
}

int64
sort_short_runs_memory(const PtSort *sort)
{
	if (!sort_wants_short_runs(sort))
		return PG_INT64_MAX;
	return sort->options.role == PTSORT_SERIAL ? RUN_MEMORY :
		RUN_MEMORY * most_short_runs(sort);
}

/*
 * Returns more than RUN_MEMORY if there are too many runs, or if the size of
 * the tuples so far predicts too many runs.
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
	if (ms != NULL && ms->count > 0 && sort->options.role == PTSORT_WORKER)
	{
		needed = (double) memsort_tuple_cost(ms) *
			sort->options.expected_tuples / most;
		bytes = Max(bytes, (int64) Min(needed, sort->options.budget));
	}
	sort->run_memory = bytes;
	return bytes;
}

static int64
block_bytes(const PtSort *sort)
{
	int64		result = BLCKSZ;

	while (result < MAX_TAPE_BLOCK &&
		   result * 2 <= sort->options.budget / BLOCK_PART)
		result *= 2;
	return result;
}

/* The rest is for entries, and then for the readers of a merge. */
int64
sort_memory_for_runs(int64 budget)
{
	if (budget <= RUN_MEMORY + RUN_MEMORY / 4)
		return 0;
	return budget - Max(budget / SHORT_RUNS, RUN_MEMORY);
}

/* Returns the tapeset of the sort; creates it on first use. */
static Tapeset *
own_tapeset(PtSort *sort)
{
	int64		budget = sort->options.budget;

	if (sort->tapeset == NULL)
	{
		SharedFileSet *fileset = NULL;

		if (sort->options.role == PTSORT_WORKER)
			fileset = shared_fileset(sort->options.shared);
		sort->tapeset = tapeset_open(fileset, sort->options.participant,
									 block_bytes(sort), true);
		if (sort->options.role == PTSORT_SERIAL && sort_wants_short_runs(sort))
			tapefile_use_memory(tapeset_file(sort->tapeset),
								Min(sort_memory_for_runs(budget),
									budget - memsort_used(sort->memsort)) -
								sort_other_memory(sort) -
								sort_writer_memory(sort));
	}
	return sort->tapeset;
}

/* Maximum number of samples of a run: a power of two, or RUN_NO_SAMPLES. */
static int64
max_samples(const PtSort *sort)
{
	int64		bytes = sort->options.budget / SAMPLES_PART;
	int64		result = sort->options.role == PTSORT_WORKER ?
		RUN_MAX_SAMPLES : RUN_NO_SAMPLES;

	while (result * (int64) sizeof(RunSample) > bytes)
		result /= 2;
	return result;
}

/* The blocks are for lists of extents and for edges. */
int64
sort_writer_memory(const PtSort *sort)
{
	int64		samples = sort->run_is_open ?
		sort->open_run.run->desc.nsamples : max_samples(sort);

	return samples * (int64) sizeof(RunSample) + 2 * SORT_BLOCK +
		(sort->run_is_open ? 0 : sort->write_buffer + RUN_WRITER_MEMORY);
}

void
sort_begin_run(PtSort *sort, RunWriter *writer)
{
	run_begin_write(writer, &sort->order, own_tapeset(sort), sort->write_buffer,
					max_samples(sort));
}

/* Limit the samples of all runs, each in proportion to its tuples. */
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
	if (sort->options.role == PTSORT_SERIAL &&
		sort->nruns > sort_merge_order(sort, MERGE_FINAL))
		tapefile_leave_memory(tapeset_file(sort->tapeset));
	limit_samples(sort);
	sort->stats.runs++;
	sort->stats.run_bytes += run->desc.bytes;
}

/* Append the samples of the next run, whose tape now begins at 'offset'. */
static void
append_samples(Run *run, const Run *next, int64 offset)
{
	int64		total = run->desc.nsamples + next->desc.nsamples;
	RunSample  *samples = repalloc(run->samples, total * sizeof(RunSample));

	for (int64 i = 0; i < next->desc.nsamples; i++)
	{
		RunSample  *sample = &samples[run->desc.nsamples + i];

		*sample = next->samples[i];
		sample->position += RUN_POSITION(offset, 0);
		sample->ordinal += run->desc.tuples;
	}
	run->samples = samples;
	run->desc.nsamples = total;
	while (run->desc.nsamples > run->max_samples)
		run_thin_samples(run);
}

/*
 * Append the records of the next run to this run without copying them, and
 * close the next run.  No reader can read the result backward, because the next
 * run's first frame stores 0 as the size of the previous frame.
 */
static void
append_run(Run *run, Run *next)
{
	int64		offset = tape_append(run->tape, next->tape);
	uint64	   *last = run->last;

	next->tape = NULL;
	if (run->samples && next->samples)
		append_samples(run, next, offset);
	run->last = next->last;
	next->last = last;
	run->desc.bytes = offset + next->desc.bytes;
	run->desc.tuples += next->desc.tuples;
	run->desc.last_frame = next->desc.last_frame;
	run->desc.largest_frame = Max(run->desc.largest_frame,
								  next->desc.largest_frame);
	run->desc.largest_image = Max(run->desc.largest_image,
								  next->desc.largest_image);
	run_close(next);
}

static int
compare_edges(SortOrder *order, const uint64 *a, const uint64 *b)
{
	int			cmp = order_compare_words(a, b, order->nwords);

	if (cmp != 0 || a == b)
		return cmp;
	return order_compare_equal(order, a, a + order->nwords,
							   b, b + order->nwords);
}

/* True if a run with this last tuple comes before one with this first tuple. */
static bool
comes_before(SortOrder *order, const uint64 *last, const uint64 *first)
{
	return last && first && compare_edges(order, last, first) <= 0;
}

bool
sort_continues_run(PtSort *sort, const uint64 *first)
{
	return sort->run_is_open &&
		comes_before(&sort->order, sort->open_run.run->last, first);
}

/*
 * Descending input becomes runs in descending order.  Joining them avoids a
 * merge that would rewrite them.  Only neighbours are joined: other runs of the
 * queue that do not overlap are rare, and a stable sort must keep the order of
 * its runs.  An earlier run follows a later one only if no tuple of one equals
 * a tuple of the other.
 */
void
sort_join_runs(PtSort *sort)
{
	SortOrder  *order = &sort->order;
	Run		  **runs = sort->runs;
	int			left = 0;

	for (int i = 0; i < sort->nruns; i++)
	{
		Run		   *before = left > 0 ? runs[left - 1] : NULL;
		Run		   *run = runs[i];

		if (before && comes_before(order, before->last, run->first))
			append_run(before, run);
		else if (before && run->last && before->first &&
				 compare_edges(order, run->last, before->first) < 0)
		{
			append_run(run, before);
			runs[left - 1] = run;
		}
		else
			runs[left++] = run;
	}
	sort->nruns = left;
}

/*
 * Returns the number of bytes by which lists of blocks may grow in a merge:
 * each block read may become an extent, in a list with up to twice the room.
 */
static int64
list_memory(Run **runs, int nruns, MergePurpose purpose)
{
	int64		blocks = 0;

	for (int i = 0; i < nruns && purpose == MERGE_TO_RUN; i++)
		blocks += tape_blocks(runs[i]->tape);
	return blocks * 2 * sizeof(TapeExtent);
}

/* Returns the bytes left for the readers of a merge and for lists of blocks. */
static int64
merge_memory(const PtSort *sort, MergePurpose purpose)
{
	return sort->options.budget - sort_other_memory(sort) -
		(purpose == MERGE_TO_RUN ? sort_writer_memory(sort) : SORT_BLOCK);
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
 * Returns the queue index of the first of n runs to merge next: the first n
 * runs or, in a stable sort, the n neighbouring runs with the fewest bytes.
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

/* Close n runs, and remove them from the queue. */
static void
close_merged(PtSort *sort, int first, int n)
{
	Run		  **merged = sort->runs + first;

	for (int i = 0; i < n; i++)
		run_close(merged[i]);
	sort->nruns -= n;
	memmove(merged, merged + n, (sort->nruns - first) * sizeof(Run *));
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
	{
		Run		   *run = sort->runs[sort->nruns - 1];

		memmove(sort->runs + first + 1, sort->runs + first,
				(sort->nruns - 1 - first) * sizeof(Run *));
		sort->runs[first] = run;
	}
}

/*
 * Returns the number of runs that the next merge reads.  The first merge may
 * read fewer runs; all later merges read 'order' runs.
 */
static int
runs_to_merge(int nruns, int target, int order)
{
	int			excess = nruns - target;	/* runs above target */
	int			n = excess % (order - 1);

	return n == 0 ? order : n + 1;
}

/* Returns the bytes that merges of equal runs down to 'target' runs write. */
static double
merged_bytes(double run_bytes, int nruns, int target, int order)
{
	double		bytes = run_bytes * nruns;
	double		merged = 0;

	while (nruns > target)
	{
		int			n = runs_to_merge(nruns, target, order);

		merged += bytes * n / nruns;
		nruns -= n - 1;
	}
	return merged;
}

static double
average_run(const PtSort *sort)
{
	double		bytes = 0;

	for (int i = 0; i < sort->nruns; i++)
		bytes += sort->runs[i]->desc.bytes;
	return bytes / Max(sort->nruns, 1);
}

void
sort_expect_merges(const PtSort *sort)
{
	double		scanned = sort->nested ? 0 : work_scanned();
	int			target;

	if (scanned <= 0)
		return;
	target = sort->options.role == PTSORT_WORKER ? sort_runs_to_leave(sort) :
		sort_merge_order(sort, MERGE_FINAL);
	ptsort_work.counts[WORK_EXPECTED] = (uint64)
		merged_bytes(average_run(sort), sort->nruns / scanned, target,
					 sort_merge_order(sort, MERGE_TO_RUN));
	work_publish();
}

void
sort_merge_down(PtSort *sort, int target)
{
	int			order = sort_merge_order(sort, MERGE_TO_RUN);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (!sort->nested)
		work_count_merges(sort->options.role != PTSORT_LEADER, (uint64)
						  merged_bytes(average_run(sort), sort->nruns, target,
									   order));
	while (sort->nruns > target)
		merge_runs(sort, runs_to_merge(sort->nruns, target, order));
	sort->stats.run_ms += pt_ms_since(start);
}
