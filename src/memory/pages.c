/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Fresh memory: get its pages from the kernel cheaply.
 *
 * A sort of hundreds of megabytes in memory spends more time on page faults of
 * memory that it touches first than on sorting.  Two things help:
 *
 * Large pages.  Each takes only one fault, and reading sorted tuples, which are
 * all over memory, no longer needs a page table walk for nearly every address.
 * So pages.c asks the kernel for them.  But they may be expensive: where a
 * virtual machine tells its host which large pages are free, the host takes
 * them away, and must find the memory again, one small page at a time, when one
 * is touched; or the kernel moves memory about to make one.  So pages.c times
 * each large page, and after a slow one it does without the next ones, more of
 * them each time.
 *
 * Small pages.  pages.c asks for PAGES_STEP bytes of them at once, just before
 * they are filled.  That avoids the single faults, and what the kernel has
 * cleared is still in the processor's cache when it is filled.
 *
 * All of this is advice.  If the kernel does not know it, or forbids large
 * pages, it provides pages as usual.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/mman.h>
#include <time.h>

#include "memory/pages.h"

/* Size of a large page, on systems that have them. */
#define LARGE_PAGE		(2 * 1024 * 1024)

/* Size of a small page; larger ones do no harm. */
#define SMALL_PAGE		4096

/* Opening less than this is not worth a system call. */
#define MIN_OPEN		(64 * 1024)

/*
 * A large page counts as slow if it takes more processor time than this, in ns:
 * as much as 512 small pages take at worst, and several times what a large page
 * takes that only needs clearing.
 */
#define SLOW			1000000

/*
 * Number of large pages to do without after a slow one; it doubles each time,
 * up to MAX_WITHOUT.
 */
#define MIN_WITHOUT		8
#define MAX_WITHOUT		256

/* Large pages still to do without, and the number that this began with. */
static int	without = 0;
static int	last_without = 0;

/* Give the kernel advice about the pages that lie within this memory. */
static void
advise(char *start, char *end, int advice)
{
	uintptr_t	from = TYPEALIGN(SMALL_PAGE, (uintptr_t) start);
	uintptr_t	to = TYPEALIGN_DOWN(SMALL_PAGE, (uintptr_t) end);

	if (to > from)
		(void) madvise((void *) from, to - from, advice);
}

/* Ask for small pages. */
static void
populate(char *start, char *end)
{
#ifdef MADV_POPULATE_WRITE
	advise(start, end, MADV_POPULATE_WRITE);
#endif
}

#ifdef MADV_HUGEPAGE

/* Processor time of this process, in ns. */
static int64
now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
		return 0;
	return time.tv_sec * INT64CONST(1000000000) + time.tv_nsec;
}

/* Get this page as a large one, and measure what it costs. */
static void
open_large(char *page)
{
	int64		start = now();

	advise(page, page + LARGE_PAGE, MADV_HUGEPAGE);
	*(volatile char *) page = 0;
	if (now() - start > SLOW)
		without = last_without =
			Min(Max(2 * last_without, MIN_WITHOUT), MAX_WITHOUT);
	else
		last_without = 0;
	/* in case the kernel provides small pages */
	populate(page, page + LARGE_PAGE);
}
#endif

/* pages_open: see pages.h. */
Size
pages_open(char *start, Size size)
{
	char	   *large = (char *) TYPEALIGN(LARGE_PAGE, (uintptr_t) start);
	char	   *end = start + Min(size, PAGES_STEP);

	if (size < MIN_OPEN)
		return size;
#ifdef MADV_HUGEPAGE
	if (start == large && size >= LARGE_PAGE)
	{
		if (without == 0)
		{
			open_large(start);
			return LARGE_PAGE;
		}
		without--;
		advise(start, start + LARGE_PAGE, MADV_NOHUGEPAGE);
	}
#endif
	if (start < large)
		end = Min(end, large);
	populate(start, end);
	return end - start;
}

/* pages_open_all: see pages.h. */
void
pages_open_all(void *start, Size size)
{
	char	   *at = start;
	char	   *end = at + size;

	while (at < end)
		at += pages_open(at, end - at);
}

/* pages_leave: see pages.h. */
void
pages_leave(void *start, Size size)
{
#ifdef MADV_FREE
	advise(start, (char *) start + size, MADV_FREE);
#endif
}

/*
 * pages_advise: see pages.h.  If an allocator has a mapping of its own for this
 * memory, it must remain one mapping; otherwise growing it would copy it
 * instead of remapping it.  So the pages at both ends get the same advice.
 */
void
pages_advise(void *start, Size size)
{
#ifdef MADV_HUGEPAGE
	char	   *from = (char *) TYPEALIGN_DOWN(SMALL_PAGE, (uintptr_t) start);
	char	   *to = (char *) TYPEALIGN(SMALL_PAGE, (uintptr_t) start + size);

	if (without == 0 && size >= 2 * LARGE_PAGE)
		advise(from, to, MADV_HUGEPAGE);
#endif
}
