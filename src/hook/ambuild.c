/*-------------------------------------------------------------------------
 *
 * ambuild.c
 *	  How a btree build reaches ptsort, and what it brings along.
 *
 * The server builds an index in one place only: index_build() calls
 * rd_indam->ambuild of the index's relcache entry, which it holds open.  An
 * open entry never loses its rd_indam, whatever invalidations arrive.  So we
 * point rd_indam of the entry at a copy of btree's own IndexAmRoutine that
 * has our ambuild in it, any time between the moment the entry is opened and
 * the build.  There is no single hook that always runs in that window; three
 * together do:
 *
 *	- object access, after creation of an index: every CREATE INDEX and
 *	  constraint.
 *	- relcache invalidation, while a REINDEX of that index is in progress:
 *	  REINDEX, VACUUM FULL, CLUSTER, table rewrites, TRUNCATE, REFRESH.  These
 *	  give the index a new file, and the invalidation which that sends arrives
 *	  before the build.
 *	- get_relation_info, when the server asks its planner how many workers a
 *	  build should have: everything else, above all CONCURRENTLY, whose build
 *	  runs in another transaction than the creation of the index.  It does
 *	  not ask if max_parallel_maintenance_workers = 0, so that builds
 *	  CONCURRENTLY are the server's then.
 *
 * Nothing depends on the patched pointer being there, or not: if it is
 * missing, the server builds the index; if it outlives the build, because the
 * entry does, then ptsort_ambuild() decides again next time.  Nothing is
 * left in the catalogs.
 *
 * utility.c knows what the running statement asks for; here it is combined
 * with the settings into a BtBuildRequest for btbuild.c.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "access/xact.h"
#include "btree/btbuild.h"
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
#include "fault.h"
#include "hook/ambuild.h"
#include "hook/planworkers.h"
#include "hook/utility.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "team/heapscan.h"
#include "team/siblings.h"
#include "team/team.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

bool		ptsort_enable = true;
int			ptsort_parallel_workers = -1;
int			ptsort_min_table_size = 256;
int			ptsort_indexes_per_scan = 8;

/* btree's routine with our ambuild; filled in from the first entry we patch */
static IndexAmRoutine btree_routine;

static object_access_hook_type prev_object_access = NULL;
static get_relation_info_hook_type prev_get_relation_info = NULL;

static IndexBuildResult *ptsort_ambuild(Relation heap, Relation index,
										IndexInfo *indexInfo);


/*
 * Pointing relcache entries at our ambuild
 */

static bool
is_user_btree(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX &&
		rel->rd_rel->relam == BTREE_AM_OID &&
		RelationGetRelid(rel) >= FirstNormalObjectId;
}

/*
 * Make the next build of this index ours.  An entry that has an ambuild other
 * than the server's is ours already, or belongs to another extension.
 */
static void
redirect_build(Relation index)
{
	if (!is_user_btree(index) || index->rd_indam == NULL ||
		index->rd_indam->ambuild != btbuild)
		return;

	if (btree_routine.ambuild == NULL)
	{
		btree_routine = *index->rd_indam;
		btree_routine.ambuild = ptsort_ambuild;
	}
	index->rd_indam = &btree_routine;
}

/*
 * redirect_build by OID, for an index that is open.  If it is not, the change
 * is lost when we close it, which is harmless.
 */
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


/* Say that a build is the server's, and why. */
static void
say_leaving(Relation index, const char *reason)
{
	ereport(btbuild_log_level(),
			(errmsg("ptsort: leaving index \"%s\" to the server: %s",
					RelationGetRelationName(index), reason)));
}


/*
 * An index that is created CONCURRENTLY is not ready for inserts yet, and will
 * be built in another transaction.  Will nothing of ours be called there?
 */
static bool
will_escape(Relation index)
{
	return max_parallel_maintenance_workers == 0 &&
		index->rd_index != NULL && !index->rd_index->indisready &&
		index->rd_index->indrelid >= FirstNormalObjectId;
}

/*
 * First interceptor: an index has been created
 *
 * The server calls this just before the CommandCounterIncrement() that makes
 * the new index visible.  Until then the relcache entry is a stub without
 * rd_indam, so we do that increment ourselves.  (Where a trigger of a
 * deferrable constraint was made before, it has been done already.)
 */
static void
redirect_new_index(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);

	if (!RelationIsValid(rel))
		return;
	if (is_user_btree(rel))
	{
		if (rel->rd_indam == NULL)
			CommandCounterIncrement();
		redirect_build(rel);
		if (will_escape(rel))
			say_leaving(rel, ptsort_enable ?
						"CONCURRENTLY, max_parallel_maintenance_workers = 0" :
						"ptsort.enable is off");
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


/* True if this process holds the lock on an index. */
static bool
is_locked(Oid index_oid, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, index_oid);
	return pt_LockHeldByMe(&tag, mode);
}

