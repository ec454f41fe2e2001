/*-------------------------------------------------------------------------
 *
 * heapjudge.h
 *	  Page-at-a-time scan of a heap table: which tuples of a page to use.
 *
 * Index builds (heapscan.c) and copies of tables (copyscan.c) read a table's
 * pages in the order of a server's scan, and judge all tuples of a page under
 * one lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPJUDGE_H
#define PTSORT_HEAPJUDGE_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "storage/bufpage.h"
#include "team/heapread.h"
#include "utils/rel.h"

/* HeapVerdict: what to do with a tuple. */
typedef enum HeapVerdict
{
	HEAP_SKIP,
	HEAP_TAKE_LIVE,
	HEAP_TAKE_DELETED,			/* although a snapshot may see it */
	HEAP_BREAK_CHAIN,			/* skip it, although a snapshot may see it */
	HEAP_ASK_SERVER				/* the server must do the whole page */
} HeapVerdict;

/*
 * HeapJudge: a scan, and its current page.  Zero-initialise it, then set the
 * first part.
 */
typedef struct HeapJudge
{
	Relation	heap;
	bool		progress;		/* report the progress of the scan */
	int			total_param;	/* progress parameter: blocks in total */
	int			done_param;		/* progress parameter: blocks scanned */
	uint32		reach;			/* offset in a tuple of what the caller reads
								 * first, for prefetching */
	bool		find_roots;		/* find the roots of heap-only tuples */

	/*
	 * With SnapshotAny: the horizon, and the verdict on a tuple whose hint
	 * bits do not prove that it is live.  The page is locked meanwhile.
	 */
	TransactionId oldest_xmin;
	HeapVerdict (*decide) (HTSV_Result status, HeapTuple tuple, void *arg);
	void	   *arg;

	HeapScanDesc scan;			/* server's scan: blocks, strategy, snapshot */
	HeapReader *reader;

	/* the page */
	HeapPage	here;
	int			nitems;			/* tuples to use */
	int			nlive;			/* tuples that count as live */
	int			nseen;			/* all tuples or, with MVCC, visible ones */
	bool		heap_only;		/* some tuples to use are heap-only */
	bool		broken_chain;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	bool		alive[MaxHeapTuplesPerPage];
	OffsetNumber roots[MaxHeapTuplesPerPage];	/* if heap_only */

	BlockNumber pages;
	BlockNumber copied_pages;	/* pages for which a copy sufficed */
} HeapJudge;

/*
 * heapjudge_begin begins the server's scan, which decides about blocks,
 * strategy and start.  Without a parallel scan it has this snapshot.
 */
extern void heapjudge_begin(HeapJudge *judge, ParallelTableScanDesc parallel,
							Snapshot snapshot);

/*
 * heapjudge_next goes to the next page and judges it.  Returns false after the
 * last one.  If it sets *judged to false, the server must do the page.
 */
extern bool heapjudge_next(HeapJudge *judge, bool *judged);

extern void heapjudge_end(HeapJudge *judge);

/* heapjudge_header returns a tuple of the page. */
static inline HeapTupleHeader
heapjudge_header(const HeapJudge *judge, OffsetNumber offset)
{
	return (HeapTupleHeader)
		PageGetItem(judge->here.page, PageGetItemId(judge->here.page, offset));
}

/* heapjudge_tuple sets *tuple to what the server's functions expect. */
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
