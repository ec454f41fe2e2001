/*-------------------------------------------------------------------------
 *
 * planworkers.c
 *	  Chooses the number of workers of a build.
 *
 * ptsort obeys the number in the statement, as the server obeys a table's
 * parallel_workers option.  The number in ptsort.parallel_workers, or from the
 * server's cost model, is only a limit.  Within the limit ptsort chooses the
 * number with which the build is fastest.
 *
 * Workers need time to start and to end.  Even with one worker, the
 * participants write and merge runs; a serial build in memory has no runs.
 * Therefore small builds are faster without workers.  The unit of this model is
 * the time for one row whose key is passed by value.  A serial build takes
 *
 *		work = rows * (1 or REFERENCE_COST) + pages * PAGE_COST
 *
 * plus the cost of compressing long values, and a build by w + 1 participants
 * (w workers and the leader) takes
 *
 *		work * RUNS_FACTOR / min(w + 1, CPUs) + (w + 2) * WORKER_COST
 *
 * ptsort chooses the w with the smallest time, or the smaller w of equal times.
 * Shared memory, files and waiting cost about as much as two workers.
 * Participants beyond the number of CPUs only add the time to start them.
 *
 * If one scan serves several indexes, the work is the sum of the work for each
 * index.  The cost of workers counts once for each index, because each index
 * has its own team to load it.  The formula ignores waiting for a disk.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/amapi.h"
#include "access/gist.h"
#include "access/heaptoast.h"
#include "access/xlog.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_proc.h"
#include "debug.h"
#include "forecast/forecast.h"
#include "hook/hook.h"
#include "limit/diskspace.h"
#include "limit/work.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "team/build.h"
#include "util.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

int			ptsort_parallel_workers = -1;

/*
 * The constants come from measured builds of 4,000 to 3 million rows of 100
 * bytes with 0 to 3 workers, on two idle CPUs and on two busy CPUs.
 */
#define REFERENCE_COST	3.0		/* row whose key is passed by reference */
#define COMPRESS_COST	(REFERENCE_COST / 30)	/* byte of a long value */
#define GIST_COST		25.0	/* row of a GiST index: picksplit */
#define PAGE_COST		10.0	/* reading a page that is in a buffer */
#define RUNS_FACTOR		1.4		/* factor for writing and merging runs */
#define WORKER_COST		75000.0 /* starting and ending a worker */
#define LEAST_FILES		(PTSORT_MIN_BUDGET / 8) /* bytes of a participant */
#define OPEN_COST		(WORKER_COST / 20)	/* opening an index and its table */

/*
 * True if workers may call all support functions of a GiST index.  For btree,
 * the server does not check them.  Sort support functions do not count: they
 * only supply C functions that compare, and PostGIS does not mark its own.
 */
static bool
support_is_parallel_safe(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		for (int number = 1; number <= index->rd_indam->amsupport; number++)
		{
			Oid			function = index_getprocid(index, i + 1, number);

			if (number != GIST_SORTSUPPORT_PROC && OidIsValid(function) &&
				func_parallel(function) != PROPARALLEL_SAFE)
				return false;
		}
	}
	return true;
}

/*
 * Returns a part of an index's definition before constants are folded.  Workers
 * fold them again, and so call functions that the planner does not see.
 */
static List *
stored_nodes(Relation index, AttrNumber part)
{
	bool		isnull = true;
	Datum		nodes = (Datum) 0;

	if (index->rd_indextuple != NULL)	/* the index exists */
		nodes = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, part,
								&isnull);
	return isnull ? NIL : stringToNode(TextDatumGetCString(nodes));
}

const char *
planworkers_obstacle(Relation heap, Relation index)
{
	Query	   *query;

	if (heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return "a temporary table";

	if (index != NULL)
	{
		query = makeNode(Query);
		query->commandType = CMD_SELECT;
		query->targetList =
			list_make4(RelationGetIndexExpressions(index),
					   RelationGetIndexPredicate(index),
					   stored_nodes(index, Anum_pg_index_indexprs),
					   stored_nodes(index, Anum_pg_index_indpred));
		query->jointree = makeFromExpr(NIL, NULL);
		if (max_parallel_hazard(query) != PROPARALLEL_SAFE)
			return "a function that is not parallel safe";
	}
	if (index != NULL && index->rd_rel->relam == GIST_AM_OID)
	{
		if (!support_is_parallel_safe(index))
			return "a support function that is not parallel safe";
		/* the server has no workers, and so, in memory, no files */
		if (temp_file_limit >= 0 && temp_file_limit * 1024.0 <
			(double) RelationGetNumberOfBlocks(heap) * BLCKSZ)
			return "temp_file_limit";
	}
	if (parallel_is_forbidden(heap))
		return "an extension that forbids parallel work on the table";
	return NULL;
}

BtBuildRequest
planworkers_request(Relation heap, Relation index, int by_cost)
{
	return planworkers_request_for(heap, index, utility_workers(index),
								   by_cost);
}

/* The request has 0 workers if the build cannot be parallel. */
BtBuildRequest
planworkers_request_for(Relation heap, Relation index, int requested,
						int by_cost)
{
	BtBuildRequest request = {0};
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
		(obstacle = planworkers_obstacle(heap, index)) != NULL)
	{
		request.workers = 0;
		request.source = psprintf("%s, serial because of %s",
								  request.source, obstacle);
	}
	return request;
}

