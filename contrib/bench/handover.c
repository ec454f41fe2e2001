/*-------------------------------------------------------------------------
 *
 * handover.c
 *	  A stand-alone program that measures how fast one process can hand data
 *	  to another process: in a file, or in shared memory.
 *
 *		handover DIRECTORY MEGABYTES REPETITIONS
 *
 *		cc -O2 -o handover handover.c
 *
 * One process writes the data, piece by piece, from the same small buffer.
 * Then another process reads the data once.  The ways are:
 *
 *		file	a file in DIRECTORY, with pwrite() and pread(), as in tapefile.c
 *		segment	a new segment of shared memory, allocated and mapped as
 *				dsm_create() does
 *		populated	the same, but the writer gets a piece's pages at once
 *		tmpfs	a file in /dev/shm, with pwrite() and pread()
 *
 * Prints the milliseconds for allocating, writing, reading and removing, in
 * this order.  The data fits in memory, and nothing waits for a disk.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As the server's default write buffer of a sort. */
#define PIECE	((size_t) 256 * 1024)

typedef struct Way
{
	const char *name;
	bool		in_memory;		/* in /dev/shm, not in DIRECTORY */
	bool		mapped;			/* access by a mapping, not by system calls */
	bool		populated;
} Way;

static const Way ways[] = {
	{"file", false, false, false},
	{"segment", true, true, false},
	{"populated", true, true, true},
	{"tmpfs", true, false, false},
};

static char buffer[PIECE];

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static char *
map(int fd, size_t size)
{
	char	   *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
							 fd, 0);

	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

static void
write_all(const Way *way, int fd, size_t size)
{
	char	   *start = way->mapped ? map(fd, size) : NULL;

	for (size_t at = 0; at < size; at += PIECE)
	{
#ifdef MADV_POPULATE_WRITE
		if (way->populated &&
			madvise(start + at, PIECE, MADV_POPULATE_WRITE) != 0)
			die("madvise");
#endif
		if (way->mapped)
			memcpy(start + at, buffer, PIECE);
		else if (pwrite(fd, buffer, PIECE, at) != (ssize_t) PIECE)
			die("pwrite");
	}
	if (way->mapped)
		munmap(start, size);
}

/* Read all data in a new process: one byte of each cache line. */
static void
read_all(const Way *way, int fd, size_t size)
{
	int			status;
	pid_t		pid = fork();
	char	   *start;
	volatile long sum = 0;

	if (pid < 0)
		die("fork");
	if (pid > 0)
	{
		if (waitpid(pid, &status, 0) != pid || status != 0)
			exit(1);
		return;
	}
	start = way->mapped ? map(fd, size) : NULL;
	for (size_t at = 0; at < size; at += PIECE)
	{
		const char *piece = way->mapped ? start + at : buffer;

		if (!way->mapped && pread(fd, buffer, PIECE, at) != (ssize_t) PIECE)
			die("pread");
		for (size_t i = 0; i < PIECE; i += 64)
			sum += piece[i];
	}
	_exit(0);
}

static void
hand_over(const Way *way, const char *directory, size_t size)
{
	char		path[4096];
	double		times[5];
	int			fd;

	snprintf(path, sizeof(path), "%s/handover.%d",
			 way->in_memory ? "/dev/shm" : directory, (int) getpid());
	times[0] = now();
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		die(path);
	if (way->mapped && posix_fallocate(fd, 0, size) != 0)
		die("posix_fallocate");
	times[1] = now();
	write_all(way, fd, size);
	times[2] = now();
	read_all(way, fd, size);
	times[3] = now();
	close(fd);
	unlink(path);
	times[4] = now();
	printf("%-10s", way->name);
	for (int i = 0; i < 4; i++)
		printf(" %6.0f", times[i + 1] - times[i]);
	printf(" %6.0f ms\n", times[4] - times[0]);
}

int
main(int argc, char **argv)
{
	size_t		size;

	if (argc != 4 || atoi(argv[2]) < 1)
	{
		fprintf(stderr, "usage: handover DIRECTORY MEGABYTES REPETITIONS\n");
		return 2;
	}
	size = (size_t) atoi(argv[2]) << 20;
	memset(buffer, 1, PIECE);
	for (int i = 0; i < atoi(argv[3]); i++)
		for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++)
			hand_over(&ways[j], argv[1], size);
	return 0;
}
