/*-------------------------------------------------------------------------
 *
 * tape.c
 *	  Logical tapes: byte streams in one participant's temporary file.
 *
 * Like the server's logtape.c (and Knuth's tapes), tape.c stores many streams
 * in one file, and reading a block frees the block.  Unlike logtape.c's
 * blocks, those of tape.c contain no links, so the bytes of consecutive blocks
 * are consecutive in memory, and a reader can use tuples in place.  A list of
 * extents replaces the links.  The list is short, because a process writes
 * only one tape at a time; tape_export writes the list to the file, behind the
 * tape's data.
 *
 * The caller chooses the block size: small blocks need little memory for
 * reading many tapes at once; large blocks make reads fewer and longer.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "miscadmin.h"
#include "tape/tape.h"
#include "utils/memutils.h"

struct Tapeset
{
	TapeFile   *file;
	int64		block_bytes;
	int64		nblocks;		/* blocks of the file */
	Bitmapset  *free;			/* free blocks */
	int			lowest;			/* no block with a lower number is free */
	MemoryContext context;
	int			importers;		/* open tapes, if the set is imported */
};

/*
 * tapeset_open creates an empty tapeset, or opens another process's tapeset for
 * reading.  If fileset is not NULL, the file belongs to the file set, and the
 * file's name has the participant's number; otherwise the file is private to
 * this process.  block_bytes must be a multiple of BLCKSZ.
 */
Tapeset *
tapeset_open(SharedFileSet *fileset, int participant, int64 block_bytes,
			 bool create)
{
	Tapeset    *set = palloc0(sizeof(Tapeset));
	char		name[MAXPGPATH];

	Assert(block_bytes % BLCKSZ == 0);
	snprintf(name, MAXPGPATH, "ptsort.%d", participant);
	set->file = tapefile_open(fileset, name, create);
	set->block_bytes = block_bytes;
	set->context = CurrentMemoryContext;
	return set;
}

/* tapeset_close closes the file, and removes it if it is private. */
void
tapeset_close(Tapeset *set)
{
	tapefile_close(set->file);
	bms_free(set->free);
	pfree(set);
}

/* tapeset_file returns the file that has all tapes. */
TapeFile *
tapeset_file(const Tapeset *set)
{
	return set->file;
}

/* tapeset_bytes returns the size of the file on disk, which never shrinks. */
int64
tapeset_bytes(const Tapeset *set)
{
	return Max(set->nblocks * set->block_bytes - tapefile_memory(set->file),
			   0);
}

static int64
blocks_of(const Tapeset *set, int64 bytes)
{
	return (bytes + set->block_bytes - 1) / set->block_bytes;
}

/*
 * Block allocation.  Allocating the lowest free block first keeps a tape's
 * blocks together and the file dense.
 */
static void
free_block(Tapeset *set, int64 block)
{
	MemoryContext old = MemoryContextSwitchTo(set->context);

	if (block < PG_INT32_MAX)	/* a Bitmapset has no larger members */
	{
		set->free = bms_add_member(set->free, (int) block);
		set->lowest = Min(set->lowest, (int) block);
	}
	MemoryContextSwitchTo(old);
}

static int64
allocate_block(Tapeset *set)
{
	int			block = bms_next_member(set->free, set->lowest - 1);

	if (block < 0)
	{
		set->lowest = PG_INT32_MAX;
		return set->nblocks++;
	}
	set->free = bms_del_member(set->free, block);
	set->lowest = block + 1;
	return block;
}

static void
add_extent(Tape *tape, int64 logical, int64 block)
{
	if (tape->nextents > 0)
	{
		const TapeExtent *last = &tape->extents[tape->nextents - 1];

		if (block - last->block == logical - last->logical)
			return;				/* continues the last extent */
	}
	if (tape->nextents == tape->maxextents)
	{
		tape->maxextents *= 2;
		tape->extents = repalloc_huge(tape->extents,
									  tape->maxextents * sizeof(TapeExtent));
	}
	tape->extents[tape->nextents].logical = logical;
	tape->extents[tape->nextents].block = block;
	tape->nextents++;
}

static Tape *
tape_make(Tapeset *set)
{
	Tape	   *tape = palloc0(sizeof(Tape));

	tape->set = set;
	tape->maxextents = 8;
	tape->extents = palloc(tape->maxextents * sizeof(TapeExtent));
	return tape;
}

/* Replace the buffer with a buffer of this size. */
static void
allocate_buffer(Tape *tape, Size size)
{
	tape_end_read(tape);
	tape->buffer = MemoryContextAllocExtended(tape->set->context,
											  size + TAPE_OVERRUN,
											  MCXT_ALLOC_HUGE);
	tape->buffer_size = size;
}

/*
 * tape_create starts writing a new tape with a buffer of at least one block.
 * One system call may write the whole buffer.
 */
Tape *
tape_create(Tapeset *set, Size write_buffer)
{
	Tape	   *tape = tape_make(set);
	Size		blocks = Max(write_buffer / set->block_bytes, 1);

	allocate_buffer(tape, blocks * set->block_bytes);
	return tape;
}

