/*-------------------------------------------------------------------------
 *
 * btblocks.h
 *	  Writes neighbouring blocks of an index file by one system call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTBLOCKS_H
#define PTSORT_BTBLOCKS_H

#include "compat.h"

#include "segment.h"
#include "storage/bufpage.h"

/*
 * btblocks_write writes n pages to the blocks from blkno on of the main fork,
 * which must already have these blocks.  Before 17 the segment written last
 * stays open.  btblocks_write requests no fsync.  Errors are those of the
 * server's storage manager.
 */
extern void btblocks_write(OpenSegment *segment, Relation rel,
						   BlockNumber blkno, const Page *pages, int n);

/* btblocks_close closes that segment, if there is one: see segment_close. */
extern void btblocks_close(OpenSegment *segment);

#endif							/* PTSORT_BTBLOCKS_H */
