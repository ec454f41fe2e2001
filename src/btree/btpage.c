/*-------------------------------------------------------------------------
 *
 * btpage.c
 *	  Forms nbtree pages from tuples that arrive in index order; see btpage.h.
 *
 * This file must follow the rules of the server's nbtsort.c and nbtdedup.c.
 * The pages of a slice must have the same bytes as the pages that the server
 * would write for the slice's tuples.  Then ptsort's indexes behave as the
 * server's do (space, deduplication, amcheck).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btpage.h"
#include "util.h"
#include "utils/memutils.h"

/* Size of a buffer for any index tuple, the TID after it, and alignment. */
#define BUFFER_SIZE		(INDEX_SIZE_MASK + 1 + 2 * MAXIMUM_ALIGNOF)

void
btpage_rules(BtRules *rules, Relation heap, Relation index, bool allequalimage)
{
	rules->heap = heap;
	rules->index = index;
	rules->inskey = _bt_mkscankey(index, NULL);
	/* the server reads this flag from the metapage, which does not exist yet */
	rules->inskey->allequalimage = allequalimage;
	rules->leaf_full = BTGetTargetPageFreeSpace(index);
	rules->upper_full = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	rules->deduplicate = allequalimage && !index->rd_index->indisunique &&
		BTGetDeduplicateItems(index);
	rules->varlena_leads =
		TupleDescAttr(RelationGetDescr(index), 0)->attlen == -1;
	rules->tmpcxt = AllocSetContextCreate(CurrentMemoryContext,
										  "ptsort high key",
										  ALLOCSET_DEFAULT_SIZES);
}

void
btpage_open(BtOpenPage *open, Page buffer, BlockNumber blkno, uint32 level)
{
	BTPageOpaque opaque;

	_bt_pageinit(buffer, BLCKSZ);
	opaque = BTPageGetOpaque(buffer);
	opaque->btpo_prev = opaque->btpo_next = P_NONE;
	opaque->btpo_level = level;
	opaque->btpo_flags = (level == 0) ? BTP_LEAF : 0;
	opaque->btpo_cycleid = 0;

	/* reserve the high key's line pointer */
	((PageHeader) buffer)->pd_lower += sizeof(ItemIdData);

	open->page = buffer;
	open->blkno = blkno;
	open->level = level;
	open->lastoff = P_HIKEY;
	open->lastextra = 0;
	open->extrabefore = 0;
}


/*
 * True if nbtree's rules allow adding a tuple of 'size' bytes to the page.  A
 * leaf keeps room for the heap TID that its high key may need.  A page with
 * fewer than two items ignores the fillfactor.  For the fillfactor, the last
 * item's posting list counts as free space, because the item would lose it as
 * the high key.
 */
static inline bool
has_room(const BtRules *rules, const BtOpenPage *open, Size size)
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
 * Returns n such that n tuples of 'size' bytes, without posting lists,
 * certainly fit on the leaf.  The result is 0 only if !has_room().
 */
static inline int
count_room(const BtRules *rules, const BtOpenPage *open, Size size)
{
	PageHeader	header = (PageHeader) open->page;
	int			needed = (int) Max(size + MAXALIGN(sizeof(ItemPointerData)),
								   rules->leaf_full) + (int) sizeof(ItemIdData);
	int			spare = (int) header->pd_upper - (int) header->pd_lower -
		needed;

	if (spare >= 0)
		return spare / (int) (size + sizeof(ItemIdData)) + 1;
	return has_room(rules, open, size) ? 1 : 0;
}

static inline ItemIdData
make_item(unsigned offset, unsigned size)
{
	ItemIdData	item = {
		.lp_off = offset,
		.lp_flags = LP_NORMAL,
		.lp_len = size
	};

	return item;
}

/* Like btpage_add, without checking for room. */
static inline void
append(BtOpenPage *open, IndexTuple itup, Size size, Size extra)
{
	PageHeader	header = (PageHeader) open->page;
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
	Assert(header->pd_upper - header->pd_lower >= size + sizeof(ItemIdData));
	header->pd_upper -= size;
	header->pd_lower += sizeof(ItemIdData);
	open->lastoff = OffsetNumberNext(open->lastoff);
	*PageGetItemId(open->page, open->lastoff) = make_item(header->pd_upper,
														  size);
	open->extrabefore = open->lastextra;
	open->lastextra = extra;
	pt_copy((char *) header + header->pd_upper, itup, size);
}

