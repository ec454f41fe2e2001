/*-------------------------------------------------------------------------
 *
 * page.c
 *	  ptsort_test_write_page(): damages a page of a relation.
 *
 * The function changes the page in shared buffers, so every process sees the
 * change at once.  It logs nothing: a crash may undo the change.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/relation.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

/* Raises an error unless the bytes are all within one page of the relation. */
static void
check_place(Relation rel, int64 block, int32 offset, int size)
{
	int64		nblocks;

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" has no pages", RelationGetRelationName(rel))));
	nblocks = RelationGetNumberOfBlocks(rel);
	if (block < 0 || block >= nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" has no block %lld",
						RelationGetRelationName(rel), (long long) block)));
	if (offset < 0 || offset > BLCKSZ || size > BLCKSZ - offset)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a page has no %d bytes at offset %d", size, offset)));
}

/*
 * ptsort_test_write_page(relation, block, offset, bytes): see the SQL script.
 *
 * Sessions keep a copy of an index's metapage in their relation caches.  The
 * invalidation makes them read the metapage again, so a changed metapage has
 * the same effect in all sessions, and a restored one leaves no trace.
 */
PG_FUNCTION_INFO_V1(ptsort_test_write_page);
Datum
ptsort_test_write_page(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), RowExclusiveLock);
	int64		block = PG_GETARG_INT64(1);
	int32		offset = PG_GETARG_INT32(2);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(3);
	int			size = VARSIZE_ANY_EXHDR(bytes);
	Buffer		buffer;

	check_place(rel, block, offset, size);
	buffer = ReadBuffer(rel, (BlockNumber) block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer) + offset, VARDATA_ANY(bytes), size);
	MarkBufferDirty(buffer);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	CacheInvalidateRelcache(rel);
	relation_close(rel, RowExclusiveLock);
	PG_RETURN_VOID();
}
