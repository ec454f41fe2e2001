/*-------------------------------------------------------------------------
 *
 * ginpage.c
 *	  Pages of a new GIN index, and the levels of its entry tree; see gin.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "gin/gin.h"
#include "utils/memutils.h"

/*
 * Each page gets as many tuples as fit if all are as large as possible; else,
 * pages of large tuples would have one less than the server's (GinMaxItemSize).
 */
#define LEAST_TUPLES	(BLCKSZ / GinMaxItemSize)

/*
 * Tell the writer how many blocks all participants will still take.  Blocks
 * that nobody takes remain in the index, and records differ so much that there
 * is no useful minimum: the file grows only by chunks.
 */
static void
estimate_blocks(GinLoad *load)
{
	PageWriter *writer = &load->base.writer;
	int64		done = pagewrite_report(writer);
	double		taken = pg_atomic_read_u64(&load->base.shared->file.nblocks);
	double		to_come = Max(load->base.all_tuples - done, 0) * taken /
		Max(done, 1);

	writer->to_come = (BlockNumber) Min(to_come, MaxBlockNumber);
}

BlockNumber
gin_new_block(GinLoad *load)
{
	if (pagewrite_needs_chunk(&load->base.writer))
		estimate_blocks(load);
	return pagewrite_get_block(&load->base.writer);
}

void
gin_begin_page(GinLoad *load, GinChain *chain, uint16 flags)
{
	chain->page = pagewrite_get_buffer(&load->base.writer);
	GinInitPage(chain->page, flags, BLCKSZ);
}

BlockNumber
gin_end_page(GinLoad *load, GinChain *chain, BlockNumber next)
{
	BlockNumber block = chain->block;

	if (block == InvalidBlockNumber)
		block = gin_new_block(load);
	GinPageGetOpaque(chain->page)->rightlink = next;
	pagewrite_page(&load->base.writer, chain->page, block);
	chain->page = NULL;
	chain->block = next;
	return block;
}

void
gin_check_block(const GinLoad *load, const GinChain *chain)
{
	if (chain->block != InvalidBlockNumber)
		elog(ERROR, "nothing is on block %u of index \"%s\"", chain->block,
			 RelationGetRelationName(load->base.index));
}

GinLevel *
gin_level_create(GinLoad *load, bool is_leaf)
{
	GinLevel   *level = MemoryContextAllocZero(load->base.cxt,
											   sizeof(GinLevel));

	level->is_leaf = is_leaf;
	level->chain.block = InvalidBlockNumber;
	return level;
}

/* Returns a downlink, still to no block, from a page's last tuple. */
static IndexTuple
make_downlink(Page page)
{
	ItemId		id = PageGetItemId(page, PageGetMaxOffsetNumber(page));
	IndexTuple	last = (IndexTuple) PageGetItem(page, id);
	Size		size = IndexTupleSize(last);
	IndexTuple	downlink;

	if (GinPageIsLeaf(page) && !GinIsPostingTree(last))
		size = MAXALIGN(GinGetPostingOffset(last));
	downlink = palloc0(size);
	memcpy(downlink, last, GinPageIsLeaf(page) && !GinIsPostingTree(last) ?
		   GinGetPostingOffset(last) : size);
	downlink->t_info = (downlink->t_info & ~INDEX_SIZE_MASK) | size;
	return downlink;
}

void
gin_level_add_downlink(GinLoad *load, GinLevel *level, IndexTuple downlink)
{
	if (level->parent == NULL)
		level->parent = gin_level_create(load, false);
	gin_level_add(load, level->parent, downlink);
}

void
gin_level_end_page(GinLoad *load, GinLevel *level, BlockNumber next)
{
	IndexTuple	downlink = make_downlink(level->chain.page);
	BlockNumber block = gin_end_page(load, &level->chain, next);

	GinSetDownlink(downlink, block);
	load->part.entry_pages++;
	if (level->is_leaf && load->base.list != NULL)
		slicelist_append_item(load->base.list, ITEM_DOWNLINK, downlink,
							  IndexTupleSize(downlink));
	else
		gin_level_add_downlink(load, level, downlink);
	pfree(downlink);
}

void
gin_level_add(GinLoad *load, GinLevel *level, IndexTuple tuple)
{
	Size		size = IndexTupleSize(tuple);
	Page		page = level->chain.page;

	/* PageGetFreeSpace() leaves room for a line pointer */
	if (page != NULL && PageGetFreeSpace(page) < MAXALIGN(size) +
		(PageGetMaxOffsetNumber(page) < LEAST_TUPLES ? 0 : GIN_FREE_BYTES))
		gin_level_end_page(load, level, gin_new_block(load));
	if (level->chain.page == NULL)
		gin_begin_page(load, &level->chain, level->is_leaf ? GIN_LEAF : 0);
	if (PageAddItem(level->chain.page, (char *) tuple, size,
					InvalidOffsetNumber, false, false) == InvalidOffsetNumber)
		elog(ERROR, "failed to add item to index page in \"%s\"",
			 RelationGetRelationName(load->base.index));
}

void
gin_write_root(GinLoad *load)
{
	GinLevel   *level = load->leaf;

	fault_point("ginload: upper levels");
	for (; level->parent != NULL; level = level->parent)
	{
		if (level->chain.page != NULL)
			gin_level_end_page(load, level, InvalidBlockNumber);
	}
	if (level->chain.page == NULL)	/* no tuples at all */
		gin_begin_page(load, &level->chain, GIN_LEAF);
	fault_point("ginload: root");
	level->chain.block = GIN_ROOT_BLKNO;
	(void) gin_end_page(load, &level->chain, InvalidBlockNumber);
	load->part.entry_pages++;
}