bool
btpage_add(const BtRules *rules, BtOpenPage *open, IndexTuple itup, Size size,
		   Size extra)
{
	if (!has_room(rules, open, size))
		return false;
	append(open, itup, size, extra);
	return true;
}


/*
 * Adding entries.  Looping over words and checking for room for each single
 * tuple would be expensive.  So the loops are compiled once for each number of
 * words, and check for room once for many tuples of the same size.
 */

/* Add the tuple of an entry with nulls.  False if the page has no room. */
static pg_noinline bool
add_with_nulls(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
			   const uint64 *entry)
{
	uint64		buffer[KEY_TUPLE_SIZE / sizeof(uint64)];
	IndexTuple	itup = (IndexTuple) buffer;
	Size		size = key_pack_tuple(pack, entry, itup);

	key_entry_tid(entry, pack->nwords, &itup->t_tid);
	return btpage_add(rules, open, itup, size, 0);
}

/*
 * Add up to n entries; the caller checked that there is room for them.  Stops
 * before an entry with nulls.  If 'deduplicate' is true, also stops before an
 * entry with the same key as its successor.  Returns the number of entries
 * added.
 */
static pg_attribute_always_inline int
add_entries(BtOpenPage *open, const KeyPack *pack, const uint64 *entry, int n,
			bool deduplicate, int nwords)
{
	PageHeader	header = (PageHeader) open->page;
	Size		size = pack->size;
	unsigned	at = header->pd_upper;
	ItemId		item = PageGetItemId(open->page,
									 OffsetNumberNext(open->lastoff));
	int			i;

	for (i = 0; i < n; i++, entry += nwords + 1)
	{
		IndexTuple	itup;

		if (deduplicate && key_entry_same(nwords, entry, entry + nwords + 1))
			break;
		if (unlikely(key_pack_has_nulls(pack, nwords, entry)))
			break;
		at -= size;
		*item++ = make_item(at, size);
		/* free space of a new page is zeroed, so the padding is zero, too */
		itup = (IndexTuple) ((char *) header + at);
		key_pack_fill(pack, entry, itup);
		key_entry_tid(entry, nwords, &itup->t_tid);
	}
	if (i > 0)
	{
		header->pd_upper = at;
		header->pd_lower += i * sizeof(ItemIdData);
		open->lastoff += i;
		open->lastextra = 0;
	}
	return i;
}

/* Like btpage_fill.  nwords is a compile-time constant. */
static pg_attribute_always_inline int
fill(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
	 const uint64 *entries, int n, bool *full, int nwords)
{
	int			stride = nwords + 1;
	int			last = rules->deduplicate ? n - 1 : n;
	int			i = 0;

	*full = false;
	while (i < last)
	{
		int			room = count_room(rules, open, pack->size);
		const uint64 *entry;

		i += add_entries(open, pack, entries + i * stride, Min(room, last - i),
						 rules->deduplicate, nwords);
		if (i == last)
			break;
		entry = entries + i * stride;
		if (rules->deduplicate && key_entry_same(nwords, entry, entry + stride))
			break;
		if (key_pack_has_nulls(pack, nwords, entry))
		{
			if (add_with_nulls(rules, open, pack, entry))
			{
				i++;
				continue;
			}
		}
		else if (has_room(rules, open, pack->size))
			continue;
		*full = true;
		break;
	}
	return i;
}

int
btpage_fill(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
			const uint64 *entries, int n, bool *full)
{
	if (pack->nwords == 1)
		return fill(rules, open, pack, entries, n, full, 1);
	Assert(pack->nwords == 2);
	return fill(rules, open, pack, entries, n, full, 2);
}

static inline IndexTuple
last_tuple(const BtOpenPage *open)
{
	return (IndexTuple) PageGetItem(open->page,
									PageGetItemId(open->page, open->lastoff));
}

void
btpage_carry_over(const BtOpenPage *from, BtOpenPage *to)
{
	IndexTuple	last = last_tuple(from);

	Assert(from->lastoff > P_FIRSTKEY && to->lastoff == P_HIKEY);
	append(to, last, MAXALIGN(IndexTupleSize(last)), from->lastextra);
}

