/*-------------------------------------------------------------------------
 *
 * limit.c
 *	  Measure the I/O that every index build needs.
 *
 *	limit PROCESSES KEY_OFFSET WAL_BYTES DIRECTORY TABLE_FILE...
 *
 * The processes read the table's files from the kernel's cache, page by page.
 * They fill index pages in table order, with an entry for each tuple: the
 * tuple's TID, and the eight bytes at KEY_OFFSET in the tuple's data.  They
 * write every index page twice: to a new file, and to an existing file that
 * stands for WAL.  At the end they sync both files.  The processes sort and
 * compare nothing, take no locks, and compete only for the disk.
 *
 * Prints JSON: the elapsed seconds, the seconds of all processes for each part
 * of the work, and the seconds of each sync.  A real build need not wait for
 * the sync of the index, because a checkpoint syncs the index.
 *
 *-------------------------------------------------------------------------
 */
#define FRONTEND 1
#include "postgres.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "access/itup.h"
#include "storage/bufpage.h"

/* Use the C library's functions: the program links with no server code. */
#undef fprintf
#undef printf
#undef snprintf
#undef strerror

/*
 * Number of table blocks that a process claims at a time, and number of pages
 * that it writes at a time.
 */
#define TAKE		128
#define BATCH		32

/* Free space that remains in an index page: the fill factor is 90. */
#define PAGE_FREE	(BLCKSZ / 10)

/* Size of the special space of a btree page. */
#define PAGE_SPECIAL	16

/* A count that exceeds any number of processes. */
#define ENOUGH		1000000

/* The files that the processes write. */
enum
{
	INDEX, WAL, FILES
};

/* A segment of the table, mapped into memory. */
typedef struct Segment
{
	const char *data;
	uint32		blocks;
} Segment;

/* State in shared memory. */
typedef struct Shared
{
	uint32		ready;			/* processes that wait for the start */
	uint32		written;		/* processes that finished writing */
	uint32		next_block;		/* next table block to claim */
	uint64		end[FILES];		/* end of the claimed part of each file */
	uint64		tuples;
	double		form_s;			/* seconds, summed over all processes */
	double		write_s[FILES];
	double		sync_s[FILES];
} Shared;

/* State of one process. */
typedef struct Former
{
	int			fd[FILES];
	char	   *pages;			/* BATCH index pages */
	int			npages;			/* finished pages */
	double		write_s[FILES];
} Former;

static Shared *shared;
static Segment *segments;
static int	nsegments;
static uint32 nblocks;			/* blocks in the table */
static int	nprocesses;
static int	key_offset;
static uint64 wal_bytes;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Report the error, make the other processes stop waiting, and exit. */
static void
fail(const char *what)
{
	fprintf(stderr, "limit: %s: %s\n", what, strerror(errno));
	if (shared != NULL)
	{
		__atomic_store_n(&shared->ready, ENOUGH, __ATOMIC_RELEASE);
		__atomic_store_n(&shared->written, ENOUGH, __ATOMIC_RELEASE);
	}
	exit(1);
}

