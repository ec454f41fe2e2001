/*-------------------------------------------------------------------------
 *
 * slices.c
 *	  Cut the final merge into slices of about equal size.
 *
 * Any participant can merge any slice, because all import all runs, so a slow
 * participant simply merges fewer slices.  There are SLICES_EACH slices for
 * each participant, of at least MIN_SLICE_TUPLES tuples each, or one slice for
 * each participant of at least MIN_SHARE_TUPLES.
 *
 * A *cut* is a place in each run such that everything before it, in any run,
 * comes before everything after it in every run.  The tuple at a place of one
 * run makes a cut: the place of the first tuple, in each run, that does not
 * come before it.  As the order is total (heap TIDs decide between equal
 * keys), cuts can fall anywhere, in the middle of equal keys too, unless the
 * variant wants those in one slice.
 *
 * The tuples that make cuts are quantiles estimated from the runs' sparse
 * indexes.  Each sample stands for the tuples up to the next sample of its run,
 * so the sorted samples of all runs show where a k-th part of all tuples ends.
 * The estimate uses words only; among equal words the place within the run
 * decides.  The cuts themselves are exact.  If the number of tuples before one
 * is too far from the target, as happens among many equal keys, a bisection of
 * the runs' samples finds a better place: the sizes of slices differ by at most
 * 10 %, whatever the data.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "fault.h"
#include "miscadmin.h"
#include "sort/slices.h"
#include "utils/memutils.h"

/*
 * Minimum numbers of tuples of a slice.  A slice ends with a page that is half
 * full on average; MIN_SLICE_TUPLES tuples fill so many pages that this loss is
 * small, even if they share posting lists.
 */
#define MIN_SLICE_TUPLES	150000
#define MIN_SHARE_TUPLES	30000

/*
 * Number of samples to use from all runs together: SLICE_SAMPLES for each slice
 * and each run, but at most MAX_SAMPLES.
 */
#define SLICE_SAMPLES		256
#define MAX_SAMPLES			16384

/* Part of a slice by which a cut may miss its target. */
#define TOLERANCE_PART		40

/* Part of the budget for the samples, and for reading single records. */
#define PLAN_PART			4

/* One run while slices are planned. */
typedef struct SliceRun
{
	Run		   *run;
	RunReader	reader;
} SliceRun;

/* A candidate: a sample of one run, among the samples of all runs. */
typedef struct Candidate
{
	uint64		words[PTSORT_MAX_WORDS + 1];
	double		fraction;		/* of its run's tuples that come before it */
	int			run;
	int64		position;
	double		middle;			/* estimated tuples of its run that come
								 * before candidates near it */
} Candidate;

/* A cut of all runs. */
typedef struct Cut
{
	int64	   *positions;		/* of the cut, in each run */
	int64	   *samples;		/* samples before the cut, in each run */
	int64		before;			/* tuples before the cut, in all runs */
} Cut;

/* A copy of the tuple that makes a cut: words, then the image. */
typedef struct Splitter
{
	uint64	   *words;
	char	   *tuple;
	const SliceRun *run;		/* the tuple's run */
	int64		position;		/* the tuple's position in the run */
} Splitter;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	int			cmp = order_compare_words(left->words, right->words,
										  lengthof(left->words));

	if (cmp != 0)
		return cmp;
	return (left->fraction > right->fraction) -
		(left->fraction < right->fraction);
}

/* Collect and sort samples of all runs; returns their number. */
static int64
collect_candidates(SliceRun *runs, int nruns, int useful, int64 memory,
				   Candidate **result)
{
	int64		most = Min(memory / (int64) sizeof(Candidate),
						   (useful + nruns) * SLICE_SAMPLES);
	int64		total = 0;
	int64		step;
	int64		n = 0;
	Candidate  *candidates;

	for (int r = 0; r < nruns; r++)
		total += runs[r].run->desc.nsamples;
	step = total / Min(Max(most, SLICE_SAMPLES), MAX_SAMPLES) + 1;
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
			candidate->middle = (sample->ordinal + next) / 2.0;
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
		elog(ERROR, "sparse index entry is past the end of its run");
}

static void
copy_splitter(Splitter *splitter, const SortOrder *order, SliceRun *run,
			  int64 position)
{
	RunReader  *reader = &run->reader;
	Size		ahead = order->nwords * sizeof(uint64);

	probe(run, position);
	splitter->words = palloc_extended(ahead + MAXALIGN(reader->size),
									  MCXT_ALLOC_HUGE);
	splitter->tuple = (char *) splitter->words + ahead;
	memcpy(splitter->words, reader->words, ahead);
	memcpy(splitter->tuple, reader->tuple, reader->size);
	splitter->run = run;
	splitter->position = run_current(reader);
}

