/*-------------------------------------------------------------------------
 *
 * btload.c
 *	  Loads a btree index from tuples in index order; see btbuild.h.
 *
 * A sole participant loads all slices in index order into one leaf level.  As
 * in the server, the downlinks of that level go to the level above.
 *
 * Stitching.  If there are several participants, each slice is a leaf level of
 * its own.  A slice's first leaf has no left sibling and no low key yet: the
 * low key is the high key of the previous slice's last leaf.  The slice's last
 * leaf is still open.  So both leaves stay in the shared block.  The slice's
 * list (slicelist.h) has the downlinks of all leaves except the first.  For
 * each slice in order, the leader writes the first leaf, adds the list to
 * level 1, and adds the next slice's first tuple to the last leaf.  That tuple
 * becomes the high key, as at any other page boundary.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btbuild.h"
#include "btree/btpage.h"
#include "debug.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* BtSliceOut: the part of a loaded slice that stays in the shared block. */
typedef struct BtSliceOut
{
	bool		loaded;
	int64		npages;			/* number of leaves, including first and last */
	BlockNumber firstblk;
	BtOpenPage	open;			/* the last leaf, without its page */
	PGAlignedBlock first;		/* first leaf, closed; unset if npages = 1 */
	PGAlignedBlock last;		/* last leaf, open; unset if npages = 0 */
} BtSliceOut;

typedef struct BtLoad BtLoad;

/* BtLevel: a level of the tree that is being written. */
typedef struct BtLevel
{
	BtLoad	   *load;
	BtOpenPage	open;			/* page is NULL before the first tuple */
	IndexTuple	lowkey;			/* low key of the open page; BLCKSZ bytes */
	struct BtLevel *parent;		/* next level up; NULL until it exists */
} BtLevel;

struct BtLoad
{
	Load		base;			/* must be first */
	BtRules		rules;
	BtLevel		leaf;			/* leaf level of the current slice, or of the
								 * index (sole participant or stitching) */
	BtPending	pending;		/* used only if the index is deduplicated */

	/* The current slice, if it will be stitched: */
	BtSliceOut *out;			/* NULL if no slice will be stitched */

	int64		leaves;			/* leaves that this participant began */
};


/* TeamKind.shared_init */
void
btload_shared_init(Team *team, int processes, int slices)
{
	indexbuild_shared_init(team, processes, slices);
	((LoadShared *) team->shared)->allequalimage =
		_bt_allequalimage(((Build *) team)->index, true);
}


static void level_add(BtLevel *level, IndexTuple itup, Size extra);

static void
level_init(BtLevel *level, BtLoad *load)
{
	if (level->lowkey == NULL)
		level->lowkey = MemoryContextAlloc(load->base.cxt, BLCKSZ);
	level->load = load;
	level->open.page = NULL;
	level->parent = NULL;
	/* the low key of a level's first page is minus infinity */
	memset(level->lowkey, 0, sizeof(IndexTupleData));
	level->lowkey->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(level->lowkey, 0, false);
}

/*
 * Estimate the number of leaves for the remaining tuples: writer->to_come for
 * leaves as full as this participant's, writer->at_least for the fullest
 * possible leaves.
 */
static void
expect_leaves(BtLoad *load)
{
	PageWriter *writer = &load->base.writer;
	int64		to_come = load->base.all_tuples - pagewrite_report(writer);
	int64		tuples = Max(to_come, 0);
	double		leaves = tuples / (double) MaxTIDsPerBTreePage;

	writer->at_least = (BlockNumber) Min(leaves, (double) MaxBlockNumber);
	if (load->leaves > 0)
		leaves = tuples * ((double) load->leaves / writer->tuples);
	writer->to_come = (BlockNumber) Min(leaves, (double) MaxBlockNumber);
}

