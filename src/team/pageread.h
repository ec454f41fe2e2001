/*-------------------------------------------------------------------------
 *
 * pageread.h
 *	  Copies pages of a relation that are in no buffer; see pageread.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PAGEREAD_H
#define PTSORT_PAGEREAD_H

#include "segment.h"

/* Maximum number of pages of a batch */
#define PAGEREAD_MOST	32

/* PageState: whether the memory of a batch has a copy of a page. */
typedef enum PageState
{
	PAGE_UNREAD,				/* not in the system's cache, or not readable */
	PAGE_BUFFERED,				/* no: the page is in a buffer */
	PAGE_DAMAGED,				/* yes, but its checksum or header is wrong */
	PAGE_COPIED
} PageState;

/* PageBatch: a number of blocks, and memory for copies of their pages. */
typedef struct PageBatch
{
	int			n;
	BlockNumber blocks[PAGEREAD_MOST];
	PageState	states[PAGEREAD_MOST];
	char	   *pages;
	bool		others_wait;	/* another process waited for a lock */
} PageBatch;

/*
 * pageread_copy copies the pages of a batch that are in no buffer, and sets the
 * states.  Blocks in other segments than the first block stay PAGE_UNREAD.
 * Returns false if it ended before a page that is not in the system's cache.
 * If 'wait' is true, it first reads such pages into the cache; then the batch
 * must consist of consecutive blocks.  The relation must not be in local
 * buffers.
 */
extern bool pageread_copy(PageBatch *batch, Relation rel, OpenSegment *segment,
						  bool wait);

/* pageread_buffer copies one page from a buffer, as the server reads it. */
extern void pageread_buffer(char *page, BlockNumber block, Relation rel,
							BufferAccessStrategy strategy);

/* pageread_one waits for a copy of one page, and returns its state. */
extern PageState pageread_one(char *page, BlockNumber block, Relation rel,
							  OpenSegment *segment);

#endif							/* PTSORT_PAGEREAD_H */
