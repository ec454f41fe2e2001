/*-------------------------------------------------------------------------
 *
 * ambuild.c
 *	  The hooks that make ptsort build btree indexes, and ptsort's ambuild.
 *
 * The server builds an index in one place only: index_build() holds the index's
 * relcache entry open and calls the entry's rd_indam->ambuild.  An open entry
 * keeps its rd_indam even if invalidations arrive.  So, between the opening of
 * the entry and the build, this file points rd_indam of the entry at a copy of
 * btree's own IndexAmRoutine with ptsort's ambuild.  No single hook always runs
 * in that window, but these three together cover it:
 *
 *	- object access, after creation of an index: every CREATE INDEX and
 *	  constraint.
 *	- relcache invalidation of an index that the server is rebuilding: REINDEX,
 *	  VACUUM FULL, CLUSTER, table rewrites, TRUNCATE, REFRESH.  These statements
 *	  give the index a new file, and the invalidation for that file arrives
 *	  before the build.
 *	- the planner's hook for a table, when the planner computes the number of
 *	  workers of a build: all other builds, above all CONCURRENTLY, which
 *	  creates and builds an index in different transactions.  The planner does
 *	  not run if max_parallel_maintenance_workers = 0; then the server does
 *	  CONCURRENTLY builds.
 *
 * If no hook redirects the pointer, the server builds the index.  An entry may
 * keep a redirected pointer, so each build checks again whether ptsort may
 * build the index.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "access/xact.h"
#include "write/buildreport.h"
#include "gist/gistbuild.h"
#include "access/gist_private.h"
#include "catalog/pg_am_d.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "debug.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "team/heapscan.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

bool		ptsort_enable = true;
int			ptsort_min_table_size = 256;
int			ptsort_indexes_per_scan = 8;

/* Routines with ptsort's ambuild; filled in at the first redirection */
static IndexAmRoutine btree_routine;
static IndexAmRoutine gist_routine;

static object_access_hook_type prev_object_access = NULL;
static pt_table_hook_type prev_table_hook = NULL;

static IndexBuildResult *ptsort_ambuild(Relation heap, Relation index,
										IndexInfo *indexInfo);


static bool
is_user_btree(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX &&
		rel->rd_rel->relam == BTREE_AM_OID &&
		RelationGetRelid(rel) >= FirstNormalObjectId;
}

static bool
is_user_gist(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX &&
		rel->rd_rel->relam == GIST_AM_OID &&
		RelationGetRelid(rel) >= FirstNormalObjectId;
}

/*
 * Make ptsort do the next build of this index, unless the index's ambuild is
 * ptsort's already or belongs to another extension.
 */
static void
redirect_build(Relation index)
{
	bool		is_gist = is_user_gist(index);
	IndexAmRoutine *routine = is_gist ? &gist_routine : &btree_routine;

	if ((!is_gist && !is_user_btree(index)) || index->rd_indam == NULL ||
		index->rd_indam->ambuild != (is_gist ? gistbuild : btbuild))
		return;

	if (routine->ambuild == NULL)
	{
		*routine = *index->rd_indam;
		routine->ambuild = ptsort_ambuild;
	}
	index->rd_indam = routine;
}

/* redirect_build, given an OID.  A closed entry may lose the new pointer. */
static void
redirect_build_of(Oid index_oid)
{
	Relation	index = RelationIdGetRelation(index_oid);

	if (RelationIsValid(index))
	{
		redirect_build(index);
		RelationClose(index);
	}
}


/* Log that the server does a build, and why. */
static void
say_leaving(Relation index, const char *reason)
{
	ereport(buildreport_log_level(),
			(errmsg("ptsort: leaving index \"%s\" to the server: %s",
					RelationGetRelationName(index), reason)));
}


/*
 * True if no hook will run before the build of a new index.  Only CONCURRENTLY
 * creates indexes that are not ready for inserts.
 */
static bool
will_escape(Relation index)
{
	return (is_user_gist(index) || max_parallel_maintenance_workers == 0) &&
		index->rd_index != NULL && !index->rd_index->indisready &&
		index->rd_index->indrelid >= FirstNormalObjectId;
}

/*
 * First hook: the creation of an index.  The server calls this hook just before
 * the CommandCounterIncrement() that makes the new index visible.  Until then
 * the relcache entry is a stub without rd_indam.  So this function does the
 * increment itself, unless the server did it for the trigger of a deferrable
 * constraint.
 */