static void
level_open(BtLoad *load, BtOpenPage *open, uint32 number)
{
	BtSliceOut *out = load->out;

	if (pagewrite_needs_chunk(&load->base.writer))
		expect_leaves(load);
	btpage_open(open, pagewrite_get_buffer(&load->base.writer),
				pagewrite_get_block(&load->base.writer), number);
	if (number == 0)
		load->leaves++;
	if (out != NULL && out->npages++ == 0)
		out->firstblk = open->blkno;
}

/* Add the open page's downlink to the level above or to the slice's list. */
static void
level_put_downlink(BtLevel *level)
{
	BTreeTupleSetDownLink(level->lowkey, level->open.blkno);
	if (level->load->out != NULL)
	{
		if (level->open.blkno != level->load->out->firstblk)
			slicelist_append(level->load->base.list, level->lowkey);
		return;
	}
	if (level->parent == NULL)
	{
		level->parent = MemoryContextAllocZero(level->load->base.cxt,
											   sizeof(BtLevel));
		level_init(level->parent, level->load);
		level_open(level->load, &level->parent->open, level->open.level + 1);
	}
	level_add(level->parent, level->lowkey, 0);
}

/*
 * Set the open page's high key and right sibling, add its downlink, and write
 * the page.  The high key becomes the low key of the next page.
 */
static void
level_close_page(BtLevel *level, BlockNumber rightblk)
{
	BtLoad	   *load = level->load;
	BtOpenPage *open = &level->open;
	IndexTuple	highkey = btpage_close(&load->rules, open);

	BTPageGetOpaque(open->page)->btpo_next = rightblk;
	level_put_downlink(level);
	memcpy(level->lowkey, highkey, IndexTupleSize(highkey));

	if (load->out != NULL && open->blkno == load->out->firstblk)
	{
		memcpy(load->out->first.data, open->page, BLCKSZ);
		pagewrite_release_buffer(&load->base.writer, open->page);
	}
	else
		pagewrite_page(&load->base.writer, open->page, open->blkno);
	open->page = NULL;
}

static pg_noinline void
level_next_page(BtLevel *level)
{
	BtOpenPage	next;

	CHECK_FOR_INTERRUPTS();

	level_open(level->load, &next, level->open.level);
	btpage_carry_over(&level->open, &next);
	BTPageGetOpaque(next.page)->btpo_prev = level->open.blkno;
	level_close_page(level, next.blkno);
	level->open = next;
}

/* Add a tuple to the level.  The tuple's posting list takes 'extra' bytes. */
static void
level_add(BtLevel *level, IndexTuple itup, Size extra)
{
	const BtRules *rules = &level->load->rules;
	Size		size = MAXALIGN(IndexTupleSize(itup));

	if (unlikely(size > pt_bt_max_item_size(level->open.page)))
		_bt_check_third_page(rules->index, rules->heap, level->open.level == 0,
							 level->open.page, itup);
	while (unlikely(!btpage_add(rules, &level->open, itup, size, extra)))
		level_next_page(level);
}


/* LoadMethod.begin */
static void
begin(Load *base, const Build *build)
{
	BtLoad	   *load = (BtLoad *) base;

	btpage_rules(&load->rules, build->heap, build->index,
				 load->base.shared->allequalimage);
	level_init(&load->leaf, load);
	if (load->rules.deduplicate)
		btpending_init(&load->pending);
}

static void
add_pending(BtLoad *load)
{
	Size		extra;
	IndexTuple	itup = btpending_finish(&load->pending, &extra);

	level_add(&load->leaf, itup, extra);
}

/*
 * Add a copy of the slice's next tuple, or raise the server's error for a tuple
 * of more than a third of a page.  Tuples come in index order, with the heap
 * TID as the tie-breaker.  They have the form that index_form_tuple() makes: no
 * nbtree flag bits, zeroed padding.
 */
