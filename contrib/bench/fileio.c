/*-------------------------------------------------------------------------
 *
 * fileio.c
 *	  A stand-alone program that measures the cost of file I/O.
 *
 *		fileio read|write WAY FILE BYTES PROCESSES WORK
 *
 *		cc -O2 -o fileio fileio.c -luring
 *
 * Reads or writes a file, and computes with its bytes.  WAY is one of the ways
 * in which a sort of files could do its I/O:
 *
 *		cache	through the kernel's cache, with early write-back, and with
 *				advice about the next reads
 *		direct	bypassing the cache, with one request per process at a time
 *		uring	bypassing the cache, with DEPTH io_uring requests per process
 *		uringcache	through the cache, by io_uring
 *
 * WORK is the computing time in ns for each 100 bytes.  Prints the seconds
 * until all data is on disk, and the CPU time of all processes.  The design of
 * contrib/sortbench is based on these measurements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__has_include) && __has_include(<liburing.h>)
#include <liburing.h>
#define HAVE_LIBURING
#endif

#define PIECE	((int64_t) 1024 * 1024)
#define DEPTH	8

/* Number of pieces to read ahead; number of pieces in a write-back request */
#define EXPECT	16
#define BEHIND	8

static int	work;
static bool writing;
static const char *way;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Spends the CPU time that WORK specifies for the buffer's "size" bytes. */
static void
compute(char *buffer, int64_t size)
{
	double		until = now(CLOCK_PROCESS_CPUTIME_ID) + size / 100 * work / 1e9;

	for (int64_t i = 0; i < size; i += 64)
		buffer[i]++;
	while (now(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static void
plain(int fd, int64_t from, int64_t to, char *buffer, bool cached)
{
	for (int64_t at = from; at < to; at += PIECE)
	{
		ssize_t		done;

		if (writing)
			compute(buffer, PIECE);
		else if (cached)
			(void) posix_fadvise(fd, at + EXPECT * PIECE, PIECE,
								 POSIX_FADV_WILLNEED);
		done = writing ? pwrite(fd, buffer, PIECE, at) :
			pread(fd, buffer, PIECE, at);
		if (done != PIECE)
			die(way);
		if (!writing)
			compute(buffer, PIECE);
		else if (cached && (at - from) / PIECE % BEHIND == BEHIND - 1)
			(void) sync_file_range(fd, at - (BEHIND - 1) * PIECE,
								   BEHIND * PIECE, SYNC_FILE_RANGE_WRITE);
	}
}

#ifdef HAVE_LIBURING

/*
 * Submits the request for the next piece.  If the request is a write, first
 * computes with the piece's bytes.
 */
static void
submit(struct io_uring *ring, int fd, char *buffer, int64_t at, int slot)
{
	struct io_uring_sqe *request = io_uring_get_sqe(ring);

	if (writing)
		compute(buffer, PIECE);
	if (writing)
		io_uring_prep_write(request, fd, buffer, PIECE, at);
	else
		io_uring_prep_read(request, fd, buffer, PIECE, at);
	request->user_data = slot;
	io_uring_submit(ring);
}

/* Waits until a request is complete.  Returns its slot. */
static int
wait_for_one(struct io_uring *ring)
{
	struct io_uring_cqe *answer;
	int			slot;

	if (io_uring_wait_cqe(ring, &answer) < 0 || answer->res != PIECE)
		die("io_uring");
	slot = answer->user_data;
	io_uring_cqe_seen(ring, answer);
	return slot;
}

static void
by_uring(int fd, int64_t from, int64_t to, char *buffers)
{
	struct io_uring ring;
	int64_t		at = from;
	int			under_way = 0;

	if (io_uring_queue_init(DEPTH, &ring, 0) < 0)
		die("io_uring");
	for (; under_way < DEPTH && at < to; at += PIECE, under_way++)
		submit(&ring, fd, buffers + under_way * PIECE, at, under_way);
	for (; under_way > 0; under_way--)
	{
		int			slot = wait_for_one(&ring);

		if (!writing)
			compute(buffers + slot * PIECE, PIECE);
		if (at < to)
		{
			submit(&ring, fd, buffers + slot * PIECE, at, slot);
			at += PIECE;
			under_way++;
		}
	}
	io_uring_queue_exit(&ring);
}

#else

static void
by_uring(int fd, int64_t from, int64_t to, char *buffers)
{
	(void) fd, (void) from, (void) to, (void) buffers;
	fprintf(stderr, "compiled without liburing\n");
	exit(1);
}

#endif

/* Reads or writes one process's part of the file. */
static void
share(int fd, int64_t from, int64_t to, bool cached)
{
	char	   *buffers = mmap(NULL, DEPTH * PIECE, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
							   -1, 0);

	if (buffers == MAP_FAILED)
		die("mmap");
	if (strncmp(way, "uring", 5) == 0)
		by_uring(fd, from, to, buffers);
	else
		plain(fd, from, to, buffers, cached);
	_exit(0);
}

static int
open_file(const char *path, bool cached, int64_t size)
{
	int			flags = (writing ? O_RDWR | O_CREAT : O_RDONLY) |
		(cached ? 0 : O_DIRECT);
	int			fd;

	if (writing)
		(void) unlink(path);
	fd = open(path, flags, 0600);
	if (fd < 0 || (writing && fallocate(fd, 0, 0, size) < 0))
		die(path);
	return fd;
}

int
main(int argc, char **argv)
{
	bool		cached;
	int			fd;
	int			processes;
	int64_t		part;
	double		start = now(CLOCK_MONOTONIC);
	struct rusage usage;

	if (argc != 7)
		return 2;
	writing = argv[1][0] == 'w';
	way = argv[2];
	processes = atoi(argv[5]);
	part = atoll(argv[4]) / (PIECE * processes) * PIECE;
	work = atoi(argv[6]);
	cached = strcmp(way, "direct") != 0 && strcmp(way, "uring") != 0;
	fd = open_file(argv[3], cached, part * processes);
	for (int i = 0; i < processes; i++)
	{
		if (fork() == 0)
			share(fd, i * part, (i + 1) * part, cached);
	}
	while (wait(NULL) > 0)
		;
	if (writing && fsync(fd) < 0)
		die("fsync");
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("%-5s %-10s %d processes: %6.2f s, CPU %5.2f user %5.2f system\n",
		   argv[1], way, processes, now(CLOCK_MONOTONIC) - start,
		   usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6,
		   usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6);
	return 0;
}
