/*-------------------------------------------------------------------------
 *
 * pagewrite.h
 *	  Writes the finished pages of a new index file: blocks, WAL, durability.
 *
 * One or several participants write to the same file.  Participants log pages
 * in batches and write them without locks, bypassing shared buffers.
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
 * A chunk is a fraction of the blocks still to come, as the caller estimates
 * them, so chunks shrink to one block towards the end.  The file grows ahead
 * only by the blocks that the fullest possible leaves would take.  At the end
 * the leader becomes the only writer, with the left-over blocks.  Upper levels
 * use these blocks first.  The leader turns the rest, rarely more than a few
 * blocks, into deleted pages in the free space map.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PAGEWRITE_H
#define PTSORT_PAGEWRITE_H

#include "model/space.h"
#include "port/atomics.h"
#include "segment.h"

/* Number of pages that a writer logs and writes at a time. */
#define PAGEWRITE_BATCH	32

/* Number of tuples that a participant reads between two progress reports. */
#define PAGEWRITE_STEP	1024

/* Bytes of WAL that each participant may write after another one's look */
#define PAGEWRITE_WAL	((Size) PAGEWRITE_BATCH * BLCKSZ)

/*
 * PageFileShared: state that the participants share, as plain data and atomics.
 * The leader initializes the struct before any participant writes.
 */
typedef struct PageFileShared
{
	XLogRecPtr	redo;			/* redo pointer before any page is logged */
	bool		use_wal;		/* RelationNeedsWAL() in the leader */
	int			nparticipants;	/* number of participants that write */
	BlockNumber reserved;		/* number of blocks that no writer gets */
	pg_atomic_uint64 nblocks;	/* number of blocks that participants took */
	pg_atomic_uint32 size;		/* file size in blocks, if there are several
								 * writers; set under the extension lock */
	pg_atomic_uint64 tuples;	/* tuples that all participants reported */
} PageFileShared;

/* PageChunk: consecutive blocks, from 'next' to 'end' - 1. */
typedef struct PageChunk
{
	BlockNumber next;
	BlockNumber end;
} PageChunk;

typedef struct PageWriter
{
	Relation	index;
	PageFileShared *shared;
	MemoryContext cxt;			/* contains the page buffers */
	bool		alone;			/* the only writer, which extends the file */
	BlockNumber eof;			/* only writer: size of the file in blocks */
	PageChunk	chunk;			/* this writer's unused blocks */
	BlockNumber to_come;		/* estimate by the caller: blocks that all
								 * participants will still take */
	BlockNumber at_least;		/* minimum of to_come */

	PageChunk  *spare;			/* only writer: all left-over chunks */
	int			nspare;

	int			npages;			/* finished pages that are not written yet */
	Page		pages[PAGEWRITE_BATCH];
	BlockNumber blknos[PAGEWRITE_BATCH];
	Page		free;			/* list of free page buffers, linked at their
								 * beginnings */
	OpenSegment segment;		/* open segment of the file; used before 17 */
	Size		guard;			/* free space that the writer took */
	int64		pages_written;
	bool		reports;		/* true in the leader of an index build */
	int64		tuples;			/* tuples on its pages, counted by the caller */
	int64		reported;		/* part of 'tuples' already reported */
} PageWriter;

/*
 * pagewrite_init_shared prepares *shared for 'nparticipants' processes that
 * will write the empty file of 'rel'.  pagewrite_get_block never returns one of
 * the first 'reserved' blocks.  The leader calls it before the workers start.
 */
extern void pagewrite_init_shared(PageFileShared *shared, Relation rel,
								  int nparticipants, BlockNumber reserved);

/*
 * pagewrite_begin sets up a writer with buffers in the current memory context.
 * pagewrite_end closes the file, even if the build starts over, and returns the
 * number of pages that this writer wrote.
 */
extern void pagewrite_begin(PageWriter *writer, PageFileShared *shared,
							Relation index);
extern int64 pagewrite_end(PageWriter *writer);

/* Get a page buffer, with undefined contents; release an unwritten buffer. */
extern Page pagewrite_get_buffer(PageWriter *writer);
extern void pagewrite_release_buffer(PageWriter *writer, Page page);

/*
 * pagewrite_needs_chunk returns true if pagewrite_get_block will use the
 * to_come and at_least fields of the writer.
 */
static inline bool
pagewrite_needs_chunk(const PageWriter *writer)
{
	return !writer->alone && writer->chunk.next == writer->chunk.end;
}

/* pagewrite_get_block returns the next block to use in the file. */
extern BlockNumber pagewrite_get_block(PageWriter *writer);

/*
 * pagewrite_page takes ownership of a finished page and writes it to block
 * 'blkno', at the latest in pagewrite_flush.
 */
extern void pagewrite_page(PageWriter *writer, Page page, BlockNumber blkno);
extern void pagewrite_flush(PageWriter *writer);

/*
 * pagewrite_extend extends the file from writer->eof to 'end' blocks.  No other
 * process may extend the file during the call.
 */
extern void pagewrite_extend(PageWriter *writer, BlockNumber end);

/*
 * pagewrite_report adds the writer's unreported tuples to the count of all
 * participants' tuples, and returns that count.  It checks for interrupts, and
 * sets the number of loaded tuples in the progress view if writer->reports.
 */
extern int64 pagewrite_report(PageWriter *writer);

/*
 * After all other writers ended, pagewrite_take_over makes 'writer' the only
 * one.  pagewrite_get_block() then uses the left-over chunks first.  The array,
 * which pagewrite_take_over sorts, must outlive the writer and have room for
 * one more chunk.
 */
extern void pagewrite_take_over(PageWriter *writer, PageChunk *chunks,
								int nchunks);

/*
 * pagewrite_retire_spare turns left-over blocks into deleted pages that inserts
 * can recycle immediately; make_deleted initializes these pages.
 */
extern void pagewrite_retire_spare(PageWriter *writer,
								   void (*make_deleted) (Page page));

/* pagewrite_sync, called last, makes the file survive a crash after commit. */
extern void pagewrite_sync(PageWriter *writer);

#endif							/* PTSORT_PAGEWRITE_H */
