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
 * A page of the table.  It is either in a buffer, which is pinned but not
 * locked, or a copy, and then the buffer is invalid.  A copy has the content of
 * the page at one moment since the scan began.  It is read-only: callers must
 * call heapread_pin before they set hint bits.
 */
typedef struct HeapPage
{
	BlockNumber block;
	Buffer		buffer;
	Page		page;
} HeapPage;

/*
 * HeapShare: limits of the part of a parallel scan that one process reads, if
 * it begins before the others.  From 'least' blocks on, at the end of each
 * chunk of the scan, the reader calls leave_rest with the number of blocks read
 * so far.  If that returns true, this process stops, and the others read the
 * rest.  From 'most' blocks on, the reader calls leave_rest one last time, with
 * 'wait' set, which allows it to wait for the others to begin.  If it returns
 * false then, this process reads on to the end of the scan.
 */
typedef struct HeapShare
{
	BlockNumber least;
	BlockNumber most;
	bool		(*leave_rest) (void *arg, BlockNumber nblocks, bool wait);
	void	   *arg;
} HeapShare;

/*
 * heapread_begin returns a reader, in the current memory context, for a scan
 * that was begun but has read nothing.  'share' may be NULL, else it must live
 * as long as the reader.
 */
extern HeapReader *heapread_begin(HeapScanDesc scan, const HeapShare *share);

/*
 * heapread_next sets *page to the next page, which is valid until the next
 * call.  Returns false after the last one.
 */
extern bool heapread_next(HeapReader *reader, HeapPage *page);

/* heapread_pin replaces a copy by the page itself, in a pinned buffer. */
extern void heapread_pin(HeapReader *reader, HeapPage *page);

extern void heapread_end(HeapReader *reader);

/*
 * heapread_done returns the number of blocks that precede this one in the order
 * of the scan: about as many as all participants together have scanned.
 */
extern BlockNumber heapread_done(HeapScanDesc scan, BlockNumber block);

/*
 * True if the hint bits alone prove the tuple live: a committed transaction
 * inserted it, and none deleted it.
 */
static inline bool
heapread_says_live(HeapTupleHeader tuple)
{
	const uint16 both = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & both) == both;
}

#endif							/* PTSORT_HEAPREAD_H */
