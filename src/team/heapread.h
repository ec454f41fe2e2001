/*-------------------------------------------------------------------------
 *
 * heapread.h
 *	  Reads the pages of a heap table in the order of a scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPREAD_H
#define PTSORT_HEAPREAD_H

#include "access/heapam.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

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
 * heapread_begin returns a reader for a scan.  The reader is in the current
 * memory context.  The caller begins the scan, but reads nothing from it.  If
 * 'shares' is not 0 and the table is small (SMALL_TABLE), the reader ends after
 * 1/'shares' of the blocks; other processes must read the rest.  If 'skips' is
 * true, a damaged page is no error: heapread_next sets page->page to NULL.  (It
 * is in temporary tables.)
 */
extern HeapReader *heapread_begin(HeapScanDesc scan, int shares, bool skips);

/*
 * heapread_next sets *page to the next page, which is valid until the next
 * call.  Returns false after the last page.
 */
extern bool heapread_next(HeapReader *reader, HeapPage *page);

/* heapread_pin replaces a copy with the page itself, in a pinned buffer. */
extern void heapread_pin(HeapReader *reader, HeapPage *page);

extern void heapread_end(HeapReader *reader);

/*
 * heapread_done returns the number of blocks before 'block' in the order of the
 * scan: about the number of blocks that all participants together scanned.
 */
extern BlockNumber heapread_done(HeapScanDesc scan, BlockNumber block);

#endif							/* PTSORT_HEAPREAD_H */