static void
add(BtLoad *load, IndexTuple itup)
{
	Assert((itup->t_info & INDEX_ALT_TID_MASK) == 0);
	load_count(&load->base);
	if (unlikely(load->leaf.open.page == NULL))
		level_open(load, &load->leaf.open, 0);
	else if (load->rules.deduplicate)
	{
		if (btpending_accept(&load->rules, &load->pending, &load->leaf.open,
							 itup))
			return;
		if (load->pending.keysize > 0)
			add_pending(load);
	}
	level_add(&load->leaf, itup, 0);
}

/* Add the next n tuples as entries of an exact key (btpage.h). */
static void
add_entries(BtLoad *load, const KeyPack *pack, const uint64 *entries, int n)
{
	int			stride = pack->nwords + 1;

	load->base.writer.tuples += n;
	(void) pagewrite_report(&load->base.writer);
	if (unlikely(load->leaf.open.page == NULL))
		level_open(load, &load->leaf.open, 0);
	while (n > 0)
	{
		bool		full = false;
		int			done;

		if (load->pending.keysize > 0)
		{
			done = btpending_accept_entries(&load->pending, pack, entries, n);
			if (done == n)
				break;
			entries += done * stride;
			n -= done;
			add_pending(load);
		}
		done = btpage_fill(&load->rules, &load->leaf.open, pack, entries, n,
						   &full);
		entries += done * stride;
		n -= done;
		if (full)
			level_next_page(&load->leaf);
		else if (n > 0)
		{
			btpending_start(&load->pending, pack, entries);
			entries += stride;
			n--;
		}
	}
}

static void
leave_slice(BtLoad *load)
{
	BtSliceOut *out = load->out;
	BtOpenPage *open = &load->leaf.open;

	if (open->page != NULL)
	{
		level_put_downlink(&load->leaf);
		out->open = *open;
		memcpy(out->last.data, open->page, BLCKSZ);
		pagewrite_release_buffer(&load->base.writer, open->page);
		open->page = NULL;
	}
	fault_point("btload: export list");
	out->loaded = true;
	load->out = NULL;
}

/* LoadMethod.add_slice */
static void
add_slice(Load *base, PtSort *sort, int slice)
{
	BtLoad	   *load = (BtLoad *) base;
	const PtSortKey *key = variant_index_exact_key(sort);
	const uint64 *entries;
	IndexTuple	itup;
	int			n;

	fault_point("btload: begin slice");
	if (base->list != NULL)
	{
		load->out = load_part(base, slice);
		if (load->out->loaded)
			elog(ERROR, "slice %d is loaded twice", slice);
		level_init(&load->leaf, load);
	}
	if (key)
	{
		while ((entries = variant_get_index_entries(sort, &n)) != NULL)
			add_entries(load, &key->pack, entries, n);
	}
	else
	{
		while ((itup = variant_get_index(sort, true)) != NULL)
			add(load, itup);
	}
	fault_point("btload: end slice");
	if (load->pending.keysize > 0)
		add_pending(load);
	if (load->out != NULL)
		leave_slice(load);
}


/* Copy the next leaf's low key from a list that must have another leaf. */
static void
next_leaf(SliceList *list, IndexTuple lowkey)
{
	void	   *tuple;

	if (slicelist_next(list, &tuple) == 0)
		elog(ERROR, "list of an index's leaves is too short");
	memcpy(lowkey, tuple, IndexTupleSize((IndexTuple) tuple));
}

/*
 * Write a slice's first leaf from the shared block, and add the slice's list
 * to level 1.  Sets leaf->lowkey to the low key of the slice's last leaf.
 */
static void
stitch_front(BtLevel *leaf, int slice, BtSliceOut *out, BlockNumber leftblk)
{
	BtLoad	   *load = leaf->load;
	Page		first = pagewrite_get_buffer(&load->base.writer);
	SliceList  *list;

	memcpy(first, out->first.data, BLCKSZ);
	BTPageGetOpaque(first)->btpo_prev = leftblk;
	leaf->open.blkno = out->firstblk;
	level_put_downlink(leaf);
	pagewrite_page(&load->base.writer, first, out->firstblk);

	/* add the downlinks of all leaves between the first and the last leaf */
	fault_point("btload: open list");
	list = slicelist_open(load->base.fileset, slice, false);
	next_leaf(list, leaf->lowkey);
	for (int64 i = 2; i < out->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		level_add(leaf->parent, leaf->lowkey, 0);
		next_leaf(list, leaf->lowkey);
	}
	slicelist_close(list);
}

