/*-------------------------------------------------------------------------
 *
 * redirect.c
 *	  The hooks that make ptsort build indexes.
 *
 * The server builds an index in one place only: index_build() holds the index's
 * relcache entry open and calls the entry's rd_indam->ambuild.  An open entry
 * keeps its rd_indam even if invalidations arrive.  So, between the opening of
 * the entry and the build, this file points rd_indam of the entry at a copy of
 * the access method's own IndexAmRoutine with ptsort's ambuild.  (The copy's
 * ambulkdelete is ptsort's, too, for validation.c.)  No single hook always runs
 * in that window, but these three together cover it:
 *
 *	- object access, after creation of an index: every CREATE INDEX and
 *	  constraint.
 *	- relcache invalidation of an index that the server is rebuilding: REINDEX,
 *	  VACUUM FULL, CLUSTER, table rewrites, TRUNCATE, REFRESH.  These statements
 *	  give the index a new file, and the invalidation for that file arrives
 *	  before the build.
 *	- relcache invalidations that this process sends to itself, and receives
 *	  when it locks the index: CONCURRENTLY, which creates, builds and
 *	  validates an index in different transactions.
 *
 * If no hook redirects the pointer, the server builds the index.  An entry may
 * keep a redirected pointer, so each build checks again whether ptsort may
 * build the index.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gin_private.h"
#include "access/gist_private.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "hook/hook.h"
#include "storage/lock.h"
#include "utils/inval.h"
#include "utils/memutils.h"

/* Routines with ptsort's ambuild; filled in at the first redirection */
static IndexAmRoutine btree_routine;
static IndexAmRoutine gist_routine;
static IndexAmRoutine gin_routine;

static object_access_hook_type prev_object_access = NULL;

/*
 * Indexes that CONCURRENTLY created and will build, or built and will validate;
 * in TopMemoryContext
 */
static List *expected = NIL;

/* Reminders that this process may still send; protects from endless loops */
static const int max_reminders = 1000;
static int	reminders;
static bool reminded;			/* one is on its way */

/*
 * Make ptsort do the next build of this index, unless the index's ambuild is
 * ptsort's already or belongs to another extension.
 */
static void
redirect_build(Relation index)
{
	ambuild_function build = ambuild_of_server(index);
	IndexAmRoutine *routine = build == gistbuild ? &gist_routine :
		build == ginbuild ? &gin_routine : &btree_routine;

	if (build == NULL || index->rd_indam == NULL ||
		index->rd_indam->ambuild != build)
		return;
	if (routine->ambuild == NULL)
	{
		*routine = *index->rd_indam;
		routine->ambuild = ambuild_build;
		routine->ambulkdelete = validation_begin;
	}
	index->rd_indam = routine;
}

/* A closed entry may lose the new pointer. */
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

void
redirect_expect(Oid index_oid)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	expected = lappend_oid(expected, index_oid);
	reminders = max_reminders;
	reminded = false;
	MemoryContextSwitchTo(old);
}

/*
 * First hook: the creation of an index.  The server calls this hook just before
 * the CommandCounterIncrement() that makes the new index visible.  Until then
 * the relcache entry is a stub without rd_indam.  So this function does the
 * increment itself, unless the server did it for the trigger of a deferrable
 * constraint.
 */
static void
redirect_new_index(Relation index)
{
	if (ambuild_of_server(index) == NULL)
		return;
	if (index->rd_indam == NULL)
		CommandCounterIncrement();
	redirect_build(index);
	/* only CONCURRENTLY creates indexes that are not ready for inserts */
	if (index->rd_index != NULL && !index->rd_index->indisready &&
		index->rd_index->indrelid >= FirstNormalObjectId &&
		utility_kind() != UTILITY_NONE)
		redirect_expect(RelationGetRelid(index));
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
	{
		Relation	rel = RelationIdGetRelation(objectId);

		if (!RelationIsValid(rel))
			return;
		redirect_new_index(rel);
		cluster_new_table(rel);
		RelationClose(rel);
	}
}

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
redirect_rebuild(Oid relid)
{
	if (relid >= FirstNormalObjectId && IsTransactionState() &&
		ReindexIsProcessingIndex(relid) &&
		is_locked(relid, AccessExclusiveLock))
		redirect_build_of(relid);
}

/*
 * Third hook: the lock on an index that CONCURRENTLY builds or validates
 *
 * The transaction that builds the index opens the table, locks and opens the
 * index, and builds it; so does the one that validates it.  No hook runs there,
 * but whenever a process acquires a lock on a relation, it receives
 * invalidations, and calls relcache callbacks.  So at each commit this process
 * sends itself a reminder: an invalidation of a relation that does not exist.
 * The callback that receives the reminder sends another one, until this process
 * has the index's lock.  Then the server is about to open the index, and the
 * callback redirects its build.  The entry is closed until the server opens it;
 * if an invalidation arrives between, the server builds or validates the index.
 *
 * Each process has its own OID for reminders.  If other sessions with expected
 * builds answered a reminder, the reminders would multiply.  No relation has an
 * OID in this range: catalogs have lower OIDs, and initdb assigns higher ones.
 */
static Oid
reminder_oid(void)
{
	return FirstGenbkiObjectId +
		pt_process_number() % (FirstUnpinnedObjectId - FirstGenbkiObjectId);
}

static void
send_reminder(void)
{
	SharedInvalidationMessage message = {0};

	if (reminders <= 0)
		return;
	reminders--;
	reminded = true;
	message.rc.id = SHAREDINVALRELCACHE_ID;
	message.rc.dbId = MyDatabaseId;
	message.rc.relId = reminder_oid();
	SendSharedInvalidMessages(&message, 1);
}

/* Returns the expected index that this process locked to build it, if any. */
static Oid
find_locked(void)
{
	ListCell   *lc;

	foreach(lc, expected)
		if (is_locked(lfirst_oid(lc), RowExclusiveLock))
		return lfirst_oid(lc);
	return InvalidOid;
}

static void
redirect_expected(Oid relid)
{
	bool		arrived = relid == reminder_oid() || !OidIsValid(relid);
	Oid			locked = IsTransactionState() ? find_locked() : InvalidOid;

	if (arrived)
		reminded = false;
	if (OidIsValid(locked))
		redirect_build_of(locked);
	else if (arrived)
		send_reminder();
}

void
redirect_found(Oid index_oid)
{
	if (expected == NIL)
		return;
	expected = list_delete_oid(expected, index_oid);
	reminders = max_reminders;
	reminded = false;
}

void
redirect_forget(void)
{
	list_free(expected);
	expected = NIL;
	marks_forget();
}

static void
redirect_xact(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT || expected == NIL)
		return;
	reminders = max_reminders;
	if (!reminded)
		send_reminder();
}

static void
ptsort_relcache_callback(Datum arg, Oid relid)
{
	redirect_rebuild(relid);
	if (expected != NIL)
		redirect_expected(relid);
}

void
redirect_init(void)
{
	prev_object_access = object_access_hook;
	object_access_hook = ptsort_object_access;
	CacheRegisterRelcacheCallback(ptsort_relcache_callback, (Datum) 0);
	RegisterXactCallback(redirect_xact, NULL);
}
