/*-------------------------------------------------------------------------
 *
 * btload.c
 *	  Loads a btree index from tuples in index order, by one or several
 *	  processes.
 *
 * BtLevel		one level of the tree while it is written: its open page, and
 *				where its finished pages' downlinks go
 * BtSlice		the leaf level of one slice
 * BtSliceOut	what a finished slice leaves in the shared block
 * BtLoad		a participant: its writer and what it knows about the index
 *
 * Stitching.  A slice's first leaf has no left sibling and no low key yet: the
 * low key is the high key of the slice before.  Its last leaf is still open.
 * So both are kept in the shared block instead of the file, and the list of
 * links holds all leaves except the first.  The leader goes over the slices in
 * order.  It writes the first leaf, adds the list to level 1, and adds the next
 * slice's first tuple to the last leaf as if the stream went on: that tuple
 * becomes the high key, as at any other page border.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btentry.h"
#include "btree/btlinks.h"
#include "btree/btload.h"
#include "btree/btpage.h"
#include "btree/btwrite.h"
#include "fault.h"
#include "miscadmin.h"
#include "util.h"
#include "utils/memutils.h"

typedef enum BtSliceState
{
	BTSLICE_MISSING,			/* must be zero */
	BTSLICE_LOADED
} BtSliceState;

typedef struct BtSliceOut
{
	BtSliceState state;
	int64		npages;			/* leaves, including first and last */
	BlockNumber firstblk;
	BlockNumber lastblk;
	OffsetNumber lastoff;		/* BtOpenPage fields of the last leaf */
	Size		lastextra;
	bool		exported;		/* true if its list is in the file set */
	PGAlignedBlock first;		/* first leaf, closed; unset if npages = 1 */
	PGAlignedBlock last;		/* last leaf, open; unset if npages = 0 */
} BtSliceOut;

typedef struct BtParticipant
{
	BtChunk		rest;			/* unused blocks */
	int64		pages;			/* pages written */
} BtParticipant;

/*
 * BtLoadShared: header of the shared block, followed by nparticipants
 * BtParticipants and nslices BtSliceOuts.  A participant writes its own entry
 * and those of its slices; the leader reads them when all have ended.
 */
struct BtLoadShared
{
	BtFileShared file;
	pg_atomic_uint64 tuples;	/* added and reported, by all participants */
	bool		allequalimage;
	int			nslices;
};

typedef struct BtLevel
{
	BtLoad	   *load;
	BtOpenPage	open;			/* page is NULL before the first tuple */
	IndexTuple	lowkey;			/* of the open page; in a page-sized buffer */
	struct BtLevel *parent;		/* NULL if none yet */
	BtSlice    *slice;			/* if this is the leaf level of a slice */
} BtLevel;

struct BtSlice
{
	BtLoad	   *load;
	int			number;
	BtSliceOut *out;
	BtLevel		leaf;
	BtPending	pending;		/* if the index is deduplicated */
	bool		last_is_plain;	/* true if the page's last item is a single
								 * tuple that btload_add put there */
	BtLinks    *links;
};

struct BtLoad
{
	BtLoadShared *shared;
	int			participant;
	SharedFileSet *fileset;
	MemoryContext cxt;			/* everything of this load */
	BtRules		rules;
	BtWriter	writer;
	BtLinks   **links;			/* private lists of slices we loaded */
	int64		all_tuples;		/* expected of all participants */
	int64		tuples;			/* added by this participant */
	int64		reported;		/* part of 'tuples' already reported by
								 * btload_report */
	int64		leaves;			/* begun by this participant */
};


/*
 * The shared block
 */

static BtParticipant *
shared_participant(const BtLoadShared *shared, int participant)
{
	char	   *base = (char *) shared + MAXALIGN(sizeof(BtLoadShared));

	Assert(participant >= 0 && participant < shared->file.nparticipants);
	return (BtParticipant *) base + participant;
}

static BtSliceOut *
shared_slice(const BtLoadShared *shared, int slice)
{
	char	   *base = (char *) shared + MAXALIGN(sizeof(BtLoadShared)) +
		MAXALIGN(shared->file.nparticipants * sizeof(BtParticipant));

	Assert(slice >= 0 && slice < shared->nslices);
	return (BtSliceOut *) base + slice;
}

