/*-------------------------------------------------------------------------
 *
 * copywrite.c
 *	  Writes a table's new file from row versions in order; see copy.h.
 *
 * pagewrite.h explains how to log and sync pages that bypass shared buffers,
 * and how to extend a file while other processes write to it.  Here, too,
 * processes write below the end of the file.  The exception is the process that
 * fills the first incomplete slice: only this process may extend the file.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "copy/copy.h"
#include "debug.h"
#include "sort/shared.h"

struct CopyWriter
{
	const CopyRules *rules;
	const Team *team;
	CopyShared *shared;
	PageWriter	out;
	Size		reserve;		/* free space to leave on a page: fillfactor */

	int			slice;
	BlockNumber next;			/* block of pages[0], or InvalidBlockNumber if
								 * not known yet */
	bool		dropped;		/* the slice comes after the last one */
	BlockNumber rest;			/* InvalidBlockNumber, or see copywrite_stop */
	Page		open;			/* the last page, or NULL */
	int			npages;			/* number of pages, including the open page */
	int			most;			/* number of pages that the memory allows */
	Page	   *pages;			/* pages that are not written yet */
};

CopyWriter *
copywrite_begin(const CopyRules *rules, const Team *team, Size memory)
{
	CopyWriter *writer = palloc0(sizeof(CopyWriter));
	Size		most = memory / BLCKSZ / PAGEWRITE_BATCH * PAGEWRITE_BATCH;

	writer->rules = rules;
	writer->team = team;
	writer->shared = team->shared;
	writer->reserve =
		RelationGetTargetPageFreeSpace(rules->new_heap,
									   HEAP_DEFAULT_FILLFACTOR);
	writer->most = (int) Min(Max(most, PAGEWRITE_BATCH), INT_MAX / 2);
	/* one old page may become as many pages as it has row versions */
	writer->pages = palloc_extended(mul_size(writer->most +
											 MaxHeapTuplesPerPage,
											 sizeof(Page)),
									MCXT_ALLOC_HUGE);
	pagewrite_begin(&writer->out, &writer->shared->file, rules->new_heap);
	return writer;
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

/* Write all pages except the last 'keep' ones, starting at block 'next'. */
static void
write_pages(CopyWriter *writer, int keep)
{
	int			n = writer->npages - keep;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		point_to_self(writer->pages[i], writer->next);
		pagewrite_page(&writer->out, writer->pages[i], writer->next++);
	}
	pagewrite_flush(&writer->out);
	memmove(writer->pages, writer->pages + n, keep * sizeof(Page));
	writer->npages = keep;
	if (keep == 0)
		writer->open = NULL;
}

static void
drop_pages(CopyWriter *writer)
{
	while (writer->npages > 0)
		pagewrite_release_buffer(&writer->out,
								 writer->pages[--writer->npages]);
	writer->open = NULL;
}

/*
 * True if the slice was dropped, or if its start is known.  Then only this
 * process extends the file.
 */
static bool
place_is_decided(void *arg)
{
	CopyWriter *writer = arg;
	CopyShared *shared = writer->shared;
	uint64		filled;

	if (writer->next != InvalidBlockNumber)
		return true;
	filled = pg_atomic_read_u64(&shared->filled);
	pg_read_barrier();
	writer->dropped =
		pg_atomic_read_u32(&shared->last_slice) < (uint32) writer->slice;
	if (writer->dropped || filled >> 32 != (uint64) writer->slice)
		return writer->dropped;
	writer->next = (BlockNumber) filled;
	writer->out.alone = true;
	writer->out.eof = writer->next;
	return true;
}

/* Wait until the slice's start is known.  Returns false if it has none. */
static bool
wait_for_place(CopyWriter *writer)
{
	fault_point("copywrite: wait");
	if (!place_is_decided(writer))
		shared_wait_for(writer->team->sort_shared, place_is_decided, writer,
						writer->team->pcxt);
	return !writer->dropped;
}

/*
 * Write filled pages if the memory is full or, in a sorted copy, whose slices
 * are large, if their place is known.  Small slices stay in memory until they
 * are filled, because the other participants wait for that.
 */
