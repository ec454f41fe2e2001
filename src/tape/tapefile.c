/*-------------------------------------------------------------------------
 *
 * tapefile.c
 *	  Temporary files of any size; see tape.h.
 *
 * The server's BufFile reads and writes one block at a time, through a buffer
 * of its own.  This buffer costs an extra copy, and the kernel is slower at
 * writing new pages in small pieces.  TapeFile therefore uses fd.c and
 * fileset.c, the layer below BufFile, with BufFile's rules for file size (1
 * GB), temp_tablespaces, temp_file_limit, logging, and statistics.  All files
 * belong to the resource owner of the first file, so that an error removes all
 * files together.
 *
 * The start of a private file may be in memory.  On disk, these bytes are then
 * a hole until tapefile_leave_memory writes them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands/tablespace.h"
#include "debug.h"
#include "throttle/throttle.h"
#include "model/space.h"
#include "storage/fd.h"
#include "tape/tape.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

/* Maximum size of a segment: one operating system file, as in buffile.c. */
#define SEGMENT_BYTES	((int64) 0x40000000)

/* Size of a piece of the part in memory. */
#define PIECE_BYTES		(SEGMENT_BYTES / 128)

struct TapeFile
{
	SharedFileSet *fileset;		/* NULL: private */
	char		name[MAXPGPATH];
	bool		create;			/* false: only for reading */
	int64		in_memory;		/* number of bytes that memory has room for */
	char	  **pieces;			/* these bytes */
	int			npieces;
	File	   *segments;		/* 0: not open */
	int			nsegments;
	ResourceOwner owner;
	int64		end;			/* of what this process wrote, in bytes */
	Size		guard;			/* for the segment 'guarded' */
	int			guarded;
};

TapeFile *
tapefile_open(SharedFileSet *fileset, const char *name, bool create)
{
	TapeFile   *file = palloc0(sizeof(TapeFile));

	/* a file set already has its tablespaces */
	if (fileset == NULL)
		PrepareTempTablespaces();
	file->fileset = fileset;
	strlcpy(file->name, name, sizeof(file->name));
	file->create = create;
	file->segments = palloc(sizeof(File));
	file->owner = CurrentResourceOwner;
	return file;
}

void
tapefile_use_memory(TapeFile *file, int64 bytes)
{
	Assert(file->fileset == NULL && file->nsegments == 0);
	file->in_memory = Max(bytes, 0) / PIECE_BYTES * PIECE_BYTES;
	file->pieces = palloc((file->in_memory / PIECE_BYTES + 1) *
						  sizeof(char *));
	file->end = file->in_memory;	/* these bytes need no space */
}

int64
tapefile_memory(const TapeFile *file)
{
	return file->in_memory;
}

static void
free_pieces(TapeFile *file)
{
	for (int i = 0; i < file->npieces; i++)
		pfree(file->pieces[i]);
	file->npieces = 0;
	file->in_memory = 0;
}

static File
open_segment(const TapeFile *file, int segment)
{
	char		name[MAXPGPATH + sizeof(".4294967295")];
	File		result;

	if (file->fileset == NULL)
		return OpenTemporaryFile(false);
	snprintf(name, sizeof(name), "%s.%d", file->name, segment);
	if (file->create)
		return FileSetCreate(&file->fileset->fs, name);
	result = FileSetOpen(&file->fileset->fs, name, O_RDONLY);
	if (result <= 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open temporary file \"%s\": %m", name)));
	return result;
}

/* Returns the file of a segment; opens it if necessary. */
static File
get_segment(TapeFile *file, int segment)
{
	ResourceOwner current = CurrentResourceOwner;

	if (segment >= file->nsegments)
		file->segments = repalloc(file->segments,
								  (segment + 1) * sizeof(File));
	while (segment >= file->nsegments)
		file->segments[file->nsegments++] = 0;
	if (file->segments[segment] == 0)
	{
		CurrentResourceOwner = file->owner;
		file->segments[segment] = open_segment(file, segment);
		CurrentResourceOwner = current;
	}
	return file->segments[segment];
}

/* Write or read with one system call.  Returns the number of bytes, or <0. */
static int64
transfer(File segment, bool write, char *data, Size size, int64 offset)
{
	instr_time *sum = write ? &pgBufferUsage.temp_blk_write_time :
		&pgBufferUsage.temp_blk_read_time;
	instr_time	start;
	instr_time	now;
	int64		done;

	INSTR_TIME_SET_ZERO(start);
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	done = write ?
		FileWrite(segment, data, size, offset, WAIT_EVENT_BUFFILE_WRITE) :
		FileRead(segment, data, size, offset, WAIT_EVENT_BUFFILE_READ);
	if (track_io_timing)
	{
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_ACCUM_DIFF(*sum, now, start);
	}
	return done;
}