Size
btload_estimate(int nparticipants, int nslices)
{
	Size		size = MAXALIGN(sizeof(BtLoadShared));

	size = add_size(size, MAXALIGN(mul_size(nparticipants,
											sizeof(BtParticipant))));
	return add_size(size, mul_size(nslices, sizeof(BtSliceOut)));
}

void
btload_init_shared(BtLoadShared *shared, Relation index, int nparticipants,
				   int nslices)
{
	Assert(nparticipants > 0 && nslices > 0);
	Assert((void *) MAXALIGN(shared) == (void *) shared);

	btwrite_init_shared(&shared->file, index, nparticipants);
	pg_atomic_init_u64(&shared->tuples, 0);
	shared->allequalimage = _bt_allequalimage(index, true);
	shared->nslices = nslices;
	for (int i = 0; i < nparticipants; i++)
		memset(shared_participant(shared, i), 0, sizeof(BtParticipant));
	/* leave the pages in BtSliceOut uninitialised */
	for (int i = 0; i < nslices; i++)
		memset(shared_slice(shared, i), 0, offsetof(BtSliceOut, first));
}


/*
 * Levels
 */

static void level_add(BtLevel *level, IndexTuple itup, Size extra);

static void
level_init(BtLevel *level, BtLoad *load)
{
	memset(level, 0, sizeof(BtLevel));
	level->load = load;
	level->lowkey = MemoryContextAlloc(load->cxt, BLCKSZ);
	/* minus infinity until a page is closed */
	memset(level->lowkey, 0, sizeof(IndexTupleData));
	level->lowkey->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(level->lowkey, 0, false);
}

/*
 * Estimate, for the writer, the leaves of all tuples not added yet: to_come, if
 * these are like this participant's leaves, and at_least, the minimum.
 */
static void
expect_leaves(BtLoad *load)
{
	BtWriter   *writer = &load->writer;
	int64		tuples = load->all_tuples - btload_report(load);
	double		leaves = Max(tuples, 0) / (double) MaxTIDsPerBTreePage;

	writer->at_least = (BlockNumber) Min(leaves, (double) MaxBlockNumber);
	if (load->leaves > 0)
		leaves = Max(tuples, 0) * ((double) load->leaves / load->tuples);
	writer->to_come = (BlockNumber) Min(leaves, (double) MaxBlockNumber);
}

static BlockNumber
level_get_block(BtLevel *level)
{
	BtLoad	   *load = level->load;

	if (btwrite_needs_chunk(&load->writer))
		expect_leaves(load);
	if (level->slice)
		load->leaves++;
	return btwrite_get_block(&load->writer);
}

/*
 * Begin the level's first page.
 */
static void
level_open(BtLevel *level, uint32 number)
{
	btpage_open(&level->open, btwrite_get_buffer(&level->load->writer),
				level_get_block(level), number);
}

/*
 * Add the downlink of the open page to the level above.
 */
static void
level_put_downlink(BtLevel *level)
{
	BTreeTupleSetDownLink(level->lowkey, level->open.blkno);
	if (level->slice)
	{
		/* stitching adds the first leaf, whose low key is not known here */
		if (level->open.blkno != level->slice->out->firstblk)
			btlinks_append(level->slice->links, level->lowkey);
		return;
	}
	if (level->parent == NULL)
	{
		level->parent = MemoryContextAlloc(level->load->cxt, sizeof(BtLevel));
		level_init(level->parent, level->load);
		level_open(level->parent, level->open.level + 1);
	}
	level_add(level->parent, level->lowkey, 0);
}