/*
 * Second interceptor: an index that is being rebuilt has got its new file
 *
 * ReindexIsProcessingIndex() is true of the index that reindex_index()
 * rebuilds, and of those that the same statement will rebuild later, if it has
 * rewritten their table.  The latter are neither open nor locked: another
 * session may rename one now, and its entry must not be built from catalogs
 * that may change.  Only reindex_index() takes an AccessExclusiveLock, and so
 * the lock tells them apart.
 *
 * A relcache callback may run in the middle of anything, even of an open of
 * the same relation.  Under that lock RelationIdGetRelation() finds the open
 * entry, takes no lock, and reloads the entry within a transaction if the
 * invalidation made that necessary; an open entry keeps its rd_indam across a
 * reload.  (The index by which CLUSTER orders a table is locked while it is
 * pending.  Its entry may be built here, then, from catalogs that cannot
 * change, and is redirected once more when it is open.)  The invalidation
 * comes from the CommandCounterIncrement() that shows the index's new file,
 * whatever the settings are, debug_discard_caches = 1 included.
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
 * Third interceptor: the server asks the planner for a number of workers
 */

/*
 * plan_create_index_workers() makes a query that has one table, pretends that
 * it is an inheritance parent, and has no FROM list.  No other query does.
 */
static bool
plans_an_index_build(PlannerInfo *root, bool inhparent)
{
	Query	   *query = root->parse;

	return inhparent && query->commandType == CMD_SELECT &&
		query->jointree == NULL && list_length(query->rtable) == 1;
}

/* True if the index is locked as for a build, plain or CONCURRENTLY. */
static bool
is_locked_for_build(Oid index_oid)
{
	return is_locked(index_oid, AccessExclusiveLock) ||
		is_locked(index_oid, RowExclusiveLock);
}

