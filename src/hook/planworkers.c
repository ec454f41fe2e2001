/*-------------------------------------------------------------------------
 *
 * planworkers.c
 *	  The number of workers with which a build is fastest.
 *
 * Workers need time to start and to end, and with even one of them the
 * participants write and merge runs, which a serial build in memory need not
 * do.  So small builds are faster without workers.  The model of the time that
 * a serial build takes is, in microseconds,
 *
 *		work = rows * (time per row, by its key) + pages * PAGE_US
 *
 * and of a build with w workers, which has w + 1 participants,
 *
 *		work * RUNS_FACTOR / min(w + 1, CPUs) + TEAM_US + w * WORKER_US
 *
 * The w of the smallest value wins, the smaller w of equal values.  More
 * participants than CPUs do not help: they only add their time to start.
 *
 * For several indexes by one scan the work is the sum of theirs, but each of
 * them has a team of its own to load it.  The formula does not contain waiting
 * for a disk.
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
 * The constants are measured: builds of 4,000 to 3 million rows of 100 bytes
 * with 0 to 3 workers, on two idle CPUs and on two busy ones.  TEAM_US and
 * RUNS_FACTOR are a line fitted by eye.
 */
#define WORD_US		0.08		/* row: key by value, such as int8 */
#define BYTES_US	0.17		/* row: uuid, numeric, text by its bytes */
#define TEXT_US		0.25		/* row: text by the rules of a collation */
#define PAGE_US		0.8			/* reading a page that is in a buffer */
#define RUNS_FACTOR 1.4			/* factor for writing and merging runs */
#define TEAM_US		10000		/* shared memory, files, first use of memory,
								 * waiting for each other */
#define WORKER_US	6000		/* starting and ending a worker */

/*
 * Returns the time per row, by the first column of the index, which decides
 * nearly all comparisons.
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

/* Returns the time of all builds of the request without workers. */
static double
work_us(const BtBuildRequest *request, Relation heap, Relation index)
{
	BlockNumber pages;
	double		rows;
	double		visible;
	double		per_row = row_us(index);

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	for (int i = 0; i < request->ncandidates; i++)
		per_row += row_us(request->candidates[i]);
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
