/*-------------------------------------------------------------------------
 *
 * ambuild.c
 *	  ptsort's ambuild: decides whether ptsort or the server builds an index,
 *	  and which indexes one scan of the table serves.
 *
 * redirect.c makes the server call ambuild_build().
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gin_private.h"
#include "access/gist_private.h"
#include "access/nbtree.h"
#include "catalog/catalog.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "debug.h"
#include "gin/gin.h"
#include "gist/gist.h"
#include "hook/hook.h"
#include "model/cost.h"
#include "optimizer/paths.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"
#include "write/buildreport.h"

bool		ptsort_enable = true;
int			ptsort_min_table_size = 256;
int			ptsort_indexes_per_scan = 8;

ambuild_function
ambuild_of_server(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_INDEX ||
		RelationGetRelid(rel) < FirstNormalObjectId)
		return NULL;
	switch (rel->rd_rel->relam)
	{
		case BTREE_AM_OID:
			return btbuild;
		case GIST_AM_OID:
			return gistbuild;
		case GIN_AM_OID:
			return ginbuild;
	}
	return NULL;
}

/* ptsort builds indexes of temporary and toast tables, too. */
const char *
ambuild_why_not(Relation heap)
{
	BlockNumber nblocks;

	if (!ptsort_enable)
		return "ptsort.enable is off";
	if (!IsUnderPostmaster || !IsNormalProcessingMode())
		return "single-user mode";
	if (IsCatalogRelation(heap))
		return "system catalog";
	if (pt_is_elsewhere(heap))
		return "another storage manager";
	nblocks = RelationGetNumberOfBlocks(heap);
	if (nblocks == 0)
		return "empty table";
	if ((uint64) nblocks * (BLCKSZ / 1024) < (uint64) ptsort_min_table_size)
		return "table smaller than ptsort.min_table_size";
	return NULL;
}

/* The runs of a GIN build, with a header for each key, grow less than this. */
static const double most_growth = 20;

const char *
ambuild_gin_why_not(Relation heap, Relation index)
{
	double		bytes = (double) RelationGetNumberOfBlocks(heap) * BLCKSZ +
		size_of_toast(heap);

	/* the server's build, without workers, writes no temporary files */
	if (temp_file_limit >= 0 && most_growth * bytes > temp_file_limit * 1024.0)
		return "GIN, temp_file_limit";
	if (!planworkers_runs_fit(index, size_of_runs(false, heap, index)))
		return "GIN, free space for temporary files";
	return NULL;
}

/*
 * Call the server's build.  Unless the table is empty, that build uses the
 * number of workers in the statement, but not ptsort.parallel_workers.
 */
static IndexBuildResult *
leave_to_server(Relation heap, Relation index, IndexInfo *indexInfo,
				const char *reason, int workers)
{
	if (workers >= 0 && RelationGetNumberOfBlocks(heap) > 0 &&
		IsUnderPostmaster)
		indexInfo->ii_ParallelWorkers =
			planworkers_request(heap, index, workers,
								indexInfo->ii_ParallelWorkers).workers;

	ereport(buildreport_log_level(),
			(errmsg("ptsort: leaving index \"%s\" to the server: %s",
					RelationGetRelationName(index), reason)));
	return ambuild_of_server(index) (heap, index, indexInfo);
}

static bool
is_in_c(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language == INTERNALlanguageId || language == ClanguageId;
}

/*
 * True if building the index calls only C functions.  Expressions, predicates,
 * operators of an exclusion constraint and support functions of the operator
 * classes may run user code in SQL or another language.  Support functions for
 * arrays, ranges and records call functions of other types.
 */
static bool
runs_no_user_code(Relation index)
{
	if (RelationGetIndexExpressions(index) != NIL ||
		RelationGetIndexPredicate(index) != NIL ||
		index->rd_index->indisexclusion)
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			type = index->rd_opcintype[i];

		if (type == RECORDOID ||
			(IsPolymorphicType(type) && type != ANYENUMOID))
			return false;
		for (int proc = 1; proc <= index->rd_indam->amsupport; proc++)
		{
			Oid			function = index_getprocid(index, i + 1, proc);

			if (OidIsValid(function) && !is_in_c(function))
				return false;
		}
	}
	return true;
}

