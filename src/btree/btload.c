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
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "write/pagewrite.h"
#include "write/slicelist.h"

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

/*
 * BtLoadShared: header of the shared block.  Each participant's PageChunk of
 * unused blocks follows, then nslices BtSliceOuts.  A participant writes its
 * own chunk and slices; the leader reads them after all participants ended.
 */
typedef struct BtLoadShared
{
	PageFileShared file;
	bool		allequalimage;
	int			nslices;
} BtLoadShared;

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
	BtLoadShared *shared;
	int			participant;
	SharedFileSet *fileset;		/* files of the lists; NULL: sole participant */
	MemoryContext cxt;			/* for all memory of this load */
	BtRules		rules;
	PageWriter	writer;
	BtLevel		leaf;			/* leaf level of the current slice, or of the
								 * index (sole participant or stitching) */
	BtPending	pending;		/* used only if the index is deduplicated */

	/* The current slice, if it will be stitched: */
	BtSliceOut *out;			/* NULL if no slice will be stitched */
	int			slice;			/* number of the slice */
	SliceList  *list;			/* list of the slice's leaves; NULL if empty */

	int64		all_tuples;		/* tuples expected from all participants */
	int64		leaves;			/* leaves that this participant began */
};


static PageChunk *
rest_of(const BtLoadShared *shared, int participant)
{
	char	   *base = (char *) shared + MAXALIGN(sizeof(BtLoadShared));

	Assert(participant >= 0 && participant < shared->file.nparticipants);
	return (PageChunk *) base + participant;
}

static BtSliceOut *
slice_out(const BtLoadShared *shared, int slice)
{
	char	   *base = (char *) shared + MAXALIGN(sizeof(BtLoadShared)) +
		MAXALIGN(shared->file.nparticipants * sizeof(PageChunk));

	Assert(slice >= 0 && slice < shared->nslices);
	return (BtSliceOut *) base + slice;
}

Size
btload_shared_size(Team *team, int processes, int slices)
{
	Size		size = MAXALIGN(sizeof(BtLoadShared));

	size = add_size(size, MAXALIGN(mul_size(processes, sizeof(PageChunk))));
	return add_size(size, mul_size(slices, sizeof(BtSliceOut)));
}

void
btload_shared_init(Team *team, int processes, int slices)
{
	BtLoadShared *shared = team->shared;
	Relation	index = ((Build *) team)->index;

	/*
	 * Reserve the metapage's block, but leave the file empty until the load
	 * begins.  So if one of the index's functions runs the planner during the
	 * scan, the planner raises the same error as in a build by the server.
	 */
	pagewrite_init_shared(&shared->file, index, processes,
						  BTREE_METAPAGE + 1);
	shared->allequalimage = _bt_allequalimage(index, true);
	shared->nslices = slices;
	for (int i = 0; i < processes; i++)
		memset(rest_of(shared, i), 0, sizeof(PageChunk));
	/* leave the pages in BtSliceOut uninitialised */
	for (int i = 0; i < slices; i++)
		memset(slice_out(shared, i), 0, offsetof(BtSliceOut, first));
}


/* Add a leaf to the list of its slice, unless it is the first. */
static void
list_leaf(BtLoad *load, IndexTuple pivot)
{
	if (BTreeTupleGetDownLink(pivot) == load->out->firstblk)
		return;
	if (load->list == NULL)
	{
		MemoryContext oldcxt = MemoryContextSwitchTo(load->cxt);

		load->list = slicelist_open(load->fileset, load->slice, true);
		MemoryContextSwitchTo(oldcxt);
	}
	slicelist_append(load->list, pivot);
}


static void level_add(BtLevel *level, IndexTuple itup, Size extra);

