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

/*
 * btblocks_write writes n pages to the blocks from blkno on of the main fork,
 * which has these blocks.  Nobody is asked to sync them.  Errors are those of
 * the server's storage manager.
 */
extern void btblocks_write(SMgrRelation reln, BlockNumber blkno,
						   const Page *pages, int n);

#endif							/* PTSORT_BTBLOCKS_H */
