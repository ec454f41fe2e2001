/*-------------------------------------------------------------------------
 *
 * tape.h
 *	  Temporary files, and logical tapes: byte streams in one participant's
 *	  file.
 *
 * A tapeset is one file, divided into blocks of one size.  A tape is a list of
 * blocks.  A sort writes a tape once, from start to end, and then reads it.
 * Reading with 'recycle' returns each block to the tapeset as soon as the block
 * is in memory, so that a merge needs no more space than its data.
 *
 * Call the functions in this order:
 *
 *		set = tapeset_open(fileset or NULL, participant, block_bytes, true)
 *		tape = tape_create(set, write_buffer); tape_write()...; tape_finish()
 *		tape_begin_read(tape, read_buffer, slack, recycle)
 *		tape_read()...; tape_end_read(tape)
 *		tape_close(tape); tapeset_close(set)
 *
 * A process can write only one tape of a set at a time, but can read several
 * tapes.  To pass a finished tape to other processes, tape_export() fills in a
 * small description for shared memory, from which tape_import() opens the tape.
 * With the tape, tape_export() can store a note of any size, which
 * tape_import() copies.
 *
 * All functions may raise errors.  Memory and files belong to the memory
 * context and the resource owner that are current in tapeset_open().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TAPE_H
#define PTSORT_TAPE_H

#include "compat.h"

#include "storage/sharedfileset.h"

/* TapeFile: a temporary file of any size. */
typedef struct TapeFile TapeFile;

/*
 * tapefile_open creates an empty file (private if fileset is NULL), or opens
 * the file of another process for reading only.  tapefile_write and
 * tapefile_read transfer exactly 'size' bytes at an offset in bytes.  Other
 * processes can read bytes as soon as tapefile_write returns.  Closing a
 * private file removes it.
 */
extern TapeFile *tapefile_open(SharedFileSet *fileset, const char *name,
							   bool create);
extern void tapefile_write(TapeFile *file, const void *data, Size size,
						   int64 offset);
extern void tapefile_read(TapeFile *file, void *data, Size size, int64 offset);
extern void tapefile_close(TapeFile *file);

/*
 * tapefile_use_memory keeps the start of an empty private file in memory, about
 * 'bytes' bytes, until tapefile_leave_memory writes it to disk, if anything is
 * in memory.  tapefile_memory returns the exact number, or 0.
 */
extern void tapefile_use_memory(TapeFile *file, int64 bytes);
extern void tapefile_leave_memory(TapeFile *file);
extern int64 tapefile_memory(const TapeFile *file);

/* Number of readable bytes after the bytes that tape_read provides. */
#define TAPE_OVERRUN	MAXIMUM_ALIGNOF

typedef struct Tapeset Tapeset;

/* Description of an exported tape; plain data for shared memory. */
typedef struct TapeExport
{
	int64		size;			/* size of the stream in bytes */
	int64		block_bytes;
	int64		map_block;		/* first block of the stored extent list */
	int64		nextents;		/* number of extents in that list */
} TapeExport;

/* Consecutive blocks of a tape that are also consecutive in the file. */
typedef struct TapeExtent
{
	int64		logical;		/* number of the first block within the tape */
	int64		block;			/* number of that block within the file */
} TapeExtent;

/* Tape: only tape.c and the inline functions below use its fields. */
typedef struct Tape
{
	Tapeset    *set;
	bool		imported;		/* made by tape_import; see tape_close */
	bool		recycle;
	int64		size;			/* bytes written so far */
	TapeExtent *extents;
	int64		nextents;
	int64		maxextents;

	/* for writing, later for reading: 'used' bytes from 'offset' on */
	char	   *buffer;
	Size		buffer_size;
	int64		offset;
	int64		used;
} Tape;

extern Tapeset *tapeset_open(SharedFileSet *fileset, int participant,
							 int64 block_bytes, bool create);
extern TapeFile *tapeset_file(const Tapeset *set);
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
extern const char *tape_read_slow(Tape *tape, int64 offset, Size size);
extern void tape_end_read(Tape *tape);
extern void tape_close(Tape *tape);

/*
 * tape_read returns the address of 'size' bytes of the stream from 'offset' on.
 * The address is valid until the next call on this tape, and has the same
 * alignment (up to MAXALIGN) as the offset.  With 'recycle', an offset must be
 * neither below the offset of the last call nor beyond the block of that call's
 * last byte.
 */
static inline const char *
tape_read(Tape *tape, int64 offset, Size size)
{
	int64		distance = offset - tape->offset;

	if (likely(distance >= 0 && distance + (int64) size <= tape->used))
		return tape->buffer + distance;
	return tape_read_slow(tape, offset, size);
}

#endif							/* PTSORT_TAPE_H */