/*
 * True if the table has extended statistics on expressions.  Planning any build
 * evaluates the constants in these expressions, and may call user functions.
 */
static bool
has_statistics_expressions(Relation heap)
{
	List	   *statistics = RelationGetStatExtList(heap);
	bool		has_expressions = false;
	ListCell   *lc;

	foreach(lc, statistics)
	{
		HeapTuple	tuple = SearchSysCache1(STATEXTOID,
											ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		has_expressions |= !heap_attisnull(tuple,
										   Anum_pg_statistic_ext_stxexprs,
										   NULL);
		ReleaseSysCache(tuple);
	}
	list_free(statistics);
	return has_expressions;
}

/*
 * REPACK (CONCURRENTLY) builds copies of a table's indexes on a new table, in
 * the order of the table's list of indexes.  So the i-th index of the new table
 * is a copy of the i-th index of the old table.  (All other statements that
 * fill a transient table build the indexes later, on the table itself.)
 */
static bool
is_repacked(Relation heap)
{
	return OidIsValid(heap->rd_rel->relrewrite);
}

/* Returns the indexes of the table, or of the old table of a REPACK. */
static List *
original_indexes(Relation heap)
{
	Relation	old_heap;
	List	   *result;

	if (!is_repacked(heap))
		return RelationGetIndexList(heap);
	old_heap = RelationIdGetRelation(heap->rd_rel->relrewrite);
	if (!RelationIsValid(old_heap))
		return NIL;
	result = RelationGetIndexList(old_heap);
	RelationClose(old_heap);
	return result;
}

/* Returns the OID of the index or, if it is a copy, of the original index. */
static Oid
original_of(Relation heap, Relation index)
{
	List	   *copies;
	List	   *originals;
	Oid			result = RelationGetRelid(index);

	if (!is_repacked(heap))
		return result;
	copies = RelationGetIndexList(heap);
	originals = original_indexes(heap);
	if (copies != NIL && list_length(copies) <= list_length(originals))
		result = list_nth_oid(originals, list_length(copies) - 1);
	list_free(copies);
	list_free(originals);
	return result;
}

/*
 * True if the scan for this build can also serve other indexes, and that would
 * pay.  On a table that the server would not scan in parallel, another scan is
 * faster than creating another index's segment and files.
 */
static bool
may_share_scan(Relation heap, Relation index, const IndexInfo *indexInfo,
			   int workers)
{
	return ptsort_indexes_per_scan > 1 && workers > 0 &&
		temp_file_limit < 0 && !indexInfo->ii_Concurrent &&
		(ReindexIsProcessingIndex(RelationGetRelid(index)) ||
		 is_repacked(heap)) &&
		heapscan_is_shareable(heap) &&
		ambuild_of_server(index) == btbuild &&
		runs_no_user_code(index) &&
		!has_statistics_expressions(heap) &&
		RelationGetNumberOfBlocks(heap) >= min_parallel_table_scan_size;
}

/* If the statement rewrote the table, the server knows the pending indexes. */
static bool
will_follow(Relation heap, Oid index_oid)
{
	return utility_kind() == UTILITY_REINDEXES || is_repacked(heap) ||
		ReindexIsProcessingIndex(index_oid);
}

/*
 * Open the indexes that the statement will build or copy after 'current', an
 * OID of original_indexes().  Returns their number.  An index that another
 * session locked ends the list: ptsort must not wait for a lock earlier than
 * the server does, and without a lock it cannot see which functions the build
 * calls.  So does an index whose build may run user code, which might write to
 * the table between the scan and the builds that use the scan's runs, and an
 * index whose runs do not fit on the disk beside those of the others.
 */
static int
open_candidates(Relation heap, Relation index, Oid current,
				Relation *candidates)
{
	double		bytes = size_of_runs(false, heap, index);
	List	   *indexes = original_indexes(heap);
	bool		after = false;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Oid			oid = lfirst_oid(lc);
		Relation	other;
		bool		may_join;

		if (n == ptsort_indexes_per_scan - 1)
			break;
		if (!after || !will_follow(heap, oid) || siblings_wait(oid))
		{
			after |= oid == current;
			continue;
		}
		if (!ConditionalLockRelationOid(oid, AccessShareLock))
			break;
		other = index_open(oid, NoLock);
		bytes += size_of_runs(false, heap, other);
		may_join = runs_no_user_code(other) &&
			planworkers_runs_fit(index, bytes);
		if (!may_join || ambuild_of_server(other) != btbuild ||
			!other->rd_index->indisvalid)
		{
			index_close(other, AccessShareLock);
			if (!may_join)
				break;
			continue;
		}
		candidates[n++] = other;
	}
	list_free(indexes);
	return n;
}