/*
 * Add the open page's high key, downlink and right sibling, and write the page.
 * The high key becomes the low key of the next page.
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

	if (level->slice && open->blkno == level->slice->out->firstblk)
	{
		memcpy(level->slice->out->first.data, open->page, BLCKSZ);
		btwrite_release_buffer(&load->writer, open->page);
	}
	else
		btwrite_page(&load->writer, open->page, open->blkno);
	open->page = NULL;
}

static pg_noinline void
level_next_page(BtLevel *level)
{
	BtOpenPage	next;

	CHECK_FOR_INTERRUPTS();

	btpage_open(&next, btwrite_get_buffer(&level->load->writer),
				level_get_block(level), level->open.level);
	btpage_carry_over(&level->open, &next);
	BTPageGetOpaque(next.page)->btpo_prev = level->open.blkno;
	level_close_page(level, next.blkno);
	level->open = next;
	if (level->slice)
		level->slice->out->npages++;
}

/*
 * Add a tuple to the level.  'extra' is the size of its posting list.
 */
static void
level_add(BtLevel *level, IndexTuple itup, Size extra)
{
	Size		size = MAXALIGN(IndexTupleSize(itup));

	if (unlikely(size > pt_bt_max_item_size(level->open.page)))
		btpage_check_size(&level->load->rules, &level->open, itup);
	if (unlikely(!btpage_has_room(&level->load->rules, &level->open, size)))
		level_next_page(level);
	btpage_append(&level->open, itup, size, extra);
}


/*
 * Participants and slices
 */

BtLoad *
btload_begin(BtLoadShared *shared, int participant, Relation heap,
			 Relation index, SharedFileSet *fileset, int64 all_tuples)
{
	MemoryContext cxt,
				oldcxt;
	BtLoad	   *load;

	Assert(fileset != NULL || shared->file.nparticipants == 1);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "ptsort load",
								ALLOCSET_DEFAULT_SIZES);
	oldcxt = MemoryContextSwitchTo(cxt);
	load = palloc0(sizeof(BtLoad));
	load->shared = shared;
	load->participant = participant;
	load->fileset = (shared->file.nparticipants > 1) ? fileset : NULL;
	load->cxt = cxt;
	load->all_tuples = all_tuples;
	load->links = palloc0(mul_size(shared->nslices, sizeof(BtLinks *)));
	btpage_rules(&load->rules, heap, index, shared->allequalimage);
	btwrite_begin(&load->writer, &shared->file, index);
	MemoryContextSwitchTo(oldcxt);
	return load;
}

BtSlice *
btload_begin_slice(BtLoad *load, int number)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(load->cxt);
	BtSlice    *slice = palloc0(sizeof(BtSlice));

	fault_point("btload: begin slice");
	slice->load = load;
	slice->number = number;
	slice->out = shared_slice(load->shared, number);
	if (slice->out->state != BTSLICE_MISSING)
		elog(ERROR, "slice %d is loaded twice", number);
	slice->links = btlinks_create(load->fileset, number);
	level_init(&slice->leaf, load);
	slice->leaf.slice = slice;
	if (load->rules.deduplicate)
		btpending_init(&slice->pending);
	MemoryContextSwitchTo(oldcxt);
	return slice;
}

static pg_noinline void
slice_open(BtSlice *slice)
{
	level_open(&slice->leaf, 0);
	slice->out->firstblk = slice->leaf.open.blkno;
	slice->out->npages = 1;
}

static void
slice_add_pending(BtSlice *slice)
{
	Size		extra;
	IndexTuple	itup = btpending_finish(&slice->pending, &extra);

	level_add(&slice->leaf, itup, extra);
}

/*
 * True if the tuple is equal to the last one on the page, and a posting list
 * has room for both.
 */
static inline bool
repeats_last(const BtSlice *slice, IndexTuple itup)
{
	IndexTuple	last;

	if (!slice->last_is_plain)
		return false;
	last = btpage_last(&slice->leaf.open);
	return btpage_same_image(&slice->load->rules, last, itup) &&
		btpending_most(IndexTupleSize(last)) >= 2;
}

/* Begin a posting list with the last tuple of the page, and remove that. */
static void
slice_take_back(BtSlice *slice)
{
	BtOpenPage *open = &slice->leaf.open;

	btpending_start(&slice->pending, btpage_last(open));
	btpage_take_back(open);
	slice->last_is_plain = false;
}

