/*-------------------------------------------------------------------------
 *
 * limit.c
 *	  Measure what every build of an index must do.
 *
 *	limit PROCESSES WAL_BYTES DIRECTORY TABLE_FILE... -- INDEX_FILE...
 *
 * The index is finished already.  The processes read the table's files from the
 * kernel's cache, page by page, and copy from each tuple as many bytes as the
 * index has for a tuple.  Then they form the pages of the index: for each page
 * of the finished index, they copy the tuples one by one to a new page.  They
 * write every new page twice: to a new file, and to an existing file that
 * stands for WAL.  At the end they sync both files.  The processes sort and
 * compare nothing, take no locks, and compete only for the memory and the disk.
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
 * Number of blocks that a process claims at a time, and number of pages that it
 * writes at a time.
 */
#define TAKE		128
#define BATCH		32

/* A count that exceeds any number of processes. */
#define ENOUGH		1000000

/* The files that the processes write. */
enum
{
	INDEX, WAL, FILES
};

/* A segment of a relation, mapped into memory. */
typedef struct Segment
{
	const char *data;
	uint32		blocks;
} Segment;

/* The files of a relation. */
typedef struct Relfiles
{
	Segment    *segments;
	int			nsegments;
	uint32		blocks;			/* in all segments */
} Relfiles;

/* State in shared memory. */
typedef struct Shared
{
	uint32		ready;			/* processes that wait for the start */
	uint32		written;		/* processes that finished writing */
	uint32		next_block;		/* next table block to claim */
	uint32		next_page;		/* next index page to claim */
	uint64		end[FILES];		/* end of the claimed part of each file */
	double		read_s;			/* seconds, summed over all processes */
	double		form_s;
	double		write_s[FILES];
	double		sync_s[FILES];
} Shared;

/* State of one process. */
typedef struct Former
{
	int			fd[FILES];
	char	   *pages;			/* BATCH index pages */
	int			npages;			/* finished pages */
	char	   *entries;		/* copies of parts of a block's tuples */
	double		write_s[FILES];
} Former;

