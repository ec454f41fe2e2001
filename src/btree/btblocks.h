/*-------------------------------------------------------------------------
 *
 * btblocks.h
 *	  Writes neighbouring blocks of an index file by one call of the system.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTBLOCKS_H
#define PTSORT_BTBLOCKS_H

#include "compat.h"

#include "storage/bufpage.h"
#include "storage/smgr.h"

/* BtBlocks: the segment of a file that is open, before 17; zeroes: none. */
typedef struct BtBlocks
{
	bool		is_open;
	BlockNumber segment;
	int			fd;
	char		path[MAXPGPATH];
} BtBlocks;

/*
 * btblocks_write writes n pages to the blocks from blkno on of the main fork,
 * which has these blocks.  Nobody is asked to sync them.  Errors are those of
 * the server's storage manager.
 */
extern void btblocks_write(BtBlocks *blocks, SMgrRelation reln,
						   BlockNumber blkno, const Page *pages, int n);

/* btblocks_close must come before the end of the (sub)transaction. */
extern void btblocks_close(BtBlocks *blocks);

#endif							/* PTSORT_BTBLOCKS_H */
