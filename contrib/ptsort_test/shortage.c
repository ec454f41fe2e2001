/*-------------------------------------------------------------------------
 *
 * shortage.c
 *	  Makes system calls fail for lack of space, memory or processes.
 *
 * This file is a separate library without any symbol of the server.  LD_PRELOAD
 * puts this library before the C library, so the server calls this library's
 * functions.  If ptsort_test is loaded, each of these functions asks a
 * function of ptsort_test whether to fail.  This library's function then
 * either fails as the system call would, or calls the C library's function.
 * So the server's real error paths run, and the tests need no file system that
 * only root may mount.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT		__attribute__((visibility("default")))

/* Returns the number of bytes that fit on the disk. */
extern size_t (*ptsort_shortage_write) (int fd, size_t size);
EXPORT size_t (*ptsort_shortage_write) (int fd, size_t size) = NULL;

/* True if the fork must fail; in the child, true if the child must exit. */
extern bool (*ptsort_shortage_fork) (bool in_child);
EXPORT bool (*ptsort_shortage_fork) (bool in_child) = NULL;

/* True if the allocation must fail. */
extern bool (*ptsort_shortage_malloc) (size_t size);
EXPORT bool (*ptsort_shortage_malloc) (size_t size) = NULL;

/* The C library's function, which a function of this library hides. */
#define NEXT(function) \
	((__typeof__(&function)) \
	 next_function((void *volatile *) &next_##function, #function))
#define DECLARE_NEXT(function)	static void *volatile next_##function

DECLARE_NEXT(write);
DECLARE_NEXT(pwrite);
DECLARE_NEXT(pwritev);
DECLARE_NEXT(posix_fallocate);
DECLARE_NEXT(fallocate);
DECLARE_NEXT(fork);
#ifdef __GLIBC__
DECLARE_NEXT(opendir);
#endif

static void *
next_function(void *volatile *cache, const char *name)
{
	if (*cache == NULL)
		*cache = dlsym(RTLD_NEXT, name);
	return *cache;
}

/* Finds the C library's functions before any fault can occur. */
__attribute__((constructor)) static void
find_functions(void)
{
	(void) NEXT(write);
	(void) NEXT(pwrite);
	(void) NEXT(pwritev);
	(void) NEXT(posix_fallocate);
	(void) NEXT(fallocate);
	(void) NEXT(fork);
#ifdef __GLIBC__
	(void) NEXT(opendir);
#endif
}

/* Returns the number of bytes to write; if the number is 0, sets errno. */
static size_t
room(int fd, size_t size)
{
	int			save_errno = errno;

	if (ptsort_shortage_write != NULL && size > 0)
	{
		size = ptsort_shortage_write(fd, size);
		errno = (size == 0) ? ENOSPC : save_errno;
	}
	return size;
}

EXPORT ssize_t
write(int fd, const void *data, size_t size)
{
	size_t		fits = room(fd, size);

	if (fits == 0 && size > 0)
		return -1;
	return NEXT(write) (fd, data, fits);
}

EXPORT ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	size_t		fits = room(fd, size);

	if (fits == 0 && size > 0)
		return -1;
	return NEXT(pwrite) (fd, data, fits, offset);
}

EXPORT ssize_t
pwritev(int fd, const struct iovec *parts, int nparts, off_t offset)
{
	size_t		size = 0;
	size_t		fits;

	for (int i = 0; i < nparts; i++)
		size += parts[i].iov_len;
	fits = room(fd, size);
	if (fits == 0 && size > 0)
		return -1;
	if (fits == size)
		return NEXT(pwritev) (fd, parts, nparts, offset);
	if (fits > parts[0].iov_len)
		fits = parts[0].iov_len;
	return NEXT(pwrite) (fd, parts[0].iov_base, fits, offset);
}

/* If not all bytes fit, allocates nothing and returns the error. */
EXPORT int
posix_fallocate(int fd, off_t offset, off_t size)
{
	int			save_errno = errno;

	if (room(fd, size) < (size_t) size)
	{
		errno = save_errno;
		return ENOSPC;
	}
	return NEXT(posix_fallocate) (fd, offset, size);
}

EXPORT int
fallocate(int fd, int mode, off_t offset, off_t size)
{
	if (room(fd, size) < (size_t) size)
	{
		errno = ENOSPC;
		return -1;
	}
	return NEXT(fallocate) (fd, mode, offset, size);
}

EXPORT pid_t
fork(void)
{
	pid_t		pid;

	if (ptsort_shortage_fork != NULL && ptsort_shortage_fork(false))
	{
		errno = EAGAIN;
		return -1;
	}
	pid = NEXT(fork) ();
	if (pid == 0 && ptsort_shortage_fork != NULL && ptsort_shortage_fork(true))
		_exit(1);
	return pid;
}

/*
 * With glibc, programs compiled for large files call functions with these
 * names.  In musl's headers the names are macros.
 */
#if defined(__LP64__) && defined(__GLIBC__)
EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
			__attribute__((alias("pwrite")));
EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int nparts,
						 off64_t offset) __attribute__((alias("pwritev")));
EXPORT int	posix_fallocate64(int fd, off64_t offset, off64_t size)
			__attribute__((alias("posix_fallocate")));
EXPORT int	fallocate64(int fd, int mode, off64_t offset, off64_t size)
			__attribute__((alias("fallocate")));
#endif

#ifdef __GLIBC__

/*
 * Memory.  dlsym itself allocates memory, so malloc(), calloc() and realloc()
 * call the C library's functions by their internal names.  Only glibc has these
 * names; with another C library, no malloc fails.
 */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static bool in_opendir = false;

/*
 * If opendir fails while the server deletes a file set, the server logs the
 * failure and the directory stays.  The tests do not cover this behavior of the
 * server, so allocations by opendir never fail.
 */
EXPORT DIR *
opendir(const char *name)
{
	DIR		   *result;

	in_opendir = true;
	result = NEXT(opendir) (name);
	in_opendir = false;
	return result;
}

static bool
no_memory(size_t size)
{
	if (ptsort_shortage_malloc == NULL || in_opendir ||
		!ptsort_shortage_malloc(size))
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *
malloc(size_t size)
{
	return no_memory(size) ? NULL : __libc_malloc(size);
}

EXPORT void *
calloc(size_t n, size_t size)
{
	return no_memory(size) ? NULL : __libc_calloc(n, size);
}

EXPORT void *
realloc(void *pointer, size_t size)
{
	return no_memory(size) ? NULL : __libc_realloc(pointer, size);
}

#endif							/* __GLIBC__ */
