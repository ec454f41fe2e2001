/*-------------------------------------------------------------------------
 *
 * cluster.c
 *	  The hooks that make ptsort copy tables: CLUSTER, VACUUM FULL, REPACK.
 *
 * The server creates a transient table, copies the rows into it by calling the
 * old table's rd_tableam->relation_copy_for_cluster, and swaps the files of the
 * two tables.  The relrewrite of the transient table is the OID of the old
 * table.  When the server creates the transient table, cluster_new_table()
 * points rd_tableam in the old table's relcache entry at a copy of heap's
 * routine with ptsort's function.  It redirects the pointer only in CLUSTER,
 * REPACK and VACUUM: other statements fill transient tables in their own way.
 *
 * ptsort's function first restores the pointer.  If an invalidation arrives
 * before the call, the entry loses the pointer, the server copies the table,
 * and cluster_xact() logs that.  If an error occurs before the call, the end of
 * the transaction invalidates the entry.  Otherwise, code that compares the
 * pointer with heap's routine would not recognize the table as a heap.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_statistic.h"
#include "copy/copy.h"
#include "debug.h"
#include "hook/hook.h"
#include "model/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "write/buildreport.h"

/* heap's routine with ptsort's function; filled in at each redirection */
static TableAmRoutine heap_routine;

/* The table whose relcache entry points at heap_routine */
static Oid	redirected = InvalidOid;

static void
say_leaving(const char *table, const char *reason)
{
	ereport(buildreport_log_level(),
			(errmsg("ptsort: leaving copy of table \"%s\" to the server: %s",
					table, reason)));
}

const char *
cluster_why_not(Relation old_heap, Relation index)
{
	double		runs = size_of_runs(true, old_heap, index);

	if (index == NULL && RelationIsAccessibleInLogicalDecoding(old_heap))
		return "logical decoding reads it as a catalog";
	if (index != NULL && index->rd_rel->relam != BTREE_AM_OID)
		return "not a btree index";
	/* the server may need no files: it sorts in memory or reads the index */
	if (index != NULL && temp_file_limit >= 0 &&
		runs > temp_file_limit * 1024.0)
		return "temp_file_limit";
	if (index != NULL &&
		!plan_cluster_use_sort(RelationGetRelid(old_heap),
							   RelationGetRelid(index)) &&
		!planworkers_runs_fit(old_heap, runs))
		return "too little free space for temporary files";
	return ambuild_why_not(old_heap);
}

/*
 * True if statistics say that all rows are in the order of the index, or in the
 * opposite order.  tablecopy_run looks at the rows.  Comparing must be fast.
 */
static bool
seems_in_order(Relation old_heap, Relation index)
{
	AttrNumber	column = index->rd_index->indkey.values[0];
	HeapTuple	tuple;
	AttStatsSlot slot;
	bool		result = false;

	if (size_key(index) != JOB_FIXED ||
		RelationIsAccessibleInLogicalDecoding(old_heap))
		return false;
	tuple = SearchSysCache3(STATRELATTINH,
							ObjectIdGetDatum(RelationGetRelid(old_heap)),
							Int16GetDatum(column), BoolGetDatum(false));
	if (!HeapTupleIsValid(tuple))
		return false;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		result = fabsf(slot.numbers[0]) == 1;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return result;
}

/* Copy the table with workers; see tablecopy_run. */
static bool
copy_table(const CopyRules *rules, Relation index, bool sorts,
		   CopyCounts *counts)
{
	Relation	old_heap = rules->old_heap;
	BtBuildRequest request;

	request = planworkers_request(old_heap, index,
								  index == NULL ? -1 : utility_workers(index),
								  planworkers_by_cost(old_heap, index));
	planworkers_limit(&request, old_heap, sorts ? index : NULL, old_heap);
	return tablecopy_run(rules, index, sorts, &request, counts);
}

/* The relation_copy_for_cluster callback of a redirected relcache entry */
static void
copy_for_cluster(PT_COPY_ARGUMENTS)
{
	const char *reason = cluster_why_not(old_heap, index);
	CopyRules	rules = {
		.old_heap = old_heap,
		.new_heap = new_heap,
		.oldest_xmin = oldest_xmin,
		.freeze_xid = *xid_cutoff,
		.cutoff_multi = *multi_cutoff,
		.snapshot = PT_COPY_SNAPSHOT
	};
	CopyCounts	counts;

	old_heap->rd_tableam = GetHeapamTableAmRoutine();
	redirected = InvalidOid;
	if (reason != NULL)
	{
		say_leaving(RelationGetRelationName(old_heap), reason);
		table_relation_copy_for_cluster(PT_PASS_COPY_ARGUMENTS);
		return;
	}
	fault_point("cluster: begin");
	if (rules.snapshot != NULL)
	{
		/* assign the ID now: parallel mode allows no new transaction ID */
		rules.inserter = GetCurrentTransactionId();
		rules.command = GetCurrentCommandId(true);
	}
	if (index == NULL || !seems_in_order(old_heap, index) ||
		!copy_table(&rules, index, false, &counts))
		(void) copy_table(&rules, index, index != NULL, &counts);
	*num_tuples += counts.copied;
	*tups_vacuumed += counts.dead;
	*tups_recently_dead += counts.recently_dead;
	fault_point("cluster: end");
}

/* If ptsort's copy did not run, invalidate the entry.  Reads no catalogs. */
static void
take_back(void)
{
	Oid			table = redirected;

	redirected = InvalidOid;
	if (OidIsValid(table))
		RelationCacheInvalidateEntry(table);
}

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

void
cluster_new_table(Relation rel)
{
	if (utility_kind() == UTILITY_REWRITES &&
		rel->rd_rel->relkind == RELKIND_RELATION &&
		OidIsValid(rel->rd_rel->relrewrite))
		redirect_copy(rel->rd_rel->relrewrite);
}

/* Before a commit, log the copy if the server did it instead of ptsort. */
static void
cluster_xact(XactEvent event, void *arg)
{
	bool		commits = event == XACT_EVENT_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE;
	char	   *name = commits && OidIsValid(redirected) ?
		get_rel_name(redirected) : NULL;

	if (name != NULL)
		say_leaving(name, "its relcache entry was rebuilt meanwhile");
	if (commits || event == XACT_EVENT_ABORT)
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
	RegisterXactCallback(cluster_xact, NULL);
	RegisterSubXactCallback(cluster_subxact, NULL);
}
