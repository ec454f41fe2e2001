/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Scans, and what else the server asks of an access method.
 *
 *-------------------------------------------------------------------------
 */
#include "ptsort_am.h"

#include "access/relscan.h"
#include "access/reloptions.h"
#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(ptsort_am_handler);

/* Where the first entry with this key or a larger one is, or would be. */
static int
lower_bound(const Entry *entries, int n, uint64 key)
{
	int			first = 0;

	while (first < n)
	{
		int			middle = (first + n) / 2;

		if (entries[middle].key < key)
			first = middle + 1;
		else
			n = middle;
	}
	return first;
}

/*
 * Adds the rows with keys from low to high to the bitmap, and returns their
 * number.  Nobody changes the page, so a pin will do.
 */
static int64
scan_page(Relation index, BlockNumber block, uint64 low, uint64 high,
		  TIDBitmap *bitmap)
{
	Buffer		buffer = ReadBuffer(index, block);
	Page		page = BufferGetPage(buffer);
	Entry	   *entries = (Entry *) PageGetSpecialPointer(page);
	int			n = PageGetSpecialSize(page) / sizeof(Entry);
	int			i = lower_bound(entries, n, low);
	int64		found = 0;

	CHECK_FOR_INTERRUPTS();
	if (i > 0 && LEVEL(entries[0].place) > 0)
		i--;					/* the page may end with such keys */
	for (; i < n && entries[i].key <= high; i++)
	{
		BlockNumber next = BLOCK(entries[i].place);
		ItemPointerData tid;

		if (LEVEL(entries[i].place) > 0)
		{
			found += scan_page(index, next, low, high, bitmap);
			continue;
		}
		ItemPointerSet(&tid, next, OFFSET(entries[i].place));
		tbm_add_tuples(bitmap, &tid, 1, true);
		found++;
	}
	ReleaseBuffer(buffer);
	return found;
}

/*
 * "<" and ">" give one key too many, and null any key, as all that is in the
 * bitmap is rechecked.
 */
static int64
am_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	Relation	index = scan->indexRelation;
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	uint64		low = 0;
	uint64		high = PG_UINT64_MAX;

	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		condition = &scan->keyData[i];
		Datum		value = condition->sk_argument;
		uint64		key = condition->sk_subtype == INT4OID ?
			KEY((int64) DatumGetInt32(value)) : KEY(DatumGetInt64(value));

		if (condition->sk_strategy >= BTEqualStrategyNumber)
			low = Max(low, key);
		if (condition->sk_strategy <= BTEqualStrategyNumber)
			high = Min(high, key);
	}
	return blocks == 0 ? 0 : scan_page(index, blocks - 1, low, high, bitmap);
}

static void
am_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys,
		  int norderbys)
{
	memmove(scan->keyData, keys, nkeys * sizeof(ScanKeyData));
}

static void
am_endscan(IndexScanDesc scan)
{
}

static bool
am_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
		  Relation heap, IndexUniqueCheck unique, bool unchanged,
		  IndexInfo *info)
{
	if (!isnull[0])
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot insert into index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("Access method \"ptsort_am\" does not support "
						   "inserts."),
				 errhint("Drop the index, change the table, and create the "
						 "index again.")));
	return false;
}

static IndexBulkDeleteResult *
am_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			  IndexBulkDeleteCallback callback, void *state)
{
	return stats;
}

static IndexBulkDeleteResult *
am_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	return stats;
}

static void
am_buildempty(Relation index)
{
}

/* There are none; the server says which one is unknown. */
static bytea *
am_options(Datum reloptions, bool validate)
{
	return build_reloptions(reloptions, validate, (relopt_kind) 0, 0, NULL, 0);
}

static bool
am_validate(Oid opclass)
{
	return get_opclass_input_type(opclass) == INT8OID;
}

Datum
ptsort_am_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = BTMaxStrategyNumber;
	am->ambuild = ptsort_am_build;
	am->ambuildempty = am_buildempty;
	am->aminsert = am_insert;
	am->ambulkdelete = am_bulkdelete;
	am->amvacuumcleanup = am_vacuumcleanup;
	am->amcostestimate = hashcostestimate;	/* says nothing about hashing */
	am->amoptions = am_options;
	am->amvalidate = am_validate;
	am->ambeginscan = RelationGetIndexScan;
	am->amrescan = am_rescan;
	am->amgetbitmap = am_getbitmap;
	am->amendscan = am_endscan;
	PG_RETURN_POINTER(am);
}