/* True if the current tuple of a run comes before the cut. */
static bool
is_before_cut(SortOrder *order, const SliceRun *run, const Splitter *splitter)
{
	const RunReader *reader = &run->reader;
	int			cmp = order_compare_words(reader->words, splitter->words,
										  order->nwords);

	if (cmp != 0)
		return cmp < 0;
	if (order_same_slice(order, reader->words, reader->tuple,
						 splitter->words, splitter->tuple))
		return false;
	cmp = order_compare_equal(order, reader->words, reader->tuple,
							  splitter->words, splitter->tuple);
	if (cmp != 0 || !order->stable || order->inline_image)
		return cmp < 0;
	if (run != splitter->run)
		return run < splitter->run;
	return run_current(reader) < splitter->position;
}

/* True if a sample is before the cut.  Reads its record only if words tie. */
static bool
sample_is_before_cut(SortOrder *order, SliceRun *run, const RunSample *sample,
					 const Splitter *splitter)
{
	int			cmp = order_compare_words(sample->words, splitter->words,
										  order->nwords);

	if (cmp != 0)
		return cmp < 0;
	probe(run, sample->position);
	return is_before_cut(order, run, splitter);
}

/*
 * Find the first record of a run that does not come before the cut, reading
 * records from the last sample before the cut on.
 */
static void
cut_run(SortOrder *order, SliceRun *run, const Splitter *splitter, int r,
		Cut *cut)
{
	const RunSample *samples = run->run->samples;
	int64		low = 0;		/* samples below it are before the cut */
	int64		high = run->run->desc.nsamples; /* it and later ones are not */
	int64		tuples;

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (sample_is_before_cut(order, run, &samples[middle], splitter))
			low = middle + 1;
		else
			high = middle;
	}
	cut->samples[r] = low;
	cut->positions[r] = 0;
	if (low == 0)
		return;
	run_limit(&run->reader, samples[low - 1].position, run_end(run->run));
	cut->positions[r] = run_end(run->run);
	for (tuples = samples[low - 1].ordinal; run_next(&run->reader); tuples++)
	{
		if (!is_before_cut(order, run, splitter))
		{
			cut->positions[r] = run_current(&run->reader);
			break;
		}
	}
	cut->before += tuples;
}

/* Cut all runs before the record at a position of one of them. */
static void
make_cut(SortOrder *order, SliceRun *runs, int nruns, int run, int64 position,
		 Cut *cut)
{
	Splitter	splitter;

	CHECK_FOR_INTERRUPTS();
	copy_splitter(&splitter, order, &runs[run], position);
	cut->before = 0;
	for (int r = 0; r < nruns; r++)
		cut_run(order, &runs[r], &splitter, r, cut);
	pfree(splitter.words);
}

static void
alloc_cut(Cut *cut, int nruns)
{
	cut->positions = palloc(nruns * sizeof(int64));
	cut->samples = palloc(nruns * sizeof(int64));
}

static void
copy_cut(Cut *target, const Cut *source, int nruns)
{
	memcpy(target->positions, source->positions, nruns * sizeof(int64));
	memcpy(target->samples, source->samples, nruns * sizeof(int64));
	target->before = source->before;
}

/*
 * Improve a cut until about 'target' tuples come before it.  In each run the
 * samples from low to high - 1 can still be at the target; the next try is the
 * middle one of the run that has the most of them.
 */
