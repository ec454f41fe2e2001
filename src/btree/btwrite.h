/*-------------------------------------------------------------------------
 *
 * btwrite.h
 *	  Writes the finished pages of a new index file: blocks, WAL, durability.
 *
 * One or several participants write into the same file.  Each has a BtWriter;
 * what they share is a BtFileShared, which may be in dynamic shared memory.
 * Pages bypass shared buffers, are logged in batches and written without any
 * lock.
 *
 * Blocks.  A participant that is alone takes block after block and lets the
 * file grow as it writes, as the server does, and no block is left over.
 * Several participants take chunks of blocks under the relation's extension
 * lock, and the last block of a chunk is written, as zeroes, before the lock
 * is released.  The size of a chunk is a power of two and the chunk is aligned
 * to it.  So a chunk never crosses a segment of the file, and all writes are
 * below the end of the file: only the holder of the lock ever extends it.
 *
 * Two traps of md.c require that.  When segment n + 1 is extended while
 * segment n is short, md.c fills the end of segment n with zeroes, over a page
 * that another process may have written meanwhile; and writing to segment
 * n + 1 fails as long as segment n is short.
 *
 * A chunk has 1 to 64 blocks, by the size that the leaves so far let the file
 * be expected to have, so that less than one block in 128 is left over.  (With
 * chunks by the size that the file has, participants spent the first thousand
 * blocks waiting for the lock: 240 instead of 207 ms for 2 million ascending
 * int8.)  The left-over blocks go to btwrite_take_over(), which also makes the
 * leader alone: upper levels use them first, and the rest become deleted pages
 * that the free space map offers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTWRITE_H
#define PTSORT_BTWRITE_H

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Pages that are logged and written at a time. */
#define BTWRITE_BATCH	32

/* Plain data; set by the leader before anybody writes. */
typedef struct BtFileShared
{
	XLogRecPtr	redo;			/* redo pointer before the first page */
	bool		use_wal;		/* as RelationNeedsWAL() in the leader */
	int			nparticipants;	/* 1: alone from the start */
	BlockNumber nblocks;		/* blocks handed out; under the relation's
								 * extension lock while several write */
} BtFileShared;

/* Consecutive blocks, from 'next' to before 'end'. */
typedef struct BtChunk
{
	BlockNumber next;
	BlockNumber end;
} BtChunk;

typedef struct BtWriter
{
	Relation	index;
	BtFileShared *shared;
	MemoryContext cxt;			/* page buffers */
	bool		alone;			/* we extend the file block by block */
	BlockNumber eof;			/* size of the file, if alone */
	BtChunk		chunk;			/* ours, not used yet */
	BlockNumber expected;		/* estimated size of the file; set by the
								 * caller, 0 if unknown */

	BtChunk    *spare;			/* left-over chunks of all, if alone */
	int			nspare;

	int			npages;			/* finished, not written yet */
	Page		pages[BTWRITE_BATCH];
	BlockNumber blknos[BTWRITE_BATCH];
	Page	   *free;			/* stack of page buffers */
	int			nfree;
	int			maxfree;		/* all page buffers there are */
	Page		zero;			/* a page of zeroes */

	int64		pages_written;
} BtWriter;

/*
 * btwrite_init_file does what all need that write an empty file: no block is
 * taken.  Those of a table hand out its blocks by themselves (copywrite.h).
 */
extern void btwrite_init_file(BtFileShared *shared, Relation rel,
							  int nparticipants);

/*
 * btwrite_init_shared prepares for 'nparticipants' processes writing the file
 * of 'index', which must be empty.  Leader only, before the others start.
 * Block 0 is taken.
 */
extern void btwrite_init_shared(BtFileShared *shared, Relation index,
								int nparticipants);

/*
 * btwrite_begin readies a participant's writer.  Page buffers are allocated
 * in the current memory context, as they are needed.
 */
extern void btwrite_begin(BtWriter *writer, BtFileShared *shared,
						  Relation index);

/* btwrite_get_buffer returns a page buffer with undefined contents. */
extern Page btwrite_get_buffer(BtWriter *writer);

/* btwrite_release_buffer takes back a buffer that need not be written. */
extern void btwrite_release_buffer(BtWriter *writer, Page page);

/* btwrite_get_block hands out a block of the file. */
extern BlockNumber btwrite_get_block(BtWriter *writer);

/*
 * btwrite_page has the finished page written at blkno, sooner or later; the
 * buffer is no longer the caller's.
 */
extern void btwrite_page(BtWriter *writer, Page page, BlockNumber blkno);

/*
 * btwrite_pages logs and writes up to BTWRITE_BATCH pages, which stay the
 * caller's, at once.
 */
extern void btwrite_pages(BtWriter *writer, Page *pages, BlockNumber *blknos,
						  int npages);

/*
 * btwrite_extend makes the file, whose size is writer->eof, this long.  Nobody
 * else may extend it meanwhile.
 */
extern void btwrite_extend(BtWriter *writer, BlockNumber end);

/* btwrite_flush logs and writes what btwrite_page() has collected. */
extern void btwrite_flush(BtWriter *writer);

/*
 * btwrite_take_over makes this the only writer, after all others are done, and
 * gives it their left-over chunks (sorted in place, and used: the array must
 * stay).  btwrite_get_block() uses these up first.
 */
extern void btwrite_take_over(BtWriter *writer, BtChunk *chunks, int nchunks);

/*
 * btwrite_retire_spare turns left-over blocks into deleted pages that inserts
 * can recycle at once.
 */
extern void btwrite_retire_spare(BtWriter *writer);

/*
 * btwrite_sync makes sure the file survives a crash after commit.  To be
 * called last, alone.
 */
extern void btwrite_sync(BtWriter *writer);

#endif							/* PTSORT_BTWRITE_H */