static void
redirect_new_index(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);

	if (!RelationIsValid(rel))
		return;
	if (is_user_btree(rel) || is_user_gist(rel))
	{
		if (rel->rd_indam == NULL)
			CommandCounterIncrement();
		redirect_build(rel);
		if (will_escape(rel))
			say_leaving(rel, !ptsort_enable ? "ptsort.enable is off" :
						is_user_gist(rel) ? "GiST, CONCURRENTLY" :
						"CONCURRENTLY, max_parallel_maintenance_workers = 0");
	}
	RelationClose(rel);
}

static void
ptsort_object_access(ObjectAccessType access, Oid classId, Oid objectId,
					 int subId, void *arg)
{
	if (prev_object_access)
		prev_object_access(access, classId, objectId, subId, arg);

	if (access == OAT_POST_CREATE && classId == RelationRelationId &&
		subId == 0 && objectId >= FirstNormalObjectId &&
		IsNormalProcessingMode())
		redirect_new_index(objectId);
}


/* True if this process holds a lock of the given mode on an index. */
static bool
is_locked(Oid index_oid, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, index_oid);
	return pt_LockHeldByMe(&tag, mode);
}

/*
 * Second hook: the new file of an index that the server is rebuilding
 *
 * ReindexIsProcessingIndex() is true for the index that reindex_index()
 * rebuilds and, after a table rewrite, for pending indexes, which the rewriting
 * statement will rebuild later.  Pending indexes are neither open nor locked.
 * Another session may rename a pending index now, so this process must not
 * build the index's entry from catalogs that may change.  Only reindex_index()
 * acquires an AccessExclusiveLock, so an index with that lock is not pending.
 *
 * A relcache callback may run at any time, even while the server opens the
 * same relation.  Under the AccessExclusiveLock, RelationIdGetRelation() finds
 * the open entry, acquires no lock, and reloads the entry within a transaction
 * if the invalidation requires a reload.  An open entry keeps its rd_indam
 * across a reload.  (CLUSTER holds a lock on the index by which it orders a
 * table, even while that index is pending.  So this function sometimes builds
 * the entry of a pending index; its catalogs cannot change.  When the server
 * later opens the index, this function redirects the entry again.)  The
 * invalidation is always that of the CommandCounterIncrement() that makes the
 * index's new file visible, even with debug_discard_caches = 1.
 */
static void
ptsort_relcache_callback(Datum arg, Oid relid)
{
	if (relid >= FirstNormalObjectId && IsTransactionState() &&
		ReindexIsProcessingIndex(relid) &&
		is_locked(relid, AccessExclusiveLock))
		redirect_build_of(relid);
}


/*
 * Third hook: the planner computes the number of workers of a build.  True if
 * the planner runs for plan_create_index_workers().  That function makes a
 * query without a FROM list and with one table, marked as an inheritance
 * parent.  No other query has that form.
 */
static bool
plans_an_index_build(PlannerInfo *root, bool inhparent)
{
	Query	   *query = root->parse;

	return inhparent && query->commandType == CMD_SELECT &&
		query->jointree == NULL && list_length(query->rtable) == 1;
}

/* True if this process holds the lock of a build, plain or CONCURRENTLY. */
static bool
is_locked_for_build(Oid index_oid)
{
	return is_locked(index_oid, AccessExclusiveLock) ||
		is_locked(index_oid, RowExclusiveLock);
}

static void
ptsort_table_hook(PT_TABLE_HOOK_ARGUMENTS)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);

	if (prev_table_hook)
		prev_table_hook(PT_PASS_TABLE_HOOK_ARGUMENTS);

	if (entry->rtekind == RTE_RELATION &&
		entry->relid >= FirstNormalObjectId &&
		plans_an_index_build(root, entry->inh))
	{
		Relation	heap = RelationIdGetRelation(entry->relid);
		List	   *indexes;
		ListCell   *lc;

		if (!RelationIsValid(heap))
			return;
		indexes = RelationGetIndexList(heap);
		foreach(lc, indexes)
		{
			if (is_locked_for_build(lfirst_oid(lc)))
				redirect_build_of(lfirst_oid(lc));
		}
		list_free(indexes);
		RelationClose(heap);
	}
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
	nblocks = RelationGetNumberOfBlocks(heap);
	if (nblocks == 0)
		return "empty table";
	if ((uint64) nblocks * (BLCKSZ / 1024) < (uint64) ptsort_min_table_size)
		return "table smaller than ptsort.min_table_size";
	return NULL;
}

/*
 * Call the server's build.  Unless the table is empty, that build uses the
 * number of workers in the statement, but not ptsort.parallel_workers.
 */