int
planworkers_by_cost(Relation heap, Relation index)
{
	RelOptInfo *rel = makeNode(RelOptInfo);
	BlockNumber pages;
	double		rows;
	double		visible;
	int			workers = RelationGetParallelWorkers(heap, -1);

	if (max_parallel_maintenance_workers == 0 ||
		planworkers_obstacle(heap, index) != NULL)
		return 0;
	if (workers >= 0)
		return Min(workers, max_parallel_maintenance_workers);
	rel->reloptkind = RELOPT_BASEREL;
	rel->rel_parallel_workers = -1;
	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	workers = compute_parallel_worker(rel, pages, -1,
									  max_parallel_maintenance_workers);
	/* the server wants 32 MB for each process of its own build */
	return Max(Min(workers, maintenance_work_mem / (32 * 1024) - 1), 0);
}

/*
 * Returns the cost per row of compressing or decompressing the long values of
 * an index's key columns.  Expressions have no statistics of their own here.
 */
static double
compress_cost(Relation heap, Relation index)
{
	double		bytes = 0;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	column = index->rd_index->indkey.values[i];
		int32		width = column <= 0 ? 0 :
			get_attavgwidth(RelationGetRelid(heap), column);

		if (width > TOAST_INDEX_TARGET)
			bytes += width;
	}
	return bytes * COMPRESS_COST;
}

/*
 * Returns the cost of a row.  The cost depends on the first column of the
 * index, because that column decides nearly all comparisons, and on long
 * values.
 */
static double
row_cost(Relation heap, Relation index)
{
	if (index->rd_rel->relam == GIST_AM_OID)
		return GIST_COST;
	return compress_cost(heap, index) +
		(TupleDescAttr(RelationGetDescr(index), 0)->attbyval ?
		 1.0 : REFERENCE_COST);
}

/* Returns the cost that all builds of the request have without workers. */
static double
work_cost(const BtBuildRequest *request, Relation heap, Relation index)
{
	BlockNumber pages;
	double		rows;
	double		visible;
	double		per_row = row_cost(heap, index);

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	for (int i = 0; i < request->ncandidates; i++)
		per_row += row_cost(heap, request->candidates[i]);
	return rows * per_row + pages * PAGE_COST;
}

double
planworkers_work(Relation heap, Relation index)
{
	BtBuildRequest request = {0};

	return OPEN_COST + work_cost(&request, heap, index);
}

int
planworkers_fastest(int most, double work, int teams)
{
	int			processors = pt_processors();
	double		least = work;
	int			best = 0;

	if (ptsort_debug.all_workers)
		return most;
	for (int w = 1; w <= most; w++)
	{
		int			busy = Min(w + 1, processors);
		double		cost = work * RUNS_FACTOR / busy +
			teams * (w + 2) * WORKER_COST;

		if (cost < least)
		{
			least = cost;
			best = w;
		}
	}
	return best;
}

int
planworkers_beside_others(int most)
{
	if (ptsort_debug.all_workers)
		return most;
	return Min(most, Max(pt_processors() - 2, 0));
}

bool
planworkers_runs_fit(Relation rel, double bytes)
{
	char	   *temporary = disk_temporary();
	char	   *directory = disk_tablespace(rel->rd_rel->reltablespace);
	double		wal = !RelationNeedsWAL(rel) ? 0 :
		Min(bytes, (double) max_wal_size_mb * 1024 * 1024);

	if (disk_device(temporary) == disk_device(directory))
		bytes *= 2;
	return ptsort_disk_reserve == 0 ||
		diskspace_lacking(temporary, bytes, wal) == 0;
}

void
planworkers_limit(BtBuildRequest *request, Relation heap, Relation index,
				  Relation old)
{
	WorkKind	kind = old == heap ? WORK_COPY : WORK_INDEX;
	int			best;

	/* a serial build may need no runs, as its memory may suffice */
	if (request->workers > 0 && old != NULL &&
		!planworkers_runs_fit(old, work_run_bytes(kind, heap, index) +
							  (request->workers + 1) * LEAST_FILES))
	{
		request->workers = 0;
		request->source = psprintf("%s, serial because of free space for temporary files",
								   request->source);
	}
	if (request->is_order || ptsort_debug.all_workers || request->workers <= 0)
		return;

	best = planworkers_fastest(request->workers,
							   work_cost(request, heap, index),
							   1 + request->ncandidates);
	if (best < request->workers)
		request->source = psprintf("%s, %s", request->source,
								   best == 0 ? "a worker would not pay" :
								   "more would not pay");
	request->workers = best;
}
