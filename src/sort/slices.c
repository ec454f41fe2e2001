/*-------------------------------------------------------------------------
 *
 * slices.c
 *	  Cut the final merge into slices of about equal size.
 *
 * A *cut* is one place in each run.  In sort order, all tuples before these
 * places come before all tuples after these places.  Any tuple t of a run makes
 * a cut: in each run, the cut's place is before the first tuple that does not
 * come before t.
 *
 * The leader estimates the quantiles, which make the cuts, from the sparse
 * indexes.  Each sample stands for the tuples up to the next sample of its run,
 * so the sorted samples of all runs show where equal parts of the tuples end.
 * The estimate compares samples by words and then by places within runs, not by
 * images.  The cuts themselves are exact.  If a cut falls among many equal
 * keys, the number of tuples before the cut may be too far from the target.  A
 * bisection of the runs' samples then finds a better cut, so the sizes of
 * slices differ by at most 10 % for any data.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "miscadmin.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"

/*
 * Minimum number of tuples of a slice, and of a participant's only slice in a
 * small sort.  The last page of a slice is half full on average: a small loss
 * among the pages of MIN_SLICE_TUPLES tuples, even in posting lists.
 */
#define MIN_SLICE_TUPLES	150000
#define MIN_SHARE_TUPLES	30000

/* Use SLICE_SAMPLES for each slice and each run, but at most MAX_SAMPLES. */
#define SLICE_SAMPLES		256
#define MAX_SAMPLES			16384

/* A cut may miss its target by 1 / TOLERANCE_PART of a slice. */
#define TOLERANCE_PART		40

/* Part of the budget for the samples, and for reading single records. */
#define PLAN_PART			4

/* Candidate: a sample of one run, among the samples of all runs. */
typedef struct Candidate
{
	uint64		words[PTSORT_MAX_WORDS + 1];
	double		fraction;		/* fraction of 'run' before the sample */
	int			run;
	int64		position;
	double		middle;			/* estimated number of tuples of 'run' before
								 * a cut near this candidate */
} Candidate;

/* Cut: one place in each run. */
typedef struct Cut
{
	int64	   *positions;		/* position of the cut in each run */
	int64	   *samples;		/* samples before the cut in each run */
	int64		before;			/* tuples before the cut in all runs */
} Cut;

