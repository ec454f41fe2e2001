/*-------------------------------------------------------------------------
 *
 * slices.c
 *	  Cut the final merge into slices.
 *
 * A *cut* is a place in each run such that everything before it, in any run,
 * comes before everything behind it in every run.  The tuple at a place of one
 * run makes a cut: the place of the first tuple, in each run, that does not
 * come before it.  As the order is total (heap TIDs decide between equal keys),
 * cuts can fall anywhere, in the middle of equal keys too, unless the variant
 * wants those in one slice.
 *
 * Which tuples make cuts is estimated from the runs' sparse indexes: each
 * sample stands for the tuples up to the next one, so samples in order and
 * their weights summed up tell where a part of all tuples ends.  The
 * estimate knows only words; among equal ones the place within the run decides.
 * A bad estimate costs balance, nothing else.  The cuts themselves are exact.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "miscadmin.h"
#include "slices.h"
#include "utils/memutils.h"

/*
 * A slice ends with a page that is half full on average.  With this many
 * tuples that is less than one in a hundred, even if they share posting lists.
 */
#define MIN_SLICE_TUPLES	150000

/* Samples that are looked at, of all runs together. */
#define MAX_SAMPLES			65536

/* Read buffer for looking at single records of a run. */
#define PROBE_BUFFER		(64 * 1024)

int			ptsort_debug_slices = 0;

/* One run while slices are planned. */
typedef struct SliceRun
{
	Run		   *run;
	RunReader	reader;
} SliceRun;

/* A sample among those of all runs. */
typedef struct Candidate
{
	uint64		words[PTSORT_MAX_WORDS + 1];
	double		fraction;		/* of its run's tuples that come before it */
	int			run;
	int64		position;
	int64		weight;			/* tuples it stands for */
} Candidate;

/* The tuple that makes a cut, copied: words, then the image. */
typedef struct Splitter
{
	uint64	   *words;
	char	   *tuple;
} Splitter;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	for (int i = 0; i < lengthof(left->words); i++)
	{
		if (left->words[i] != right->words[i])
			return left->words[i] < right->words[i] ? -1 : 1;
	}
	return (left->fraction > right->fraction) - (left->fraction < right->fraction);
}

/* Prepare to look at records. */
static void
open_run(SliceRun *slice_run, const SortOrder *order, Run *run)
{
	slice_run->run = run;
	run_begin_read(&slice_run->reader, order, run, PROBE_BUFFER, false);
}

/* The samples of all runs in order; returns how many. */
static int64
collect_candidates(SliceRun *runs, int nruns, Candidate **result)
{
	int64		total = 0;
	int64		step;
	int64		n = 0;
	Candidate  *candidates;

	for (int r = 0; r < nruns; r++)
		total += runs[r].run->desc.nsamples;
	step = total / MAX_SAMPLES + 1;
	candidates = palloc_extended((total / step + nruns) * sizeof(Candidate),
								 MCXT_ALLOC_HUGE);
	for (int r = 0; r < nruns; r++)
	{
		RunDesc    *desc = &runs[r].run->desc;

		for (int64 i = 0; i < desc->nsamples; i += step)
		{
			RunSample  *sample = &runs[r].run->samples[i];
			Candidate  *candidate = &candidates[n++];
			int64		next = i + step < desc->nsamples ?
				runs[r].run->samples[i + step].ordinal : desc->tuples;

			memcpy(candidate->words, sample->words, sizeof(candidate->words));
			candidate->fraction = (double) sample->ordinal / desc->tuples;
			candidate->run = r;
			candidate->position = sample->position;
			candidate->weight = next - sample->ordinal;
		}
	}
	qsort(candidates, n, sizeof(Candidate), compare_candidates);
	*result = candidates;
	return n;
}

/* Make the record at a position the reader's current one. */
static void
probe(SliceRun *run, int64 position)
{
	run_limit(&run->reader, position, run_end(run->run));
	if (!run_next(&run->reader))
		elog(ERROR, "sparse index points behind its run");
}

static void
copy_splitter(Splitter *splitter, const SortOrder *order, SliceRun *run,
			  int64 position)
{
	RunReader  *reader = &run->reader;
	Size		ahead = order->nwords * sizeof(uint64);

	probe(run, position);
	splitter->words = palloc_extended(ahead + MAXALIGN(reader->size), MCXT_ALLOC_HUGE);
	splitter->tuple = (char *) splitter->words + ahead;
	memcpy(splitter->words, reader->words, ahead);
	memcpy(splitter->tuple, reader->tuple, reader->size);
}