/* Write the blocks in the buffer, consecutive blocks in one call. */
static void
flush_blocks(Tape *tape)
{
	Tapeset    *set = tape->set;
	int64		nblocks = blocks_of(set, tape->used);
	int64		start = 0;		/* next block to write: number in the buffer */
	int64		block = allocate_block(set);	/* block number in the file */

	fault_point("tape: write");
	CHECK_FOR_INTERRUPTS();
	for (int64 i = 1; i <= nblocks; i++)
	{
		int64		next = i < nblocks ? allocate_block(set) : -1;

		if (next == block + (i - start))
			continue;
		tapefile_write(set->file, tape->buffer + start * set->block_bytes,
					   (i - start) * set->block_bytes,
					   block * set->block_bytes);
		add_extent(tape, tape->offset / set->block_bytes + start, block);
		start = i;
		block = next;
	}
	tape->offset += nblocks * set->block_bytes;
	tape->used = 0;
}

/* tape_write appends bytes to the stream. */
void
tape_write(Tape *tape, const void *data, Size size)
{
	const char *source = data;

	tape->size += size;
	while (size > 0)
	{
		Size		room = tape->buffer_size - tape->used;
		Size		now = Min(room, size);

		memcpy(tape->buffer + tape->used, source, now);
		tape->used += now;
		source += now;
		size -= now;
		if (now == room)
			flush_blocks(tape);
	}
}

/* tape_finish ends writing and frees the write buffer. */
void
tape_finish(Tape *tape)
{
	int64		rest = tape_block_end(tape, tape->used) - tape->used;

	/* Write only full blocks, so that the file never has a gap. */
	memset(tape->buffer + tape->used, 0, rest);
	if (tape->used > 0)
		flush_blocks(tape);
	tape_end_read(tape);
}

int64
tape_blocks(const Tape *tape)
{
	return blocks_of(tape->set, tape->size);
}

/* tape_block_end rounds an offset up to the end of a block. */
int64
tape_block_end(const Tape *tape, int64 offset)
{
	return blocks_of(tape->set, offset) * tape->set->block_bytes;
}

/*
 * tape_append adds the blocks of another finished tape of the set and closes
 * that tape.  The unused rest of this tape's last block becomes zero bytes of
 * the stream.  Returns the offset at which the other tape's bytes now begin.
 */
int64
tape_append(Tape *tape, Tape *next)
{
	int64		start = tape_block_end(tape, tape->size);
	int64		first = start / tape->set->block_bytes;

	Assert(tape->set == next->set);
	for (int64 i = 0; i < next->nextents; i++)
		add_extent(tape, first + next->extents[i].logical,
				   next->extents[i].block);
	tape->size = start + next->size;
	tape_close(next);
	return start;
}

/*
 * At the end of the file, tape_export stores a finished tape's extents and the
 * note, for processes that import the tape.  *result describes the tape.
 */
void
tape_export(Tape *tape, const void *note, Size note_size, TapeExport *result)
{
	Tapeset    *set = tape->set;
	Size		list_size = tape->nextents * sizeof(TapeExtent);
	Size		size = blocks_of(set, list_size + note_size) * set->block_bytes;
	char	   *image = palloc_extended(Max(size, 1), MCXT_ALLOC_HUGE);

	memset(image, 0, size);
	memcpy(image, tape->extents, list_size);
	memcpy(image + list_size, note, note_size);
	result->size = tape->size;
	result->nextents = tape->nextents;
	result->block_bytes = set->block_bytes;
	result->map_block = set->nblocks;
	if (size > 0)
	{
		tapefile_write(set->file, image, size, set->nblocks * set->block_bytes);
		set->nblocks += size / set->block_bytes;
	}
	pfree(image);
}

/* Check that extents read from a file are in order and within the tape. */
static void
check_extents(const Tape *tape)
{
	int64		next = 0;		/* lowest logical block of the next extent */

	for (int64 i = 0; i < tape->nextents; i++)
	{
		const TapeExtent *extent = &tape->extents[i];

		if (extent->block < 0 || extent->logical < next ||
			(i == 0 && extent->logical != 0) ||
			extent->logical >= blocks_of(tape->set, tape->size))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("list of extents of a tape is not valid")));
		next = extent->logical + 1;
	}
}

/*
 * tape_import opens, for reading, a tape that a participant exported, and
 * copies the note.  'beside' is NULL, or another imported tape of that
 * participant; the two tapes then share the open file.
 */
Tape *
tape_import(SharedFileSet *fileset, int participant, Tape *beside,
			const TapeExport *source, void *note, Size note_size)
{
	Tape	   *tape = tape_make(beside ? beside->set :
								 tapeset_open(fileset, participant,
											  source->block_bytes, false));

	tape->imported = true;
	tape->set->importers++;
	tape->size = source->size;
	tape->nextents = tape->maxextents = source->nextents;
	if (source->nextents > 0)
	{
		Size		size = source->nextents * sizeof(TapeExtent);
		int64		start = source->map_block * source->block_bytes;

		pfree(tape->extents);
		tape->extents = palloc_extended(size, MCXT_ALLOC_HUGE);
		tapefile_read(tape->set->file, tape->extents, size, start);
		check_extents(tape);
		tapefile_read(tape->set->file, note, note_size, start + size);
	}
	return tape;
}

