/*-------------------------------------------------------------------------
 *
 * output.c
 *	  Create output files, and name them only when they are complete.
 *
 * output_create() creates files without names (O_TMPFILE), so that no file
 * remains if the process or the machine crashes.  The function reserves the
 * files' disk space, so that a full disk causes an error early.  Workers open
 * a file by its descriptor below /proc.  When a file is complete and synced,
 * output_publish() gives the file its name in one step.  If the job overwrites
 * files, output_publish() uses rename(), which replaces an existing file.
 * Otherwise it uses link(), which fails if the name exists.
 *
 * output_publish() names the files one after the other when all of them are
 * complete.  If it cannot name a file, it removes the files that it already
 * named, unless the job overwrites files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "sortbench.h"

/* Suffix of the temporary name of a file that will replace another file. */
#define SUFFIX			".sortbench"

/* Returns the directory of a path. */
static char *
directory_of(const char *path)
{
	char	   *directory = pstrdup(path);

	get_parent_directory(directory);
	return directory;
}

/* True if the file fits on the disk, or the free space is unknown. */
static bool
fits(const VolumeFile *file, int fd)
{
	struct statvfs disk;

	return fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0 ||
		file->size / disk.f_frsize < disk.f_bavail;
}

/*
 * Reserves the space for a file, unless the file system cannot reserve space.
 * If the free space does not suffice, reserves nothing, because other programs
 * may need the space.
 */
static void
reserve_space(const VolumeFile *file, int fd)
{
	if (file->size == 0)
		return;
	if (!fits(file, fd))
		errno = ENOSPC;
	else if (fallocate(fd, 0, 0, file->size) == 0)
		return;
	else if (errno == EOPNOTSUPP && ftruncate(fd, file->size) == 0)
		return;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not reserve " INT64_FORMAT " bytes for file \"%s\": %m",
					file->size, file->path)));
}

static void
create_file(Output *output, int i)
{
	VolumeFile *file = &output->volume->files[i];
	char	   *directory = directory_of(file->path);
	int			fd = OpenTransientFilePerm(directory, O_TMPFILE | O_RDWR,
										   pg_file_create_mode);
	bool		unable = fd < 0 && errno == EOPNOTSUPP;
	struct stat found;

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create a file in directory \"%s\": %m",
						directory),
				 unable ? errhint("The file system does not support files without a name (O_TMPFILE).") : 0));
	output->fds[i] = fd;
	reserve_space(file, fd);
	if (fstat(fd, &found) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", file->path)));
	file->device = found.st_dev;
	file->inode = found.st_ino;
	snprintf(file->nameless, NAMELESS_SIZE, "/proc/%d/fd/%d", MyProcPid, fd);
	output->directories[i] = directory;
}

/* output_create creates all files of the volume, with their sizes. */
void
output_create(Output *output)
{
	output->published = 0;
	for (int i = 0; i < output->volume->nfiles; i++)
		create_file(output, i);
}

/* Gives a file the name "name".  On failure, returns false and sets errno. */
static bool
give_name(const VolumeFile *file, const char *name)
{
	return linkat(AT_FDCWD, file->nameless, AT_FDCWD, name,
				  AT_SYMLINK_FOLLOW) == 0;
}

/* Gives a file its name, replacing any existing file. */
static bool
replace(const VolumeFile *file)
{
	char	   *other = psprintf("%s" SUFFIX ".%d", file->path, MyProcPid);
	bool		done = give_name(file, other);

	if (done && rename(other, file->path) != 0)
	{
		int			reason = errno;

		(void) unlink(other);
		errno = reason;
		done = false;
	}
	pfree(other);
	return done;
}

/*
 * After an error, removes the files that output_publish already named, unless
 * the new files replaced existing files.
 */
static void
withdraw(const Output *output)
{
	for (int i = 0; i < output->published && !output->overwrite; i++)
		(void) unlink(output->volume->files[i].path);
}

static void
publish_file(Output *output, int i)
{
	const VolumeFile *file = &output->volume->files[i];
	int			reason;

	if (output->overwrite ? replace(file) : give_name(file, file->path))
	{
		output->published++;
		return;
	}
	reason = errno;
	withdraw(output);
	errno = reason;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not give file \"%s\" its name: %m", file->path)));
}

/*
 * output_publish syncs all files, which must be complete, and names them.  It
 * cannot be interrupted while it names files.
 */
void
output_publish(Output *output)
{
	const Volume *volume = output->volume;

	for (int i = 0; i < volume->nfiles && volume->sync; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_fsync(output->fds[i]) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not fsync file \"%s\": %m",
							volume->files[i].path)));
	}
	HOLD_INTERRUPTS();
	for (int i = 0; i < volume->nfiles; i++)
		publish_file(output, i);
	RESUME_INTERRUPTS();
	for (int i = 0; i < volume->nfiles; i++)
	{
		if (volume->sync)
			fsync_fname(output->directories[i], true);
		CloseTransientFile(output->fds[i]);
	}
}
