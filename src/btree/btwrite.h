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
 * Several participants take chunks of blocks, by adding to an atomic counter,
 * and the file grows ahead of the counter: a participant that sees it lag takes
 * the relation's extension lock, and lets the file grow by writing zeroes to
 * its new last block only.  So all writes of pages are below the end of the
 * file, and few wait for the lock: only those that get blocks which the file
 * does not have yet.  (If each chunk made the file grow, 64 participants on two
 * cores spent 91 % of their waits on that lock.)
 *
 * Two traps of md.c require that.  When segment n + 1 is extended while
 * segment n is short, md.c fills the end of segment n with zeroes, over a page
 * that another process may have written meanwhile; and writing to segment
 * n + 1 fails as long as segment n is short.  So each segment gets its last
 * block before the next one begins, under the same lock.
 *
 * Chunks are parts of what is still to come, by the tuples that nobody has
 * loaded yet and the leaves that ours took so far.  So they become smaller
 * towards the end, where participants have one block each; and who ends early
 * returns what it has not used.  The file grows ahead by what even the fullest
 * leaves would take, or by one in 128 of what it has if more is likely to come.
 * What is left over in the end goes to btwrite_take_over(), which also makes
 * the leader alone: upper levels use it first, and the rest, rarely more than
 * a few blocks, become deleted pages that the free space map offers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTWRITE_H
#define PTSORT_BTWRITE_H

#include "access/xlogdefs.h"
#include "btree/btblocks.h"
#include "port/atomics.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Pages that are logged and written at a time. */
#define BTWRITE_BATCH	32

/* Plain data and atomics; set by the leader before anybody writes. */
typedef struct BtFileShared
{
	XLogRecPtr	redo;			/* redo pointer before the first page */
	bool		use_wal;		/* as RelationNeedsWAL() in the leader */
	int			nparticipants;	/* 1: alone from the start */
	pg_atomic_uint64 nblocks;	/* blocks handed out */
	pg_atomic_uint32 size;		/* blocks that the file has, while several
								 * write; set under the relation's extension
								 * lock */
	pg_atomic_uint64 returned;	/* a chunk that is free again */
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
	BlockNumber to_come;		/* blocks that all will still take, estimated
								 * by the caller, ... */
	BlockNumber at_least;		/* ... and as far as that is certain */

	BtChunk    *spare;			/* left-over chunks of all, if alone */
	int			nspare;

	int			npages;			/* finished, not written yet */
	Page		pages[BTWRITE_BATCH];
	BlockNumber blknos[BTWRITE_BATCH];
	Page	   *free;			/* stack of page buffers */
	int			nfree;
	int			maxfree;		/* all page buffers there are */
	Page		zero;			/* a page of zeroes */
	OpenSegment segment;		/* of the file, if any is open */

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
 * Block 0 is taken, but the file stays empty until the load begins: functions
 * of the index may have the planner look at it during the scan, and get the
 * server's error for a file without a metapage.
 */
extern void btwrite_init_shared(BtFileShared *shared, Relation index,
								int nparticipants);

/*
 * btwrite_begin readies a participant's writer.  Page buffers are allocated
 * in the current memory context, as they are needed.
 */
extern void btwrite_begin(BtWriter *writer, BtFileShared *shared,
						  Relation index);

/*
 * btwrite_end lets go of the file, also if nothing will come of it.  Memory
 * goes with its context.
 */
extern void btwrite_end(BtWriter *writer);

/* btwrite_get_buffer returns a page buffer with undefined contents. */
extern Page btwrite_get_buffer(BtWriter *writer);

/* btwrite_release_buffer takes back a buffer that need not be written. */
extern void btwrite_release_buffer(BtWriter *writer, Page page);

/*
 * btwrite_needs_chunk tells whether the next block will be of a new chunk,
 * whose size is then by writer->to_come and at_least.
 */
static inline bool
btwrite_needs_chunk(const BtWriter *writer)
{
	return !writer->alone && writer->chunk.next == writer->chunk.end;
}

/* btwrite_get_block hands out a block of the file. */
extern BlockNumber btwrite_get_block(BtWriter *writer);

/*
 * btwrite_return_chunk lets others have what is left of the writer's chunk.  In
 * exchange it may get another one, which is to be handed to
 * btwrite_take_over().
 */
extern void btwrite_return_chunk(BtWriter *writer);

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
 * gives it their left-over chunks.  The array is sorted in place, and used: it
 * must stay, and have room for two more, the one that somebody has returned and
 * the end of the file.  btwrite_get_block() uses these up first.
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
