/*-------------------------------------------------------------------------
 *
 * checkread.c
 *	  Copies pages of an index, also those that the server refuses to read.
 *
 * ReadBuffer() raises an error for a page whose checksum or header is wrong.
 * For a check, this is a finding.  So a check copies a page that is in no
 * buffer from the file.  Such a copy is current: a process must read the page
 * into a buffer before it can change it.  If the page is in a buffer after this
 * process copied it, or if its checksum is wrong, the process reads it again.
 * One system call copies neighbouring blocks, up to CHECK_AHEAD.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "check/check.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "utils/rel.h"

/* Memory after each copy; see CheckPage */
#define SLACK		BLCKSZ

struct CheckAhead
{
	BlockNumber block;			/* the first block */
	int			n;				/* number of blocks */
	bool		current[CHECK_AHEAD];	/* the copy is current */
	char	   *pages;
};

CheckAhead *
checkread_new_ahead(void)
{
	CheckAhead *ahead = palloc0(sizeof(CheckAhead));

	ahead->pages = palloc0(CHECK_AHEAD * BLCKSZ + SLACK);
	return ahead;
}

CheckPage *
checkread_new_page(int nkeys)
{
	CheckPage  *page = palloc0(sizeof(CheckPage));
	Size		n = mul_size(nkeys, MaxIndexTuplesPerPage + 1);

	page->own = palloc0(BLCKSZ + SLACK);
	page->page = page->own;
	page->values = palloc0(mul_size(n, sizeof(Datum)));
	page->isnull = palloc0(mul_size(n, sizeof(bool)));
	return page;
}

/*
 * True if a block is in a buffer.  After a process failed to read a block, the
 * block may have a buffer with invalid contents, which does not count.
 */
static bool
is_buffered(Relation index, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			id;
	bool		found;

	InitBufferTag(&tag, &index->rd_locator, MAIN_FORKNUM, block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	id = BufTableLookup(&tag, hash);
	found = id >= 0 && pt_buffer_is_valid(GetBufferDescriptor(id));
	LWLockRelease(lock);
	return found;
}

static void
copy_buffer(CheckIndex *self, BlockNumber block, char *target)
{
	Buffer		buffer = ReadBufferExtended(self->index, MAIN_FORKNUM, block,
											RBM_NORMAL, self->strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(target, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/* Copy a block from the file.  Returns NULL, or why it is not readable. */
static const char *
copy_file(CheckIndex *self, BlockNumber block, char *target)
{
	ssize_t		size = -1;

	if (segment_open(&self->segment, self->index, block, O_RDONLY))
		size = pread(self->segment.fd, target, BLCKSZ,
					 (off_t) (block % RELSEG_SIZE) * BLCKSZ);
	if (size < 0)
		return "could not read the page";
	if (size < BLCKSZ)
		return "the file ends before the page does";
	pt_count_blocks_read(self->index, 1);
	if (!pt_page_is_verified(target, block))
		return "the checksum or the header of the page is wrong";
	return NULL;
}

bool
checkread_has_block(CheckIndex *self, BlockNumber block)
{
	/* the index may have grown, and a system call would tell */
	return block < self->tree->nblocks ||
		block < RelationGetNumberOfBlocks(self->index);
}

const char *
checkread_page(CheckIndex *self, BlockNumber block, CheckPage *page)
{
	const char *fault = NULL;

	page->page = page->own;
	page->block = block;
	page->last = 0;
	if (!checkread_has_block(self, block))
		return "the index has no such block";
	for (int i = 0; i <= CHECK_SURE; i++)
	{
		if (RelationUsesLocalBuffers(self->index) ||
			is_buffered(self->index, block))
		{
			copy_buffer(self, block, page->page);
			return NULL;
		}
		fault = copy_file(self, block, page->page);
		if (fault == NULL && !is_buffered(self->index, block))
			return NULL;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L << i);
	}
	if (fault == NULL)
		copy_buffer(self, block, page->page);
	return fault;
}

/*
 * Copy n blocks from one segment's file, from the block at 'from' of
 * self->ahead on.  No block was in a buffer before.
 */
static void
copy_run(CheckIndex *self, int from, int n)
{
	CheckAhead *ahead = self->ahead;
	BlockNumber block = ahead->block + from;
	char	   *target = ahead->pages + from * BLCKSZ;
	ssize_t		size;

	if (!segment_open(&self->segment, self->index, block, O_RDONLY))
		return;
	size = pread(self->segment.fd, target, (Size) n * BLCKSZ,
				 (off_t) (block % RELSEG_SIZE) * BLCKSZ);
	for (int i = 0; i < n && size >= (ssize_t) (i + 1) * BLCKSZ; i++)
		ahead->current[from + i] = !is_buffered(self->index, block + i);
}

void
checkread_ahead(CheckIndex *self, BlockNumber block, int n)
{
	CheckAhead *ahead = self->ahead;
	int			run = 0;

	Assert(n <= CHECK_AHEAD);
	ahead->block = block;
	ahead->n = n;
	memset(ahead->current, false, sizeof(ahead->current));
	if (RelationUsesLocalBuffers(self->index))
		return;
	for (int i = 0; i <= n; i++)
	{
		bool		ends = i == n || is_buffered(self->index, block + i);

		if (run > 0 && (ends || (block + i) % RELSEG_SIZE == 0))
		{
			copy_run(self, i - run, run);
			run = 0;
		}
		if (!ends)
			run++;
	}
}

const char *
checkread_next(CheckIndex *self, BlockNumber block, CheckPage *page)
{
	const CheckAhead *ahead = self->ahead;
	BlockNumber i = block - ahead->block;

	if (block < ahead->block || i >= (BlockNumber) ahead->n ||
		!ahead->current[i] ||
		!pt_page_is_verified(ahead->pages + i * BLCKSZ, block))
		return checkread_page(self, block, page);
	page->page = ahead->pages + i * BLCKSZ;
	pt_count_blocks_read(self->index, 1);
	page->block = block;
	page->last = 0;
	return NULL;
}
