/*-------------------------------------------------------------------------
 *
 * heapread.h
 *	  The pages of a heap table in the order of a scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPREAD_H
#define PTSORT_HEAPREAD_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

typedef struct HeapReader HeapReader;

/*
 * A page of the table.  It is in a buffer, which is pinned but not locked, or
 * it is a copy, and the buffer is invalid.  A copy is what the page was at one
 * moment since the scan began.  Nobody may write into it; who wants to set hint
 * bits calls heapread_pin first.
 */
typedef struct HeapPage
{
	BlockNumber block;
	Buffer		buffer;
	Page		page;
} HeapPage;

/*
 * HeapShare: how much of a parallel scan a process reads that began before the
 * others.  After 'least' blocks it asks, at the end of each chunk that the scan
 * gives out, whether they have begun and are to read the rest, telling how many
 * it has; when it has 'most' it may wait for them, once.  If they have not it
 * reads on to the end, as far as they leave blocks.
 */
typedef struct HeapShare
{
	BlockNumber least;
	BlockNumber most;
	bool		(*leave_rest) (void *arg, BlockNumber nblocks, bool wait);
	void	   *arg;
} HeapShare;

/*
 * heapread_begin begins to read the blocks of a scan that has just begun, in
 * the current memory context.  'share' lives as long; or it is NULL.
 */
extern HeapReader *heapread_begin(HeapScanDesc scan, const HeapShare *share);

/*
 * heapread_next provides the next page, valid until the next call.  False
 * after the last one.
 */
extern bool heapread_next(HeapReader *reader, HeapPage *page);

/* heapread_pin exchanges a copy for the page itself. */
extern void heapread_pin(HeapReader *reader, HeapPage *page);

extern void heapread_end(HeapReader *reader);

/*
 * heapread_done returns how many blocks of the table had been scanned before
 * this one, by all participants as far as we can tell.
 */
extern BlockNumber heapread_done(HeapScanDesc scan, BlockNumber block);

/* These hint bits suffice: inserted by a committed transaction, not deleted. */
static inline bool
heapread_says_live(HeapTupleHeader tuple)
{
	const uint16 both = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & both) == both;
}

#endif							/* PTSORT_HEAPREAD_H */
