/*-------------------------------------------------------------------------
 *
 * slowdisk.c
 *	  A library for LD_PRELOAD that simulates a disk with a given write rate.
 *
 * SLOW_DISK_FILE names a file of 16 bytes, which all processes map.  The file
 * holds the disk's rate in bytes per second (0 for no limit) and the time when
 * the disk is idle again, in nanoseconds of the monotonic clock.  Another
 * program may change the rate at any time.
 *
 * The disk does one write at a time.  pwrite() and pwritev() to a file return
 * after the disk wrote their bytes, as if the system had no cache.  fsync()
 * and fdatasync() return when the disk is idle.  The library does not limit
 * reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT		__attribute__((visibility("default")))
#define SECOND		INT64_C(1000000000)

static struct
{
	int64_t		rate;
	int64_t		idle_at;
}		   *disk = NULL;

/* The C library's function that a function of this file replaces. */
#define NEXT(function)	((__typeof__(&function)) dlsym(RTLD_NEXT, #function))

__attribute__((constructor)) static void
map_disk(void)
{
	const char *path = getenv("SLOW_DISK_FILE");
	int			fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void	   *address = MAP_FAILED;

	if (fd >= 0)
		address = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE, MAP_SHARED,
					   fd, 0);
	if (address != MAP_FAILED)
		disk = address;
	if (fd >= 0)
		close(fd);
}

/* Wait until the disk is idle, and then for the time to write the bytes. */
static void
wait_for_disk(int fd, ssize_t bytes)
{
	int64_t		rate = 0;
	int			save_errno = errno;
	int64_t		before;
	int64_t		end;
	struct stat file;
	struct timespec until;

	if (disk != NULL)
		rate = __atomic_load_n(&disk->rate, __ATOMIC_RELAXED);
	if (rate <= 0 || bytes < 0 || fstat(fd, &file) < 0 ||
		!S_ISREG(file.st_mode))
	{
		errno = save_errno;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	before = __atomic_load_n(&disk->idle_at, __ATOMIC_RELAXED);
	do
	{
		end = until.tv_sec * SECOND + until.tv_nsec;
		end = (before > end ? before : end) + bytes * SECOND / rate;
	} while (!__atomic_compare_exchange_n(&disk->idle_at, &before, end, 0,
										  __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	until.tv_sec = end / SECOND;
	until.tv_nsec = end % SECOND;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
						   NULL) == EINTR)
		;
	errno = save_errno;
}

EXPORT ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	ssize_t		written = NEXT(pwrite) (fd, data, size, offset);

	wait_for_disk(fd, written);
	return written;
}

EXPORT ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	ssize_t		written = NEXT(pwrite64) (fd, data, size, offset);

	wait_for_disk(fd, written);
	return written;
}

EXPORT ssize_t
pwritev(int fd, const struct iovec *parts, int nparts, off_t offset)
{
	ssize_t		written = NEXT(pwritev) (fd, parts, nparts, offset);

	wait_for_disk(fd, written);
	return written;
}

EXPORT ssize_t
pwritev64(int fd, const struct iovec *parts, int nparts, off64_t offset)
{
	ssize_t		written = NEXT(pwritev64) (fd, parts, nparts, offset);

	wait_for_disk(fd, written);
	return written;
}

EXPORT int
fsync(int fd)
{
	int			result = NEXT(fsync) (fd);

	wait_for_disk(fd, 0);
	return result;
}

EXPORT int
fdatasync(int fd)
{
	int			result = NEXT(fdatasync) (fd);

	wait_for_disk(fd, 0);
	return result;
}
