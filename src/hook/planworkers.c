/*-------------------------------------------------------------------------
 *
 * planworkers.c
 *	  Chooses the number of workers of a build.
 *
 * ptsort obeys the number in the statement, as the server obeys a table's
 * parallel_workers option.  The number in ptsort.parallel_workers, or from the
 * server's cost model, is only a limit.  Within the limit ptsort chooses the
 * number with which the build is fastest by the model of costs (cost.h), with
 * the planner's estimates of rows.  If one scan serves several indexes, the
 * times of all builds count, because each index has its own team to load it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gin.h"
#include "access/gist.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_proc.h"
#include "debug.h"
#include "forecast/forecast.h"
#include "hook/hook.h"
#include "model/cost.h"
#include "model/space.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "team/build.h"
#include "util.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

int			ptsort_parallel_workers = -1;

/* Temporary files of a participant without entries */
#define LEAST_FILES		(PTSORT_MIN_BUDGET / 8)

/* Returns a support function of column i; GIN has a default comparison. */
static Oid
support_of(Relation index, int i, int number)
{
	Oid			function = index_getprocid(index, i + 1, number);
	Oid			type = TupleDescAttr(RelationGetDescr(index), i)->atttypid;

	if (!OidIsValid(function) && number == GIN_COMPARE_PROC &&
		index->rd_rel->relam == GIN_AM_OID)
		function = lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc;
	return function;
}

/*
 * True if workers may call all support functions of a GiST or GIN index.  For
 * btree, the server does not check them.  Sort support functions do not count:
 * they only supply C functions that compare, and PostGIS does not mark its own.
 */
static bool
support_is_parallel_safe(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		for (int number = 1; number <= index->rd_indam->amsupport; number++)
		{
			Oid			function = support_of(index, i, number);

			if (number != GIST_SORTSUPPORT_PROC && OidIsValid(function) &&
				func_parallel(function) != PROPARALLEL_SAFE)
				return false;
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
	if (heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return "a temporary table";
	if (index != NULL)
	{
		Query	   *query = makeNode(Query);

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
	if (index != NULL && index->rd_rel->relam != BTREE_AM_OID)
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
planworkers_request(Relation heap, Relation index, int requested, int by_cost)
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

int
planworkers_beside_others(int most)
{
	return ptsort_debug.all_workers ? most :
		Min(most, Max(pt_processors() - 2, 0));
}

bool
planworkers_runs_fit(Relation rel, double bytes)
{
	char	   *directory = space_tablespace(rel->rd_rel->reltablespace);
	List	   *needs = space_add(NIL, SPACE_TEMP, space_temporary(), bytes);

	needs = space_add(needs, SPACE_INDEX, directory, bytes);
	if (RelationNeedsWAL(rel))
		needs = space_add(needs, SPACE_WAL, "pg_wal",
						  Min(bytes, (double) max_wal_size_mb * 1024 * 1024));
	return ptsort_disk_reserve == 0 || space_lacking(linitial(needs)) == 0;
}

static int
fastest(const BtBuildRequest *request, Relation heap, Relation index,
		bool copies)
{
	CostSum		sum = {0};
	Job			job;

	size_job(&job, copies, heap, index);
	cost_add(&sum, &job);
	for (int i = 0; i < request->ncandidates; i++)
	{
		size_job(&job, false, heap, request->candidates[i]);
		job.blocks = 1;			/* the scan of the first */
		cost_add(&sum, &job);
	}
	return cost_fastest(&sum, request->workers);
}

void
planworkers_limit(BtBuildRequest *request, Relation heap, Relation index,
				  Relation old)
{
	bool		copies = old == heap;
	int			best;

	/* a serial build may need no runs, as its memory may suffice */
	if (request->workers > 0 && old != NULL && index != NULL &&
		!planworkers_runs_fit(old, size_of_runs(copies, heap, index) +
							  (request->workers + 1) * LEAST_FILES))
	{
		request->workers = 0;
		request->source = psprintf("%s, serial because of free space for temporary files",
								   request->source);
	}
	if (request->is_order || ptsort_debug.all_workers || request->workers <= 0)
		return;
	best = fastest(request, heap, index, copies);
	if (best < request->workers)
		request->source = psprintf("%s, %s", request->source,
								   best == 0 ? "a worker would not pay" :
								   "more would not pay");
	request->workers = best;
}