static Shared *shared;
static Relfiles table;
static Relfiles built;			/* the finished index */
static int	nprocesses;
static Size entry_bytes;		/* of the index, for a tuple of the table */
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
open_segment(Relfiles *files, const char *path)
{
	Segment    *segment = &files->segments[files->nsegments++];
	int			fd = open(path, O_RDONLY);
	struct stat found;

	if (fd < 0 || fstat(fd, &found) != 0)
		fail(path);
	segment->blocks = found.st_size / BLCKSZ;
	segment->data = mmap(NULL, found.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (segment->data == MAP_FAILED)
		fail(path);
	files->blocks += segment->blocks;
	close(fd);
}

static Page
block_of(const Relfiles *files, uint32 block)
{
	int			i = 0;

	while (block >= files->segments[i].blocks)
		block -= files->segments[i++].blocks;
	return (Page) files->segments[i].data + (size_t) block * BLCKSZ;
}

static OffsetNumber
last_item(Page page)
{
	LocationIndex lower = ((PageHeader) page)->pd_lower;

	return lower <= SizeOfPageHeaderData ? 0 :
		(lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/*
 * Touch every page of both relations, so that later reads cause no page faults,
 * and count the table's line pointers.
 */
static uint64
touch(void)
{
	uint64		items = 0;

	for (uint32 block = 0; block < table.blocks; block++)
	{
		const volatile char *page = block_of(&table, block);

		items += last_item((Page) page);
		(void) page[BLCKSZ / 2];
	}
	for (uint32 block = 0; block < built.blocks; block++)
	{
		const volatile char *page = block_of(&built, block);

		(void) page[0];
		(void) page[BLCKSZ / 2];
	}
	return items;
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

/* Copy a part of each tuple of a block of the table. */
static void
read_block(Former *former, uint32 block)
{
	Page		page = block_of(&table, block);
	OffsetNumber last = last_item(page);
	char	   *entry = former->entries;

	for (OffsetNumber off = 1; off <= last; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		HeapTupleHeader tuple;

		if (!ItemIdIsNormal(item))
			continue;
		tuple = (HeapTupleHeader) PageGetItem(page, item);
		memcpy(entry, (char *) tuple + tuple->t_hoff,
			   Min(entry_bytes, ItemIdGetLength(item) - tuple->t_hoff));
		entry += entry_bytes;
	}
}

/* Form a page like this page of the finished index, tuple by tuple. */
static void
form_page(Page page, Page source)
{
	PageHeader	from = (PageHeader) source;
	PageHeader	to = (PageHeader) page;
	OffsetNumber last = last_item(source);

	memset(page, 0, BLCKSZ);
	memcpy(page, source, SizeOfPageHeaderData);
	memcpy(page + from->pd_special, source + from->pd_special,
		   BLCKSZ - from->pd_special);
	to->pd_lower = SizeOfPageHeaderData;
	to->pd_upper = from->pd_special;
	for (OffsetNumber off = 1; off <= last; off++)
	{
		ItemId		item = PageGetItemId(source, off);
		Size		size = ItemIdGetLength(item);

		to->pd_upper -= MAXALIGN(size);
		memcpy(page + to->pd_upper, PageGetItem(source, item), size);
		ItemIdSetNormal((ItemId) (page + to->pd_lower), to->pd_upper, size);
		to->pd_lower += sizeof(ItemIdData);
	}
}

/* Form a page of the index.  Its first block may be a metapage: no tuples. */
static void
add_page(Former *former, uint32 block)
{
	Page		page = former->pages + (size_t) former->npages * BLCKSZ;

	if (block == 0)
		memcpy(page, block_of(&built, block), BLCKSZ);
	else
		form_page(page, block_of(&built, block));
	if (++former->npages == BATCH)
		write_pages(former);
}

/*
 * Claim blocks, by means of the counter *next, until none is left, and do the
 * work of each.
 */
static void
share_blocks(Former *former, uint32 *next, uint32 blocks,
			 void (*work_on) (Former *former, uint32 block))
{
	uint32		first;

	while ((first = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < blocks)
		for (uint32 i = first; i < Min(first + TAKE, blocks); i++)
			work_on(former, i);
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
	uint64		tuples = touch();
	double		start;

	memset(former.pages, 0, BATCH * BLCKSZ);
	entry_bytes = (Size) built.blocks * BLCKSZ / Max(tuples, 1);
	former.entries = malloc(MaxHeapTuplesPerPage * entry_bytes + 1);
	if (former.entries == NULL)
		fail("memory");
	for (int i = 0; i < FILES; i++)
		if ((former.fd[i] = open(paths[i], O_RDWR)) < 0)
			fail(paths[i]);
	meet(&shared->ready, nprocesses + 1);

	start = now();
	share_blocks(&former, &shared->next_block, table.blocks, read_block);
	add_double(&shared->read_s, now() - start);
	start = now();
	share_blocks(&former, &shared->next_page, built.blocks, add_page);
	if (former.npages > 0)
		write_pages(&former);
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
	Relfiles   *files = &table;
	double		seconds;

	table.segments = calloc(argc, sizeof(Segment));
	built.segments = calloc(argc, sizeof(Segment));
	for (int i = 4; i < argc; i++)
	{
		if (strcmp(argv[i], "--") == 0)
			files = &built;
		else
			open_segment(files, argv[i]);
	}
	if (table.nsegments == 0 || built.nsegments == 0)
	{
		fprintf(stderr, "usage: limit PROCESSES WAL_BYTES DIRECTORY "
				"TABLE_FILE... -- INDEX_FILE...\n");
		return 2;
	}
	nprocesses = atoi(argv[1]);
	wal_bytes = strtoull(argv[2], NULL, 10);
	snprintf(index_path, sizeof(index_path), "%s/limit.index", argv[3]);
	snprintf(wal_path, sizeof(wal_path), "%s/limit.wal", argv[3]);
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("shared memory");

	make_file(index_path, 0);
	make_file(wal_path, wal_bytes);
	seconds = run(paths);
	printf("{\"seconds\": %.4f, \"read_s\": %.4f, \"form_s\": %.4f, ", seconds,
		   shared->read_s, shared->form_s);
	for (int i = 0; i < FILES; i++)
		printf("\"%s_write_s\": %.4f, \"%s_sync_s\": %.4f, \"%s_bytes\": %llu%s",
			   names[i], shared->write_s[i], names[i], shared->sync_s[i],
			   names[i], (unsigned long long) shared->end[i],
			   i == FILES - 1 ? "}\n" : ", ");
	unlink(index_path);
	unlink(wal_path);
	return 0;
}