static void
ptsort_get_relation_info(PlannerInfo *root, Oid relationObjectId,
						 bool inhparent, RelOptInfo *rel)
{
	if (prev_get_relation_info)
		prev_get_relation_info(root, relationObjectId, inhparent, rel);

	if (relationObjectId >= FirstNormalObjectId &&
		plans_an_index_build(root, inhparent))
	{
		Relation	heap = RelationIdGetRelation(relationObjectId);
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


/*
 * Our ambuild: whose build is it, and with how many workers
 */

/* Does another extension forbid parallel work on this table? */
static bool
is_parallelism_forbidden(Relation heap)
{
	if (get_relation_info_hook == ptsort_get_relation_info &&
		prev_get_relation_info == NULL)
		return false;
	return team_forbidden(heap);
}

/*
 * The server's own condition for a parallel build.  Expressions and the
 * predicate are looked at as the planner sees them, constants folded, which
 * may call user functions: not to be used inside ereport().
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
	if (is_parallelism_forbidden(heap))
		return "an extension that forbids parallel work on the table";
	return NULL;
}

/*
 * How many workers the build may ask for.  A number in the statement is an
 * order, as a table's parallel_workers option is in the server; that in
 * ptsort.parallel_workers, or what the server's cost model says, is a limit,
 * within which planworkers.c decides.  All are subject to
 * max_parallel_maintenance_workers and to what is possible at all.
 */
BtBuildRequest
ambuild_workers(Relation heap, Relation index, int by_cost)
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
 * Why the server should build this index, or NULL if we do.  All kinds of
 * tables are welcome: temporary, unlogged, toast, of any access method.
 */
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
 * Let the server build.  The statement's own request for workers holds there
 * too, unless there is nothing to do; ptsort.parallel_workers does not.
 */
static IndexBuildResult *
leave_to_server(Relation heap, Relation index, IndexInfo *indexInfo,
				const char *reason)
{
	if (utility_workers(index) >= 0 &&
		RelationGetNumberOfBlocks(heap) > 0 && IsUnderPostmaster)
		indexInfo->ii_ParallelWorkers =
			ambuild_workers(heap, index,
							indexInfo->ii_ParallelWorkers).workers;

	say_leaving(index, reason);
	return btbuild(heap, index, indexInfo);
}

/*
 * One scan for all indexes of a table
 */

/* True if a function is C, of the server or of a library. */
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
 * True if building an index calls nothing that a user wrote in SQL or the
 * like: in expressions, predicates, operators of an exclusion constraint and
 * functions of the operator classes.  Those for arrays, ranges and records call
 * the functions of other types.
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
 * evaluates the constants in them, by functions that may be a user's.
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
 * Can the scan for this build be for others as well, and does that pay?  What
 * each sibling takes, a segment and files, takes longer than to read a table
 * that the server would not read in parallel (1 ms; of four indexes, 37 ms
 * instead of 33 for 2 MB in buffers, 72 instead of 80 for 20 MB).
 */
static bool
may_share_scan(Relation heap, Relation index, const IndexInfo *indexInfo,
			   int workers)
{
	return ptsort_indexes_per_scan > 1 && workers > 0 &&
		temp_file_limit < 0 && !indexInfo->ii_Concurrent &&
		ReindexIsProcessingIndex(RelationGetRelid(index)) &&
		heapscan_is_shareable(heap) &&
		is_user_btree(index) && runs_no_user_code(index) &&
		!has_statistics_expressions(heap) &&
		RelationGetNumberOfBlocks(heap) >= min_parallel_table_scan_size;
}

/*
 * Is an index, which comes after the one that is being built, going to be built
 * by the same statement?  Where a table has been rewritten, the server says
 * which indexes are pending.
 */
static bool
will_follow(Oid index_oid)
{
	return utility_reindexes() || ReindexIsProcessingIndex(index_oid);
}

/*
 * The indexes that will be built after this one, opened, as candidates in
 * *candidates.  An index that another session has locked ends the list: we
 * would wait for a lock earlier than the server, and cannot see what its build
 * calls.  So does one whose build may run user code, which might write to the
 * table: between the scan and the builds that use its runs none is called.
 */
static int
open_candidates(Relation heap, Relation index, Candidate *candidates)
{
	List	   *indexes = RelationGetIndexList(heap);
	bool		unique = !utility_rewrites();	/* else it is not checked */
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
		if (!after || !will_follow(oid) || siblings_wait(oid))
		{
			after |= oid == RelationGetRelid(index);
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
		candidates[n].index = other;
		candidates[n].is_unique = unique && other->rd_index->indisunique;
		candidates[n].nulls_not_distinct =
			other->rd_index->indnullsnotdistinct;
		n++;
	}
	list_free(indexes);
	return n;
}

static void
close_candidates(BtBuildRequest *request)
{
	for (int i = 0; i < request->ncandidates; i++)
		index_close(request->candidates[i].index, AccessShareLock);
	request->ncandidates = 0;
}

/*
 * How many workers, and whether to scan for others as well, which 'candidates'
 * has room for.  The workers of a scan are those of all builds for which it is.
 */
static void
plan_build(Relation heap, Relation index, IndexInfo *indexInfo,
		   BtBuildRequest *request, Candidate *candidates)
{
	if (siblings_wait(RelationGetRelid(index)))
	{
		int			theirs = siblings_workers(RelationGetRelid(index));

		if (!request->is_order && !ptsort_debug.all_workers)
			request->workers = Min(request->workers, theirs);
		return;
	}
	if (may_share_scan(heap, index, indexInfo, request->workers))
	{
		request->candidates = candidates;
		request->ncandidates = open_candidates(heap, index, candidates);
	}
	if (!request->is_order)
		planworkers_limit(request, heap, index);
	if (request->workers == 0)
		close_candidates(request);
}

/* Build an index: from what waits for it, or by a scan, perhaps for others. */
static IndexBuildResult *
build_or_load(Relation heap, Relation index, IndexInfo *indexInfo,
			  BtBuildRequest *request)
{
	Candidate	candidates[MAX_SIBLINGS];
	const char *why_not;
	IndexBuildResult *result;

	plan_build(heap, index, indexInfo, request, candidates);
	request->runs = siblings_take(heap, index, indexInfo, request->workers,
								  (int64) maintenance_work_mem * 1024,
								  &why_not);
	if (why_not != NULL)
	{
		ereport(btbuild_log_level(),
				(errmsg("ptsort: scanning again for index \"%s\": %s",
						RelationGetRelationName(index), why_not)));
		plan_build(heap, index, indexInfo, request, candidates);
	}

	result = btbuild_build(heap, index, indexInfo, request);

	close_candidates(request);
	if (request->runs != NULL)
		siblings_release(request->runs);
	return result;
}

static IndexBuildResult *
ptsort_ambuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	const char *reason = ambuild_why_not(heap);
	BtBuildRequest request;
	IndexBuildResult *result;

	if (reason != NULL)
		return leave_to_server(heap, index, indexInfo, reason);

	fault_point("ambuild: begin");
	request = ambuild_workers(heap, index, indexInfo->ii_ParallelWorkers);
	result = build_or_load(heap, index, indexInfo, &request);
	fault_point("ambuild: end");
	return result;
}


void
ambuild_init(void)
{
	prev_object_access = object_access_hook;
	object_access_hook = ptsort_object_access;
	prev_get_relation_info = get_relation_info_hook;
	get_relation_info_hook = ptsort_get_relation_info;
	CacheRegisterRelcacheCallback(ptsort_relcache_callback, (Datum) 0);
}
