/*-------------------------------------------------------------------------
 *
 * full.c
 *	  Disks without space, and processes that cannot start.
 *
 * If the server preloads the library made from shortage.c, the library
 * replaces system calls and asks this file whether the calls must fail.  A
 * full disk is full for all processes, including the WAL writer.  This file
 * asks the kernel which file a descriptor refers to.  As on a real disk, the
 * first write that does not fit is short, and the next write fails.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "faults.h"

/*
 * Variables of the library made from shortage.c; their addresses are NULL
 * unless that library is preloaded.
 */
extern size_t (*ptsort_shortage_write) (int fd, size_t size)
			__attribute__((weak));
extern bool (*ptsort_shortage_fork) (bool in_child) __attribute__((weak));

/* Returns the kind of an open file (FullSpace), or 0. */
static int
space_of(int fd)
{
	char		link[64];
	char		path[MAXPGPATH];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	if (strstr(path, "/pgsql_tmp"))
		return FULL_TEMP;
	if (strstr(path, "/pg_wal/"))
		return FULL_WAL;
	if (strstr(path, "/pg_dynshmem/"))
		return FULL_SEGMENT;
	if (strstr(path, "/pg_tblspc/"))
		return FULL_INDEX;
	if (strstr(path, "/#") && strstr(path, " (deleted)"))
		return FULL_FILE;
	return 0;
}

/* Returns the number of bytes that fit; 0 means no room at all. */
static size_t
room(int fd, size_t size)
{
	uint32		full = pg_atomic_read_u32(&fault_shared->full);
	int			space;

	if (full == 0 || (full & (space = space_of(fd))) == 0)
		return size;
	pg_atomic_fetch_add_u32(&fault_shared->failed, 1);
	if (pg_atomic_exchange_u32(&fault_shared->half, 0) != 0 && size > 1)
		return size / 2;
	if (space == FULL_WAL)
		pg_atomic_fetch_and_u32(&fault_shared->full, ~(uint32) FULL_WAL);
	return 0;
}

/* Decrements the number; returns false if the number is 0. */
static bool
take(pg_atomic_uint32 *number)
{
	uint32		n = pg_atomic_read_u32(number);

	while (n > 0)
	{
		if (pg_atomic_compare_exchange_u32(number, &n, n - 1))
		{
			pg_atomic_fetch_add_u32(&fault_shared->failed, 1);
			return true;
		}
	}
	return false;
}

/* True if this fork fails or, in the child, if the child dies at once. */
static bool
fork_fails(bool in_child)
{
	return take(in_child ? &fault_shared->deaths : &fault_shared->forks);
}

/* full_init sets the functions that shortage.c calls. */
void
full_init(void)
{
	if (&ptsort_shortage_write == NULL)
		return;
	ptsort_shortage_write = room;
	ptsort_shortage_fork = fork_fails;
}
