/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  ptsort_test_release_lock(), ptsort_test_delete(): change a table during
 *	  the build of one of its indexes.  ptsort_test_take_segments(): takes all
 *	  segments of dynamic shared memory.
 *
 * CREATE INDEX waits for the end of transactions that changed the table.  But
 * the server itself releases its locks on catalogs early, so index builds must
 * handle tuples of transactions in progress.  With these functions, a test
 * can make an ordinary table contain tuples of a transaction in progress.
 *
 * A function in an index can run SQL, but the server plans no statement on the
 * table during the build of the index.  C code can still delete a row.
 *
 * The server limits the number of segments.  Without a segment, both ptsort
 * and the server build an index serially.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "fmgr.h"
#include "storage/dsm.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
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

PG_FUNCTION_INFO_V1(ptsort_test_take_segments);
Datum
ptsort_test_take_segments(PG_FUNCTION_ARGS)
{
	int32		taken = 0;
	dsm_segment *segment;

	/* the segments exist until the session ends */
	MemoryContextSwitchTo(TopMemoryContext);
	while ((segment = dsm_create(1, DSM_CREATE_NULL_IF_MAXSEGMENTS)) != NULL)
	{
		dsm_pin_mapping(segment);
		taken++;
	}
	PG_RETURN_INT32(taken);
}
