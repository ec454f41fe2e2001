/*-------------------------------------------------------------------------
 *
 * btpage.h
 *	  Forms nbtree pages from tuples that arrive in index order.
 *
 * A page is built in private memory.  While it is open, the slot of the high
 * key (P_HIKEY) is reserved and data starts at P_FIRSTKEY.  Whether the page
 * gets a high key, or is its level's rightmost page, which has none, is known
 * only when it is closed.  The same holds on every level.
 *
 * Deduplication: BtPending collects the heap TIDs of equal tuples and returns
 * one posting list tuple for them.  A tuple that may be the first of several is
 * added to the page as a plain tuple, and removed if the next one is equal.
 *
 * Nothing here knows about blocks, files or WAL (btwrite) nor about the tree
 * (btload).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTPAGE_H
#define PTSORT_BTPAGE_H

#include "access/itup.h"
#include "access/nbtree.h"
#include "key/key_pack.h"
#include "util.h"
#include "utils/rel.h"

/* BtRules: how to form pages of an index; set by btpage_rules(). */
typedef struct BtRules
{
	Relation	heap;			/* for error messages only */
	Relation	index;
	BTScanInsert inskey;		/* comparisons of suffix truncation */
	Size		leaf_full;		/* a leaf with less space left is full */
	Size		upper_full;		/* a higher page with less space is full */
	bool		deduplicate;	/* true to make posting lists */
	bool		bytes_decide;	/* keys with equal images have equal bytes */
	bool		varlena_leads;	/* the first column is a varlena */
	MemoryContext tmpcxt;		/* reset whenever a page is closed */
} BtRules;

/* BtOpenPage: a page that still accepts tuples; plain data. */
typedef struct BtOpenPage
{
	Page		page;			/* BLCKSZ bytes, owned by the caller */
	BlockNumber blkno;			/* block of the page in the file */
	uint32		level;			/* 0 = leaf */
	OffsetNumber lastoff;		/* last used offset, P_HIKEY if none */
	Size		lastextra;		/* bytes of last item's posting list */
	Size		extrabefore;	/* lastextra before that item was added */
} BtOpenPage;

/*
 * BtPending: equal tuples that will become one posting list tuple: the base
 * tuple, immediately followed by the heap TIDs of all, its own first.
 */
typedef struct BtPending
{
	IndexTuple	base;			/* in a buffer of BTPENDING_BUFSIZE bytes */
	Size		keysize;		/* size of the base tuple; 0: none pending */
	int			ntids;
	int			maxtids;		/* maximum of ntids */
	uint64		entry[KEY_ENTRY_WORDS]; /* btentry: the base tuple's entry */
} BtPending;

/* Room for any index tuple, the first TID after it, and alignment, in bytes. */
#define BTPENDING_BUFSIZE	(INDEX_SIZE_MASK + 1 + 2 * MAXIMUM_ALIGNOF)

/*
 * btpage_rules fills in 'rules' for a build of 'index'.  'allequalimage': equal
 * keys of all columns have equal images; the leader looks that up for all
 * participants.  Allocates in the current memory context.
 */
extern void btpage_rules(BtRules *rules, Relation heap, Relation index,
						 bool allequalimage);

/*
 * btpage_open makes 'buffer' an empty page of this level, without siblings, to
 * be written at block 'blkno'.
 */
extern void btpage_open(BtOpenPage *open, Page buffer, BlockNumber blkno,
						uint32 level);

/*
 * btpage_carry_over copies the last item of page 'from' to the empty page 'to'
 * as its first one, because closing 'from' will make that item a high key.
 */
extern void btpage_carry_over(const BtOpenPage *from, BtOpenPage *to);

/*
 * btpage_close makes the last item, a lower bound of the keys to the right of
 * the page, the page's high key, shortened as much as possible on leaves.
 * There must be at least two items.  Returns the high key, which points into
 * the page.  The caller sets the sibling links.
 */
extern IndexTuple btpage_close(const BtRules *rules, BtOpenPage *open);

/*
 * btpage_take_back removes the item added last, which must have no posting
 * list.  The page is then as before that item.
 */
extern void btpage_take_back(BtOpenPage *open);

/* btpage_close_rightmost finishes a page that has no right sibling. */
extern void btpage_close_rightmost(BtOpenPage *open);

/*
 * btpage_first_tuple returns a palloc'd copy of the first data item of a leaf
 * that is open or has a high key; if that is a posting list tuple, the plain
 * tuple of its first TID.
 */
extern IndexTuple btpage_first_tuple(Page page);

/* btpending_init prepares for a slice. */
extern void btpending_init(BtPending *pending);

/* btpending_start makes a copy of itup the base tuple. */
extern void btpending_start(BtPending *pending, IndexTuple itup);

/*
 * btpending_finish returns the tuple to add to the page, valid until the next
 * btpending_start(), and sets *extra to the size of its posting list.  Then
 * nothing is pending.
 */
extern IndexTuple btpending_finish(BtPending *pending, Size *extra);

/*
 * btpage_has_room returns true if a tuple of 'size' bytes may go to the page.
 *
 * These are nbtree's rules.  A leaf always keeps room for the heap TID that
 * its high key may need.  The fillfactor is a soft limit: it yields to having
 * two items, and the last item's posting list, which is dropped if the item
 * becomes the high key, does not count.
 */
static inline bool
btpage_has_room(const BtRules *rules, const BtOpenPage *open, Size size)
{
	PageHeader	header = (PageHeader) open->page;
	int			space = (int) header->pd_upper - (int) header->pd_lower -
		(int) sizeof(ItemIdData);
	int			reserve = 0;
	Size		full = rules->upper_full;

	if (open->level == 0)
	{
		reserve = MAXALIGN(sizeof(ItemPointerData));
		full = rules->leaf_full;
	}
	if (space < (int) size + reserve)
		return false;
	return (Size) space + open->lastextra >= full ||
		open->lastoff <= P_FIRSTKEY;
}

