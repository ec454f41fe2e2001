/*-------------------------------------------------------------------------
 *
 * cluster.c
 *	  How copies of tables, by CLUSTER, reach ptsort.
 *
 * The server creates a transient table, copies the rows into it by way of the
 * old table's rd_tableam->relation_copy_for_cluster, and swaps their files.  At
 * the moment at which the transient table has been created (object access hook;
 * it names the old one in relrewrite) we point rd_tableam of the old table's
 * relcache entry at a copy of heap's routine that has our function in it.  All
 * else remains the server's: locks, TOAST tables, the swap, catalogs, indexes.
 *
 * Only in CLUSTER and VACUUM: other statements make such a table and fill it in
 * their own way.  The first thing our function does is to put the pointer back.
 * If an invalidation comes in between the pointer is lost, which is harmless:
 * the server copies; that is said at the end of the statement.  If an error
 * comes in between the pointer would stay in an entry that may live long, and
 * whoever compares it with heap's routine would see a stranger; so the end of
 * the transaction has the entry made anew.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "btree/btbuild.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "copy/tablecopy.h"
#include "fault.h"
#include "hook/ambuild.h"
#include "hook/cluster.h"
#include "hook/planworkers.h"
#include "hook/utility.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/* heap's routine with our function; filled in when it is first needed */
static TableAmRoutine heap_routine;

/* The table whose entry points at it, or InvalidOid. */
static Oid	redirected = InvalidOid;

static object_access_hook_type prev_object_access = NULL;


/* Say that a copy is the server's, and why. */
static void
say_leaving(const char *table, const char *reason)
{
	ereport(btbuild_log_level(),
			(errmsg("ptsort: leaving copy of table \"%s\" to the server: %s",
					table, reason)));
}

/* Why the server should copy this table, or NULL if we do. */
static const char *
why_not_ours(Relation old_heap, Relation index)
{
	if (index == NULL)
		return "no index to sort by";
	if (index->rd_rel->relam != BTREE_AM_OID)
		return "not a btree index";
	return ambuild_why_not(old_heap);
}

/* How many workers the copy should ask for: as a build of the index would. */
static BtBuildRequest
request_workers(Relation old_heap, Relation index)
{
	BtBuildRequest request;
	int			by_cost = 0;

	if (ptsort_parallel_workers < 0)
		by_cost = plan_create_index_workers(RelationGetRelid(old_heap),
											RelationGetRelid(index));
	request = ambuild_workers(old_heap, index, by_cost);
	if (!request.is_order)
		planworkers_limit(&request, old_heap, index);
	return request;
}

/* relation_copy_for_cluster of the entry that we have redirected */
static void
copy_for_cluster(Relation old_heap, Relation new_heap, Relation index,
				 bool use_sort, TransactionId oldest_xmin,
				 TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
				 double *num_tuples, double *tups_vacuumed,
				 double *tups_recently_dead)
{
	const char *reason = why_not_ours(old_heap, index);
	CopyRules	rules = {
		.old_heap = old_heap,
		.new_heap = new_heap,
		.oldest_xmin = oldest_xmin,
		.freeze_xid = *xid_cutoff,
		.cutoff_multi = *multi_cutoff
	};
	BtBuildRequest request;
	CopyResult	result;

	old_heap->rd_tableam = GetHeapamTableAmRoutine();
	redirected = InvalidOid;
	if (reason != NULL)
	{
		say_leaving(RelationGetRelationName(old_heap), reason);
		table_relation_copy_for_cluster(old_heap, new_heap, index, use_sort,
										oldest_xmin, xid_cutoff, multi_cutoff,
										num_tuples, tups_vacuumed,
										tups_recently_dead);
		return;
	}

	fault_point("cluster: begin");
	request = request_workers(old_heap, index);
	tablecopy_run(&rules, index, &request, &result);
	*num_tuples += result.copied;
	*tups_vacuumed += result.dead;
	*tups_recently_dead += result.recently_dead;
	fault_point("cluster: end");
}

/*
 * Have the entry of a table made anew, if it is still there, whose copy never
 * came.  This needs no catalogs, unless it is open, within a transaction.
 */
static void
take_back(void)
{
	Oid			table = redirected;

	redirected = InvalidOid;
	if (OidIsValid(table))
		RelationCacheInvalidateEntry(table);
}

/* Point a table's entry at our function. */
static void
redirect_copy(Oid table)
{
	Relation	old_heap;

	take_back();
	old_heap = RelationIdGetRelation(table);
	if (!RelationIsValid(old_heap))
		return;
	if (IsCatalogRelation(old_heap) || RelationIsMapped(old_heap))
		say_leaving(RelationGetRelationName(old_heap), "system catalog");
	else if (old_heap->rd_tableam == GetHeapamTableAmRoutine())
	{
		heap_routine = *old_heap->rd_tableam;
		heap_routine.relation_copy_for_cluster = copy_for_cluster;
		old_heap->rd_tableam = &heap_routine;
		redirected = table;
		fault_point("cluster: redirected");
	}
	RelationClose(old_heap);
}

static void
cluster_object_access(ObjectAccessType access, Oid classId, Oid objectId,
					  int subId, void *arg)
{
	if (prev_object_access)
		prev_object_access(access, classId, objectId, subId, arg);

	if (access == OAT_POST_CREATE && classId == RelationRelationId &&
		subId == 0 && utility_rewrites() && IsNormalProcessingMode())
	{
		Relation	rel = RelationIdGetRelation(objectId);

		if (!RelationIsValid(rel))
			return;
		if (rel->rd_rel->relkind == RELKIND_RELATION &&
			OidIsValid(rel->rd_rel->relrewrite))
			redirect_copy(rel->rd_rel->relrewrite);
		RelationClose(rel);
	}
}

/* The statement has ended well: was the copy ours to make, and was made? */
static void
end_of_rewrite(void)
{
	char	   *name;

	if (!OidIsValid(redirected))
		return;
	name = get_rel_name(redirected);
	if (name != NULL)
		say_leaving(name, "its relcache entry was rebuilt meanwhile");
	take_back();
}

static void
cluster_xact(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		take_back();
}

static void
cluster_subxact(SubXactEvent event, SubTransactionId mySubid,
				SubTransactionId parentSubid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		take_back();
}

void
cluster_init(void)
{
	prev_object_access = object_access_hook;
	object_access_hook = cluster_object_access;
	utility_rewrite_ended = end_of_rewrite;
	RegisterXactCallback(cluster_xact, NULL);
	RegisterSubXactCallback(cluster_subxact, NULL);
}
