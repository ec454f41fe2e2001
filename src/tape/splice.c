/*-------------------------------------------------------------------------
 *
 * splice.c
 *	  Joins runs that do not overlap, without rewriting them.
 *
 * Ascending input becomes one run: the sort continues the last run while
 * spilled tuples come after its last tuple.  Descending input becomes runs in
 * descending order.  Input that is sorted in parts (several sorted files, for
 * example) becomes sequences of non-overlapping runs in any order.  Without
 * splicing, a merge would rewrite these runs to concatenate them.
 *
 * Splicing uses a known algorithm for colouring intervals with the fewest
 * colours.  The algorithm takes the runs in the order of their first tuples,
 * and appends each run to the sequence that ends first, if that sequence ends
 * before the run begins.  Otherwise the run starts a new sequence.  Joining
 * two runs joins their lists of extents.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "lib/binaryheap.h"
#include "tape/run.h"

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
 * close the next run.  No reader can read the result backward: each frame
 * stores the size of the previous frame, but the next run's first frame stores
 * 0.
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

bool
splice_comes_before(SortOrder *order, const uint64 *last, const uint64 *first)
{
	return last && first && compare_edges(order, last, first) <= 0;
}

/* Orders runs by first tuple; runs without a copy of that tuple come last. */
static int
compare_first(const void *a, const void *b, void *arg)
{
	const Run  *left = *(Run *const *) a;
	const Run  *right = *(Run *const *) b;

	if (left->first == NULL || right->first == NULL)
		return (left->first == NULL) - (right->first == NULL);
	return compare_edges(arg, left->first, right->first);
}

/* Orders the heap so that the sequence that ends first is on top. */
static int
compare_last(Datum a, Datum b, void *arg)
{
	return compare_edges(arg, ((Run *) DatumGetPointer(b))->last,
						 ((Run *) DatumGetPointer(a))->last);
}

/*
 * splice_runs for a stable sort.  Appends an earlier run to a later run only
 * if no tuple of one run equals a tuple of the other run.
 */
static int
splice_neighbours(SortOrder *order, Run **runs, int nruns)
{
	int			left = 0;

	for (int i = 0; i < nruns; i++)
	{
		Run		   *before = left > 0 ? runs[left - 1] : NULL;
		Run		   *run = runs[i];

		if (before && splice_comes_before(order, before->last, run->first))
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
	return left;
}

int
splice_runs(SortOrder *order, Run **runs, int nruns)
{
	binaryheap *heap;
	int			left = 0;

	if (order->stable)
		return splice_neighbours(order, runs, nruns);
	if (nruns < 2)
		return nruns;
	heap = binaryheap_allocate(nruns, compare_last, order);
	qsort_arg(runs, nruns, sizeof(Run *), compare_first, order);
	for (int i = 0; i < nruns; i++)
	{
		Run		   *run = runs[i];

		if (run->first && run->last && !binaryheap_empty(heap))
		{
			Datum		top = binaryheap_first(heap);
			Run		   *before = (Run *) DatumGetPointer(top);

			if (splice_comes_before(order, before->last, run->first))
			{
				append_run(before, run);
				binaryheap_replace_first(heap, top);
				continue;
			}
		}
		runs[left++] = run;
		if (run->first && run->last)
			binaryheap_add(heap, PointerGetDatum(run));
	}
	binaryheap_free(heap);
	return left;
}
