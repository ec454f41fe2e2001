/*-------------------------------------------------------------------------
 *
 * tapefile.c
 *	  The temporary file of a tapeset, read and written in large pieces.
 *
 * The server's BufFile reads and writes one block at a time, through a buffer
 * of its own.  A tape already has a larger buffer, so that would be one copy
 * too many, and the kernel is slower at writing new pages in pieces of 8 kB
 * than in large pieces (on ext4, for example, which has large folios).  So this
 * file uses the layer below BufFile, fd.c and fileset.c, by the same rules as
 * buffile.c: files of 1 GB, each in the next one of temp_tablespaces, charged
 * to temp_file_limit, and counted and timed as temporary blocks.  All belong to
 * the resource owner of the first one, so that an error removes them together.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "tape/tapefile.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

/* Bytes of one file of the operating system, the same as in buffile.c. */
#define SEGMENT_BYTES	((int64) 0x40000000)

struct TapeFile
{
	SharedFileSet *fileset;		/* NULL: private */
	char		name[MAXPGPATH];
	bool		create;			/* false: only for reading */
	File	   *segments;		/* 0: not open */
	int			nsegments;
	ResourceOwner owner;
};

TapeFile *
tapefile_open(SharedFileSet *fileset, const char *name, bool create)
{
	TapeFile   *file = palloc0(sizeof(TapeFile));

	/* a file set knows its tablespaces */
	if (fileset == NULL)
		PrepareTempTablespaces();
	file->fileset = fileset;
	strlcpy(file->name, name, sizeof(file->name));
	file->create = create;
	file->segments = palloc0(sizeof(File));
	file->nsegments = 1;
	file->owner = CurrentResourceOwner;
	return file;
}

/* Create or open the file of a segment. */
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

/* The file of a segment, opened if necessary. */
static File
get_segment(TapeFile *file, int segment)
{
	ResourceOwner current = CurrentResourceOwner;

	for (; file->nsegments <= segment; file->nsegments++)
	{
		file->segments = repalloc(file->segments,
								  (file->nsegments + 1) * sizeof(File));
		file->segments[file->nsegments] = 0;
	}
	if (file->segments[segment] == 0)
	{
		CurrentResourceOwner = file->owner;
		file->segments[segment] = open_segment(file, segment);
		CurrentResourceOwner = current;
	}
	return file->segments[segment];
}

/* Write or read by one system call; returns the bytes done, <0 on error. */
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

/* Write or read all bytes, segment by segment. */
static void
transfer_all(TapeFile *file, bool write, char *data, Size size, int64 offset)
{
	while (size > 0)
	{
		int64		at = offset % SEGMENT_BYTES;
		Size		now = Min((int64) size, SEGMENT_BYTES - at);
		File		segment = get_segment(file, offset / SEGMENT_BYTES);
		int64		done = transfer(segment, write, data, now, at);

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
					 errmsg("temporary file \"%s\" ends at %lld, before %zu bytes that were written",
							FilePathName(segment), (long long) at, now)));
		data += done;
		size -= done;
		offset += done;
	}
}

void
tapefile_write(TapeFile *file, const void *data, Size size, int64 offset)
{
	Assert(file->create);
	/* (not const before 16) */
	transfer_all(file, true, unconstify(void *, data), size, offset);
	pgBufferUsage.temp_blks_written += size / BLCKSZ;
}

void
tapefile_read(TapeFile *file, void *data, Size size, int64 offset)
{
	transfer_all(file, false, data, size, offset);
	pgBufferUsage.temp_blks_read += (size + BLCKSZ - 1) / BLCKSZ;
}

void
tapefile_close(TapeFile *file)
{
	for (int i = 0; i < file->nsegments; i++)
	{
		if (file->segments[i] != 0)
			FileClose(file->segments[i]);
	}
	pfree(file->segments);
	pfree(file);
}
