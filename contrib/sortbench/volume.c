/*-------------------------------------------------------------------------
 *
 * volume.c
 *	  Read and write several files as one, called a volume.
 *
 * The kernel reads ahead and writes behind while this process sorts.
 * disk_expect tells the kernel early which bytes to read, and disk_flush which
 * bytes to write back.  With direct I/O, the kernel neither reads ahead nor
 * writes behind, so each read or write waits for the disk.
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

/* Returns how many of the volume's first 'size' bytes a striped file holds. */
static int64
striped_size(const Volume *volume, int file, int64 size)
{
	int64		round = volume->stripe * volume->nfiles;
	int64		rest = size % round - volume->stripe * file;

	return size / round * volume->stripe +
		Max(0, Min(rest, volume->stripe));
}

/*
 * disk_unit returns the best number of bytes to read or write at a time.  The
 * number is larger for direct I/O, because each direct read or write waits for
 * the disk.
 */
int64
disk_unit(const Volume *volume)
{
	return volume->direct ? 4 * UNIT_SIZE : UNIT_SIZE;
}

/* disk_memory returns the size of the buffer for reading a volume. */
Size
disk_memory(const Volume *volume)
{
	return volume->direct ? disk_unit(volume) + 3 * BLOCK_SIZE : 0;
}

/*
 * volume_layout sets each file's place and size.  The caller must set the
 * volume's size first.  Files that are not striped get about equal numbers of
 * whole units.  With direct I/O, all files except the last have whole blocks.
 */
void
volume_layout(Volume *volume, int64 unit)
{
	int64		units;
	int64		start = 0;

	if (volume->direct)
		unit *= units_of_blocks(unit);
	units = volume->size / unit;
	for (int i = 0; i < volume->nfiles; i++)
	{
		VolumeFile *file = &volume->files[i];

		file->start = start;
		if (volume->stripe > 0)
			file->size = striped_size(volume, i, volume->size);
		else
			file->size = (units / volume->nfiles +
						  (i < units % volume->nfiles)) * unit;
		if (volume->stripe == 0 && i == volume->nfiles - 1)
			file->size = volume->size - start;
		start += file->size;
	}
}

/*
 * Locates a range of bytes of the volume.  Sets *file and *place to the start
 * of the range.  Returns the number of bytes of the range that are contiguous
 * in the file from *place on.
 */
static int64
locate(const Volume *volume, int64 offset, int64 size, int *file,
	   int64 *place)
{
	int			i = 0;

	if (volume->stripe > 0)
	{
		int64		turn = offset / volume->stripe;

		*file = turn % volume->nfiles;
		*place = turn / volume->nfiles * volume->stripe +
			offset % volume->stripe;
		return Min(size, volume->stripe - offset % volume->stripe);
	}
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
disk_open(Disk *disk, const Volume *volume, int flags, FileUse *use)
{
	memset(disk, 0, sizeof(Disk));
	disk->volume = volume;
	disk->use = use;
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
	if (volume->direct && flags == O_RDONLY)
		disk->blocks = (uint8 *) TYPEALIGN(BLOCK_SIZE,
										   palloc(disk_memory(volume)));
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

/* Adds the time and the size of an I/O call to the statistics. */
static void
used(Disk *disk, int file, int64 bytes, double since)
{
	double		ms = clock_ms() - since;

	disk->wait_ms += ms;
	if (disk->use == NULL)
		return;
	pg_atomic_fetch_add_u64(&disk->use[file].bytes, bytes);
	pg_atomic_fetch_add_u64(&disk->use[file].us, (int64) (ms * 1000));
}

/*
 * Reads at most "size" bytes with direct I/O.  If the place and the buffer are
 * aligned and the size is at least one block, reads whole blocks directly into
 * the buffer.  Otherwise reads blocks into disk->blocks and copies the bytes.
 */
static ssize_t
read_direct(Disk *disk, int file, void *into, int64 size, int64 place)
{
	int64		skip = place % BLOCK_SIZE;
	int64		unit = disk_unit(disk->volume);
	int64		most = Min(size, unit);
	ssize_t		got;

	if (skip == 0 && (uintptr_t) into % BLOCK_SIZE == 0 && size >= BLOCK_SIZE)
		return pread(disk->direct[file], into, size - size % BLOCK_SIZE,
					 place);
	got = pread(disk->direct[file], disk->blocks,
				TYPEALIGN(BLOCK_SIZE, skip + most), place - skip);
	if (got < 0)
		return got;
	got = Max(0, Min(got - skip, most));
	memcpy(into, disk->blocks + skip, got);
	return got;
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
		got = disk->volume->direct ?
			read_direct(disk, file, into, part, place) :
			pread(disk->fds[file], into, part, place);
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
		used(disk, file, got, start);
		into += got;
		offset += got;
		size -= got;
	}
}

/* disk_expect tells the kernel to read these bytes ahead, if they exist. */
void
disk_expect(Disk *disk, int64 offset, int64 size)
{
	int64		end = Min(offset + size,
						  disk->volume->direct ? 0 : disk->volume->size);

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
		used(disk, file, put, start);
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
