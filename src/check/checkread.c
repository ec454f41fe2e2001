/*-------------------------------------------------------------------------
 *
 * checkread.c
 *	  Copies pages of an index, also those that the server refuses to read.
 *
 * ReadBuffer() raises an error for a page whose checksum or header is wrong.
 * For a check, this is a finding.  So a check copies a page that is in no
 * buffer from the file (pageread.c), also a page of the table before the server
 * reads a row of it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

/* Memory after each copy; see CheckPage */
#define SLACK		BLCKSZ

PageBatch *
checkread_new_ahead(void)
{
	PageBatch  *ahead = palloc0(sizeof(PageBatch));

	ahead->pages = palloc0(PAGEREAD_MOST * BLCKSZ + SLACK);
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
	PageState	state = PAGE_BUFFERED;

	page->page = page->own;
	page->block = block;
	page->last = 0;
	if (!checkread_has_block(self, block))
		return "the index has no such block";
	if (!RelationUsesLocalBuffers(self->index))
		state = pageread_one(page->own, block, self->index, &self->segment);
	switch (state)
	{
		case PAGE_BUFFERED:
			pageread_buffer(page->own, block, self->index, self->strategy);
			return NULL;
		case PAGE_COPIED:
			return NULL;
		case PAGE_DAMAGED:
			return "the checksum or the header of the page is wrong";
		default:
			return block < RelationGetNumberOfBlocks(self->index) ?
				"could not read the page" :
				"the file ends before the page does";
	}
}

void
checkread_ahead(CheckIndex *self, BlockNumber block, int n)
{
	PageBatch  *ahead = self->ahead;

	ahead->n = RelationUsesLocalBuffers(self->index) ? 0 : n;
	for (int i = 0; i < n; i++)
		ahead->blocks[i] = block + i;
	if (ahead->n > 0)
		pageread_copy(ahead, self->index, &self->segment, true);
}

const char *
checkread_next(CheckIndex *self, BlockNumber block, CheckPage *page)
{
	const PageBatch *ahead = self->ahead;
	BlockNumber i = block - ahead->blocks[0];

	if (i >= (BlockNumber) ahead->n || ahead->states[i] != PAGE_COPIED)
		return checkread_page(self, block, page);
	page->page = ahead->pages + i * BLCKSZ;
	page->block = block;
	page->last = 0;
	return NULL;
}

void
checkread_damaged(BlockNumber block, void *check)
{
	CheckIndex *self = check;

	check_found(self, CHECK_BAD_PAGE, block, 0,
				"this page of table \"%s\" has a wrong checksum or header",
				RelationGetRelationName(self->heap));
}

/* Many entries may point to one block, so the function reads a block once. */
bool
checkread_table(CheckIndex *self, BlockNumber block)
{
	PGAlignedBlock page;
	uint8		bit = 1 << block % BITS_PER_BYTE;
	bool		is_known = block < self->heap_blocks;

	if (self->heap->rd_rel->relam != HEAP_TABLE_AM_OID ||
		RelationUsesLocalBuffers(self->heap) ||
		(is_known && (self->heap_sound[block / BITS_PER_BYTE] & bit) != 0))
		return true;
	if (pageread_one(page.data, block, self->heap, &self->heap_segment) !=
		PAGE_DAMAGED)
	{
		if (is_known)
			self->heap_sound[block / BITS_PER_BYTE] |= bit;
		return true;
	}
	if (self->index_info == NULL)	/* else the scan reports the page */
		checkread_damaged(block, self);
	return false;
}

void
checkread_end(CheckIndex *self)
{
	(void) segment_close(&self->segment);
	(void) segment_close(&self->heap_segment);
}