/* Splitter: a copy of the tuple that makes a cut: words, then the image. */
typedef struct Splitter
{
	uint64	   *words;
	char	   *tuple;
	const RunReader *reader;	/* reader of the tuple's run */
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

/* Collect and sort samples of all runs; returns the number of samples. */
static int64
collect_candidates(const PtSort *sort, int useful, int64 memory,
				   Candidate **result)
{
	int			nruns = sort->nruns;
	int64		most = Min(memory / (int64) sizeof(Candidate),
						   (useful + nruns) * SLICE_SAMPLES);
	int64		total = 0;
	int64		step;
	int64		n = 0;
	Candidate  *candidates;

	for (int r = 0; r < nruns; r++)
		total += sort->runs[r]->desc.nsamples;
	step = total / Min(Max(most, SLICE_SAMPLES), MAX_SAMPLES) + 1;
	candidates = palloc_extended((total / step + nruns) * sizeof(Candidate),
								 MCXT_ALLOC_HUGE);
	for (int r = 0; r < nruns; r++)
	{
		RunDesc    *desc = &sort->runs[r]->desc;
		RunSample  *samples = sort->runs[r]->samples;

		for (int64 i = 0; i < desc->nsamples; i += step)
		{
			RunSample  *sample = &samples[i];
			Candidate  *candidate = &candidates[n++];
			int64		next = i + step < desc->nsamples ?
				samples[i + step].ordinal : desc->tuples;

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

static void
probe(RunReader *reader, int64 position)
{
	run_limit(reader, position, run_end(reader->run));
	if (!run_next(reader))
		elog(ERROR, "sparse index entry is past the end of its run");
}

static void
copy_splitter(Splitter *splitter, RunReader *reader, int64 position)
{
	Size		ahead = reader->order->nwords * sizeof(uint64);

	probe(reader, position);
	splitter->words = palloc_extended(ahead + MAXALIGN(reader->size),
									  MCXT_ALLOC_HUGE);
	splitter->tuple = (char *) splitter->words + ahead;
	memcpy(splitter->words, reader->words, ahead);
	memcpy(splitter->tuple, reader->tuple, reader->size);
	splitter->reader = reader;
	splitter->position = run_current(reader);
}

/* True if the reader's current tuple comes before the cut. */
static bool
is_before_cut(SortOrder *order, const RunReader *reader,
			  const Splitter *splitter)
{
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
	if (reader != splitter->reader)
		return reader < splitter->reader;
	return run_current(reader) < splitter->position;
}

/* True if a sample is before the cut.  May read the sample's record. */
static bool
sample_is_before_cut(SortOrder *order, RunReader *reader,
					 const RunSample *sample, const Splitter *splitter)
{
	int			cmp = order_compare_words(sample->words, splitter->words,
										  order->nwords);

	if (cmp != 0)
		return cmp < 0;
	probe(reader, sample->position);
	return is_before_cut(order, reader, splitter);
}

/* Find the first record of a run that does not come before the cut. */
static void
cut_run(SortOrder *order, RunReader *reader, const Splitter *splitter, int r,
		Cut *cut)
{
	const RunSample *samples = reader->run->samples;
	int64		low = 0;		/* samples below 'low' are before the cut */
	int64		high = reader->run->desc.nsamples;	/* samples from 'high' on
													 * are not before the cut */
	int64		tuples;

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (sample_is_before_cut(order, reader, &samples[middle], splitter))
			low = middle + 1;
		else
			high = middle;
	}
	cut->samples[r] = low;
	cut->positions[r] = 0;
	if (low == 0)
		return;
	cut->positions[r] = run_end(reader->run);
	run_limit(reader, samples[low - 1].position, cut->positions[r]);
	for (tuples = samples[low - 1].ordinal; run_next(reader); tuples++)
	{
		if (!is_before_cut(order, reader, splitter))
		{
			cut->positions[r] = run_current(reader);
			break;
		}
	}
	cut->before += tuples;
}

/* Cut all runs before the record at 'position' of one run. */
static void
make_cut(PtSort *sort, RunReader *readers, int run, int64 position, Cut *cut)
{
	Splitter	splitter;

	CHECK_FOR_INTERRUPTS();
	copy_splitter(&splitter, &readers[run], position);
	cut->before = 0;
	for (int r = 0; r < sort->nruns; r++)
		cut_run(&sort->order, &readers[r], &splitter, r, cut);
	pfree(splitter.words);
}

static Cut
alloc_cut(int nruns)
{
	Cut			cut = {.before = 0};

	cut.positions = palloc(nruns * sizeof(int64));
	cut.samples = palloc(nruns * sizeof(int64));
	return cut;
}

static void
copy_cut(Cut *target, const Cut *source, int nruns)
{
	memcpy(target->positions, source->positions, nruns * sizeof(int64));
	memcpy(target->samples, source->samples, nruns * sizeof(int64));
	target->before = source->before;
}

/*
 * Improve a cut until about 'target' tuples come before it.  In each run, only
 * the samples from low to high - 1 can make a better cut.  The loop tries the
 * middle sample of the run with the most remaining samples.
 */
static void
improve_cut(PtSort *sort, RunReader *readers, int64 target, int64 tolerance,
			Cut *cut)
{
	int			nruns = sort->nruns;
	int64	   *low = palloc0(nruns * sizeof(int64));
	int64	   *high = palloc(nruns * sizeof(int64));
	Cut			last = alloc_cut(nruns);

	copy_cut(&last, cut, nruns);
	for (int r = 0; r < nruns; r++)
		high[r] = sort->runs[r]->desc.nsamples;
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
		make_cut(sort, readers, widest,
				 sort->runs[widest]->samples[middle].position, &last);

		/* exclude the sample just tried: the comparisons may be intransitive */
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

static void
store_cut(PtSort *sort, int slice, const Cut *cut)
{
	PtSortShared *shared = sort->options.shared;

	memcpy(shared_slice(shared, slice), cut->positions,
		   sort->nruns * sizeof(int64));
	*shared_slice_start(shared, slice) = cut->before;
}

/*
 * Cut the runs into at most 'useful' parts of about 'part' tuples each.
 * Returns the number of parts.
 */
static int
make_cuts(PtSort *sort, RunReader *readers, const Candidate *candidates,
		  int64 ncandidates, int useful, int64 part)
{
	double	   *middles = palloc0(sort->nruns * sizeof(double));
	double		passed = 0;		/* sum of 'middles': estimated tuples before
								 * the candidate */
	int			slice = 1;
	Cut			cut = alloc_cut(sort->nruns);

	for (int64 i = 0; i < ncandidates && slice < useful; i++)
	{
		const Candidate *candidate = &candidates[i];
		int64		target = part * slice;

		passed += candidate->middle - middles[candidate->run];
		middles[candidate->run] = candidate->middle;
		if (passed < target)
			continue;
		make_cut(sort, readers, candidate->run, candidate->position, &cut);
		improve_cut(sort, readers, target, part / TOLERANCE_PART, &cut);
		store_cut(sort, slice++, &cut);
	}
	return slice;
}

static int
useful_slices(int nslices, int64 tuples)
{
	if (ptsort_debug.slices > 0)
		return Min(nslices, ptsort_debug.slices);
	return (int) Max(Min(nslices, tuples / MIN_SLICE_TUPLES),
					 Max(Min(nslices / SLICES_EACH, tuples / MIN_SHARE_TUPLES),
						 1));
}

/* Set the starts of all slices except the first, whose start is already set. */
static void
plan(PtSort *sort, int nslices)
{
	PtSortShared *shared = sort->options.shared;
	int			nruns = sort->nruns;
	int64		memory = Max(sort->options.budget - sort_other_memory(sort),
							 0) / PLAN_PART;
	RunReader  *readers = palloc0(Max(nruns, 1) * sizeof(RunReader));
	Candidate  *candidates;
	int64		ncandidates;
	int			useful;
	int			slice;
	Cut			end = alloc_cut(nruns);

	for (int r = 0; r < nruns; r++)
	{
		run_begin_read(&readers[r], &sort->order, sort->runs[r],
					   Min(BLCKSZ, memory / nruns), false);
		end.positions[r] = run_end(sort->runs[r]);
		end.before += sort->runs[r]->desc.tuples;
	}
	useful = useful_slices(nslices, end.before);
	ncandidates = collect_candidates(sort, useful, memory, &candidates);
	slice = make_cuts(sort, readers, candidates, ncandidates, useful,
					  end.before / useful);
	/* the remaining slices are empty: they start after the last tuple */
	while (slice <= nslices)
		store_cut(sort, slice++, &end);
	/* cuts may be out of order, because samples were sorted without images */
	qsort_arg(shared_slice(shared, 0), nslices + 1,
			  (char *) shared_slice(shared, 1) -
			  (char *) shared_slice(shared, 0), compare_cuts, &nruns);
	sort_note_memory(sort);
	for (int r = 0; r < nruns; r++)
	{
		run_end_read(&readers[r]);
		run_forget_samples(sort->runs[r]);
	}
}

void
sort_plan_slices(PtSort *sort)
{
	MemoryContext context = AllocSetContextCreate(sort->context,
												  "ptsort slices",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PtSortShared *shared = sort->options.shared;

	fault_point("slices: plan");
	plan(sort, shared_slices(shared_processes(shared)));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
