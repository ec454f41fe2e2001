/*-------------------------------------------------------------------------
 *
 * copywrite.c
 *	  Writes a table's new file from row versions in order, by one or several
 *	  processes.
 *
 * CopyFile		where each slice begins, or that this is not known yet
 * CopyWriter	a participant: the pages of its slice that are filled and not
 *				written yet
 *
 * btwrite.h has the rules for logging and syncing pages that bypass shared
 * buffers, and for extending a file while others write into it.  Here, too, all
 * writes are below the end of the file, except those of the one process that
 * may extend it: the one whose slice is the first that is not filled.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "btree/btwrite.h"
#include "copy/copywrite.h"
#include "debug.h"
#include "miscadmin.h"
#include "sort/shared.h"
#include "utils/memutils.h"

struct CopyFile
{
	BtFileShared file;
	int			nslices;

	/*
	 * First block of each slice, InvalidBlockNumber: not known yet.  The
	 * entry after the last slice is the end.  Each is written once, by the
	 * participant that filled the slice before.
	 */
	pg_atomic_uint32 start[FLEXIBLE_ARRAY_MEMBER];
};

struct CopyWriter
{
	CopyFile   *file;
	const CopyRules *rules;
	PtSortShared *sort_shared;
	ParallelContext *workers;
	BtWriter	out;
	Size		reserve;		/* free bytes to leave on a page: fillfactor */

	int			slice;
	BlockNumber next;			/* block of the first of 'pages',
								 * InvalidBlockNumber: not known yet */
	Page		open;			/* the last of the pages, or NULL */
	int			npages;			/* pages filled, including the open one */
	int			most;			/* maximum number of pages in memory */
	int			nallocated;		/* pages allocated */
	Page	   *pages;
	MemoryContext context;
};

Size
copywrite_estimate(int nslices)
{
	return add_size(offsetof(CopyFile, start),
					mul_size(nslices + 1, sizeof(pg_atomic_uint32)));
}

void
copywrite_init_shared(CopyFile *file, Relation new_heap, int processes,
					  int nslices)
{
	btwrite_init_shared(&file->file, new_heap, processes);
	file->nslices = nslices;
	pg_atomic_init_u32(&file->start[0], 0);
	for (int i = 1; i <= nslices; i++)
		pg_atomic_init_u32(&file->start[i], InvalidBlockNumber);
}

CopyWriter *
copywrite_begin(CopyFile *file, const CopyRules *rules, Size memory,
				PtSortShared *sort_shared, ParallelContext *workers)
{
	CopyWriter *writer = palloc0(sizeof(CopyWriter));
	Size		most = memory / BLCKSZ / BTWRITE_BATCH * BTWRITE_BATCH;

	writer->file = file;
	writer->rules = rules;
	writer->sort_shared = sort_shared;
	writer->workers = workers;
	writer->context = CurrentMemoryContext;
	writer->reserve =
		RelationGetTargetPageFreeSpace(rules->new_heap,
									   HEAP_DEFAULT_FILLFACTOR);
	writer->most = (int) Min(Max(most, BTWRITE_BATCH), INT_MAX / 2);
	writer->slice = -1;
	btwrite_begin(&writer->out, &file->file, rules->new_heap);
	return writer;
}


/*
 * Pages
 */

/* Allocate another batch of pages. */
static void
allocate_pages(CopyWriter *writer)
{
	int			n = writer->nallocated;
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	char	   *memory = pt_palloc_io_pages(writer->context, BTWRITE_BATCH);

	if (writer->pages == NULL)
		writer->pages = palloc(BTWRITE_BATCH * sizeof(Page));
	else if ((n & (n - 1)) == 0)
		writer->pages = repalloc_huge(writer->pages, 2 * n * sizeof(Page));
	for (int i = 0; i < BTWRITE_BATCH; i++)
		writer->pages[n + i] = (Page) (memory + (Size) i * BLCKSZ);
	writer->nallocated += BTWRITE_BATCH;
	MemoryContextSwitchTo(old);
}

/* Make the row versions of a page point to themselves. */
static void
point_to_self(Page page, BlockNumber block)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleHeader tuple = (HeapTupleHeader)
			PageGetItem(page, PageGetItemId(page, offset));

		ItemPointerSet(&tuple->t_ctid, block, offset);
	}
}

/* Write all pages, from block 'next' on. */
static void
write_pages(CopyWriter *writer)
{
	BlockNumber blocks[BTWRITE_BATCH];

	for (int done = 0; done < writer->npages; done += BTWRITE_BATCH)
	{
		int			n = Min(writer->npages - done, BTWRITE_BATCH);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
		{
			blocks[i] = writer->next++;
			point_to_self(writer->pages[done + i], blocks[i]);
		}
		btwrite_pages(&writer->out, &writer->pages[done], blocks, n);
	}
	writer->npages = 0;
	writer->open = NULL;
}

