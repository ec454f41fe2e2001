/*-------------------------------------------------------------------------
 *
 * ginposting.c
 *	  The TIDs of one key of a GIN index: a posting list or a posting tree.
 *
 * The rules are those of buildFreshLeafTuple() (gininsert.c): a list, if the
 * leaf tuple with the compressed list is not too large, else a tree.  The
 * leaves of a tree are full, as those that the server fills in a build, in
 * segments of at most GIN_SEGMENT_SIZE bytes (GinPostingListSegmentMaxSize in
 * gindatapage.c).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "gin/gin.h"
#include "utils/memutils.h"


/* No list with more items fits into a tuple. */
#define MOST_ITEMS		GinMaxItemSize

/* Number of links in a page above the leaves */
#define LINKS_PER_PAGE	(GinDataPageMaxDataSize / sizeof(PostingItem))

void
ginposting_init(GinPosting *posting)
{
	memset(posting, 0, sizeof(GinPosting));
	posting->items = palloc(MOST_ITEMS * sizeof(ItemPointerData));
	posting->maxlinks = LINKS_PER_PAGE;
	posting->links = palloc(posting->maxlinks * sizeof(PostingItem));
	ginposting_reset(posting);
}

void
ginposting_reset(GinPosting *posting)
{
	posting->nitems = 0;
	posting->is_tree = false;
	posting->leaf.block = InvalidBlockNumber;
	posting->used = 0;
	posting->nlinks = 0;
}

static void
add_link(GinPosting *posting, BlockNumber block, const ItemPointerData *bound)
{
	PostingItem *link;

	if (posting->nlinks == posting->maxlinks)
	{
		posting->maxlinks *= 2;
		posting->links = repalloc_huge(posting->links,
									   posting->maxlinks *
									   sizeof(PostingItem));
	}
	link = &posting->links[posting->nlinks++];
	PostingItemSetBlockNumber(link, block);
	link->key = *bound;
}

/*
 * Complete the leaf.  The rightmost leaf has no bound, and neither has the link
 * to it.
 */
static void
end_leaf(GinLoad *load, GinPosting *posting, BlockNumber next)
{
	Page		page = posting->leaf.page;
	ItemPointerData bound = {{0, 0}, 0};

	if (next != InvalidBlockNumber)
		bound = posting->last;
	*GinDataPageGetRightBound(page) = bound;
	GinDataPageSetDataSize(page, posting->used);
	load->part.data_pages++;
	posting->used = 0;
	add_link(posting, gin_end_page(load, &posting->leaf, next), &bound);
}

/*
 * Move items to leaves of the tree: all, or as many as certainly fill their
 * segments.
 */
static void
move_to_tree(GinLoad *load, GinPosting *posting, bool all)
{
	int			done = 0;

	posting->is_tree = true;
	while (posting->nitems - done >= (all ? 1 : GIN_SEGMENT_SIZE))
	{
		int			n;
		GinPostingList *segment =
			ginCompressPostingList(posting->items + done,
								   posting->nitems - done, GIN_SEGMENT_SIZE,
								   &n);
		Size		size = SizeOfGinPostingList(segment);

		if (posting->used + size > GinDataPageMaxDataSize)
			end_leaf(load, posting, gin_new_block(load));
		if (posting->used == 0)
			gin_begin_page(load, &posting->leaf,
						   GIN_DATA | GIN_LEAF | GIN_COMPRESSED);
		memcpy((char *) GinDataLeafPageGetPostingList(posting->leaf.page) +
			   posting->used, segment, size);
		posting->used += size;
		done += n;
		posting->last = posting->items[done - 1];
		pfree(segment);
	}
	posting->nitems -= done;
	memmove(posting->items, posting->items + done,
			posting->nitems * sizeof(ItemPointerData));
}

void
ginposting_add(GinLoad *load, GinPosting *posting, uint64 tid)
{
	load->part.entries++;
	if (posting->nitems == MOST_ITEMS)
		move_to_tree(load, posting, false);
	gintid_get(tid, &posting->items[posting->nitems++]);
}

