/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  ptsort_test_release_lock(), ptsort_test_delete(): change a table during
 *	  the build of one of its indexes.
 *
 * CREATE INDEX waits for the end of transactions that changed the table.  But
 * the server itself releases its locks on catalogs early, so index builds must
 * handle tuples of transactions in progress.  With these functions, a test
 * can make an ordinary table contain tuples of a transaction in progress.
 *
 * A function in an index can run SQL, but the server plans no statement on the
 * table during the build of the index.  C code can still delete a row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/resowner.h"

PG_FUNCTION_INFO_V1(ptsort_test_release_lock);
Datum
ptsort_test_release_lock(PG_FUNCTION_ARGS)
{
	Oid			heap_id = PG_GETARG_OID(0);
	Relation	heap = table_open(heap_id, AccessShareLock);
	ResourceOwner owner = CurrentResourceOwner;

	/* the transaction owns the locks of its finished statements */
	CurrentResourceOwner = TopTransactionResourceOwner;
	while (CheckRelationLockedByMe(heap, RowExclusiveLock, false))
		UnlockRelationOid(heap_id, RowExclusiveLock);
	CurrentResourceOwner = owner;

	table_close(heap, AccessShareLock);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(ptsort_test_delete);
Datum
ptsort_test_delete(PG_FUNCTION_ARGS)
{
	Relation	heap = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	simple_heap_delete(heap, (ItemPointer) PG_GETARG_POINTER(1));
	table_close(heap, NoLock);
	PG_RETURN_VOID();
}
