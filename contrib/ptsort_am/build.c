/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Build the index in parallel, with ptsort.
 *
 * ptsort_build() starts the workers, scans the table, sorts in all processes
 * and cuts the sorted entries into slices.  It asks of us to put a row into the
 * sort, to write a slice, and to join the slices.
 *
 *-------------------------------------------------------------------------
 */
#include "ptsort_am.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "ptsort_build.h"
#include "ptsort_variant.h"

/* In shared memory during a build. */
typedef struct Slices
{
	int			n;
	Entry		root[FLEXIBLE_ARRAY_MEMBER];	/* level 0: an empty slice */
} Slices;

extern PGDLLEXPORT const PtBuildOps *ptsort_am_build_ops(void);

/* What is sorted: the key is the word, the place is the image. */
static const PtSortVariant entry_variant = {
	.name = "entry",
	.inline_image = true
};

static PtSort *
build_begin(PtBuild *build, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort_am sort",
												  ALLOCSET_SMALL_SIZES);

	return ptsort_begin(&entry_variant, NULL, 1, context, options);
}

static void
build_put(PtBuild *build, PtSort *sort, ItemPointer tid, Datum *values,
		  bool *isnull, bool alive)
{
	uint64		key;
	uint64		place;

	if (isnull[0])
		return;
	key = KEY(DatumGetInt64(values[0]));
	place = PLACE(0, ItemPointerGetBlockNumber(tid),
				  ItemPointerGetOffsetNumber(tid));
	ptsort_put(sort, &place, sizeof(place), &key);
}

/* Writes entries to a new page, and returns the one that points to it. */
static Entry
write_page(Relation index, const Entry *entries, int n)
{
	Entry		up = {.key = entries[0].key};
	GenericXLogState *wal = GenericXLogStart(index);
	Buffer		buffer;
	Page		page;

	LockRelationForExtension(index, ExclusiveLock);
	buffer = ReadBuffer(index, P_NEW);
	UnlockRelationForExtension(index, ExclusiveLock);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = GenericXLogRegisterBuffer(wal, buffer, GENERIC_XLOG_FULL_IMAGE);
	PageInit(page, BLCKSZ, n * sizeof(Entry));
	memcpy(PageGetSpecialPointer(page), entries, n * sizeof(Entry));
	GenericXLogFinish(wal);
	up.place = PLACE(LEVEL(entries[0].place) + 1,
					 BufferGetBlockNumber(buffer), 0);
	UnlockReleaseBuffer(buffer);
	return up;
}

/*
 * Writes any number of entries.  Those that point to the pages take their
 * place, and their number is returned.
 */
static int
write_pages(Relation index, Entry *entries, int n)
{
	int			pages = 0;

	for (int i = 0; i < n; i += PAGE_ENTRIES)
	{
		int			on_page = Min(n - i, PAGE_ENTRIES);

		entries[pages++] = write_page(index, entries + i, on_page);
	}
	return pages;
}

static Size
build_shared_size(PtBuild *build, int processes, int slices)
{
	return offsetof(Slices, root) + slices * sizeof(Entry);
}

static void
build_shared_init(PtBuild *build, int processes, int slices)
{
	((Slices *) build->shared)->n = slices;
}

/* In all processes at once: each slice becomes a tree. */
static void
build_load_slices(PtBuild *build, PtSort *sort)
{
	Slices	   *slices = build->shared;
	const uint64 *words;
	Entry	   *entries;
	PtSortStats stats;
	Size		size;
	int			count;
	int			slice;

	/* room for one page, and for what points to all pages that may precede */
	ptsort_stats(sort, &stats);
	size = (stats.tuples / PAGE_ENTRIES + PAGE_ENTRIES) * sizeof(Entry);
	entries = MemoryContextAllocHuge(CurrentMemoryContext, size);

	while (ptsort_next_slice(sort, &slice))
	{
		int			pages = 0;
		int			n = 0;

		while ((words = ptsort_get_entries(sort, &count)) != NULL)
		{
			for (int i = 0; i < count; i++)
			{
				entries[pages + n++] = ((const Entry *) words)[i];
				if (n < PAGE_ENTRIES)
					continue;
				pages += write_pages(build->index, entries + pages, n);
				n = 0;
			}
		}
		pages += write_pages(build->index, entries + pages, n);
		while (pages > 1)
			pages = write_pages(build->index, entries, pages);
		if (pages == 1)
			slices->root[slice] = entries[0];
	}
}

/* In the leader, when all slices are written: one root above their trees. */
static void
build_finish(PtBuild *build)
{
	Slices	   *slices = build->shared;
	int			n = 0;

	for (int slice = 0; slice < slices->n; slice++)
	{
		if (LEVEL(slices->root[slice].place) > 0)
			slices->root[n++] = slices->root[slice];
	}
	elog(DEBUG1, "ptsort_am: %d participants, %d slices with entries",
		 build->participants, n);
	while (n > 1)
		n = write_pages(build->index, slices->root, n);
}

/* ptsort_am_build_ops is found by its name, in the workers, too. */
const PtBuildOps *
ptsort_am_build_ops(void)
{
	static const PtBuildOps ops = {
		.begin = build_begin,
		.put = build_put,
		.shared_size = build_shared_size,
		.shared_init = build_shared_init,
		.load_slices = build_load_slices,
		.finish = build_finish
	};

	return &ops;
}

/* ptsort_am_build is the access method's ambuild. */
IndexBuildResult *
ptsort_am_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	PtBuildRequest request = {
		.heap = heap,
		.index = index,
		.index_info = info,
		.workers = plan_create_index_workers(RelationGetRelid(heap),
											 RelationGetRelid(index)),
		.budget = (int64) maintenance_work_mem * 1024,
		.library = "$libdir/ptsort_am",
		.ops_function = "ptsort_am_build_ops"
	};
	PtBuildResult *built;

	if (info->ii_Concurrent)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be built concurrently",
						RelationGetRelationName(index)),
				 errdetail("Access method \"ptsort_am\" does not support "
						   "inserts, which such a build needs.")));
	built = ptsort_build(&request);
	result->heap_tuples = built->heap_tuples;
	result->index_tuples = built->index_tuples;
	return result;
}