/*
 * Build an index from the runs that wait for it, or by a scan.  A build from
 * waiting runs has at most the number of workers of the scan that wrote them.
 */
static IndexBuildResult *
build_or_load(Relation heap, Relation index, IndexInfo *indexInfo)
{
	BtBuildRequest request =
		planworkers_request(heap, index, utility_workers(index),
							indexInfo->ii_ParallelWorkers);
	Relation	candidates[MAX_SIBLINGS];
	Oid			original = original_of(heap, index);
	WaitingRuns runs;
	IndexBuildResult *result;

	if (siblings_take(&runs, heap, index, original, indexInfo))
	{
		request.runs = &runs;
		request.workers = Min(request.workers, runs.workers);
	}
	else
	{
		if (may_share_scan(heap, index, indexInfo, request.workers))
		{
			request.candidates = candidates;
			request.ncandidates = open_candidates(heap, index, original,
												  candidates);
			/* builds after a table rewrite do not check uniqueness */
			request.check_unique = utility_kind() != UTILITY_REWRITES ||
				is_repacked(heap);
		}
		planworkers_limit(&request, heap, index, index);
	}
	result = btbuild_build(heap, index, indexInfo, &request);
	for (int i = 0; i < request.ncandidates; i++)
		index_close(candidates[i], AccessShareLock);
	if (request.runs != NULL)
		dsm_detach(runs.segment);
	return result;
}

/* Build a GiST or GIN index, for which the server plans no workers. */
static IndexBuildResult *
build_other(Relation heap, Relation index, IndexInfo *indexInfo)
{
	BtBuildRequest request =
		planworkers_request(heap, index, utility_workers(index),
							planworkers_by_cost(heap, index));

	planworkers_limit(&request, heap, index, index);
	return indexbuild_run(index->rd_rel->relam == GIST_AM_OID ?
						  &gistbuild_kind : &ginbuild_kind, heap, index,
						  indexInfo, request.workers, request.source);
}

IndexBuildResult *
ambuild_build(Relation heap, Relation index, IndexInfo *indexInfo)
{
	Oid			am = index->rd_rel->relam;
	int			workers = utility_workers(index);
	const char *reason = ambuild_why_not(heap);
	IndexBuildResult *result;

	redirect_found(RelationGetRelid(index));
	if (reason == NULL && am == GIST_AM_OID)
		reason = gistbuild_why_not(index);
	if (reason == NULL && am == GIN_AM_OID &&
		(reason = ambuild_gin_why_not(heap, index)) != NULL)
		workers = -1;			/* those of the statement might not fit,
								 * either */
	if (reason != NULL)
		return leave_to_server(heap, index, indexInfo, reason, workers);
	fault_point("ambuild: begin");
	result = am == BTREE_AM_OID ? build_or_load(heap, index, indexInfo) :
		build_other(heap, index, indexInfo);
	if (indexInfo->ii_Concurrent)
		redirect_expect(RelationGetRelid(index));	/* to validate it */
	fault_point("ambuild: end");
	return result;
}