static IndexBuildResult *
leave_to_server(Relation heap, Relation index, IndexInfo *indexInfo,
				const char *reason)
{
	if (utility_workers(index) >= 0 &&
		RelationGetNumberOfBlocks(heap) > 0 && IsUnderPostmaster)
		indexInfo->ii_ParallelWorkers =
			planworkers_request(heap, index,
								indexInfo->ii_ParallelWorkers).workers;

	say_leaving(index, reason);
	if (is_user_gist(index))
		return gistbuild(heap, index, indexInfo);
	return btbuild(heap, index, indexInfo);
}

/*
 * One scan for all indexes of a table
 */

/* True if a function is written in C, in the server or in a library. */
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
	int			nprocs = index->rd_indam->amsupport;

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
		for (int proc = 1; proc <= nprocs; proc++)
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
 * REPACK (CONCURRENTLY) builds copies of a table's indexes on a new table, one
 * after another, in the order of the table's list of indexes.  So the i-th
 * index of the new table is a copy of the i-th index of the old table.  (All
 * other statements that fill a transient table build the indexes later, on the
 * table itself.)
 */
static bool
is_repacked(Relation heap)
{
	return OidIsValid(heap->rd_rel->relrewrite);
}

/* Returns the list of indexes of the table, or of the old table of a REPACK. */
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
 * True if the scan for this build can also serve other indexes, and sharing it
 * would pay.  On a table that the server would not scan in parallel, another
 * scan for an index is faster than creating that index's segment and files.
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
		is_user_btree(index) && runs_no_user_code(index) &&
		!has_statistics_expressions(heap) &&
		RelationGetNumberOfBlocks(heap) >= min_parallel_table_scan_size;
}

/*
 * True if the statement will build 'index_oid', one of original_indexes(),
 * after the current index.  If the statement rewrote the table, the server
 * knows which indexes are pending.
 */
static bool
will_follow(Relation heap, Oid index_oid)
{
	return utility_reindexes() || is_repacked(heap) ||
		ReindexIsProcessingIndex(index_oid);
}

/*
 * Open the indexes that the statement will build or copy after 'current', an
 * OID of original_indexes().  Store them in 'candidates', and return their
 * number.  An index that another session locked ends the list.  ptsort must not
 * wait for a lock earlier than the server does, and without a lock ptsort
 * cannot see which functions the build calls.  An index whose build may run
 * user code also ends the list: the code might write to the table between the
 * scan and the builds that use the scan's runs.
 */
static int
open_candidates(Relation heap, Oid current, Relation *candidates)
{
	List	   *indexes = original_indexes(heap);
	bool		after = false;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Oid			oid = lfirst_oid(lc);
		Relation	other;
		bool		is_safe;

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
		is_safe = runs_no_user_code(other);
		if (!is_safe || !is_user_btree(other) || !other->rd_index->indisvalid)
		{
			index_close(other, AccessShareLock);
			if (!is_safe)
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
	BtBuildRequest request = planworkers_request(heap, index,
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
			request.ncandidates = open_candidates(heap, original, candidates);
			/* builds after a table rewrite do not check uniqueness */
			request.check_unique = !utility_rewrites() || is_repacked(heap);
		}
		planworkers_limit(&request, heap, index);
	}

	result = btbuild_build(heap, index, indexInfo, &request);

	for (int i = 0; i < request.ncandidates; i++)
		index_close(candidates[i], AccessShareLock);
	if (request.runs != NULL)
		dsm_detach(runs.segment);
	return result;
}

static IndexBuildResult *
ptsort_ambuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	const char *reason = ambuild_why_not(heap);
	IndexBuildResult *result;

	if (reason == NULL && is_user_gist(index) && !gistbuild_is_sorted(index))
		reason = "GiST without sort support";
	if (reason != NULL)
		return leave_to_server(heap, index, indexInfo, reason);

	fault_point("ambuild: begin");
	if (is_user_gist(index))
	{
		BtBuildRequest request =
			planworkers_request(heap, index, planworkers_by_cost(heap, index));

		planworkers_limit(&request, heap, index);
		result = gistbuild_build(heap, index, indexInfo, request.workers,
								 request.source);
	}
	else
		result = build_or_load(heap, index, indexInfo);
	fault_point("ambuild: end");
	return result;
}


void
ambuild_init(void)
{
	prev_object_access = object_access_hook;
	object_access_hook = ptsort_object_access;
	prev_table_hook = pt_table_hook;
	pt_table_hook = ptsort_table_hook;
	CacheRegisterRelcacheCallback(ptsort_relcache_callback, (Datum) 0);
}
