/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  Memory that holds all records and that all participants share.
 *
 * The arena is an unnamed file in memory (memfd_create), not a segment of
 * dynamic shared memory.  So /dev/shm does not limit the arena's size, and the
 * kernel can use huge pages, which reduce TLB misses when participants gather
 * records.  Each participant allocates the memory for the records that it
 * reads (arena_fill), so that participants allocate in parallel.
 *
 * Each process unmaps the arena at the end of the memory context in which it
 * mapped the arena.  The kernel frees the arena when no process uses it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "sort.h"

/* A mapping that the callback of a memory context removes. */
typedef struct Mapping
{
	MemoryContextCallback callback;
	void	   *address;
	int64		size;
} Mapping;

static void
unmap(void *arg)
{
	Mapping    *mapping = arg;

	(void) munmap(mapping->address, mapping->size);
}

static void
no_memory(int64 size)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("could not get " INT64_FORMAT " bytes of memory for records: %m",
					size),
			 errhint("Sort in two passes, or with less memory.")));
}

/* Maps the arena until the current memory context ends. */
static uint8 *
map_file(int fd, int64 size)
{
	Mapping    *mapping = palloc0(sizeof(Mapping));

	mapping->size = size;
	mapping->address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
							fd, 0);
	if (mapping->address == MAP_FAILED)
		no_memory(size);
	(void) madvise(mapping->address, size, MADV_HUGEPAGE);
	mapping->callback.func = unmap;
	mapping->callback.arg = mapping;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &mapping->callback);
	return mapping->address;
}

/* arena_create makes an arena that exists until arena_close or an error. */
void
arena_create(Arena *arena, int64 size)
{
	char		own[NAMELESS_SIZE];
	int			made = memfd_create("sortbench", MFD_CLOEXEC);

	if (made < 0)
		no_memory(size);
	snprintf(own, NAMELESS_SIZE, "/proc/self/fd/%d", made);
	/* reopen the file, so that the server closes it after an error */
	arena->fd = OpenTransientFile(own, O_RDWR);
	(void) close(made);
	if (arena->fd < 0 || ftruncate(arena->fd, size) != 0)
		no_memory(size);
	arena->size = size;
	snprintf(arena->name, NAMELESS_SIZE, "/proc/%d/fd/%d", MyProcPid,
			 arena->fd);
}

/* arena_close closes the arena; mappings in other processes remain valid. */
void
arena_close(const Arena *arena)
{
	CloseTransientFile(arena->fd);
}

/* arena_map maps the arena until the current memory context ends. */
uint8 *
arena_map(const Arena *arena)
{
	int			fd = OpenTransientFile(arena->name, O_RDWR);
	uint8	   *address;

	if (fd < 0)
		no_memory(arena->size);
	address = map_file(fd, arena->size);
	CloseTransientFile(fd);
	return address;
}

/*
 * arena_fill allocates the memory for a range that the caller will write.
 * Without this call, the kernel could report a lack of memory only by a signal.
 */
void
arena_fill(uint8 *place, int64 size)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t	page = (uintptr_t) sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) place & ~(page - 1);

	if (madvise((void *) start, (uintptr_t) place + size - start,
				MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
		no_memory(size);
#endif
}
