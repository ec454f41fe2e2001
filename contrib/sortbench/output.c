/*-------------------------------------------------------------------------
 *
 * output.c
 *	  The files of a result: whole, or not there at all.
 *
 * A file is made without a name (O_TMPFILE), so that whatever ends the process,
 * even a crash of the machine, leaves nothing.  All its space is taken before
 * anything is computed, so that a full disk shows at once.  Other processes
 * open it by its descriptor below /proc.  When it is complete and on the disk
 * it gets its name in one step.  A file that was there before is replaced only
 * if that was asked for: link() fails if the name is taken, rename() does not.
 *
 * Several files of one result get their names one after the other, after all of
 * them are complete.  If that fails halfway, those that did not replace another
 * one are removed.
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

/* Suffix of the name that a file has before it replaces another. */
#define SUFFIX			".sortbench"

/* The directory in which a file is to be. */
static char *
directory_of(const char *path)
{
	char	   *directory = pstrdup(path);

	get_parent_directory(directory);
	return directory;
}

/* Is there room for it?  A file system that does not tell may have some. */
static bool
fits(const VolumeFile *file, int fd)
{
	struct statvfs disk;

	return fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0 ||
		file->size / disk.f_frsize < disk.f_bavail;
}

/*
 * Takes all space of a file; what the file system cannot do it need not.  If
 * there is not enough, it takes nothing: others need what there is.
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
				 unable ? errhint("Its file system has no files without a name (O_TMPFILE).") : 0));
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

/* output_create makes all files of the volume, with their sizes. */
void
output_create(Output *output)
{
	output->published = 0;
	for (int i = 0; i < output->volume->nfiles; i++)
		create_file(output, i);
}

/* Gives a file this name; false, with errno, if that is not possible. */
static bool
give_name(const VolumeFile *file, const char *name)
{
	return linkat(AT_FDCWD, file->nameless, AT_FDCWD, name,
				  AT_SYMLINK_FOLLOW) == 0;
}

/* Puts a file into the place of another one, which may not exist. */
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

/* Takes the names away that files got before another one could not. */
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
 * output_publish gives all files their names; they are complete.  Nothing
 * interrupts that.
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
