/*-------------------------------------------------------------------------
 *
 * ptsort_am.c
 *	  An index access method: a sorted array of (int8, TID), built by ptsort.
 *
 * The pages of the index are one array, with zeroes after its last entry.  All
 * processes of a build write the array at the same time: each process writes
 * the slices that it reads.  Scans bisect the array.  The array does not change
 * after the build, so scans need no locks.  The access method refuses rows
 * with new keys.  VACUUM keeps the entries of removed rows, since the executor
 * rechecks every row of a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/brin_internal.h"
#include "access/generic_xlog.h"
#include "access/reloptions.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "compat.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "optimizer/optimizer.h"
#include "ptsort_parallel.h"
#include "ptsort_variant.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/index_selfuncs.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(ptsort_am_handler);
extern PGDLLEXPORT const PtParallelOps *ptsort_am_build_ops(void);

typedef struct Entry
{
	uint64		key;			/* first sort key; see KEY */
	uint64		row;			/* second sort key: block << 16 | offset */
} Entry;

#define KEY(value)		((uint64) (value) ^ (UINT64CONST(1) << 63))
#define ENTRIES(page)	((Entry *) PageGetContents(page))
#define PAGE_ENTRIES ((BLCKSZ - SizeOfPageHeaderData) / sizeof(Entry))

static PtSort *
build_begin(PtParallel *build, const PtSortOptions *options)
{
	static const PtSortVariant variant = {"entry", true};	/* inline images */

	return ptsort_begin(&variant, NULL, 1, NULL, options);
}

static void
build_put(PtParallel *build, PtSort *sort, ItemPointer tid, Datum *values,
		  bool *isnull, bool alive)
{
	uint64		key = isnull[0] ? 0 : KEY(DatumGetInt64(values[0]));
	uint64		row = (uint64) ItemPointerGetBlockNumber(tid) << 16 |
		ItemPointerGetOffsetNumber(tid);

	if (!isnull[0])
		ptsort_put(sort, &row, sizeof(row), &key);
}

/* Writes n entries to one page, starting at position "at" of the array. */
static void
write_entries(Relation index, int64 at, const Entry *entries, int n)
{
	BlockNumber block = at / PAGE_ENTRIES;
	Buffer		buffer;
	Page		page;
	GenericXLogState *wal;

	LockRelationForExtension(index, ExclusiveLock);
	while (RelationGetNumberOfBlocks(index) <= block)
		ReleaseBuffer(ReadBuffer(index, P_NEW));
	UnlockRelationForExtension(index, ExclusiveLock);

	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	wal = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(wal, buffer,
									 PageIsNew(BufferGetPage(buffer)) ?
									 GENERIC_XLOG_FULL_IMAGE : 0);
	if (PageIsNew(page))
	{
		PageInit(page, BLCKSZ, 0);
		((PageHeader) page)->pd_lower = BLCKSZ; /* log the whole page */
	}
	memcpy(ENTRIES(page) + at % PAGE_ENTRIES, entries, n * sizeof(Entry));
	GenericXLogFinish(wal);
	UnlockReleaseBuffer(buffer);
}

/*
 * All processes run this function at the same time.  Two slices may share a
 * page.
 */
static void
build_read_slices(PtParallel *build, PtSort *sort)
{
	const Entry *entries;
	int			slice;
	int			n;

	while (ptsort_next_slice(sort, &slice))
	{
		int64		at = ptsort_slice_start(sort);

		while ((entries = (Entry *) ptsort_get_entries(sort, &n)) != NULL)
			for (int part; n > 0; n -= part, at += part, entries += part)
			{
				part = Min(n, PAGE_ENTRIES - at % PAGE_ENTRIES);
				write_entries(build->index, at, entries, part);
			}
		elog(DEBUG1, "slice %d ends at " INT64_FORMAT, slice, at);
	}
}

