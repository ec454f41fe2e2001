/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  ptsort_test_release_lock(): changes of a table in progress while one of
 *	  its indexes is built.
 *
 * CREATE INDEX waits for the end of transactions that have changed the table.
 * The server itself releases its locks on catalogs early, and so index builds
 * have rules for tuples of transactions in progress.  Here is how a test makes
 * such tuples in an ordinary table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

	/* finished statements have passed their locks on to the transaction */
	CurrentResourceOwner = TopTransactionResourceOwner;
	while (CheckRelationLockedByMe(heap, RowExclusiveLock, false))
		UnlockRelationOid(heap_id, RowExclusiveLock);
	CurrentResourceOwner = owner;

	table_close(heap, AccessShareLock);
	PG_RETURN_VOID();
}
