/*-------------------------------------------------------------------------
 *
 * splice.c
 *	  Joins runs that do not overlap, without rewriting them.
 *
 * Ascending input becomes one run: the sort continues the last run while
 * spilled tuples come after its last tuple.  Descending input (of an index in
 * descending order, for example) becomes runs in descending order.  Without
 * splicing, a merge would rewrite these runs to concatenate them.
 *
 * Only neighbours are joined: other runs of the queue that do not overlap are
 * rare, and a stable sort must keep the order of its runs.  An earlier run
 * follows a later one only if no tuple of one equals a tuple of the other.
 * Joining two runs joins their lists of extents.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

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

int
splice_runs(SortOrder *order, Run **runs, int nruns)
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