void
copywrite_point(CopyWriter *writer)
{
	const Team *team = writer->team;
	bool		early = team->slices || team->processes == 1;

	if (writer->npages > PAGEWRITE_BATCH && early &&
		place_is_decided(writer) && !writer->dropped)
		write_pages(writer, 1);
	if (writer->npages < writer->most)
		return;
	if (wait_for_place(writer))
		write_pages(writer, 1);
	else
		drop_pages(writer);
}

static pg_noinline void
open_page(CopyWriter *writer)
{
	CHECK_FOR_INTERRUPTS();
	writer->open = pagewrite_get_buffer(&writer->out);
	writer->pages[writer->npages++] = writer->open;
	PageInit(writer->open, BLCKSZ, 0);
	/* as heap_insert() does since 19 */
	if (copy_makes_new_rows(writer->rules))
		PageSetPrunable(writer->open, writer->rules->inserter);
}


void
copywrite_begin_slice(CopyWriter *writer, int slice)
{
	fault_point("copywrite: begin slice");
	Assert(writer->npages == 0 && slice < writer->shared->nslices);
	writer->slice = slice;
	writer->next = writer->rest = InvalidBlockNumber;
	writer->dropped = false;
	writer->out.alone = false;
}

void
copywrite_stop(CopyWriter *writer, BlockNumber rest)
{
	CopyShared *shared = writer->shared;
	uint32		last = pg_atomic_read_u32(&shared->last_slice);

	writer->rest = rest;
	while ((uint32) writer->slice < last &&
		   !pg_atomic_compare_exchange_u32(&shared->last_slice, &last,
										   writer->slice))
		;
	if (writer->team->sort_shared != NULL)
		shared_wake(writer->team->sort_shared);
}

/* Set a tuple's header, except t_ctid, as heap_insert() would. */
static void
settle_new(const CopyRules *rules, HeapTupleHeader tuple)
{
	tuple->t_infomask &= ~HEAP_XACT_MASK;
	tuple->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(tuple, rules->inserter);
	HeapTupleHeaderSetCmin(tuple, rules->command);
	HeapTupleHeaderSetXmax(tuple, InvalidTransactionId);
}

/*
 * Set a tuple's header, except t_ctid, as rewrite_heap_tuple() would or, for a
 * new row, heap_insert().
 */
static inline void
settle(const CopyRules *rules, HeapTupleHeader tuple)
{
	Form_pg_class form = rules->old_heap->rd_rel;

	/* clear the bits for HOT chains and updated keys */
	tuple->t_infomask2 &= ~HEAP2_XACT_MASK;
	if (copy_makes_new_rows(rules))
		settle_new(rules, tuple);
	else
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
	offset = PageAddItem(page, (char *) tuple->t_data, tuple->t_len,
						 InvalidOffsetNumber, false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "failed to add tuple");
	settle(writer->rules,
		   (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset)));
}

/* End a filled slice: publish the start of the next, then write the pages. */
bool
copywrite_end_slice(CopyWriter *writer)
{
	CopyShared *shared = writer->shared;

	if (!wait_for_place(writer))
	{
		drop_pages(writer);
		return false;
	}
	if (writer->npages > 0)
		pagewrite_extend(&writer->out, writer->next + writer->npages);
	writer->out.alone = false;
	if (writer->rest != InvalidBlockNumber)
		shared->rest = writer->rest;
	pg_write_barrier();
	pg_atomic_write_u64(&shared->filled, ((uint64) writer->slice + 1) << 32 |
						(writer->next + writer->npages));
	if (writer->team->sort_shared != NULL)
		shared_wake(writer->team->sort_shared);
	fault_point("copywrite: filled");
	write_pages(writer, 0);
	return true;
}


int64
copywrite_end(CopyWriter *writer)
{
	return pagewrite_end(&writer->out);
}

int64
copywrite_finish(CopyWriter *writer)
{
	CopyShared *shared = writer->shared;
	uint64		filled = pg_atomic_read_u64(&shared->filled);
	BlockNumber end = (BlockNumber) filled;

	if (filled >> 32 != Min(pg_atomic_read_u32(&shared->last_slice) + 1,
							(uint32) shared->nslices))
		elog(ERROR, "slices of table \"%s\" are missing",
			 RelationGetRelationName(writer->rules->old_heap));
	pg_atomic_write_u64(&shared->file.nblocks, end);
	writer->out.eof = end;
	writer->out.alone = true;
	pagewrite_sync(&writer->out);
	return copywrite_end(writer);
}