void
btload_add(BtSlice *slice, IndexTuple itup)
{
	BtPending  *pending = &slice->pending;

	Assert((itup->t_info & INDEX_ALT_TID_MASK) == 0);
	slice->load->tuples++;
	if (unlikely(slice->leaf.open.page == NULL))
		slice_open(slice);
	if (slice->load->rules.deduplicate)
	{
		if (pending->keysize > 0)
		{
			if (btpending_accept(&slice->load->rules, pending, itup))
				return;
			slice_add_pending(slice);
		}
		else if (repeats_last(slice, itup))
		{
			slice_take_back(slice);
			btpending_add(pending, &itup->t_tid);
			return;
		}
		slice->last_is_plain = true;
	}
	level_add(&slice->leaf, itup, 0);
}

void
btload_add_entries(BtSlice *slice, const KeyForm *form, const uint64 *entries,
				   int n)
{
	BtLevel    *leaf = &slice->leaf;
	int			stride = form->nwords + 1;

	slice->load->tuples += n;
	if (unlikely(leaf->open.page == NULL))
		slice_open(slice);
	while (n > 0)
	{
		bool		full = false;
		int			done;

		if (slice->pending.keysize > 0)
		{
			done = btentry_accept(&slice->pending, form, entries, n);
			if (done == n)
				break;
			entries += done * stride;
			n -= done;
			slice_add_pending(slice);
		}
		done = btentry_fill(&slice->load->rules, &leaf->open, form, entries, n,
							&full);
		entries += done * stride;
		n -= done;
		if (full)
			level_next_page(leaf);
		else if (n > 0)
		{
			btentry_start(&slice->pending, form, entries);
			entries += stride;
			n--;
		}
	}
}

int64
btload_report(BtLoad *load)
{
	int64		added = load->tuples - load->reported;

	load->reported = load->tuples;
	return (int64) pg_atomic_add_fetch_u64(&load->shared->tuples, added);
}

void
btload_end_slice(BtSlice *slice)
{
	BtSliceOut *out = slice->out;
	BtOpenPage *open = &slice->leaf.open;

	fault_point("btload: end slice");
	if (slice->pending.keysize > 0)
		slice_add_pending(slice);
	if (open->page != NULL)
	{
		level_put_downlink(&slice->leaf);
		out->lastblk = open->blkno;
		out->lastoff = open->lastoff;
		out->lastextra = open->lastextra;
		memcpy(out->last.data, open->page, BLCKSZ);
		btwrite_release_buffer(&slice->load->writer, open->page);
	}
	if (slice->links->nlinks == 0)
		btlinks_free(slice->links);
	else if (slice->load->fileset)
	{
		btlinks_export(slice->links);
		out->exported = true;
	}
	else
		slice->load->links[slice->number] = slice->links;
	out->state = BTSLICE_LOADED;

	pfree(slice->leaf.lowkey);
	if (slice->pending.base)
		pfree(slice->pending.base);
	pfree(slice);
}

/*
 * Write remaining pages and store what the leader needs in the shared block.
 */
static void
participant_end(BtLoad *load)
{
	BtParticipant *me = shared_participant(load->shared, load->participant);

	btwrite_flush(&load->writer);
	me->rest = load->writer.chunk;
	me->pages = load->writer.pages_written;
}

/* Free private lists that were not read, because the build starts over. */
static void
free_links(BtLoad *load)
{
	for (int i = 0; i < load->shared->nslices; i++)
	{
		if (load->links[i] != NULL)
			btlinks_free(load->links[i]);
	}
}

void
btload_end(BtLoad *load)
{
	btwrite_return_chunk(&load->writer);
	participant_end(load);
	btwrite_end(&load->writer);
	free_links(load);
	MemoryContextDelete(load->cxt);
}

int
btload_participants(const BtLoadShared *shared)
{
	return shared->file.nparticipants;
}

int64
btload_pages(const BtLoadShared *shared, int participant)
{
	return shared_participant(shared, participant)->pages;
}


/*
 * The leader's part
 */

/*
 * Write the held-back first leaf of a slice, and add the slice's list to level
 * 1.  Leaves the low key of the slice's last leaf in 'leaf'.
 */
