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
 * heapread_begin returns a reader, in the current memory context, for a scan
 * that was begun but has read nothing.
 */
extern HeapReader *heapread_begin(HeapScanDesc scan);

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
 * of the scan: about the number that all participants together scanned.
 */
extern BlockNumber heapread_done(HeapScanDesc scan, BlockNumber block);

#endif							/* PTSORT_HEAPREAD_H */
