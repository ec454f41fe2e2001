/*-------------------------------------------------------------------------
 *
 * btwrite.h
 *	  Writes the finished pages of a new index file: blocks, WAL, durability.
 *
 * One or several participants write into the same file.  Each has a BtWriter;
 * they share a BtFileShared, which may be in dynamic shared memory.  Pages
 * bypass shared buffers, are logged in batches and written without any lock.
 *
 * Blocks.  A participant that is alone takes block after block and extends the
 * file as it writes, as the server does; no block is left over.  Several
 * participants take chunks of blocks, by adding to an atomic counter, and the
 * file grows ahead of the counter: a participant that finds too few blocks
 * ahead takes the relation's extension lock and writes zeroes to the file's new
 * last block only.  So all writes of pages are below the end of the file, and
 * participants rarely wait for the lock.
 *
 * Two traps of md.c require that.  When segment n + 1 is extended while
 * segment n is short, md.c fills the end of segment n with zeroes, over a page
 * that another process may have written in the meantime; and writing to segment
 * n + 1 fails as long as segment n is short.  So each segment gets its last
 * block before the next one begins, under the same lock.
 *
 * Chunks become smaller towards the end, where participants have one block
 * each, because they are a part of the blocks still to come, which participants
 * estimate by the tuples that are not loaded yet and the leaves that they
 * filled.  The file grows ahead only by what even the fullest leaves would
 * take.  A participant that ends early returns its unused blocks.
 * btwrite_take_over() gets the left-over blocks and makes the leader the only
 * writer.  Upper levels use them first; the rest, rarely more than a few
 * blocks, become deleted pages that the free space map offers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTWRITE_H
#define PTSORT_BTWRITE_H

#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "segment.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Number of pages that are logged and written at a time. */
#define BTWRITE_BATCH	32

/*
 * BtFileShared: what participants share: plain data and atomics.  The leader
 * sets it before any participant writes.
 */
typedef struct BtFileShared
{
	XLogRecPtr	redo;			/* redo pointer before the first page */
	bool		use_wal;		/* RelationNeedsWAL() in the leader */
	int			nparticipants;	/* 1: alone from the start */
	pg_atomic_uint64 nblocks;	/* blocks taken */
	pg_atomic_uint32 size;		/* blocks of the file, while several write;
								 * set under the relation's extension lock */
	pg_atomic_uint64 returned;	/* a returned chunk, or 0 */
} BtFileShared;

/* BtChunk: consecutive blocks, from 'next' to before 'end'. */
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
	bool		alone;			/* the only writer, which extends the file
								 * block by block */
	BlockNumber eof;			/* size of the file, if alone */
	BtChunk		chunk;			/* this writer's blocks, unused */
	BlockNumber to_come;		/* blocks that all participants will still
								 * take, estimated by the caller */
	BlockNumber at_least;		/* minimum of to_come */

	BtChunk    *spare;			/* left-over chunks of all, if alone */
	int			nspare;

	int			npages;			/* pages finished, not written yet */
	Page		pages[BTWRITE_BATCH];
	BlockNumber blknos[BTWRITE_BATCH];
	Page		free;			/* free page buffers, each of which begins
								 * with the address of the next one */
	OpenSegment segment;		/* of the file, if any is open; before 17 */
	int64		pages_written;
} BtWriter;

/*
 * btwrite_init_shared prepares for 'nparticipants' processes writing the empty
 * file of 'rel', with no block taken.  Leader only, before the others start.
 */
extern void btwrite_init_shared(BtFileShared *shared, Relation rel,
								int nparticipants);

/* The writer allocates page buffers in the memory context current at begin. */
extern void btwrite_begin(BtWriter *writer, BtFileShared *shared,
						  Relation index);

/*
 * btwrite_end closes the file, also if the build is abandoned.  Returns the
 * number of pages written.
 */
extern int64 btwrite_end(BtWriter *writer);

/* Get a page buffer of undefined contents; return one that is not written. */
extern Page btwrite_get_buffer(BtWriter *writer);
extern void btwrite_release_buffer(BtWriter *writer, Page page);

/*
 * btwrite_needs_chunk: true if btwrite_get_block will need writer->to_come and
 * at_least.
 */
static inline bool
btwrite_needs_chunk(const BtWriter *writer)
{
	return !writer->alone && writer->chunk.next == writer->chunk.end;
}

/* btwrite_get_block returns the next block of the file to use. */
extern BlockNumber btwrite_get_block(BtWriter *writer);

/*
 * btwrite_return_chunk makes the rest of the writer's chunk available to
 * others.  In exchange the writer may get another chunk, which the caller must
 * pass to btwrite_take_over().
 */
extern void btwrite_return_chunk(BtWriter *writer);

/*
 * btwrite_page writes the finished page at blkno, now or later, and takes
 * ownership of the buffer.
 */
extern void btwrite_page(BtWriter *writer, Page page, BlockNumber blkno);

/*
 * btwrite_extend extends the file from writer->eof to 'end' blocks.  No other
 * process may extend it in the meantime.
 */
extern void btwrite_extend(BtWriter *writer, BlockNumber end);

/* btwrite_flush logs and writes the pages that btwrite_page() collected. */
extern void btwrite_flush(BtWriter *writer);

/*
 * btwrite_take_over makes this the only writer, with the left-over chunks of
 * the others, after their end.  btwrite_get_block() uses these first.  The
 * array is sorted in place and must outlive the writer.  It must have room for
 * two more chunks: a returned one and the end of the file.
 */
extern void btwrite_take_over(BtWriter *writer, BtChunk *chunks, int nchunks);

/*
 * btwrite_retire_spare makes left-over blocks deleted pages that inserts can
 * recycle at once.
 */
extern void btwrite_retire_spare(BtWriter *writer);

/* btwrite_sync, the last call, lets the file survive a crash after commit. */
extern void btwrite_sync(BtWriter *writer);

#endif							/* PTSORT_BTWRITE_H */
