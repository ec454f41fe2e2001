/*-------------------------------------------------------------------------
 *
 * heapjudge.h
 *	  Page-at-a-time scan of a heap table: its pages, and which tuples to use.
 *
 * Index builds (heapscan.c) and copies of tables (copyscan.c) read a table's
 * pages in the order of the server's scan.  Under one lock for each page, they
 * decide which of the page's tuples to use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPJUDGE_H
#define PTSORT_HEAPJUDGE_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "team/marks.h"

/*
 * The pages (heapread.c)
 */

typedef struct HeapReader HeapReader;

/*
 * HeapPage: a page of the table.  The page is either in a buffer, which is
 * pinned but not locked, or it is a copy, and 'buffer' is invalid.  A copy has
 * the content that the page had at one moment since the scan began.  Copies are
 * read-only: callers must call heapread_pin before they set hint bits.
 */
typedef struct HeapPage
{
	BlockNumber block;
	Buffer		buffer;
	Page		page;
} HeapPage;

/*
 * heapread_begin returns a reader for a scan, which the caller began but reads
 * nothing from, in the current memory context.  If 'shares' is not 0 and the
 * table is small (SMALL_TABLE), the reader ends after 1/'shares' of the blocks;
 * other processes must read the rest.  If 'skips' is true, a damaged page is no
 * error: heapread_next sets page->page to NULL.  (It is in temporary tables.)
 * Unless 'wanted' is NULL, the reader leaves out pages without MARK_READ.
 */
extern HeapReader *heapread_begin(HeapScanDesc scan, int shares, bool skips,
								  Marks *wanted);

/*
 * heapread_next sets *page to the next page, which is valid until the next
 * call.  Returns false after the last page.
 */
extern bool heapread_next(HeapReader *reader, HeapPage *page);

/*
 * heapread_range makes the reader read the blocks from 'first' to 'end' - 1,
 * and then end.  It may be called again, at any time.
 */
extern void heapread_range(HeapReader *reader, BlockNumber first,
						   BlockNumber end);

/*
 * heapread_release releases the page that heapread_next returned, which is not
 * valid afterwards: callers hold no pin while they wait.
 */
extern void heapread_release(HeapReader *reader);

/* heapread_pin replaces a copy with the page itself, in a pinned buffer. */
extern void heapread_pin(HeapReader *reader, HeapPage *page);

extern void heapread_end(HeapReader *reader);

/*
 * heapread_done returns the number of blocks before 'block' in the order of the
 * scan: about the number of blocks that all participants together scanned.
 */
extern BlockNumber heapread_done(const HeapReader *reader, BlockNumber block);


/*
 * The tuples (heapjudge.c)
 */

/* HeapVerdict: what to do with a tuple. */
typedef enum HeapVerdict
{
	HEAP_SKIP,
	HEAP_TAKE_LIVE,
	HEAP_TAKE_DELETED,			/* use a deleted tuple that may be visible */
	HEAP_BREAK_CHAIN,			/* skip the tuple; note a broken HOT chain */
	HEAP_ASK_SERVER				/* the server must scan the whole page */
} HeapVerdict;

/*
 * HeapJudge: a scan and its current page.  Callers zero the struct, and then
 * set the fields that precede 'scan'.
 */
typedef struct HeapJudge
{
	Relation	heap;
	bool		progress;		/* report the progress of the scan */
	int			total_param;	/* progress parameter: blocks in total */
	int			done_param;		/* progress parameter: blocks scanned */
	uint32		reach;			/* prefetch each tuple's header, and the
								 * tuple's data at offset 'reach' */
	bool		find_roots;		/* find the roots of heap-only tuples */
	int			shares;			/* see heapread_begin */
	bool		skips;			/* see heapread_begin */
	Marks	   *wanted;			/* see heapread_begin */
	bool		marking;		/* the caller reads 'marks' */

	/* SnapshotAny: for tuples, on a locked page, not proved live by hints */
	TransactionId oldest_xmin;
	HeapVerdict (*decide) (HTSV_Result status, HeapTuple tuple, void *arg);
	void	   *arg;

	HeapScanDesc scan;			/* server's scan: blocks, strategy, snapshot */
	HeapReader *reader;
	bool		nested;			/* see throttle_is_nested */

	/* the current page */
	HeapPage	here;
	int			nitems;			/* number of tuples selected for use */
	int			nlive;			/* tuples that count as live */
	int			nseen;			/* all tuples; with MVCC, visible tuples */
	bool		heap_only;		/* some selected tuples are heap-only */
	bool		broken_chain;
	uint32		marks;			/* with MVCC: of the page, see marks.h */
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	bool		alive[MaxHeapTuplesPerPage];
	OffsetNumber roots[MaxHeapTuplesPerPage];	/* if heap_only */

	BlockNumber pages;
	BlockNumber copied_pages;	/* pages for which a copy sufficed */
} HeapJudge;

/*
 * heapjudge_begin begins a scan of the table, with 'snapshot' if 'parallel' is
 * NULL.
 */
extern void heapjudge_begin(HeapJudge *judge, ParallelTableScanDesc parallel,
							Snapshot snapshot);

/*
 * heapjudge_next goes to the next page and judges it.  Returns false after the
 * last page.  Sets *judged to false if the server must scan the page.  If the
 * scan skips the page, judge->here.page is NULL.
 */
extern bool heapjudge_next(HeapJudge *judge, bool *judged);

extern void heapjudge_end(HeapJudge *judge);

/* heapjudge_header returns the header of a tuple of the page. */
static inline HeapTupleHeader
heapjudge_header(const HeapJudge *judge, OffsetNumber offset)
{
	return (HeapTupleHeader)
		PageGetItem(judge->here.page, PageGetItemId(judge->here.page, offset));
}

/* heapjudge_tuple fills in *tuple as the server's functions expect it. */
static inline void
heapjudge_tuple(const HeapJudge *judge, OffsetNumber offset,
				HeapTupleData *tuple)
{
	tuple->t_data = heapjudge_header(judge, offset);
	tuple->t_len = ItemIdGetLength(PageGetItemId(judge->here.page, offset));
	tuple->t_tableOid = RelationGetRelid(judge->heap);
	ItemPointerSet(&tuple->t_self, judge->here.block, offset);
}

#endif							/* PTSORT_HEAPJUDGE_H */
