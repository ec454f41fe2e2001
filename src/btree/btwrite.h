/*-------------------------------------------------------------------------
 *
 * btwrite.h
 *	  Writes the finished pages of a new index file: blocks, WAL, durability.
 *
 * One or several participants write to the same file.  Each has a BtWriter, and
 * they share a BtFileShared, which may be in dynamic shared memory.
 * Participants log pages in batches and write them without locks, bypassing
 * shared buffers.
 *
 * Blocks.  A sole participant uses one block after another and extends the file
 * as it writes, as the server does; no block is left over.  Several
 * participants allocate chunks of blocks by adding to an atomic counter.  The
 * file grows ahead of the counter.  A participant that finds too few blocks
 * ahead takes the relation's extension lock, and writes zeroes only to the
 * file's new last block.  So participants write all pages below the end of the
 * file, and they rarely wait for the lock.
 *
 * md.c requires writing below the end of the file, for two reasons.  If segment
 * n + 1 is extended while segment n is short, md.c fills the end of segment n
 * with zeroes and may overwrite a page that another process just wrote.  And
 * writing to segment n + 1 fails while segment n is short.  So a participant
 * that holds the extension lock completes a segment before it begins the next
 * one.
 *
 * A chunk is a fraction of the blocks still to come, so chunks shrink to one
 * block towards the end.  To estimate the blocks still to come, participants
 * use the leaves that they filled and the number of tuples not loaded yet.  The
 * file grows ahead only by the blocks that the fullest possible leaves would
 * take.  A participant that ends early returns its unused blocks.
 * btwrite_take_over() makes the leader the only writer and gives it the
 * left-over blocks.  Upper levels use these blocks first.  The leader turns the
 * rest, rarely more than a few blocks, into deleted pages in the free space
 * map.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTWRITE_H
#define PTSORT_BTWRITE_H

#include "access/xlogdefs.h"
#include "limit/diskspace.h"
#include "port/atomics.h"
#include "segment.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Number of pages that a writer logs and writes at a time. */
#define BTWRITE_BATCH	32

/*
 * BtFileShared: state that the participants share, as plain data and atomics.
 * The leader initializes the struct before any participant writes.
 */
typedef struct BtFileShared
{
	XLogRecPtr	redo;			/* redo pointer before any page is logged */
	bool		use_wal;		/* RelationNeedsWAL() in the leader */
	int			nparticipants;	/* number of participants that write */
	pg_atomic_uint64 nblocks;	/* number of blocks that participants took */
	pg_atomic_uint32 size;		/* file size in blocks, if there are several
								 * writers; set under the extension lock */
	pg_atomic_uint64 returned;	/* a returned chunk, or 0 */
} BtFileShared;

/* BtChunk: consecutive blocks, from 'next' to 'end' - 1. */
typedef struct BtChunk
{
	BlockNumber next;
	BlockNumber end;
} BtChunk;

typedef struct BtWriter
{
	Relation	index;
	BtFileShared *shared;
	MemoryContext cxt;			/* contains the page buffers */
	bool		alone;			/* true for the only writer, which extends the
								 * file block by block */
	BlockNumber eof;			/* only writer: size of the file in blocks */
	BtChunk		chunk;			/* this writer's unused blocks */
	BlockNumber to_come;		/* estimate by the caller: blocks that all
								 * participants will still take */
	BlockNumber at_least;		/* minimum of to_come */

	BtChunk    *spare;			/* only writer: all left-over chunks */
	int			nspare;

	int			npages;			/* finished pages that are not written yet */
	Page		pages[BTWRITE_BATCH];
	BlockNumber blknos[BTWRITE_BATCH];
	Page		free;			/* list of free page buffers; each begins with
								 * the address of the next one */
	OpenSegment segment;		/* open segment of the file; used before 17 */
	SpaceGuard	guard;			/* free space that the writer took */
	int64		pages_written;
} BtWriter;

/*
 * btwrite_init_shared prepares *shared for 'nparticipants' processes that will
 * write the empty file of 'rel'.  The leader calls it before the workers start.
 */
extern void btwrite_init_shared(BtFileShared *shared, Relation rel,
								int nparticipants);

/* btwrite_begin sets up a writer with buffers in the current memory context. */
extern void btwrite_begin(BtWriter *writer, BtFileShared *shared,
						  Relation index);

/*
 * btwrite_end closes the file; call it even if the build starts over.  Returns
 * the number of pages that this writer wrote.
 */
extern int64 btwrite_end(BtWriter *writer);

/* Get a page buffer, with undefined contents; release an unwritten buffer. */
extern Page btwrite_get_buffer(BtWriter *writer);
extern void btwrite_release_buffer(BtWriter *writer, Page page);

/*
 * btwrite_needs_chunk returns true if btwrite_get_block will use the to_come
 * and at_least fields of the writer.
 */
static inline bool
btwrite_needs_chunk(const BtWriter *writer)
{
	return !writer->alone && writer->chunk.next == writer->chunk.end;
}

/* btwrite_get_block returns the next block to use in the file. */
extern BlockNumber btwrite_get_block(BtWriter *writer);

/*
 * btwrite_return_chunk makes the rest of the writer's chunk available to other
 * participants.  In exchange, the writer may get another chunk, which the
 * caller must pass to btwrite_take_over().
 */
extern void btwrite_return_chunk(BtWriter *writer);

/*
 * btwrite_page takes ownership of a finished page and writes it to block
 * 'blkno', now or later.
 */
extern void btwrite_page(BtWriter *writer, Page page, BlockNumber blkno);

/*
 * btwrite_extend extends the file from writer->eof to 'end' blocks.  No other
 * process may extend the file during the call.
 */
extern void btwrite_extend(BtWriter *writer, BlockNumber end);

/* btwrite_flush logs and writes the pages that btwrite_page() collected. */
extern void btwrite_flush(BtWriter *writer);

/*
 * btwrite_take_over makes 'writer' the only writer.  After all other writers
 * ended, call it with the left-over chunks.  btwrite_get_block() then uses
 * these chunks first.  btwrite_take_over sorts 'chunks'.  This array must
 * outlive the writer and have room for two more chunks.
 */
extern void btwrite_take_over(BtWriter *writer, BtChunk *chunks, int nchunks);

/*
 * btwrite_retire_spare turns left-over blocks into deleted pages that inserts
 * can recycle immediately.
 */
extern void btwrite_retire_spare(BtWriter *writer);

/* btwrite_sync, called last, makes the file survive a crash after commit. */
extern void btwrite_sync(BtWriter *writer);

#endif							/* PTSORT_BTWRITE_H */
