/*-------------------------------------------------------------------------
 *
 * copywrite.c
 *	  Writes a table's new file from sorted row versions; see copy.h.
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
	Page		open;			/* the last page, or NULL */
	int			npages;			/* number of pages, including the open page */
	int			most;			/* maximum of npages */
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
	writer->pages = palloc_extended(mul_size(writer->most, sizeof(Page)),
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

/* Write all pages, starting at block 'next'. */
static void
write_pages(CopyWriter *writer)
{
	for (int i = 0; i < writer->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		point_to_self(writer->pages[i], writer->next);
		pagewrite_page(&writer->out, writer->pages[i], writer->next++);
	}
	pagewrite_flush(&writer->out);
	writer->npages = 0;
	writer->open = NULL;
}

/*
 * True if the slice's start is known.  Then only this process extends the file.
 */
static bool
place_is_known(void *arg)
{
	CopyWriter *writer = arg;

	if (writer->next == InvalidBlockNumber)
	{
		writer->next =
			pg_atomic_read_u32(&writer->shared->start[writer->slice]);
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
		shared_wait_for(writer->team->sort_shared, place_is_known, writer,
						writer->team->pcxt);
}

static pg_noinline void
open_page(CopyWriter *writer)
{
	CHECK_FOR_INTERRUPTS();
	if (writer->npages >= writer->most)
		wait_for_place(writer);
	if (writer->npages > 0 && writer->npages % PAGEWRITE_BATCH == 0 &&
		place_is_known(writer))
		write_pages(writer);
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
	writer->next = InvalidBlockNumber;
	writer->out.alone = false;
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

/*
 * End a slice, whose pages are all filled: publish the start of the next slice,
 * then write the pages.  If there are only a few pages, write them before
 * publishing, because writing them is as fast as extending the file.
 */
void
copywrite_end_slice(CopyWriter *writer)
{
	pg_atomic_uint32 *next_start = &writer->shared->start[writer->slice + 1];

	wait_for_place(writer);
	if (writer->npages <= PAGEWRITE_BATCH)
		write_pages(writer);
	else
		pagewrite_extend(&writer->out, writer->next + writer->npages);
	writer->out.alone = false;
	pg_write_barrier();
	pg_atomic_write_u32(next_start, writer->next + writer->npages);
	if (writer->team->sort_shared != NULL)
		shared_wake(writer->team->sort_shared);
	fault_point("copywrite: filled");
	write_pages(writer);
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
	BlockNumber end = pg_atomic_read_u32(&shared->start[shared->nslices]);

	if (end == InvalidBlockNumber)
		elog(ERROR, "slices of table \"%s\" are missing",
			 RelationGetRelationName(writer->rules->old_heap));
	pg_atomic_write_u64(&shared->file.nblocks, end);
	writer->out.eof = end;
	writer->out.alone = true;
	pagewrite_sync(&writer->out);
	return copywrite_end(writer);
}