/* Reopen a slice's last leaf, which is in the shared block. */
static void
stitch_reopen(BtLevel *leaf, BtSliceOut *out, BlockNumber leftblk)
{
	leaf->open = out->open;
	leaf->open.page = pagewrite_get_buffer(&leaf->load->base.writer);
	memcpy(leaf->open.page, out->last.data, BLCKSZ);
	if (out->npages == 1)
		BTPageGetOpaque(leaf->open.page)->btpo_prev = leftblk;
}

/*
 * Complete the leaf level.  On return, leaf->open is the level's rightmost
 * page, unless there are no tuples.
 */
static void
stitch_slices(BtLevel *leaf)
{
	Load	   *load = &leaf->load->base;
	BlockNumber leftblk = P_NONE;

	for (int i = 0; i < load->shared->nslices; i++)
	{
		BtSliceOut *out = load_part(load, i);

		if (!out->loaded)
			elog(ERROR, "slice %d was not loaded", i);
		if (out->npages == 0)
			continue;

		if (leaf->open.page != NULL)
		{
			/* the open page ends where this slice begins */
			Page		first = out->npages > 1 ?
				out->first.data : out->last.data;
			IndexTuple	border = btpage_first_tuple(first);

			level_add(leaf, border, 0);
			pfree(border);
			leftblk = leaf->open.blkno;
			level_close_page(leaf, out->firstblk);
		}
		if (out->npages > 1)
			stitch_front(leaf, i, out, leftblk);
		stitch_reopen(leaf, out, leftblk);
	}
}

/* Finish each level's rightmost page, from the leaves up.  Returns the root. */
static BtOpenPage
finish_levels(BtLevel *leaf)
{
	BtLevel    *level = leaf;

	for (;; level = level->parent)
	{
		bool		is_root = (level->parent == NULL);

		if (is_root)
			BTPageGetOpaque(level->open.page)->btpo_flags |= BTP_ROOT;
		else
			level_put_downlink(level);
		btpage_close_rightmost(&level->open);
		pagewrite_page(&level->load->base.writer, level->open.page,
					   level->open.blkno);
		if (is_root)
			return level->open;
	}
}

static void
make_deleted(Page page)
{
	_bt_pageinit(page, BLCKSZ);
	BTPageSetDeleted(page, FirstNormalFullTransactionId);
}

/* LoadMethod.finish */
static void
finish(Load *base, Build *build)
{
	BtLoad	   *load = (BtLoad *) base;
	PageWriter *writer = &base->writer;
	BtOpenPage	root = {.blkno = P_NONE};
	Page		meta;

	fault_point("btload: stitch");
	if (base->fileset != NULL)
	{
		level_init(&load->leaf, load);
		stitch_slices(&load->leaf);
	}
	fault_point("btload: upper levels");
	if (load->leaf.open.page != NULL)
		root = finish_levels(&load->leaf);
	pagewrite_retire_spare(writer, make_deleted);

	/* write the metapage last: it makes the file a btree */
	fault_point("btload: metapage");
	meta = pagewrite_get_buffer(writer);
	_bt_initmetapage(meta, root.blkno, root.level, base->shared->allequalimage);
	pagewrite_page(writer, meta, BTREE_METAPAGE);
}

const LoadMethod btload = {
	.size = sizeof(BtLoad),
	.reserved = BTREE_METAPAGE + 1,
	.part_size = sizeof(BtSliceOut),
	.by_slice = true,
	.begin = begin,
	.add_slice = add_slice,
	.finish = finish
};