IndexTuple
btpage_close(const BtRules *rules, BtOpenPage *open)
{
	Page		page = open->page;
	ItemId		hikey = PageGetItemId(page, P_HIKEY);
	ItemId		last = PageGetItemId(page, open->lastoff);

	Assert(open->lastoff > P_FIRSTKEY);
	*hikey = *last;
	ItemIdSetUnused(last);
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);

	if (open->level == 0)
	{
		MemoryContext oldcxt = MemoryContextSwitchTo(rules->tmpcxt);
		ItemId		left = PageGetItemId(page, OffsetNumberPrev(open->lastoff));
		IndexTuple	shortened;

		shortened = _bt_truncate(rules->index,
								 (IndexTuple) PageGetItem(page, left),
								 (IndexTuple) PageGetItem(page, hikey),
								 rules->inskey);
		if (!PageIndexTupleOverwrite(page, P_HIKEY, (char *) shortened,
									 IndexTupleSize(shortened)))
			elog(ERROR, "could not add high key to page %u of index \"%s\"",
				 open->blkno, RelationGetRelationName(rules->index));
		MemoryContextSwitchTo(oldcxt);
		MemoryContextReset(rules->tmpcxt);
		hikey = PageGetItemId(page, P_HIKEY);
	}

	return (IndexTuple) PageGetItem(page, hikey);
}

void
btpage_close_rightmost(BtOpenPage *open)
{
	PageHeader	header = (PageHeader) open->page;

	/* there is no high key: move the line pointers into its place */
	Assert(open->lastoff >= P_FIRSTKEY);
	memmove(PageGetItemId(open->page, P_HIKEY),
			PageGetItemId(open->page, P_FIRSTKEY),
			(open->lastoff - P_HIKEY) * sizeof(ItemIdData));
	header->pd_lower -= sizeof(ItemIdData);
	/* leave no stale line pointer in what is now free space */
	memset((char *) open->page + header->pd_lower, 0, sizeof(ItemIdData));
}

IndexTuple
btpage_first_tuple(Page page)
{
	IndexTuple	itup;

	itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, P_FIRSTKEY));
	if (BTreeTupleIsPosting(itup))
		return _bt_form_posting(itup, BTreeTupleGetPosting(itup), 1);
	return CopyIndexTuple(itup);
}


/*
 * As in the server, a posting list with its key and line pointer takes at most
 * the tenth of the page that the default fillfactor leaves free.
 */
int
btpage_most_tids(Size keysize)
{
	int			limit = MAXALIGN_DOWN(MAXALIGN_DOWN(BLCKSZ * 10 / 100) -
									  sizeof(ItemIdData));

	return (limit - (int) keysize) / (int) sizeof(ItemPointerData);
}

/*
 * True if the first columns of two tuples certainly differ.  Two values with
 * short headers have equal images only if their bytes are equal.  False if a
 * header is not short or a tuple has nulls.
 */
static inline bool
first_differs(const BtRules *rules, IndexTuple a, IndexTuple b)
{
	const char *left = (const char *) (a + 1);
	const char *right = (const char *) (b + 1);

	return rules->varlena_leads &&
		!IndexTupleHasNulls(a) && !IndexTupleHasNulls(b) &&
		VARATT_IS_SHORT(left) && VARATT_IS_SHORT(right) &&
		(*left != *right || memcmp(left, right, VARSIZE_SHORT(left)) != 0);
}

/* True if two tuples have equal keys, so that they can share a posting list. */
static inline bool
same_image(const BtRules *rules, IndexTuple a, IndexTuple b)
{
	/* equal bytes mean equal images; usually comparing bytes suffices */
	if (a->t_info == b->t_info &&
		memcmp(a + 1, b + 1,
			   IndexTupleSize(a) - sizeof(IndexTupleData)) == 0)
		return true;
	/* only a varlena has several forms: short or not, compressed or not */
	return (IndexTupleHasVarwidths(a) || IndexTupleHasVarwidths(b)) &&
		!first_differs(rules, a, b) &&
		_bt_keep_natts_fast(rules->index, a, b) >
		IndexRelationGetNumberOfKeyAttributes(rules->index);
}

