/*-------------------------------------------------------------------------
 *
 * ginposting.c
 *	  The TIDs of one key of a GIN index: a posting list or a posting tree.
 *
 * The rules are those of buildFreshLeafTuple() (gininsert.c): a list, if the
 * leaf tuple with the compressed list is not too large, else a tree.  The
 * leaves of a tree are full, as those that the server fills in a build, in
 * segments of at most SEGMENT_SIZE bytes (GinPostingListSegmentMaxSize in
 * gindatapage.c).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "gin/gin.h"
#include "utils/memutils.h"

#define SEGMENT_SIZE	GIN_SEGMENT_SIZE
#define SEGMENT_HEADER	offsetof(GinPostingList, bytes)

/* Number of links in a page above the leaves */
#define LINKS_PER_PAGE	(GinDataPageMaxDataSize / sizeof(PostingItem))

void
ginposting_init(GinPosting *posting)
{
	memset(posting, 0, sizeof(GinPosting));
	posting->items = palloc(GinMaxItemSize * sizeof(uint64));
	posting->maxlinks = LINKS_PER_PAGE;
	posting->links = palloc(posting->maxlinks * sizeof(PostingItem));
	ginposting_reset(posting);
}

void
ginposting_reset(GinPosting *posting)
{
	posting->nitems = 0;
	posting->list_size = SEGMENT_HEADER;
	posting->is_tree = false;
	posting->leaf.block = InvalidBlockNumber;
	posting->segment = NULL;
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

/* Complete the segment. */
static void
end_segment(GinPosting *posting)
{
	GinPostingList *segment = posting->segment;

	if (segment == NULL)
		return;
	if (segment->nbytes % sizeof(uint16) != 0)
		segment->bytes[segment->nbytes] = 0;
	posting->used += SizeOfGinPostingList(segment);
	posting->segment = NULL;
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

	end_segment(posting);
	if (next != InvalidBlockNumber)
		gintid_get(posting->last, &bound);
	*GinDataPageGetRightBound(page) = bound;
	GinDataPageSetDataSize(page, posting->used);
	load->part.data_pages++;
	add_link(posting, gin_end_page(load, &posting->leaf, next), &bound);
}

static void
begin_leaf(GinLoad *load, GinPosting *posting)
{
	gin_begin_page(load, &posting->leaf,
				   GIN_DATA | GIN_LEAF | GIN_COMPRESSED);
	posting->used = 0;
}

/* Add the TID to the segment; returns false if the segment is full. */
static bool
extend_segment(GinPosting *posting, uint64 tid)
{
	unsigned char bytes[GINTID_MOST];
	GinPostingList *segment = posting->segment;
	Size		room = Min(SEGMENT_SIZE,
						   GinDataPageMaxDataSize - posting->used);
	Size		size = gintid_encode(bytes, tid - posting->last) - bytes;

	if (SEGMENT_HEADER + SHORTALIGN(segment->nbytes + size) > room)
		return false;
	memcpy(segment->bytes + segment->nbytes, bytes, size);
	segment->nbytes += size;
	return true;
}

static void
add_to_tree(GinLoad *load, GinPosting *posting, uint64 tid)
{
	if (posting->segment != NULL && extend_segment(posting, tid))
	{
		posting->last = tid;
		return;
	}
	end_segment(posting);
	if (posting->leaf.page != NULL &&
		posting->used + SEGMENT_HEADER > GinDataPageMaxDataSize)
		end_leaf(load, posting, gin_new_block(load));
	if (posting->leaf.page == NULL)
		begin_leaf(load, posting);
	posting->segment = (GinPostingList *)
		((char *) GinDataLeafPageGetPostingList(posting->leaf.page) +
		 posting->used);
	gintid_get(tid, &posting->segment->first);
	posting->segment->nbytes = 0;
	posting->last = tid;
}

static void
make_tree(GinLoad *load, GinPosting *posting)
{
	if (posting->is_tree)
		return;
	posting->is_tree = true;
	for (int i = 0; i < posting->nitems; i++)
		add_to_tree(load, posting, posting->items[i]);
	posting->nitems = 0;
}

void
ginposting_add(GinLoad *load, GinPosting *posting, uint64 tid)
{
	unsigned char bytes[GINTID_MOST];

	load->part.entries++;
	if (!posting->is_tree)
	{
		if (posting->nitems > 0)
			posting->list_size += gintid_encode(bytes, tid -
												posting->items[posting->nitems - 1]) -
				bytes;
		if (posting->list_size < GinMaxItemSize - sizeof(IndexTupleData))
		{
			posting->items[posting->nitems++] = tid;
			return;
		}
		make_tree(load, posting);
	}
	add_to_tree(load, posting, tid);
}

void
ginposting_adopt(GinLoad *load, GinPosting *posting, const PostingItem *link)
{
	make_tree(load, posting);
	if (posting->leaf.page != NULL)
		end_leaf(load, posting, PostingItemGetBlockNumber(link));
	else
		gin_check_block(load, &posting->leaf);
	posting->leaf.block = InvalidBlockNumber;
	add_link(posting, PostingItemGetBlockNumber(link), &link->key);
}

int
ginposting_tids(const GinPosting *posting, uint64 **tids)
{
	Page		page = posting->leaf.page;
	Size		size = posting->used;
	ItemPointer items;
	int			n;

	if (!posting->is_tree)
	{
		*tids = posting->items;
		return posting->nitems;
	}
	if (page == NULL)
		return 0;
	if (posting->segment != NULL)
		size += SizeOfGinPostingList(posting->segment);
	items = ginPostingListDecodeAllSegments(GinDataLeafPageGetPostingList(page),
											size, &n);
	*tids = palloc(n * sizeof(uint64));
	for (int i = 0; i < n; i++)
		(*tids)[i] = gintid_of(&items[i]);
	pfree(items);
	return n;
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
	GinPostingList *list = palloc(SHORTALIGN(posting->list_size));
	unsigned char *end = list->bytes;

	gintid_get(posting->items[0], &list->first);
	for (int i = 1; i < posting->nitems; i++)
		end = gintid_encode(end, posting->items[i] - posting->items[i - 1]);
	list->nbytes = end - list->bytes;
	if (list->nbytes % sizeof(uint16) != 0)
		*end = 0;
	return GinFormTuple(load->gin, key->column, value, key->category,
						(Pointer) list, SizeOfGinPostingList(list),
						posting->nitems, false);
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
		make_tree(load, posting);
		root = write_tree(load, posting);
		GinSetPostingTree(tuple, root);
	}
	ginposting_reset(posting);
	return tuple;
}