/*
 * True if it is known where the slice begins.  Then this participant is the one
 * that extends the file.
 */
static bool
place_is_known(void *arg)
{
	CopyWriter *writer = arg;

	if (writer->next == InvalidBlockNumber)
	{
		writer->next =
			pg_atomic_read_u32(&writer->file->start[writer->slice]);
		if (writer->next == InvalidBlockNumber)
			return false;
		pg_read_barrier();
		writer->out.alone = true;
		writer->out.eof = writer->next;
	}
	return true;
}

static void
wait_for_place(CopyWriter *writer)
{
	fault_point("copywrite: wait");
	if (!place_is_known(writer))
		shared_wait_for(writer->sort_shared, place_is_known, writer,
						writer->workers);
}

/* Open the next page. */
static pg_noinline void
open_page(CopyWriter *writer)
{
	CHECK_FOR_INTERRUPTS();
	if (writer->npages >= writer->most)
		wait_for_place(writer);
	if (writer->npages > 0 && writer->npages % BTWRITE_BATCH == 0 &&
		place_is_known(writer))
		write_pages(writer);
	if (writer->npages == writer->nallocated)
		allocate_pages(writer);
	writer->open = writer->pages[writer->npages++];
	PageInit(writer->open, BLCKSZ, 0);
}


/*
 * Slices
 */

void
copywrite_begin_slice(CopyWriter *writer, int slice)
{
	fault_point("copywrite: begin slice");
	Assert(writer->npages == 0 && slice < writer->file->nslices);
	writer->slice = slice;
	writer->next = InvalidBlockNumber;
	writer->out.alone = false;
}

/*
 * Set the header as rewrite_heap_tuple() would, except t_ctid.
 */
static inline void
settle(const CopyRules *rules, HeapTupleHeader tuple)
{
	Form_pg_class form = rules->old_heap->rd_rel;

	/* no longer in a chain of heap-only tuples, nor with a key updated */
	tuple->t_infomask2 &= ~HEAP2_XACT_MASK;
	heap_freeze_tuple(tuple, form->relfrozenxid, form->relminmxid,
					  rules->freeze_xid, rules->cutoff_multi);
}

void
copywrite_add(CopyWriter *writer, HeapTuple tuple)
{
	Size		room = MAXALIGN(tuple->t_len) + writer->reserve;
	OffsetNumber offset;
	Page		page;

	if (writer->open == NULL || room > PageGetHeapFreeSpace(writer->open))
		open_page(writer);
	page = writer->open;
	offset = PageAddItem(page, (Item) tuple->t_data, tuple->t_len,
						 InvalidOffsetNumber, false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "failed to add tuple");
	settle(writer->rules,
		   (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset)));
}

/*
 * All pages of the slice are filled.  Publish where the next slice begins
 * before writing them, unless they are few: then writing is as quick as
 * extending the file.
 */
void
copywrite_end_slice(CopyWriter *writer)
{
	pg_atomic_uint32 *next_start = &writer->file->start[writer->slice + 1];

	wait_for_place(writer);
	if (writer->npages <= BTWRITE_BATCH)
		write_pages(writer);
	else
		btwrite_extend(&writer->out, writer->next + writer->npages);
	writer->out.alone = false;
	pg_write_barrier();
	pg_atomic_write_u32(next_start, writer->next + writer->npages);
	if (writer->sort_shared != NULL)
		shared_wake(writer->sort_shared);
	fault_point("copywrite: filled");
	write_pages(writer);
	writer->open = NULL;
}


/*
 * The end
 */

int64
copywrite_end(CopyWriter *writer)
{
	int64		written = writer->out.pages_written;

	btwrite_end(&writer->out);
	if (writer->nallocated > 0)
	{
		for (int i = 0; i < writer->nallocated; i += BTWRITE_BATCH)
			pfree(writer->pages[i]);
		pfree(writer->pages);
	}
	pfree(writer);
	return written;
}

int64
copywrite_finish(CopyWriter *writer)
{
	CopyFile   *file = writer->file;
	BlockNumber end = pg_atomic_read_u32(&file->start[file->nslices]);

	if (end == InvalidBlockNumber)
		elog(ERROR, "slices of table \"%s\" are missing",
			 RelationGetRelationName(writer->rules->old_heap));
	pg_atomic_write_u64(&file->file.nblocks, end);
	writer->out.eof = end;
	writer->out.alone = true;
	btwrite_sync(&writer->out);
	return copywrite_end(writer);
}