/*
 * tape_begin_read prepares for reading.  One read gets about 'read_buffer'
 * bytes: at least one block, and at most the whole tape.  'slack' is additional
 * room for the unread part of a record when a read refills the buffer.  If the
 * unread part is longer than the slack, the next read is one block shorter, or
 * the buffer grows.  'recycle' has no effect on an imported tape: its blocks
 * belong to a process that would not know that they are free.
 */
void
tape_begin_read(Tape *tape, Size read_buffer, Size slack, bool recycle)
{
	int64		blocks = read_buffer / tape->set->block_bytes;

	blocks = Max(Min(blocks, tape_blocks(tape)), 1);
	allocate_buffer(tape, blocks * tape->set->block_bytes + slack);
	tape->recycle = recycle && !tape->imported;
}

/* tape_end_read frees the buffer; the caller may begin to read again. */
void
tape_end_read(Tape *tape)
{
	if (tape->buffer)
		pfree(tape->buffer);
	tape->buffer = NULL;
	tape->buffer_size = 0;
	tape->offset = tape->used = 0;
}

/* Returns the number of the extent that has a logical block. */
static int64
find_extent(const Tape *tape, int64 logical)
{
	int64		low = 0;
	int64		high = tape->nextents - 1;

	while (low < high)
	{
		int64		middle = low + (high - low + 1) / 2;

		if (tape->extents[middle].logical <= logical)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Read consecutive logical blocks of the tape into 'target'. */
static void
read_blocks(Tape *tape, int64 logical, int64 nblocks, char *target)
{
	int64		block_bytes = tape->set->block_bytes;
	int64		i = find_extent(tape, logical);

	fault_point("tape: read");
	CHECK_FOR_INTERRUPTS();
	while (nblocks > 0)
	{
		int64		skip = logical - tape->extents[i].logical;
		int64		block = tape->extents[i].block + skip;
		int64		now = nblocks;

		if (i + 1 < tape->nextents)
			now = Min(now, tape->extents[i + 1].logical - logical);
		tapefile_read(tape->set->file, target, now * block_bytes,
					  block * block_bytes);
		if (tape->recycle)
		{
			for (int64 j = 0; j < now; j++)
				free_block(tape->set, block + j);
		}
		target += now * block_bytes;
		logical += now;
		nblocks -= now;
		i++;
	}
}

/* Append the next blocks of the tape to the buffer. */
static void
append_blocks(Tape *tape)
{
	int64		block_bytes = tape->set->block_bytes;
	int64		next = tape->offset + tape->used;
	int64		blocks = (tape->buffer_size - tape->used) / block_bytes;

	Assert(next % block_bytes == 0);
	blocks = Min(blocks, blocks_of(tape->set, tape->size - next));
	read_blocks(tape, next / block_bytes, blocks, tape->buffer + tape->used);
	tape->used = Min(tape->used + blocks * block_bytes,
					 tape->size - tape->offset);
}

/* Keep only the buffer's bytes from 'offset' on; make room for 'size' bytes. */
static void
shift_buffer(Tape *tape, int64 offset, int64 size)
{
	int64		block_bytes = tape->set->block_bytes;
	int64		keep = tape->offset + tape->used - offset;
	char	   *old = tape->buffer;
	const char *source = old + (offset - tape->offset);

	if (keep + ((int64) tape->buffer_size - keep) / block_bytes * block_bytes <
		size)
	{
		tape->buffer = NULL;
		allocate_buffer(tape, size + block_bytes);
	}
	memmove(tape->buffer, source, keep);
	if (tape->buffer != old)
		pfree(old);
	tape->offset = offset;
	tape->used = keep;
}

/*
 * tape_read for bytes that are not all in the buffer.  Appends blocks, or fills
 * the buffer again: the block of the offset becomes the first block or, in a
 * backward read, the last block.
 */
const char *
tape_read_slow(Tape *tape, int64 offset, Size size)
{
	int64		block_bytes = tape->set->block_bytes;
	int64		first = offset / block_bytes;

	if (offset < 0 || offset > tape->size || size > tape->size - offset)
		elog(ERROR, "unexpected end of tape");
	if (offset < tape->offset || offset > tape->offset + tape->used)
	{
		Assert(!tape->recycle);
		if (offset < tape->offset)
			first = Max(first + 1 -
						(int64) tape->buffer_size / block_bytes, 0);
		tape->offset = first * block_bytes;
		tape->used = 0;
		append_blocks(tape);
	}
	if (offset + (int64) size > tape->offset + tape->used)
	{
		shift_buffer(tape, offset, size);
		append_blocks(tape);
	}
	return tape->buffer + (offset - tape->offset);
}

/* tape_close frees the tape; blocks that were not recycled stay in use. */
void
tape_close(Tape *tape)
{
	if (tape->imported && --tape->set->importers == 0)
		tapeset_close(tape->set);
	tape_end_read(tape);
	pfree(tape->extents);
	pfree(tape);
}