static void
improve_cut(SortOrder *order, SliceRun *runs, int nruns, int64 target,
			int64 tolerance, Cut *cut)
{
	int64	   *low = palloc0(nruns * sizeof(int64));
	int64	   *high = palloc(nruns * sizeof(int64));
	Cut			last;

	alloc_cut(&last, nruns);
	copy_cut(&last, cut, nruns);
	for (int r = 0; r < nruns; r++)
		high[r] = runs[r].run->desc.nsamples;
	while (llabs(cut->before - target) > tolerance)
	{
		int			widest = 0;
		int64		middle;

		for (int r = 0; r < nruns; r++)
		{
			if (last.before < target)
				low[r] = Max(low[r], last.samples[r]);
			else
				high[r] = Min(high[r], last.samples[r]);
			if (high[r] - low[r] > high[widest] - low[widest])
				widest = r;
		}
		if (high[widest] <= low[widest])
			break;
		middle = low[widest] + (high[widest] - low[widest]) / 2;
		make_cut(order, runs, nruns, widest,
				 runs[widest].run->samples[middle].position, &last);

		/*
		 * Exclude the sample just tried.  (The numbers in the cut would
		 * exclude it too if all comparisons were transitive; this makes the
		 * loop end even if they are not.)
		 */
		if (last.before < target)
			low[widest] = middle + 1;
		else
			high[widest] = middle;
		if (llabs(last.before - target) < llabs(cut->before - target))
			copy_cut(cut, &last, nruns);
	}
	pfree(low);
	pfree(high);
	pfree(last.positions);
	pfree(last.samples);
}

/* Orders rows of slices_plan by their positions. */
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
 * Cut the runs into at most 'useful' parts of about 'part' tuples each; returns
 * the number of parts.
 */
static int
make_cuts(SortOrder *order, SliceRun *runs, int nruns,
		  const Candidate *candidates, int64 ncandidates, int useful,
		  int64 part, int64 *slices)
{
	double	   *middles = palloc0(nruns * sizeof(double));
	double		passed = 0;		/* the sum of 'middles': tuples before a
								 * candidate, estimated */
	int			cut = 1;
	Cut			made;

	alloc_cut(&made, nruns);
	for (int64 i = 0; i < ncandidates && cut < useful; i++)
	{
		const Candidate *candidate = &candidates[i];
		int64		target = part * cut;

		passed += candidate->middle - middles[candidate->run];
		middles[candidate->run] = candidate->middle;
		if (passed < target)
			continue;
		make_cut(order, runs, nruns, candidate->run, candidate->position,
				 &made);
		improve_cut(order, runs, nruns, target, part / TOLERANCE_PART, &made);
		memcpy(&slices[cut * (nruns + 1)], made.positions,
			   nruns * sizeof(int64));
		slices[cut * (nruns + 1) + nruns] = made.before;
		cut++;
	}
	return cut;
}

/* The number of slices into which cutting this many tuples is worthwhile. */
static int
useful_slices(int nslices, int64 tuples)
{
	if (ptsort_debug.slices > 0)
		return Min(nslices, ptsort_debug.slices);
	return (int) Max(Min(nslices, tuples / MIN_SLICE_TUPLES),
					 Max(Min(nslices / SLICES_EACH, tuples / MIN_SHARE_TUPLES),
						 1));
}

int64
slices_plan(SortOrder *order, Run **runs, int nruns, int nslices, int64 budget,
			int64 *slices)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort slices",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SliceRun   *slice_runs = palloc0(Max(nruns, 1) * sizeof(SliceRun));
	Candidate  *candidates;
	int64		ncandidates;
	int64		tuples = 0;
	int			useful;
	int			cut;
	int64		memory;
	int			row = nruns + 1;	/* numbers in one row of slices */

	fault_point("slices: plan");
	memset(slices, 0, row * sizeof(int64));
	for (int r = 0; r < nruns; r++)
	{
		slice_runs[r].run = runs[r];
		run_begin_read(&slice_runs[r].reader, order, runs[r],
					   Min(BLCKSZ, budget / PLAN_PART / nruns), false);
		tuples += runs[r]->desc.tuples;
	}
	useful = useful_slices(nslices, tuples);
	ncandidates = collect_candidates(slice_runs, nruns, useful,
									 budget / PLAN_PART, &candidates);
	cut = make_cuts(order, slice_runs, nruns, candidates, ncandidates, useful,
					tuples / useful, slices);

	/* The remaining slices are empty, after the last tuple. */
	for (; cut <= nslices; cut++)
	{
		for (int r = 0; r < nruns; r++)
			slices[cut * row + r] = run_end(runs[r]);
		slices[cut * row + nruns] = tuples;
	}
	/* Cuts may be out of order, because samples were ordered by words only. */
	qsort_arg(slices, nslices + 1, row * sizeof(int64), compare_cuts, &nruns);
	MemoryContextSwitchTo(old);
	memory = MemoryContextMemAllocated(context, true);
	for (int r = 0; r < nruns; r++)
	{
		memory += tape_memory(runs[r]->tape);
		run_end_read(&slice_runs[r].reader);
	}
	MemoryContextDelete(context);
	return memory;
}
