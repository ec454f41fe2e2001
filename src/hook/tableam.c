/*-------------------------------------------------------------------------
 *
 * tableam.c
 *	  Redirects one call of the table access method to ptsort.
 *
 * Two of ptsort's functions take the place of functions of heap's routine:
 * those that copy a table for CLUSTER and REPACK (cluster.c) and that validate
 * an index (validation.c).  tableam_redirect() points rd_tableam of an open
 * relcache entry at a copy of the routine with these functions, and both first
 * call tableam_restore().  If an invalidation arrives before the call, the
 * entry loses the pointer, and the server's function runs.  If an error occurs
 * before the call, the end of the transaction invalidates the entry.
 * Otherwise, code that compares the pointer with heap's routine would not
 * recognize the table as a heap.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "debug.h"
#include "hook/hook.h"
#include "utils/inval.h"

/* heap's routine with ptsort's functions; filled in at each redirection */
static TableAmRoutine heap_routine;

/* The table whose relcache entry points at heap_routine */
static Oid	redirected = InvalidOid;

/* If the call did not reach ptsort, invalidate the entry.  Reads no catalogs. */
static void
take_back(void)
{
	Oid			table = redirected;

	redirected = InvalidOid;
	if (OidIsValid(table))
		RelationCacheInvalidateEntry(table);
}

bool
tableam_redirect(Relation heap)
{
	take_back();
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;
	heap_routine = *heap->rd_tableam;
	heap_routine.relation_copy_for_cluster = cluster_copy;
	heap_routine.index_validate_scan = validation_scan;
	heap->rd_tableam = &heap_routine;
	redirected = RelationGetRelid(heap);
	fault_point("tableam: redirected");
	return true;
}

void
tableam_restore(Relation heap)
{
	heap->rd_tableam = GetHeapamTableAmRoutine();
	redirected = InvalidOid;
}

/* Before a commit, log the copy if the server did it instead of ptsort. */
static void
tableam_xact(XactEvent event, void *arg)
{
	bool		commits = event == XACT_EVENT_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE;

	if (commits && OidIsValid(redirected))
		cluster_say_missed(redirected);
	if (commits || event == XACT_EVENT_ABORT)
		take_back();
}

static void
tableam_subxact(SubXactEvent event, SubTransactionId mySubid,
				SubTransactionId parentSubid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		take_back();
}

void
tableam_init(void)
{
	RegisterXactCallback(tableam_xact, NULL);
	RegisterSubXactCallback(tableam_subxact, NULL);
}
