/*-------------------------------------------------------------------------
 *
 * tape.h
 *	  Logical tapes: byte streams in one participant's temporary file.
 *
 * A tapeset is one file, divided into blocks of one size.  A tape is a list of
 * blocks, written once from its start to its end and then read.  Reading a tape
 * with 'recycle' returns each block to the tapeset as soon as it is in memory,
 * so that a merge needs no more space than its data.
 *
 * Legal order:
 *
 *		set = tapeset_create(fileset or NULL, participant, block_bytes)
 *		tape = tape_create(set, write_buffer); tape_write()...; tape_finish()
 *		tape_begin_read(tape, read_buffer, slack, recycle)
 *		while ((p = tape_peek(tape, want, &have))) tape_advance(tape, n);
 *		tape_close(tape); tapeset_close(set)
 *
 * Only one tape of a set can be written at a time, but any number can be read.
 * To pass a finished tape to other processes, tape_export() fills a small
 * description for shared memory, with which another process opens the tape by
 * tape_import().  The exporter can store a note of any size with the tape.
 *
 * Errors are ereport'ed.  All memory is in the context current at create.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TAPE_H
#define PTSORT_TAPE_H

#include "compat.h"

#include "storage/sharedfileset.h"

/* Bytes past tape_peek's result that are still readable. */
#define TAPE_OVERRUN	MAXIMUM_ALIGNOF

typedef struct Tapeset Tapeset;

/* Description of an exported tape; plain data for shared memory. */
typedef struct TapeExport
{
	int64		size;			/* bytes of the stream */
	int64		block_bytes;
	int64		map_block;		/* first block of the stored extent list */
	int64		nextents;		/* number of extents in that list */
} TapeExport;

/* Consecutive logical blocks that are consecutive in the file. */
typedef struct TapeExtent
{
	int64		logical;		/* number of the first block within the tape */
	int64		block;			/* number of that block within the file */
} TapeExtent;

/*
 * Tape.  Its fields are for tape.c and the inline functions below only.
 */
typedef struct Tape
{
	Tapeset    *set;
	bool		imported;		/* the last imported tape closes the set */
	int64		size;			/* bytes written so far */
	TapeExtent *extents;
	int64		nextents;
	int64		maxextents;

	/*
	 * One buffer, first for writing and later for reading.  It holds the
	 * bytes of the stream from 'offset' on; 'cursor' and 'limit' point into
	 * it.
	 */
	char	   *buffer;
	Size		buffer_size;
	int64		offset;
	char	   *cursor;
	char	   *limit;			/* end of valid bytes (reading) */
	Size		slack;			/* see tape_begin_read */
	bool		recycle;
} Tape;

extern Tapeset *tapeset_create(SharedFileSet *fileset, int participant,
							   int64 block_bytes);
extern void tapeset_close(Tapeset *set);
extern int64 tapeset_bytes(const Tapeset *set);

extern Tape *tape_create(Tapeset *set, Size write_buffer);
extern void tape_write(Tape *tape, const void *data, Size size);
extern void tape_finish(Tape *tape);
extern int64 tape_append(Tape *tape, Tape *next);
extern void tape_export(Tape *tape, const void *note, Size note_size,
						TapeExport *result);
extern Tape *tape_import(SharedFileSet *fileset, int participant,
						 Tape *beside, const TapeExport *source, void *note,
						 Size note_size);
extern int64 tape_blocks(const Tape *tape);
extern int64 tape_block_end(const Tape *tape, int64 offset);
extern void tape_begin_read(Tape *tape, Size read_buffer, Size slack,
							bool recycle);
extern const char *tape_peek_slow(Tape *tape, Size want, Size *have);
extern void tape_end_read(Tape *tape);
extern void tape_seek_slow(Tape *tape, int64 offset);
extern void tape_close(Tape *tape);

/*
 * tape_peek returns the address of the next bytes of the stream and sets *have
 * to their number, which is at least 'want' unless the tape ends before.  They
 * are valid until the next call on this tape.  The address has the same
 * alignment (up to MAXALIGN) as the offset in the stream.
 */
static inline const char *
tape_peek(Tape *tape, Size want, Size *have)
{
	*have = tape->limit - tape->cursor;
	if (likely(*have >= want))
		return tape->cursor;
	return tape_peek_slow(tape, want, have);
}

/* tape_is_imported: true if another process wrote the tape. */
static inline bool
tape_is_imported(const Tape *tape)
{
	return tape->imported;
}

/* tape_memory returns the bytes of the tape's buffer. */
static inline Size
tape_memory(const Tape *tape)
{
	return tape->buffer_size;
}

/* tape_tell returns the offset of the next byte to read. */
static inline int64
tape_tell(const Tape *tape)
{
	return tape->offset + (tape->cursor - tape->buffer);
}

/*
 * tape_seek makes the byte at 'offset' the next one to read.  A tape that is
 * recycled allows only seeks within the buffer.
 */
static inline void
tape_seek(Tape *tape, int64 offset)
{
	int64		distance = offset - tape->offset;

	if (likely(distance >= 0 && distance <= tape->limit - tape->buffer))
		tape->cursor = tape->buffer + distance;
	else
		tape_seek_slow(tape, offset);
}

#endif							/* PTSORT_TAPE_H */