static void
add_double(double *sum, double value)
{
	double		old;
	double		new;

	__atomic_load(sum, &old, __ATOMIC_RELAXED);
	do
		new = old + value;
	while (!__atomic_compare_exchange(sum, &old, &new, false,
									  __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Increment *count, and wait until it reaches "all". */
static void
meet(uint32 *count, uint32 all)
{
	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < all)
		sched_yield();
}

static void
open_segment(const char *path)
{
	Segment    *segment = &segments[nsegments++];
	int			fd = open(path, O_RDONLY);
	struct stat found;

	if (fd < 0 || fstat(fd, &found) != 0)
		fail(path);
	segment->blocks = found.st_size / BLCKSZ;
	segment->data = mmap(NULL, found.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (segment->data == MAP_FAILED)
		fail(path);
	nblocks += segment->blocks;
	close(fd);
}

/*
 * Touch every page of the mapped table, so that later reads of the table cause
 * no page faults.
 */
static void
touch_table(void)
{
	for (int i = 0; i < nsegments; i++)
	{
		const volatile char *data = segments[i].data;
		size_t		size = (size_t) segments[i].blocks * BLCKSZ;

		for (size_t at = 0; at < size; at += 4096)
			(void) data[at];
	}
}

/* Append data to a file, after the data of other processes. */
static void
append(Former *former, int file, const char *data, size_t size)
{
	uint64		at = __atomic_fetch_add(&shared->end[file], size,
										__ATOMIC_RELAXED);
	double		start = now();

	if (pwrite(former->fd[file], data, size, at) != (ssize_t) size)
		fail("write");
	former->write_s[file] += now() - start;
}

static void
write_pages(Former *former)
{
	size_t		size = (size_t) former->npages * BLCKSZ;

	append(former, INDEX, former->pages, size);
	if (__atomic_load_n(&shared->end[WAL], __ATOMIC_RELAXED) < wal_bytes)
		append(former, WAL, former->pages, size);
	former->npages = 0;
}

/* Initialize the page that follows the finished pages. */
static Page
next_page(Former *former)
{
	Page		page = former->pages + (size_t) former->npages * BLCKSZ;
	PageHeader	header = (PageHeader) page;

	memset(page, 0, BLCKSZ);
	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = header->pd_special = BLCKSZ - PAGE_SPECIAL;
	return page;
}

/*
 * Add the tuples of a heap page to index pages.  Returns the current index
 * page.
 */
static Page
form(Former *former, Page page, Page heap, BlockNumber block)
{
	OffsetNumber last = (((PageHeader) heap)->pd_lower - SizeOfPageHeaderData) /
		sizeof(ItemIdData);

	for (OffsetNumber off = 1; off <= last; off++)
	{
		ItemId		item = PageGetItemId(heap, off);
		HeapTupleHeader tuple;
		PageHeader	header = (PageHeader) page;
		const Size	size = sizeof(IndexTupleData) + sizeof(uint64);
		char	   *at;

		if (!ItemIdIsNormal(item))
			continue;
		if (header->pd_upper - header->pd_lower < PAGE_FREE)
		{
			if (++former->npages == BATCH)
				write_pages(former);
			page = next_page(former);
			header = (PageHeader) page;
		}
		tuple = (HeapTupleHeader) PageGetItem(heap, item);
		header->pd_upper -= size;
		at = (char *) page + header->pd_upper;
		ItemPointerSet(&((IndexTuple) at)->t_tid, block, off);
		((IndexTuple) at)->t_info = size;
		memcpy(at + sizeof(IndexTupleData),
			   (char *) tuple + tuple->t_hoff + key_offset, sizeof(uint64));
		ItemIdSetNormal((ItemId) (page + header->pd_lower), header->pd_upper,
						size);
		header->pd_lower += sizeof(ItemIdData);
	}
	return page;
}

/* Claim and process blocks of the table until none is left. */
static void
form_share(Former *former)
{
	Page		page = next_page(former);
	uint32		first;

	while ((first = __atomic_fetch_add(&shared->next_block, TAKE,
									   __ATOMIC_RELAXED)) < nblocks)
		for (uint32 block = first; block < Min(first + TAKE, nblocks); block++)
		{
			uint32		at = block;
			int			i = 0;

			while (at >= segments[i].blocks)
				at -= segments[i++].blocks;
			page = form(former, page,
						(Page) segments[i].data + (size_t) at * BLCKSZ, block);
		}
	former->npages++;
	write_pages(former);
}

/*
 * Append to the WAL until it has wal_bytes bytes.  The appended bytes stand
 * for record headers, and for pages that the real build logged twice.
 */
static void
write_more_wal(Former *former)
{
	size_t		piece = (size_t) BATCH * BLCKSZ;

	while (__atomic_load_n(&shared->end[WAL], __ATOMIC_RELAXED) < wal_bytes)
		append(former, WAL, former->pages, piece);
}

/* Do the work of one process. */
static void
work(int number, const char *paths[FILES])
{
	Former		former = {.pages = aligned_alloc(4096, BATCH * BLCKSZ)};
	double		start;

	memset(former.pages, 0, BATCH * BLCKSZ);
	touch_table();
	for (int i = 0; i < FILES; i++)
		if ((former.fd[i] = open(paths[i], O_RDWR)) < 0)
			fail(paths[i]);
	meet(&shared->ready, nprocesses + 1);

	start = now();
	form_share(&former);
	add_double(&shared->form_s,
			   now() - start - former.write_s[INDEX] - former.write_s[WAL]);
	write_more_wal(&former);
	for (int i = 0; i < FILES; i++)
		add_double(&shared->write_s[i], former.write_s[i]);
	meet(&shared->written, nprocesses);
	for (int i = 0; i < FILES; i++)
		if (i % nprocesses == number)
		{
			start = now();
			if (fsync(former.fd[i]) != 0)
				fail("sync");
			shared->sync_s[i] = now() - start;
		}
}

/* Make and sync a file of zeroes, which stands for recycled WAL segments. */
static void
make_file(const char *path, uint64 size)
{
	static const char zeroes[BATCH * BLCKSZ];
	int			fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		fail(path);
	for (uint64 done = 0; done < size; done += sizeof(zeroes))
		if (write(fd, zeroes, sizeof(zeroes)) != sizeof(zeroes))
			fail(path);
	if (fsync(fd) != 0)
		fail(path);
	close(fd);
}

/*
 * Run all processes.  Returns the seconds from the start of the work to the end
 * of the last process.
 */
static double
run(const char *paths[FILES])
{
	double		start;
	int			status;
	bool		failed = false;

	for (int i = 0; i < nprocesses; i++)
	{
		pid_t		pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
		{
			work(i, paths);
			_exit(0);
		}
	}
	meet(&shared->ready, nprocesses + 1);
	start = now();
	while (wait(&status) > 0)
		failed |= status != 0;
	if (failed)
		exit(1);
	return now() - start;
}

int
main(int argc, char **argv)
{
	char		index_path[MAXPGPATH];
	char		wal_path[MAXPGPATH];
	const char *paths[FILES] = {index_path, wal_path};
	const char *names[FILES] = {"index", "wal"};
	double		seconds;

	if (argc < 6)
	{
		fprintf(stderr, "usage: limit PROCESSES KEY_OFFSET "
				"WAL_BYTES DIRECTORY TABLE_FILE...\n");
		return 2;
	}
	nprocesses = atoi(argv[1]);
	key_offset = atoi(argv[2]);
	wal_bytes = strtoull(argv[3], NULL, 10);
	snprintf(index_path, sizeof(index_path), "%s/limit.index", argv[4]);
	snprintf(wal_path, sizeof(wal_path), "%s/limit.wal", argv[4]);
	segments = calloc(argc, sizeof(Segment));
	for (int i = 5; i < argc; i++)
		open_segment(argv[i]);
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("shared memory");

	make_file(index_path, 0);
	make_file(wal_path, wal_bytes);
	seconds = run(paths);
	printf("{\"seconds\": %.4f, \"form_s\": %.4f, ", seconds, shared->form_s);
	for (int i = 0; i < FILES; i++)
		printf("\"%s_write_s\": %.4f, \"%s_sync_s\": %.4f, \"%s_bytes\": %llu%s",
			   names[i], shared->write_s[i], names[i], shared->sync_s[i],
			   names[i], (unsigned long long) shared->end[i],
			   i == FILES - 1 ? "}\n" : ", ");
	unlink(index_path);
	unlink(wal_path);
	return 0;
}