/* Remove the last item, which has no posting list. */
static void
take_back(BtOpenPage *open)
{
	PageHeader	header = (PageHeader) open->page;
	ItemId		last = PageGetItemId(open->page, open->lastoff);
	Size		size = ItemIdGetLength(last);

	Assert(open->lastoff >= P_FIRSTKEY && open->lastextra == 0);
	/* zero the space that becomes free */
	memset((char *) open->page + header->pd_upper, 0, size);
	memset(last, 0, sizeof(ItemIdData));
	header->pd_upper += size;
	header->pd_lower -= sizeof(ItemIdData);
	open->lastoff = OffsetNumberPrev(open->lastoff);
	open->lastextra = open->extrabefore;
}

/* Start a posting list with the base tuple that is in pending->base. */
static inline void
begin_list(BtPending *pending, Size keysize)
{
	pending->keysize = keysize;
	memcpy((char *) pending->base + keysize, &pending->base->t_tid,
		   sizeof(ItemPointerData));
	pending->ntids = 1;
	pending->maxtids = btpage_most_tids(keysize);
}

void
btpending_init(BtPending *pending)
{
	pending->base = palloc(BUFFER_SIZE);
	pending->keysize = 0;
	pending->ntids = 0;
}

/* If the last tuple of the leaf has the key of 'itup', move it to a list. */
static bool
start_with_last(const BtRules *rules, BtPending *pending, BtOpenPage *open,
				IndexTuple itup)
{
	IndexTuple	last = last_tuple(open);
	Size		size = IndexTupleSize(last);

	if (open->lastextra > 0 || !same_image(rules, last, itup) ||
		btpage_most_tids(size) < 2)
		return false;
	pt_copy(pending->base, last, size);
	begin_list(pending, size);
	take_back(open);
	return true;
}

bool
btpending_accept(const BtRules *rules, BtPending *pending, BtOpenPage *open,
				 IndexTuple itup)
{
	if (pending->keysize == 0)
	{
		if (!start_with_last(rules, pending, open, itup))
			return false;
	}
	else if (pending->ntids >= pending->maxtids ||
			 !same_image(rules, pending->base, itup))
		return false;
	memcpy((char *) pending->base + pending->keysize +
		   pending->ntids++ * sizeof(ItemPointerData),
		   &itup->t_tid, sizeof(ItemPointerData));
	return true;
}

void
btpending_start(BtPending *pending, const KeyPack *pack, const uint64 *entry)
{
	Size		size = key_pack_tuple(pack, entry, pending->base);

	key_entry_tid(entry, pack->nwords, &pending->base->t_tid);
	memcpy(pending->entry, entry, (pack->nwords + 1) * sizeof(uint64));
	begin_list(pending, size);
}

int
btpending_accept_entries(BtPending *pending, const KeyPack *pack,
						 const uint64 *entries, int n)
{
	int			nwords = pack->nwords;
	ItemPointer tids = (ItemPointer) ((char *) pending->base +
									  pending->keysize);
	int			ntids = pending->ntids;
	const uint64 *entry = entries;

	n = Min(n, pending->maxtids - ntids);
	for (int i = 0; i < n; i++, entry += nwords + 1)
	{
		if (!key_entry_same(nwords, pending->entry, entry))
		{
			n = i;
			break;
		}
		key_entry_tid(entry, nwords, &tids[ntids + i]);
	}
	n = Max(n, 0);
	pending->ntids = ntids + n;
	return n;
}

IndexTuple
btpending_finish(BtPending *pending, Size *extra)
{
	IndexTuple	itup = pending->base;

	*extra = 0;
	if (pending->ntids > 1)
	{
		Size		used = pending->keysize +
			pending->ntids * sizeof(ItemPointerData);
		Size		size = MAXALIGN(used);

		memset((char *) itup + used, 0, size - used);
		itup->t_info = (itup->t_info & ~INDEX_SIZE_MASK) | size;
		BTreeTupleSetPosting(itup, pending->ntids, pending->keysize);
		*extra = size - pending->keysize;
	}
	pending->keysize = 0;
	pending->ntids = 0;
	return itup;
}
