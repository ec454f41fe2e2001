/*-------------------------------------------------------------------------
 *
 * planworkers.c
 *	  How many workers make a build faster.
 *
 * Workers take time to start and to end, and even one of them means that runs
 * are written and merged, which a serial build that fits into memory does
 * without.  So small builds are faster without any.  The model of the time
 * that a build takes is, in microseconds,
 *
 *		work = rows * (what a row takes by its key) + pages * PAGE_US
 *
 * if it is serial, and with w workers, that is w + 1 participants,
 *
 *		work * RUNS_FACTOR / min(w + 1, CPUs) + TEAM_US + w * WORKER_US
 *
 * The w of the smallest value wins, the smaller of equal ones.  Participants
 * beyond the number of CPUs bring nothing: they only take their time to start.
 * With enough CPUs that is two participants from 42 ms of work, four from 52,
 * eight from 240, if they are allowed.
 *
 * The work for several indexes by one scan is the sum, but each of them has a
 * team of its own to load it.  Waiting for a disk is not in the formula.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <unistd.h>

#include "debug.h"
#include "hook/planworkers.h"
#include "optimizer/plancat.h"
#include "utils/rel.h"

/*
 * These are from builds of 4,000 to 3 million rows of 100 bytes with 0 to 3
 * workers, on two CPUs that were idle and on two that others used as well.
 * TEAM_US and RUNS_FACTOR are a line through these by eye.
 */
#define WORD_US		0.08		/* a row: int8, whose words are the value */
#define BYTES_US	0.17		/* uuid, numeric, text by its bytes */
#define TEXT_US		0.25		/* text by the rules of a collation */
#define PAGE_US		0.8			/* to read a page that is in a buffer */
#define RUNS_FACTOR 1.4			/* to write runs and merge them as well */
#define TEAM_US		10000		/* shared memory, files, memory touched anew,
								 * waiting for each other */
#define WORKER_US	6000		/* to start a worker and to end it: 6 to 7 ms
								 * of CPU time */

/*
 * What one row takes.  The first column counts: it decides nearly all
 * comparisons.
 */
static double
row_us(Relation index)
{
	Oid			collation = index->rd_indcollation[0];

	if (OidIsValid(collation) && !pt_collate_is_c(collation))
		return TEXT_US;
	return TupleDescAttr(RelationGetDescr(index), 0)->attbyval ?
		WORD_US : BYTES_US;
}

/* What all builds of the request take without workers. */
static double
work_us(const BtBuildRequest *request, Relation heap, Relation index)
{
	BlockNumber pages;
	double		rows;
	double		visible;
	double		per_row = row_us(index);

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	for (int i = 0; i < request->ncandidates; i++)
		per_row += row_us(request->candidates[i].index);
	return rows * per_row + pages * PAGE_US;
}

void
planworkers_limit(BtBuildRequest *request, Relation heap, Relation index)
{
	long		ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	double		work;
	double		least;
	int			best = 0;

	if (ptsort_debug.all_workers || request->workers <= 0)
		return;

	least = work = work_us(request, heap, index);
	for (int w = 1; w <= request->workers; w++)
	{
		int			busy = ncpus > 0 ? Min(w + 1, ncpus) : w + 1;
		double		us = work * RUNS_FACTOR / busy +
			(1 + request->ncandidates) * (TEAM_US + (double) w * WORKER_US);

		if (us < least)
		{
			least = us;
			best = w;
		}
	}
	if (best < request->workers)
		request->source = psprintf("%s, %s", request->source,
								   best == 0 ? "a worker would not pay" :
								   "more would not pay");
	request->workers = best;
}
