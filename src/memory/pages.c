/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Fresh memory: have the kernel give its pages cheaply.
 *
 * A sort of hundreds of megabytes in memory spends more time on faults of
 * pages that it touches first than on sorting.  Two things help:
 *
 * Large pages.  There is one fault for each, and what looks at sorted tuples,
 * which are all over memory, needs no walk for the address of nearly each.  So
 * the kernel is asked for them.  But they may be dear: where a virtual machine
 * tells its host which large pages are free, the host takes them away, and has
 * to find the memory anew, a small page at a time, when one is touched again;
 * or the kernel moves memory about to make one.  So each is timed, and if one
 * was slow the next ones are done without, more of them each time.
 *
 * Small pages are asked for PAGES_STEP at once, just before they are filled.
 * That takes no fault for each, and what the kernel has cleared is still in the
 * processor's cache when it is filled.
 *
 * All of this is advice.  Where the kernel does not know it, or forbids large
 * pages, pages come as they always did.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/mman.h>
#include <time.h>

#include "memory/pages.h"

/* Size of a large page of memory, where there are any. */
#define LARGE_PAGE		(2 * 1024 * 1024)

/* Size of a small one; no harm is done if they are larger. */
#define SMALL_PAGE		4096

/* Less than this is not worth a call of the kernel. */
#define MIN_OPEN		(64 * 1024)

/*
 * A large page is slow that takes more than this, in ns of processor time: as
 * much as 512 small ones take at worst, and four times what one takes that
 * needs only be cleared.
 */
#define SLOW			1000000

/* After a slow one, do without so many; double that each time, up to. */
#define MIN_WITHOUT		8
#define MAX_WITHOUT		256

/* Large pages to do without, and how many that was the last time. */
static int	without = 0;
static int	last_without = 0;

/* Advise about the pages that are within this memory. */
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

/* Have this page given as a large one, and see what it costs. */
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
	/* in case that it is a small one */
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
 * pages_advise: see pages.h.  What an allocator has mapped for this memory
 * alone must remain one mapping, or it could not be remapped when it grows, but
 * would be copied: so the pages at both ends are advised with it.
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