static void
stitch_front(BtLevel *leaf, int slice, BtSliceOut *out, BlockNumber leftblk)
{
	BtLoad	   *load = leaf->load;
	Page		first = btwrite_get_buffer(&load->writer);
	BtLinks    *links;

	memcpy(first, out->first.data, BLCKSZ);
	BTPageGetOpaque(first)->btpo_prev = leftblk;
	leaf->open.blkno = out->firstblk;
	level_put_downlink(leaf);
	btwrite_page(&load->writer, first, out->firstblk);

	/* leaves 2 to npages; closing the last one will add its downlink */
	if (out->exported)
		links = btlinks_open(load->fileset, slice);
	else
	{
		links = load->links[slice];
		load->links[slice] = NULL;
		btlinks_rewind(links);
	}
	btlinks_next(links, leaf->lowkey);
	for (int64 i = 2; i < out->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		level_add(leaf->parent, leaf->lowkey, 0);
		btlinks_next(links, leaf->lowkey);
	}
	btlinks_free(links);
}

/*
 * Open the held-back last leaf of a slice again.
 */
static void
stitch_reopen(BtLevel *leaf, BtSliceOut *out, BlockNumber leftblk)
{
	leaf->open.page = btwrite_get_buffer(&leaf->load->writer);
	memcpy(leaf->open.page, out->last.data, BLCKSZ);
	leaf->open.blkno = out->lastblk;
	leaf->open.level = 0;
	leaf->open.lastoff = out->lastoff;
	leaf->open.lastextra = out->lastextra;
	if (out->npages == 1)
		BTPageGetOpaque(leaf->open.page)->btpo_prev = leftblk;
}

/*
 * Complete the leaf level.  On return 'leaf' holds its rightmost page, still
 * open, unless there are no tuples.
 */
static void
stitch_slices(BtLevel *leaf)
{
	BtLoadShared *shared = leaf->load->shared;
	BlockNumber leftblk = P_NONE;

	for (int i = 0; i < shared->nslices; i++)
	{
		BtSliceOut *out = shared_slice(shared, i);

		if (out->state != BTSLICE_LOADED)
			elog(ERROR, "slice %d was not loaded", i);
		if (out->npages == 0)
			continue;

		if (leaf->open.page != NULL)
		{
			/* the page before ends where this slice begins */
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

/*
 * Finish each level's rightmost page, from the leaves up.  Returns the root.
 */
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
		btwrite_page(&level->load->writer, level->open.page, level->open.blkno);
		if (is_root)
			return level->open;
	}
}

/*
 * Make the leader the only writer, with the left-over blocks of all
 * participants.
 */
static void
take_over(BtLoad *load)
{
	int			n = load->shared->file.nparticipants;
	BtChunk    *rest = MemoryContextAlloc(load->cxt,
										  mul_size(n + 2, sizeof(BtChunk)));

	participant_end(load);
	for (int i = 0; i < n; i++)
		rest[i] = shared_participant(load->shared, i)->rest;
	btwrite_take_over(&load->writer, rest, n);
}

void
btload_finish(BtLoad *load)
{
	BtLevel		leaf;
	BtOpenPage	root;
	MemoryContext oldcxt = MemoryContextSwitchTo(load->cxt);
	BtWriter   *writer = &load->writer;
	Page		meta;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	take_over(load);

	fault_point("btload: stitch");
	level_init(&leaf, load);
	stitch_slices(&leaf);
	fault_point("btload: upper levels");
	root.blkno = P_NONE;
	root.level = 0;
	if (leaf.open.page != NULL)
		root = finish_levels(&leaf);
	btwrite_retire_spare(writer);

	/* the metapage comes last: it makes the file a btree */
	fault_point("btload: metapage");
	meta = btwrite_get_buffer(writer);
	_bt_initmetapage(meta, root.blkno, root.level, load->shared->allequalimage);
	btwrite_page(writer, meta, BTREE_METAPAGE);
	btwrite_flush(writer);
	pt_log_part("stitch", start);
	INSTR_TIME_SET_CURRENT(start);
	btwrite_sync(writer);
	pt_log_part("sync", start);
	btwrite_end(writer);

	MemoryContextSwitchTo(oldcxt);
	MemoryContextDelete(load->cxt);
}
