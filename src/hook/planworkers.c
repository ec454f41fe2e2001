/*-------------------------------------------------------------------------
 *
 * planworkers.c
 *	  The number of workers of a build.
 *
 * The number in the statement is an order, as a table's parallel_workers option
 * is in the server.  The number in ptsort.parallel_workers, or that of the
 * server's cost model, is a limit.  Within it the build gets the number with
 * which it is fastest:
 *
 * Workers need time to start and to end, and with even one of them the
 * participants write and merge runs, which a serial build in memory need not
 * do.  So small builds are faster without workers.  The model of the time that
 * a serial build takes is, in the time of one row whose key is passed by value,
 *
 *		work = rows * (1 or REFERENCE_COST) + pages * PAGE_COST
 *
 * and of a build with w workers, which has w + 1 participants,
 *
 *		work * RUNS_FACTOR / min(w + 1, CPUs) + (w + 2) * WORKER_COST
 *
 * The w of the smallest value wins, the smaller w of equal values.  Shared
 * memory, files and waiting time cost about as much as two workers.  More
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

#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "debug.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/plancat.h"
#include "team/build.h"
#include "utils/rel.h"

int			ptsort_parallel_workers = -1;

/*
 * The constants are measured: builds of 4,000 to 3 million rows of 100 bytes
 * with 0 to 3 workers, on two idle CPUs and on two busy ones.
 */
#define REFERENCE_COST	3.0		/* row whose key is passed by reference */
#define PAGE_COST		10.0	/* reading a page that is in a buffer */
#define RUNS_FACTOR		1.4		/* factor for writing and merging runs */
#define WORKER_COST		75000.0 /* starting and ending a worker */

/*
 * Returns why the server's rules forbid a parallel build, or NULL if they allow
 * one.  As in the planner, expressions and the predicate are checked after
 * constants are folded, which may call user functions: so this must not be
 * called inside ereport().
 */
static const char *
why_not_parallel(Relation heap, Relation index)
{
	Query	   *query;

	if (heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return "a temporary table";

	query = makeNode(Query);
	query->commandType = CMD_SELECT;
	query->targetList = RelationGetIndexExpressions(index);
	query->jointree =
		makeFromExpr(NIL, (Node *) RelationGetIndexPredicate(index));
	if (max_parallel_hazard(query) != PROPARALLEL_SAFE)
		return "a function that is not parallel safe";
	if (parallel_is_forbidden(heap))
		return "an extension that forbids parallel work on the table";
	return NULL;
}

/* The number is 0 if the build cannot be parallel. */
BtBuildRequest
planworkers_request(Relation heap, Relation index, int by_cost)
{
	BtBuildRequest request = {0};
	int			requested = utility_workers(index);
	const char *obstacle;

	if (requested >= 0)
	{
		request.is_order = true;
		request.source = psprintf("WITH (parallel_workers = %d)", requested);
	}
	else if (ptsort_parallel_workers >= 0)
	{
		requested = ptsort_parallel_workers;
		request.source = psprintf("ptsort.parallel_workers = %d", requested);
	}
	else
	{
		request.workers = by_cost;
		request.is_order = RelationGetParallelWorkers(heap, -1) >= 0;
		request.source = request.is_order ?
			"parallel_workers of the table" : "cost model";
		return request;
	}

	request.workers = Min(requested, max_parallel_maintenance_workers);
	if (request.workers < requested)
		request.source = psprintf("%s, max_parallel_maintenance_workers = %d",
								  request.source,
								  max_parallel_maintenance_workers);
	if (request.workers > 0 &&
		(obstacle = why_not_parallel(heap, index)) != NULL)
	{
		request.workers = 0;
		request.source = psprintf("%s, serial because of %s",
								  request.source, obstacle);
	}
	return request;
}

/*
 * Returns the cost of a row, by the first column of the index, which decides
 * nearly all comparisons.
 */
static double
row_cost(Relation index)
{
	return TupleDescAttr(RelationGetDescr(index), 0)->attbyval ?
		1.0 : REFERENCE_COST;
}

/* Returns the cost of all builds of the request without workers. */
static double
work_cost(const BtBuildRequest *request, Relation heap, Relation index)
{
	BlockNumber pages;
	double		rows;
	double		visible;
	double		per_row = row_cost(index);

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	for (int i = 0; i < request->ncandidates; i++)
		per_row += row_cost(request->candidates[i]);
	return rows * per_row + pages * PAGE_COST;
}

void
planworkers_limit(BtBuildRequest *request, Relation heap, Relation index)
{
	long		ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	double		work;
	double		least;
	int			best = 0;

	if (request->is_order || ptsort_debug.all_workers || request->workers <= 0)
		return;

	least = work = work_cost(request, heap, index);
	for (int w = 1; w <= request->workers; w++)
	{
		int			busy = ncpus > 0 ? Min(w + 1, ncpus) : w + 1;
		double		cost = work * RUNS_FACTOR / busy +
			(1 + request->ncandidates) * (w + 2) * WORKER_COST;

		if (cost < least)
		{
			least = cost;
			best = w;
		}
	}
	if (best < request->workers)
		request->source = psprintf("%s, %s", request->source,
								   best == 0 ? "a worker would not pay" :
								   "more would not pay");
	request->workers = best;
}