void
ginposting_adopt(GinLoad *load, GinPosting *posting, const PostingItem *link)
{
	move_to_tree(load, posting, true);
	if (posting->used > 0)
		end_leaf(load, posting, PostingItemGetBlockNumber(link));
	else
		gin_check_block(load, &posting->leaf);
	posting->leaf.block = InvalidBlockNumber;
	add_link(posting, PostingItemGetBlockNumber(link), &link->key);
}

int
ginposting_tids(const GinPosting *posting, uint64 **tids)
{
	ItemPointer items = NULL;
	int			n = 0;

	if (posting->used > 0)
		items = ginPostingListDecodeAllSegments
			(GinDataLeafPageGetPostingList(posting->leaf.page), posting->used,
			 &n);
	*tids = palloc((n + posting->nitems) * sizeof(uint64));
	for (int i = 0; i < n + posting->nitems; i++)
		(*tids)[i] = gintid_of(i < n ? &items[i] : &posting->items[i - n]);
	return n + posting->nitems;
}

/*
 * Write the pages of a level above n links.  Makes links to these pages in
 * place, and returns their number.
 */
static int
write_level(GinLoad *load, PostingItem *links, int n)
{
	GinChain	chain = {NULL, InvalidBlockNumber};
	int			npages = 0;

	for (int done = 0, now; done < n; done += now)
	{
		bool		is_last = n - done <= LINKS_PER_PAGE;
		BlockNumber block;
		ItemPointerData bound = links[Min(done + LINKS_PER_PAGE, n) - 1].key;

		now = Min(n - done, LINKS_PER_PAGE);
		gin_begin_page(load, &chain, GIN_DATA);
		memcpy(GinDataPageGetPostingItem(chain.page, FirstOffsetNumber),
			   &links[done], now * sizeof(PostingItem));
		GinPageGetOpaque(chain.page)->maxoff = now;
		GinDataPageSetDataSize(chain.page, now * sizeof(PostingItem));
		*GinDataPageGetRightBound(chain.page) = bound;
		load->part.data_pages++;
		block = gin_end_page(load, &chain, is_last ? InvalidBlockNumber :
							 gin_new_block(load));
		PostingItemSetBlockNumber(&links[npages], block);
		links[npages++].key = bound;
	}
	return npages;
}

/* Write the tree's last leaf and all other levels; returns the root's block. */
static BlockNumber
write_tree(GinLoad *load, GinPosting *posting)
{
	int			n;

	fault_point("ginposting: tree");
	end_leaf(load, posting, InvalidBlockNumber);
	for (n = posting->nlinks; n > 1;)
		n = write_level(load, posting->links, n);
	return PostingItemGetBlockNumber(posting->links);
}

/* Returns the tuple with a list, or NULL if it would be too large. */
static IndexTuple
list_tuple(GinLoad *load, const GinPosting *posting, const GinRecord *key,
		   Datum value)
{
	int			n;
	GinPostingList *list =
		ginCompressPostingList(posting->items, posting->nitems,
							   GinMaxItemSize, &n);

	if (n < posting->nitems)
		return NULL;
	return GinFormTuple(load->gin, key->column, value, key->category,
						(Pointer) list, SizeOfGinPostingList(list), n, false);
}

IndexTuple
ginposting_tuple(GinLoad *load, GinPosting *posting, const GinRecord *key)
{
	Datum		value = ginrecord_key(key,
									  TupleDescAttr(load->gin->origTupdesc,
													key->column - 1));
	IndexTuple	tuple = NULL;
	BlockNumber root;

	if (!posting->is_tree)
		tuple = list_tuple(load, posting, key, value);
	if (tuple == NULL)
	{
		/* raise the server's error before writing a tree */
		tuple = GinFormTuple(load->gin, key->column, value, key->category,
							 NULL, 0, 0, true);
		move_to_tree(load, posting, true);
		root = write_tree(load, posting);
		GinSetPostingTree(tuple, root);
	}
	ginposting_reset(posting);
	return tuple;
}
