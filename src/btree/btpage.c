/*-------------------------------------------------------------------------
 *
 * btpage.c
 *	  Forms nbtree pages from tuples that arrive in index order.
 *
 * The rules are those of the server's nbtsort.c and nbtdedup.c, and must remain
 * so: the pages of a slice must have the same bytes as those that the server
 * would write for its tuples.  Then everything that is true of the server's
 * indexes (space, deduplication, amcheck) is true of ptsort's.
 *
 * This is faster than the server, which forms, copies and compares every tuple:
 * here a posting list grows in place, and bytes distinguish most pairs of
 * different keys without looking at columns.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btpage.h"
#include "catalog/pg_am.h"
#include "utils/memutils.h"

/*
 * True if two keys with equal images always have the same bytes.  Only a
 * varlena has several forms (short header or not, compressed or not).
 */
static bool
images_are_bytes(Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attlen == -1)
			return false;
	}
	return true;
}

void
btpage_rules(BtRules *rules, Relation heap, Relation index, bool allequalimage)
{
	rules->heap = heap;
	rules->index = index;
	rules->inskey = _bt_mkscankey(index, NULL);
	/* there is no metapage from which the server could read this */
	rules->inskey->allequalimage = allequalimage;
	rules->leaf_full = BTGetTargetPageFreeSpace(index);
	rules->upper_full = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	rules->deduplicate = allequalimage && !index->rd_index->indisunique &&
		BTGetDeduplicateItems(index);
	rules->bytes_decide = images_are_bytes(index);
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

void
btpage_carry_over(const BtOpenPage *from, BtOpenPage *to)
{
	ItemId		last = PageGetItemId(from->page, from->lastoff);

	Assert(from->lastoff > P_FIRSTKEY && to->lastoff == P_HIKEY);
	btpage_append(to, (IndexTuple) PageGetItem(from->page, last),
				  ItemIdGetLength(last), from->lastextra);
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
		if (!PageIndexTupleOverwrite(page, P_HIKEY, (Item) shortened,
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
btpage_take_back(BtOpenPage *open)
{
	PageHeader	header = (PageHeader) open->page;
	ItemId		last = PageGetItemId(open->page, open->lastoff);
	Size		size = ItemIdGetLength(last);

	Assert(open->lastoff >= P_FIRSTKEY && open->lastextra == 0);
	/* leave nothing in the free space */
	memset((char *) open->page + header->pd_upper, 0, size);
	memset(last, 0, sizeof(ItemIdData));
	header->pd_upper += size;
	header->pd_lower -= sizeof(ItemIdData);
	open->lastoff = OffsetNumberPrev(open->lastoff);
	open->lastextra = open->extrabefore;
}

void
btpage_close_rightmost(BtOpenPage *open)
{
	PageHeader	header = (PageHeader) open->page;

	/* no high key: move the line pointers into its place */
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

void
btpending_init(BtPending *pending)
{
	pending->base = palloc(BTPENDING_BUFSIZE);
	pending->keysize = 0;
	pending->ntids = 0;
}

void
btpending_start(BtPending *pending, IndexTuple itup)
{
	pt_copy(pending->base, itup, IndexTupleSize(itup));
	btpending_begin(pending, IndexTupleSize(itup));
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
