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

CheckPage *
checkread_new_page(int nkeys)
{
	CheckPage  *page = palloc0(sizeof(CheckPage));
	Size		n = mul_size(nkeys, MaxIndexTuplesPerPage + 1);

	page->page = palloc0(BLCKSZ + SLACK);
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

void
checkread_prefetch(CheckIndex *self, BlockNumber block, int n)
{
	for (int i = 0; i < n; i++)
		(void) PrefetchBuffer(self->index, MAIN_FORKNUM, block + i);
}