/*
 * Take space in the file system of a segment, which may be another than that of
 * the last segment.  Only bytes beyond the end of the file need space.
 */
static void
take_space(TapeFile *file, File segment, Size size, int64 offset)
{
	int			number = offset / SEGMENT_BYTES;
	int64		more = offset + (int64) size - file->end;

	if (more <= 0)
		return;
	if (file->guarded != number)
		file->guard = 0;
	file->guarded = number;
	file->end += more;
	space_take(&file->guard, NULL, FilePathName(segment), more);
}

/* Write or read bytes on disk, segment by segment. */
static void
transfer_disk(TapeFile *file, bool write, char *data, Size size, int64 offset)
{
	if (write)
		pgBufferUsage.temp_blks_written += size / BLCKSZ;
	else
		pgBufferUsage.temp_blks_read += (size + BLCKSZ - 1) / BLCKSZ;
	while (size > 0)
	{
		int64		at = offset % SEGMENT_BYTES;
		Size		now = Min((int64) size, SEGMENT_BYTES - at);
		File		segment = get_segment(file, offset / SEGMENT_BYTES);
		int64		done;

		if (write)
			take_space(file, segment, now, offset);
		done = transfer(segment, write, data, now, at);
		if (done < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 write ?
					 errmsg("could not write to file \"%s\": %m",
							FilePathName(segment)) :
					 errmsg("could not read file \"%s\": %m",
							FilePathName(segment))));
		if (done == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("temporary file \"%s\" ends at offset %lld, but should have %zu more bytes",
							FilePathName(segment), (long long) at, now)));
		data += done;
		size -= done;
		offset += done;
	}
}

/*
 * Have the kernel clear the pages of a new piece at once, which is faster than
 * one page fault for each.  The advice leaves out the pages at both ends.
 */
static void
touch(char *piece)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t	page = getpagesize();

	(void) madvise((void *) TYPEALIGN(page, (uintptr_t) piece),
				   PIECE_BYTES - page, MADV_POPULATE_WRITE);
#endif
}

/* Write or read bytes, first those in memory. */
static void
transfer_all(TapeFile *file, bool write, char *data, Size size, int64 offset)
{
	while (size > 0 && offset < file->in_memory)
	{
		int			piece = offset / PIECE_BYTES;
		int64		at = offset % PIECE_BYTES;
		Size		now = Min((int64) size, PIECE_BYTES - at);

		Assert(write || piece < file->npieces);
		for (; file->npieces <= piece; file->npieces++)
		{
			file->pieces[file->npieces] =
				MemoryContextAlloc(GetMemoryChunkContext(file), PIECE_BYTES);
			touch(file->pieces[file->npieces]);
		}
		if (write)
			memcpy(file->pieces[piece] + at, data, now);
		else
			memcpy(data, file->pieces[piece] + at, now);
		data += now;
		size -= now;
		offset += now;
	}
	transfer_disk(file, write, data, size, offset);
}

void
tapefile_leave_memory(TapeFile *file)
{
	int64		end = file->end;

	file->end = 0;				/* the hole needs space */
	for (int i = 0; i < file->npieces; i++)
	{
		transfer_disk(file, true, file->pieces[i], PIECE_BYTES,
					  i * PIECE_BYTES);
		throttle_point();
	}
	if (end > file->in_memory)
		file->end = end;		/* some bytes were on disk already */
	free_pieces(file);
}

void
tapefile_write(TapeFile *file, const void *data, Size size, int64 offset)
{
	Assert(file->create);
	/* before PostgreSQL 16, FileWrite() takes no const buffer */
	transfer_all(file, true, unconstify(void *, data), size, offset);
	throttle_point();
}

void
tapefile_read(TapeFile *file, void *data, Size size, int64 offset)
{
	transfer_all(file, false, data, size, offset);
}

void
tapefile_close(TapeFile *file)
{
	for (int i = 0; i < file->nsegments; i++)
	{
		if (file->segments[i] != 0)
			FileClose(file->segments[i]);
	}
	free_pieces(file);
	pfree(file->segments);
	pfree(file);
}