/* Workers find this function by its name. */
const PtParallelOps *
ptsort_am_build_ops(void)
{
	static const PtParallelOps ops = {
		.begin = build_begin,
		.put_index = build_put,
		.read_slices = build_read_slices
	};

	return &ops;
}

static IndexBuildResult *
am_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	PtParallelRequest request = {
		.table = heap,
		.index = index,
		.index_info = info,
		.workers = plan_create_index_workers(RelationGetRelid(heap),
											 RelationGetRelid(index)),
		.budget = (int64) maintenance_work_mem * 1024,
		.library = "$libdir/ptsort_am",
		.ops_function = "ptsort_am_build_ops"
	};
	PtParallelResult *built = ptsort_parallel_end(ptsort_parallel(&request));

	result->heap_tuples = built->rows;
	result->index_tuples = built->tuples;
	return result;
}

static void
am_buildempty(Relation index)
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
				 errmsg("access method \"ptsort_am\" does not support inserts"),
				 errhint("Drop the index, and create it again later.")));
	return false;
}

/* Returns entry number "at", whose page stays pinned until the next call. */
static Entry *
read_entry(Relation index, Buffer *buffer, int64 at)
{
	*buffer = ReleaseAndReadBuffer(*buffer, index, at / PAGE_ENTRIES);
	return ENTRIES(BufferGetPage(*buffer)) + at % PAGE_ENTRIES;
}

/*
 * For "<" and ">", the scan also returns entries equal to the argument; for a
 * null argument, the scan may return any entries.  The executor rechecks every
 * row.
 */
static int64
am_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	Relation	index = scan->indexRelation;
	Buffer		buffer = InvalidBuffer;
	Entry	   *entry;
	ItemPointerData tid;
	uint64		low = 0;
	uint64		high = PG_UINT64_MAX;
	int64		first = 0;
	int64		last = RelationGetNumberOfBlocks(index) * PAGE_ENTRIES;
	int64		n;

	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		uint64		value = key->sk_flags & SK_ISNULL ? 0 :
			KEY(key->sk_subtype == INT4OID ? DatumGetInt32(key->sk_argument) :
				DatumGetInt64(key->sk_argument));

		if (key->sk_strategy >= BTEqualStrategyNumber)
			low = Max(low, value);
		if (key->sk_strategy <= BTEqualStrategyNumber)
			high = Min(high, value);
	}
	for (n = last; first < n;)
	{
		int64		middle = (first + n) / 2;

		entry = read_entry(index, &buffer, middle);
		if (entry->row != 0 && entry->key < low)
			first = middle + 1;
		else
			n = middle;
	}
	for (; n < last; n++)
	{
		entry = read_entry(index, &buffer, n);
		if (entry->row == 0 || entry->key > high)
			break;
		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&tid, entry->row >> 16, entry->row & 0xFFFF);
		tbm_add_tuples(bitmap, &tid, 1, true);
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	return n - first;
}

static void
am_endscan(IndexScanDesc scan)
{
}

static IndexBulkDeleteResult *
am_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	return stats;
}

static bytea *
am_options(Datum reloptions, bool validate)
{
	return build_reloptions(reloptions, validate, (relopt_kind) 0, 0, NULL, 0);
}

Datum
ptsort_am_handler(PG_FUNCTION_ARGS)
{
	static const IndexAmRoutine am = {T_IndexAmRoutine,
		.amstrategies = BTMaxStrategyNumber,
		.ambuild = am_build,
		.ambuildempty = am_buildempty,
		.aminsert = am_insert,
		.ambulkdelete = brinbulkdelete, /* does nothing */
		.amvacuumcleanup = am_vacuumcleanup,
		.amcostestimate = hashcostestimate, /* nothing specific to hashing */
		.amoptions = am_options,
		.ambeginscan = RelationGetIndexScan,
		.amrescan = brinrescan, /* copies the keys */
		.amgetbitmap = am_getbitmap,
		.amendscan = am_endscan
	};

	PG_RETURN_POINTER(pt_am_routine(&am));
}
