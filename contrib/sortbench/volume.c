/*-------------------------------------------------------------------------
 *
 * volume.c
 *	  Read and write several files as one, called a volume.
 *
 * The kernel reads ahead and writes behind while this process sorts.
 * disk_expect tells the kernel early which bytes to read, and disk_flush which
 * bytes to write back.  With direct I/O, the kernel does not write behind, so
 * each write waits for the disk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "sortbench.h"

/*
 * disk_unit returns the best number of bytes to write at a time.  The number is
 * larger for direct I/O, because each direct write waits for the disk.
 */
int64
disk_unit(const Volume *volume)
{
	return volume->direct ? 4 * UNIT_SIZE : UNIT_SIZE;
}

/*
 * volume_layout sets each file's place and size.  The caller must set the
 * volume's size first.  The files get about equal numbers of whole units.  With
 * direct I/O, all files except the last have whole blocks.
 */
void
volume_layout(Volume *volume, int64 unit)
{
	int64		units;
	int64		start = 0;

	/* the smallest number of units whose total size is whole blocks */
	if (volume->direct)
		unit *= BLOCK_SIZE / Min(unit & -unit, BLOCK_SIZE);
	units = volume->size / unit;
	for (int i = 0; i < volume->nfiles; i++)
	{
		VolumeFile *file = &volume->files[i];

		file->start = start;
		file->size = (units / volume->nfiles +
					  (i < units % volume->nfiles)) * unit;
		if (i == volume->nfiles - 1)
			file->size = volume->size - start;
		start += file->size;
	}
}

/*
 * Locates a range of bytes of the volume.  Sets *file and *place to the start
 * of the range.  Returns the number of bytes of the range that are in the
 * file.
 */
static int64
locate(const Volume *volume, int64 offset, int64 size, int *file,
	   int64 *place)
{
	int			i = 0;

	while (offset >= volume->files[i].start + volume->files[i].size)
		i++;
	Assert(i < volume->nfiles);
	*file = i;
	*place = offset - volume->files[i].start;
	return Min(size, volume->files[i].size - *place);
}

/* Opens a file, or raises an error. */
static int
open_file(const VolumeFile *file, int flags)
{
	int			fd = OpenTransientFile(file->nameless[0] != '\0' ?
									   file->nameless : file->path, flags);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 flags & O_DIRECT ?
				 errmsg("could not open file \"%s\" for direct I/O: %m",
						file->path) :
				 errmsg("could not open file \"%s\": %m", file->path)));
	return fd;
}

/*
 * disk_open opens all files in this process.  It raises an error if another
 * file replaced one of them.  If disk_close does not close the files, the
 * server closes them at the end of the transaction.
 */
void
disk_open(Disk *disk, const Volume *volume, int flags)
{
	memset(disk, 0, sizeof(Disk));
	disk->volume = volume;
	for (int i = 0; i < volume->nfiles; i++)
	{
		const VolumeFile *file = &volume->files[i];
		struct stat found;

		disk->fds[i] = open_file(file, flags);
		if (fstat(disk->fds[i], &found) < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not stat file \"%s\": %m", file->path)));
		if (found.st_dev != file->device || found.st_ino != file->inode)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("file \"%s\" was replaced by another file",
							file->path)));
		if (volume->direct)
			disk->direct[i] = open_file(file, flags | O_DIRECT);
	}
}

static void
close_file(const VolumeFile *file, int fd)
{
	if (CloseTransientFile(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", file->path)));
}

/* disk_close closes all files that disk_open opened. */
void
disk_close(Disk *disk)
{
	for (int i = 0; i < disk->volume->nfiles; i++)
	{
		close_file(&disk->volume->files[i], disk->fds[i]);
		if (disk->volume->direct)
			close_file(&disk->volume->files[i], disk->direct[i]);
	}
}

/* disk_read reads bytes of the volume, or fails if any bytes are missing. */
void
disk_read(Disk *disk, int64 offset, void *buffer, int64 size)
{
	char	   *into = buffer;

	while (size > 0)
	{
		int			file;
		int64		place;
		int64		part = locate(disk->volume, offset, size, &file, &place);
		double		start = clock_ms();
		ssize_t		got;

		CHECK_FOR_INTERRUPTS();
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		got = pread(disk->fds[file], into, part, place);
		pgstat_report_wait_end();
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m",
							disk->volume->files[file].path)));
		if (got == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("file \"%s\" became shorter while it was read",
							disk->volume->files[file].path)));
		disk->wait_ms += clock_ms() - start;
		into += got;
		offset += got;
		size -= got;
	}
}

/* disk_expect tells the kernel to read these bytes ahead, if they exist. */
void
disk_expect(Disk *disk, int64 offset, int64 size)
{
	int64		end = Min(offset + size, disk->volume->size);

	while (offset < end)
	{
		int			file;
		int64		place;
		int64		part = locate(disk->volume, offset, end - offset, &file,
								  &place);

		(void) posix_fadvise(disk->fds[file], place, part,
							 POSIX_FADV_WILLNEED);
		offset += part;
	}
}

/*
 * Writes at most "size" bytes.  With direct I/O, whole blocks bypass the
 * cache, and bytes before and after these blocks go through the cache.
 */
static ssize_t
write_part(const Disk *disk, int file, const char *from, int64 size,
		   int64 place)
{
	int64		before = place % BLOCK_SIZE;

	if (!disk->volume->direct)
		return pwrite(disk->fds[file], from, size, place);
	if (before > 0)
		return pwrite(disk->fds[file], from, Min(size, BLOCK_SIZE - before),
					  place);
	if (size < BLOCK_SIZE)
		return pwrite(disk->fds[file], from, size, place);
	Assert((uintptr_t) from % BLOCK_SIZE == 0);
	return pwrite(disk->direct[file], from, size - size % BLOCK_SIZE, place);
}

/* disk_write writes bytes to their place in the volume. */
void
disk_write(Disk *disk, int64 offset, const void *buffer, int64 size)
{
	const char *from = buffer;

	while (size > 0)
	{
		int			file;
		int64		place;
		int64		part = locate(disk->volume, offset, size, &file, &place);
		double		start = clock_ms();
		ssize_t		put;

		CHECK_FOR_INTERRUPTS();
		errno = 0;
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_WRITE);
		put = write_part(disk, file, from, part, place);
		pgstat_report_wait_end();
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
		{
			/* if write did not set errno, assume that the disk is full */
			if (errno == 0)
				errno = ENOSPC;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write file \"%s\": %m",
							disk->volume->files[file].path)));
		}
		disk->wait_ms += clock_ms() - start;
		from += put;
		offset += put;
		size -= put;
	}
}

/* disk_flush tells the kernel to begin writing these bytes to disk. */
void
disk_flush(Disk *disk, int64 offset, int64 size)
{
	bool		useful = disk->volume->sync && !disk->volume->direct;
	int64		end = useful ? offset + size : offset;

	while (offset < end)
	{
		int			file;
		int64		place;
		int64		part = locate(disk->volume, offset, end - offset, &file,
								  &place);

		pg_flush_data(disk->fds[file], place, part);
		offset += part;
	}
}