static void
level_init(BtLevel *level, BtLoad *load)
{
	if (level->lowkey == NULL)
		level->lowkey = MemoryContextAlloc(load->cxt, BLCKSZ);
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
	PageWriter *writer = &load->writer;
	int64		to_come = load->all_tuples - pagewrite_report(&load->writer);
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

	if (pagewrite_needs_chunk(&load->writer))
		expect_leaves(load);
	btpage_open(open, pagewrite_get_buffer(&load->writer),
				pagewrite_get_block(&load->writer), number);
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
		list_leaf(level->load, level->lowkey);
		return;
	}
	if (level->parent == NULL)
	{
		level->parent = MemoryContextAllocZero(level->load->cxt,
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
		pagewrite_release_buffer(&load->writer, open->page);
	}
	else
		pagewrite_page(&load->writer, open->page, open->blkno);
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


BtLoad *
btload_begin(const Build *build)
{
	BtLoadShared *shared = build->team.shared;
	MemoryContext cxt,
				oldcxt;
	PtSortStats stats;
	BtLoad	   *load;

	cxt = AllocSetContextCreate(CurrentMemoryContext, "ptsort load",
								ALLOCSET_DEFAULT_SIZES);
	oldcxt = MemoryContextSwitchTo(cxt);
	load = palloc0(sizeof(BtLoad));
	load->shared = shared;
	load->participant = build->team.participant;
	load->fileset = (shared->file.nparticipants > 1) ?
		shared_fileset(build->team.sort_shared) : NULL;
	load->cxt = cxt;
	sort_stats(build->team.sort, &stats);
	load->all_tuples = stats.tuples;
	btpage_rules(&load->rules, build->heap, build->index,
				 shared->allequalimage);
	pagewrite_begin(&load->writer, &shared->file, build->index);
	load->writer.reports = build->team.is_leader;
	level_init(&load->leaf, load);
	if (load->rules.deduplicate)
		btpending_init(&load->pending);
	MemoryContextSwitchTo(oldcxt);
	return load;
}

void
btload_begin_slice(BtLoad *load, int slice)
{
	fault_point("btload: begin slice");
	if (load->fileset == NULL)
		return;
	load->out = slice_out(load->shared, slice);
	load->slice = slice;
	if (load->out->loaded)
		elog(ERROR, "slice %d is loaded twice", slice);
	level_init(&load->leaf, load);
}

static void
add_pending(BtLoad *load)
{
	Size		extra;
	IndexTuple	itup = btpending_finish(&load->pending, &extra);

	level_add(&load->leaf, itup, extra);
}

void
btload_add(BtLoad *load, IndexTuple itup)
{
	Assert((itup->t_info & INDEX_ALT_TID_MASK) == 0);
	if (++load->writer.tuples % PAGEWRITE_STEP == 0)
		(void) pagewrite_report(&load->writer);
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

void
btload_add_entries(BtLoad *load, const KeyPack *pack, const uint64 *entries,
				   int n)
{
	int			stride = pack->nwords + 1;

	load->writer.tuples += n;
	(void) pagewrite_report(&load->writer);
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
		pagewrite_release_buffer(&load->writer, open->page);
		open->page = NULL;
	}
	if (load->list != NULL)
	{
		fault_point("btload: export list");
		slicelist_end(load->list);
		load->list = NULL;
	}
	out->loaded = true;
	load->out = NULL;
}

void
btload_end_slice(BtLoad *load)
{
	fault_point("btload: end slice");
	if (load->pending.keysize > 0)
		add_pending(load);
	if (load->out != NULL)
		leave_slice(load);
	(void) pagewrite_report(&load->writer);
}

int64
btload_end(BtLoad *load)
{
	int64		pages;

	pagewrite_flush(&load->writer);
	*rest_of(load->shared, load->participant) = load->writer.chunk;
	pages = pagewrite_end(&load->writer);
	MemoryContextDelete(load->cxt);
	return pages;
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
	Page		first = pagewrite_get_buffer(&load->writer);
	SliceList  *list;

	memcpy(first, out->first.data, BLCKSZ);
	BTPageGetOpaque(first)->btpo_prev = leftblk;
	leaf->open.blkno = out->firstblk;
	level_put_downlink(leaf);
	pagewrite_page(&load->writer, first, out->firstblk);

	/* add the downlinks of all leaves between the first and the last leaf */
	fault_point("btload: open list");
	list = slicelist_open(load->fileset, slice, false);
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
	leaf->open.page = pagewrite_get_buffer(&leaf->load->writer);
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
	BtLoadShared *shared = leaf->load->shared;
	BlockNumber leftblk = P_NONE;

	for (int i = 0; i < shared->nslices; i++)
	{
		BtSliceOut *out = slice_out(shared, i);

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
		pagewrite_page(&level->load->writer, level->open.page,
					   level->open.blkno);
		if (is_root)
			return level->open;
	}
}

static void
take_over(BtLoad *load)
{
	int			n = load->shared->file.nparticipants;
	PageChunk  *rest = MemoryContextAlloc(load->cxt,
										  mul_size(n + 1, sizeof(PageChunk)));

	pagewrite_flush(&load->writer);
	rest[0] = load->writer.chunk;
	for (int i = 1; i < n; i++)
		rest[i] = *rest_of(load->shared, i);
	pagewrite_take_over(&load->writer, rest, n);
}

static void
make_deleted(Page page)
{
	_bt_pageinit(page, BLCKSZ);
	BTPageSetDeleted(page, FirstNormalFullTransactionId);
}

int64
btload_finish(BtLoad *load)
{
	BtOpenPage	root;
	MemoryContext oldcxt = MemoryContextSwitchTo(load->cxt);
	PageWriter *writer = &load->writer;
	Page		meta;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	(void) pagewrite_report(writer);	/* for the view: all workers ended */
	take_over(load);

	fault_point("btload: stitch");
	if (load->fileset != NULL)
	{
		level_init(&load->leaf, load);
		stitch_slices(&load->leaf);
	}
	fault_point("btload: upper levels");
	root.blkno = P_NONE;
	root.level = 0;
	if (load->leaf.open.page != NULL)
		root = finish_levels(&load->leaf);
	pagewrite_retire_spare(writer, make_deleted);

	/* write the metapage last: it makes the file a btree */
	fault_point("btload: metapage");
	meta = pagewrite_get_buffer(writer);
	_bt_initmetapage(meta, root.blkno, root.level, load->shared->allequalimage);
	pagewrite_page(writer, meta, BTREE_METAPAGE);
	pagewrite_flush(writer);
	pt_log_part("stitch", start);
	INSTR_TIME_SET_CURRENT(start);
	pagewrite_sync(writer);
	pt_log_part("sync", start);
	MemoryContextSwitchTo(oldcxt);
	return btload_end(load);
}