/* Does the reader's current tuple come before the cut? */
static bool
is_before_cut(SortOrder *order, const RunReader *reader, const Splitter *splitter)
{
	const PtSortVariant *variant = order->variant;

	for (int i = 0; i < order_words(order); i++)
	{
		if (reader->words[i] != splitter->words[i])
			return reader->words[i] < splitter->words[i];
	}
	if (variant->same_slice &&
		variant->same_slice(reader->tuple, splitter->tuple, order->state))
		return false;
	return order_compare_tuples(order, reader->tuple, splitter->tuple) < 0;
}

/* The same of a sample, whose record is read only if words do not decide. */
static bool
sample_is_before_cut(SortOrder *order, SliceRun *run, const RunSample *sample,
					 const Splitter *splitter)
{
	for (int i = 0; i < order_words(order); i++)
	{
		if (sample->words[i] != splitter->words[i])
			return sample->words[i] < splitter->words[i];
	}
	probe(run, sample->position);
	return is_before_cut(order, &run->reader, splitter);
}

/*
 * The position of the first record of a run that does not come before the cut:
 * the last sample before the cut, and from there record by record.
 */
static int64
find_cut(SortOrder *order, SliceRun *run, const Splitter *splitter)
{
	int64		low = 0;		/* samples below are before the cut */
	int64		high = run->run->desc.nsamples; /* from here on they are not */

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (sample_is_before_cut(order, run, &run->run->samples[middle], splitter))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	run_limit(&run->reader, run->run->samples[low - 1].position, run_end(run->run));
	for (;;)
	{
		int64		here = run_tell(&run->reader);

		if (!run_next(&run->reader) ||
			!is_before_cut(order, &run->reader, splitter))
			return here;
	}
}

/* Orders cuts, which are arrays of positions, by how far they go. */
static int
compare_cuts(const void *a, const void *b, void *arg)
{
	const int64 *left = a;
	const int64 *right = b;
	int			nruns = *(int *) arg;

	for (int r = 0; r < nruns; r++)
	{
		if (left[r] != right[r])
			return left[r] < right[r] ? -1 : 1;
	}
	return 0;
}

/*
 * How many tuples come before a cut.  If participants will take several slices
 * each, every slice is smaller than the one before, so that all are
 * done at almost the same time.
 */
static int64
tuples_before(int64 tuples, int cut, int nslices, int nruns)
{
	double		rest = 1.0 - (double) cut / nslices;

	if (nslices > nruns)
		rest *= rest;
	return (int64) (tuples * (1.0 - rest));
}

void
slices_plan(SortOrder *order, Run **runs, int nruns, int nslices,
			int64 *positions)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort slices",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SliceRun   *slice_runs = palloc0(Max(nruns, 1) * sizeof(SliceRun));
	Candidate  *candidates;
	int64		ncandidates;
	int64		tuples = 0;
	int64		passed = 0;
	int			useful;
	int			cut = 1;

	fault_point("slices: plan");
	for (int r = 0; r < nruns; r++)
	{
		open_run(&slice_runs[r], order, runs[r]);
		tuples += runs[r]->desc.tuples;
		positions[r] = 0;
	}
	ncandidates = collect_candidates(slice_runs, nruns, &candidates);
	useful = (int) Min(nslices, Max(tuples / MIN_SLICE_TUPLES, 1));
	if (ptsort_debug_slices > 0)
		useful = Min(nslices, ptsort_debug_slices);

	for (int64 i = 0; i < ncandidates && cut < useful; i++)
	{
		if (passed >= tuples_before(tuples, cut, useful, nruns))
		{
			Splitter	splitter;

			CHECK_FOR_INTERRUPTS();
			copy_splitter(&splitter, order, &slice_runs[candidates[i].run],
						  candidates[i].position);
			for (int r = 0; r < nruns; r++)
				positions[cut * nruns + r] = find_cut(order, &slice_runs[r], &splitter);
			cut++;
		}
		passed += candidates[i].weight;
	}

	/* What is left over becomes empty slices behind the last tuple. */
	for (; cut <= nslices; cut++)
	{
		for (int r = 0; r < nruns; r++)
			positions[cut * nruns + r] = run_end(runs[r]);
	}
	/* Estimated order need not be the order: every cut is good at its place. */
	if (nruns > 0)
		qsort_arg(positions, nslices + 1, nruns * sizeof(int64), compare_cuts, &nruns);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