/*
 * btpage_room returns a number of tuples of 'size' bytes, without posting
 * lists, that certainly fit on the leaf; 0 only if !btpage_has_room().
 */
static inline int
btpage_room(const BtRules *rules, const BtOpenPage *open, Size size)
{
	PageHeader	header = (PageHeader) open->page;
	int			needed = (int) Max(size + MAXALIGN(sizeof(ItemPointerData)),
								   rules->leaf_full) + (int) sizeof(ItemIdData);
	int			spare = (int) header->pd_upper - (int) header->pd_lower -
		needed;

	if (spare >= 0)
		return spare / (int) (size + sizeof(ItemIdData)) + 1;
	return btpage_has_room(rules, open, size) ? 1 : 0;
}

/* btpage_item returns a line pointer in use. */
static inline ItemIdData
btpage_item(unsigned offset, unsigned size)
{
	ItemIdData	item = {
		.lp_off = offset,
		.lp_flags = LP_NORMAL,
		.lp_len = size
	};

	return item;
}

/*
 * btpage_reserve adds an item after the last one; btpage_has_room() must be
 * true.  'size' is the MAXALIGN'ed size of its tuple and 'extra' the size of
 * the posting list in it.  Returns the tuple's address, for the caller to fill.
 */
static inline char *
btpage_reserve(BtOpenPage *open, Size size, Size extra)
{
	PageHeader	header = (PageHeader) open->page;
	OffsetNumber off = OffsetNumberNext(open->lastoff);

	Assert(header->pd_upper - header->pd_lower >= size + sizeof(ItemIdData));
	header->pd_upper -= size;
	*PageGetItemId(open->page, off) = btpage_item(header->pd_upper, size);
	header->pd_lower += sizeof(ItemIdData);
	open->lastoff = off;
	open->extrabefore = open->lastextra;
	open->lastextra = extra;
	return (char *) open->page + header->pd_upper;
}

/* btpage_last returns the tuple added last. */
static inline IndexTuple
btpage_last(const BtOpenPage *open)
{
	return (IndexTuple) PageGetItem(open->page,
									PageGetItemId(open->page, open->lastoff));
}

/* btpage_append adds a tuple; its parameters are those of btpage_reserve(). */
static inline void
btpage_append(BtOpenPage *open, IndexTuple itup, Size size, Size extra)
{
	IndexTupleData minus_infinity;

	if (open->level > 0 && open->lastoff == P_HIKEY)
	{
		/* the first key of an internal page is minus infinity */
		minus_infinity = *itup;
		minus_infinity.t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(&minus_infinity, 0, false);
		itup = &minus_infinity;
		size = sizeof(IndexTupleData);
	}

	Assert(size == MAXALIGN(IndexTupleSize(itup)));
	pt_copy(btpage_reserve(open, size, extra), itup, size);
}

/*
 * btpending_most returns the maximum number of heap TIDs of a posting list.
 * With the key and its line pointer it takes at most a tenth of the page, which
 * the default fillfactor leaves free.  The result may be less than 2.
 */
static inline int
btpending_most(Size keysize)
{
	int			limit = MAXALIGN_DOWN(MAXALIGN_DOWN(BLCKSZ * 10 / 100) -
									  sizeof(ItemIdData));

	return (limit - (int) keysize) / (int) sizeof(ItemPointerData);
}

/*
 * btpending_begin starts a posting list with the heap TID of the base tuple,
 * which the caller put in pending->base.
 */
static inline void
btpending_begin(BtPending *pending, Size keysize)
{
	pending->keysize = keysize;
	memcpy((char *) pending->base + keysize, &pending->base->t_tid,
		   sizeof(ItemPointerData));
	pending->ntids = 1;
	pending->maxtids = btpending_most(keysize);
}

/*
 * btpage_first_differs: true if two tuples' first columns are known to differ.
 * A value with a short header has no other form of that length, so different
 * bytes are different images.  False if the headers are not short or there are
 * nulls.
 */
static inline bool
btpage_first_differs(const BtRules *rules, IndexTuple a, IndexTuple b)
{
	const char *left = (const char *) (a + 1);
	const char *right = (const char *) (b + 1);

	return rules->varlena_leads &&
		!IndexTupleHasNulls(a) && !IndexTupleHasNulls(b) &&
		VARATT_IS_SHORT(left) && VARATT_IS_SHORT(right) &&
		(*left != *right || memcmp(left, right, VARSIZE_SHORT(left)) != 0);
}

/*
 * btpage_same_image: true if two tuples have equal keys, so that they can share
 * a posting list.
 */
static inline bool
btpage_same_image(const BtRules *rules, IndexTuple a, IndexTuple b)
{
	/* equal bytes are equal images, which usually decides */
	if (a->t_info == b->t_info &&
		memcmp(a + 1, b + 1,
			   IndexTupleSize(a) - sizeof(IndexTupleData)) == 0)
		return true;
	return !rules->bytes_decide && !btpage_first_differs(rules, a, b) &&
		_bt_keep_natts_fast(rules->index, a, b) >
		IndexRelationGetNumberOfKeyAttributes(rules->index);
}

/* btpending_add adds a heap TID to the posting list, which must have room. */
static inline void
btpending_add(BtPending *pending, ItemPointer tid)
{
	Assert(pending->ntids < pending->maxtids);
	memcpy((char *) pending->base + pending->keysize +
		   pending->ntids * sizeof(ItemPointerData),
		   tid, sizeof(ItemPointerData));
	pending->ntids++;
}

#endif							/* PTSORT_BTPAGE_H */
