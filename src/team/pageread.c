/*-------------------------------------------------------------------------
 *
 * pageread.c
 *	  Copies pages of a relation that are in no buffer from its file.
 *
 * A copy is current if the page was in no valid buffer while the process read
 * the file.  A page with unwritten changes is in a buffer, and a process must
 * read a page into a buffer before it can change the page.  To keep the pages
 * out of buffers during the copy, the copying process locks the pages'
 * partitions of the buffer mapping in shared mode, in ascending order, as the
 * server does (BufferAlloc, DropRelationBuffers).  Under these locks no page
 * gets a buffer, and no buffer gets another page.  A page may already have a
 * buffer without contents: another process reads the page now, or failed to
 * read it.  This buffer can become valid during the copy, but not invalid
 * again.  So if it is invalid after the copy, the page was in no valid buffer
 * meanwhile.
 *
 * Other processes need these locks in exclusive mode to read pages into
 * buffers.  So the copying process must not wait for the device while it holds
 * the locks, and copies only pages that are in the system's cache (RWF_NOWAIT).
 * If the caller must have the other pages too, the process first reads them
 * into the cache without locks, and lets the system read ahead, and then copies
 * them.  A system may be unable to tell what is in its cache, or drop a page at
 * once.  Then the process reads each page alone, first without locks, then
 * under the page's one lock.  This second read is the only one that may wait
 * for the device under a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/proclist.h"
#include "team/pageread.h"

/*
 * Read n blocks from a segment's file.  Returns the number of pages read, which
 * ends, unless 'wait' is true, before the first page outside the cache.
 */
static int
read_file(int fd, char *target, BlockNumber block, int n, bool wait)
{
	struct iovec part = {target, (Size) n * BLCKSZ};
	off_t		offset = (off_t) (block % RELSEG_SIZE) * BLCKSZ;
	ssize_t		size = -1;

	if (wait)
		size = pread(fd, target, part.iov_len, offset);
#ifdef RWF_NOWAIT				/* older releases of musl lack preadv2() */
	else
		size = preadv2(fd, &part, 1, offset, RWF_NOWAIT);
#endif
	return size < 0 ? 0 : size / BLCKSZ;
}

/*
 * Copy those of the first n pages that are in no buffer, many with one system
 * call.  Returns false if the copy ended before a page that was not read.
 */
static bool
copy_unbuffered(PageBatch *batch, int fd, int n, bool wait)
{
	bool		complete = true;

	for (int from = 0, to; from < n && complete; from = to)
	{
		int			got;

		to = from + 1;
		if (batch->states[from] == PAGE_BUFFERED)
			continue;
		while (to < n && batch->states[to] != PAGE_BUFFERED &&
			   batch->blocks[to] == batch->blocks[to - 1] + 1)
			to++;
		got = read_file(fd, batch->pages + (Size) from * BLCKSZ,
						batch->blocks[from], to - from, wait);
		complete = got == to - from;
		while (--got >= 0)
			batch->states[from + got] = PAGE_COPIED;
	}
	return complete;
}

/* True if a buffer exists and has the contents of its page. */
static bool
is_valid(int buffer)
{
	return buffer >= 0 && pt_buffer_is_valid(GetBufferDescriptor(buffer));
}

/* Add a lock to n locks in ascending order.  Returns the number of locks. */
static int
add_lock(LWLock **locks, int n, LWLock *lock)
{
	int			i = n;

	while (i > 0 && locks[i - 1] > lock)
		i--;
	if (i > 0 && locks[i - 1] == lock)
		return n;
	memmove(locks + i + 1, locks + i, (n - i) * sizeof(LWLock *));
	locks[i] = lock;
	return n + 1;
}

/*
 * Lock the mapping of the first n blocks, all in one segment, and copy the
 * pages as copy_unbuffered does.  The function reads each lock's list of
 * waiters without locking the list, so others_wait may be wrong.
 */
static bool
copy_locked(PageBatch *batch, Relation rel, int fd, int n, bool wait)
{
	BufferTag	tags[PAGEREAD_MOST];
	uint32		hashes[PAGEREAD_MOST];
	LWLock	   *locks[PAGEREAD_MOST];
	int			buffers[PAGEREAD_MOST];
	int			nlocks = 0;
	bool		complete;

	for (int i = 0; i < n; i++)
	{
		InitBufferTag(&tags[i], &rel->rd_locator, MAIN_FORKNUM,
					  batch->blocks[i]);
		hashes[i] = BufTableHashCode(&tags[i]);
		nlocks = add_lock(locks, nlocks, BufMappingPartitionLock(hashes[i]));
	}
	for (int i = 0; i < nlocks; i++)
		LWLockAcquire(locks[i], LW_SHARED);
	for (int i = 0; i < n; i++)
	{
		buffers[i] = BufTableLookup(&tags[i], hashes[i]);
		batch->states[i] = is_valid(buffers[i]) ? PAGE_BUFFERED : PAGE_UNREAD;
	}
	complete = copy_unbuffered(batch, fd, n, wait);
	pg_read_barrier();			/* copy, then look again */
	for (int i = 0; i < n; i++)
		if (is_valid(buffers[i]))
			batch->states[i] = PAGE_BUFFERED;
	for (int i = 0; i < nlocks; i++)
	{
		batch->others_wait |= !proclist_is_empty(&locks[i]->waiters);
		LWLockRelease(locks[i]);
	}
	return complete;
}

bool
pageread_copy(PageBatch *batch, Relation rel, OpenSegment *segment, bool wait)
{
	BlockNumber first = batch->blocks[0];
	int			n = 1;
	int			ncopied = 0;
	bool		complete;

	Assert(batch->n > 0 && batch->n <= PAGEREAD_MOST);
	memset(batch->states, PAGE_UNREAD, batch->n * sizeof(PageState));
	batch->others_wait = false;
	if (!segment_open(segment, rel, first, O_RDONLY))
		return false;
	while (n < batch->n &&
		   batch->blocks[n] / RELSEG_SIZE == first / RELSEG_SIZE)
		n++;
	complete = copy_locked(batch, rel, segment->fd, n, false);
#ifdef POSIX_FADV_WILLNEED
	if (!complete && wait && n > 1)
		(void) posix_fadvise(segment->fd,
							 (off_t) (first % RELSEG_SIZE) * BLCKSZ,
							 8 * PAGEREAD_MOST * BLCKSZ, POSIX_FADV_WILLNEED);
#endif
	if (!complete && wait &&
		read_file(segment->fd, batch->pages, first, n, true) == n)
		complete = copy_locked(batch, rel, segment->fd, n, n == 1);
	for (int i = 0; i < n; i++)
	{
		if (batch->states[i] != PAGE_COPIED)
			continue;
		if (pt_page_is_verified(batch->pages + (Size) i * BLCKSZ,
								batch->blocks[i]))
			ncopied++;
		else
			batch->states[i] = PAGE_DAMAGED;
	}
	pt_count_blocks_read(rel, ncopied);
	return complete;
}

void
pageread_buffer(char *page, BlockNumber block, Relation rel,
				BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block,
											RBM_NORMAL, strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

PageState
pageread_one(char *page, BlockNumber block, Relation rel, OpenSegment *segment)
{
	PageBatch	one = {.n = 1,.blocks = {block},.pages = page};

	(void) pageread_copy(&one, rel, segment, true);
	return one.states[0];
}
