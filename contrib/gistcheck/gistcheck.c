/*-------------------------------------------------------------------------
 *
 * gistcheck.c
 *	  gist_check(): checks the structure and the contents of a GiST index.
 *
 * The function reads the whole tree, and then the table.  On a primary it holds
 * a ShareLock, so no other session writes.  On a standby the test must see to
 * that.  The function raises an error unless
 *
 *	- each page's header, line pointers and tuples are well formed; this
 *	  function calls a class's functions only for tuples that passed that check
 *	- each page in use has an LSN, and only flags that a finished page has
 *	- no page has a larger NSN than its parent's LSN; otherwise scans would
 *	  follow its right link
 *	- one downlink leads to each page except the root; all pages without a
 *	  downlink are deleted or new
 *	- all leaves have the same depth
 *	- each tuple lies in the key of its page's downlink
 *	- each heap TID is in the index once
 *	- each row that the index must have has a leaf tuple with the same bytes,
 *	  included columns too
 *
 * A tuple lies in a key if their union equals the key.  Inserts use the same
 * rule (gistgetadjusted) to decide whether they must change a key, so there is
 * no tolerance: a class that breaks the rule changes its keys at each insert.
 *
 * The function does not look for leaf tuples of dead rows, which are no damage.
 *
 * Functions of the index run as the owner of the table and with a restricted
 * search_path, as in a rebuild.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/gist_private.h"
#include "access/itup.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "fmgr.h"
#include "gistcheck.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(gist_check);

/* Flags of a page whose split, if any, is finished. */
#define FINISHED_FLAGS \
	(F_LEAF | F_DELETED | F_TUPLES_DELETED | F_HAS_GARBAGE)

/* LeafTuple: where the leaf tuple of a heap TID is. */
typedef struct LeafTuple
{
	ItemPointerData heap;
	OffsetNumber offset;
	BlockNumber block;
} LeafTuple;

typedef struct Check
{
	Relation	index;
	GISTSTATE  *gist;
	bool		tight;			/* each key must be its page's union */
	BlockNumber nblocks;
	BlockNumber table_blocks;
	bool	   *seen;			/* by block */
	int			depth;			/* of the first leaf; -1: none so far */
	LeafTuple  *leaves;
	int64		nleaves;
	int64		room;
} Check;

static void
damaged(const Check *check, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\", block %u: %s",
					RelationGetRelationName(check->index), block, what)));
}

/* Check the header and the special area of a page that is not new. */
static void
check_header(const Check *check, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;
	GISTPageOpaque opaque;

	if (PageGetPageSize(page) != BLCKSZ ||
		PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION ||
		header->pd_special != BLCKSZ - MAXALIGN(sizeof(GISTPageOpaqueData)))
		damaged(check, block, "this is no GiST page");
	opaque = GistPageGetOpaque(page);
	if (opaque->gist_page_id != GIST_PAGE_ID)
		damaged(check, block, "this is no GiST page");
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_upper != MAXALIGN(header->pd_upper))
		damaged(check, block, "the free space is out of bounds");
	if (XLogRecPtrIsInvalid(PageGetLSN(page)))
		damaged(check, block, "the page has no LSN");
	if (opaque->rightlink != InvalidBlockNumber &&
		(opaque->rightlink >= check->nblocks || opaque->rightlink == block))
		damaged(check, block, "the right link leads nowhere");
	if (opaque->flags & ~FINISHED_FLAGS)
		damaged(check, block, (opaque->flags & F_FOLLOW_RIGHT) ?
				"a split did not finish" : "there are unknown flags");
}

/* Returns a copy of a page. */
static Page
copy_page(const Check *check, BlockNumber block)
{
	Page		page = palloc(BLCKSZ);
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(check->index, block);
	LockBuffer(buffer, GIST_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (!PageIsNew(page))
		check_header(check, block, page);
	return page;
}

static IndexTuple
get_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/*
 * Returns a value's length, or 0 if the value has more than 'most' bytes or
 * must not be in an index.
 */
static Size
value_length(const char *value, int16 attlen, Size most)
{
	Size		length;

	if (attlen > 0)
		length = attlen;
	else if (attlen == -2)
		length = strnlen(value, most) + 1;
	else if (most == 0 || VARATT_IS_1B_E(value) ||
			 (!VARATT_IS_1B(value) && most < VARHDRSZ))
		length = 0;
	else
	{
		length = VARSIZE_ANY(value);
		if (length < (VARATT_IS_1B(value) ? VARHDRSZ_SHORT :
					  VARATT_IS_4B_C(value) ? VARHDRSZ_COMPRESSED : VARHDRSZ))
			length = 0;
	}
	return length <= most ? length : 0;
}

/*
 * Returns where the values of a tuple end, or 0 if they do not lie within the
 * tuple.
 */
Size
values_end(IndexTuple tuple, TupleDesc desc)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	const char *values = (const char *) tuple + start;
	Size		at = 0;
	Size		size;

	if (IndexTupleSize(tuple) < start)
		return 0;
	size = IndexTupleSize(tuple) - start;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Size		length;

		if (IndexTupleHasNulls(tuple) && att_isnull(i, (uint8 *) (tuple + 1)))
			continue;
		if (att->attlen == -1)
			at = att_align_pointer(at, att->attalign, -1, values + at);
		else
			at = att_align_nominal(at, att->attalign);
		if (at > size)
			return 0;
		length = value_length(values + at, att->attlen, size - at);
		if (length == 0)
			return 0;
		at += length;
	}
	return start + at;
}

/* Check the TID of a tuple: that of a row, or that of a page below. */
static void
check_tid(const Check *check, BlockNumber block, Page page, IndexTuple tuple)
{
	BlockNumber target = ItemPointerGetBlockNumberNoCheck(&tuple->t_tid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid);

	if (GistPageIsLeaf(page))
	{
		if (target >= check->table_blocks || offset == InvalidOffsetNumber ||
			offset > MaxOffsetNumber)
			damaged(check, block, "a tuple leads beyond the table");
	}
	else
	{
		if (offset != TUPLE_IS_VALID)
			damaged(check, block, "there is an invalid downlink");
		if (target >= check->nblocks)
			damaged(check, block, "a downlink leads beyond the end");
	}
}

/* Check the line pointers and the tuples of a page. */
static void
check_items(const Check *check, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;
	TupleDesc	desc = GistPageIsLeaf(page) ? check->gist->leafTupdesc :
		check->gist->nonLeafTupdesc;
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {false};

	if ((header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0)
		damaged(check, block, "there is half a line pointer");
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		int			start = ItemIdGetOffset(id);
		int			length = ItemIdGetLength(id);
		IndexTuple	tuple;

		if (!ItemIdIsNormal(id) &&
			!(ItemIdIsDead(id) && GistPageHasGarbage(page)))
			damaged(check, block, "a line pointer has no tuple");
		if (start < header->pd_upper || start != MAXALIGN(start) ||
			length < sizeof(IndexTupleData) || length != MAXALIGN(length) ||
			start + length > header->pd_special)
			damaged(check, block, "a line pointer is out of bounds");
		for (int i = start / MAXIMUM_ALIGNOF;
			 i < (start + length) / MAXIMUM_ALIGNOF; i++)
		{
			if (taken[i])
				damaged(check, block, "tuples overlap");
			taken[i] = true;
		}
		tuple = get_tuple(page, offset);
		if (IndexTupleSize(tuple) != length ||
			MAXALIGN(values_end(tuple, desc)) != length)
			damaged(check, block, "a tuple is damaged");
		check_tid(check, block, page, tuple);
	}
}

/* Check a page that the given downlink leads to (NULL: the root). */
static void
check_page(const Check *check, BlockNumber block, Page page, IndexTuple parent)
{
	if (PageIsNew(page) || GistPageIsDeleted(page))
		damaged(check, block, parent == NULL ? "the root is deleted" :
				"a downlink leads to a deleted page");
	if (!GistPageIsLeaf(page) && GistPageHasGarbage(page))
		damaged(check, block, "an inner page has dead tuples");
	check_items(check, block, page);
	if (!GistPageIsLeaf(page) &&
		PageGetMaxOffsetNumber(page) < FirstOffsetNumber)
		damaged(check, block, "an inner page is empty");
}

/* Check that all tuples of a page lie in the key of the page's downlink. */
static void
check_keys(const Check *check, BlockNumber block, Page page, IndexTuple parent)
{
	MemoryContext old = MemoryContextSwitchTo(check->gist->tempCxt);
	IndexTuple *tuples;
	int			n;

	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		if (gistgetadjusted(check->index, parent, get_tuple(page, offset),
							check->gist) != NULL)
			damaged(check, block, "a tuple is not in the key of its parent");
		MemoryContextReset(check->gist->tempCxt);
	}
	tuples = gistextractpage(page, &n);
	if (check->tight && n > 0 &&
		gistgetadjusted(check->index,
						gistunion(check->index, tuples, n, check->gist),
						parent, check->gist) != NULL)
		damaged(check, block, "the key of the parent is too large");
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->gist->tempCxt);
}

static void
add_leaf(Check *check, BlockNumber block, OffsetNumber offset, IndexTuple tuple)
{
	if (check->nleaves == check->room)
	{
		check->room *= 2;
		check->leaves = repalloc_huge(check->leaves,
									  check->room * sizeof(LeafTuple));
	}
	check->leaves[check->nleaves++] = (LeafTuple)
	{
		.heap = tuple->t_tid,.offset = offset,.block = block
	};
}

/*
 * Check the tree below a page, whose downlink is 'parent', a tuple of the page
 * 'above' (both NULL: the root).
 */
static void
visit(Check *check, BlockNumber block, Page above, IndexTuple parent, int depth)
{
	Page		page;

	check_stack_depth();
	if (check->seen[block])
		damaged(check, block, "there are two ways to this page");
	check->seen[block] = true;
	page = copy_page(check, block);
	check_page(check, block, page, parent);
	if (parent != NULL)
	{
		if (GistPageGetNSN(page) > PageGetLSN(above))
			damaged(check, block, "the NSN is larger than the parent's LSN");
		check_keys(check, block, page, parent);
	}
	if (GistPageIsLeaf(page))
	{
		if (check->depth < 0)
			check->depth = depth;
		if (check->depth != depth)
			damaged(check, block, "this leaf is not as deep as the first");
	}
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		IndexTuple	tuple = get_tuple(page, offset);

		if (GistPageIsLeaf(page))
			add_leaf(check, block, offset, tuple);
		else
			visit(check, ItemPointerGetBlockNumber(&tuple->t_tid), page,
				  tuple, depth + 1);
	}
	pfree(page);
}

static int
compare_leaves(const void *a, const void *b)
{
	return ItemPointerCompare(&((LeafTuple *) a)->heap,
							  &((LeafTuple *) b)->heap);
}

/* Sort the leaf tuples by their heap TIDs, which must be different. */
static void
sort_leaves(Check *check)
{
	qsort(check->leaves, check->nleaves, sizeof(LeafTuple), compare_leaves);
	for (int64 i = 1; i < check->nleaves; i++)
	{
		if (compare_leaves(&check->leaves[i - 1], &check->leaves[i]) == 0)
			damaged(check, check->leaves[i].block, "a heap TID is there twice");
	}
}

/* Pages that no downlink leads to must be deleted or new. */
static void
check_unreached(const Check *check)
{
	for (BlockNumber block = 0; block < check->nblocks; block++)
	{
		Page		page;

		if (check->seen[block])
			continue;
		page = copy_page(check, block);
		if (!PageIsNew(page) && !GistPageIsDeleted(page))
			damaged(check, block, "no downlink leads to this page");
		pfree(page);
	}
}

/* True if the leaf tuple has the bytes of a tuple formed from the row. */
static bool
is_same(const Check *check, const LeafTuple *leaf, IndexTuple formed)
{
	Buffer		buffer = ReadBuffer(check->index, leaf->block);
	IndexTuple	tuple;
	bool		same;

	LockBuffer(buffer, GIST_SHARE);
	tuple = get_tuple(BufferGetPage(buffer), leaf->offset);
	same = tuple->t_info == formed->t_info &&
		memcmp(tuple + 1, formed + 1,
			   IndexTupleSize(tuple) - sizeof(IndexTupleData)) == 0;
	UnlockReleaseBuffer(buffer);
	return same;
}

/* IndexBuildCallback: look for the leaf tuple of a row. */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *arg)
{
	Check	   *check = arg;
	LeafTuple	key = {.heap = *tid};
	MemoryContext old = MemoryContextSwitchTo(check->gist->tempCxt);
	IndexTuple	formed = gistFormTuple(check->gist, index, values, isnull,
									   true);
	LeafTuple  *leaf;

	leaf = bsearch(&key, check->leaves, check->nleaves, sizeof(LeafTuple),
				   compare_leaves);
	if (leaf == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" lacks the row (%u,%u)",
						RelationGetRelationName(index),
						ItemPointerGetBlockNumber(tid),
						ItemPointerGetOffsetNumber(tid))));
	if (!is_same(check, leaf, formed))
		damaged(check, leaf->block, "a tuple differs from its row");
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->gist->tempCxt);
}

/*
 * Call a function for all rows that this session sees and the index must have.
 * An index built CONCURRENTLY lacks dead rows that older snapshots still see.
 */
void
scan_rows(Relation table, Relation index, IndexBuildCallback callback,
		  void *arg)
{
	IndexInfo  *info = BuildIndexInfo(index);
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	TableScanDesc scan = table_beginscan_strat(table, snapshot, 0, NULL, true,
											   true);

	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	info->ii_Concurrent = true; /* use the snapshot */
	table_index_build_scan(table, index, info, true, false, callback, arg,
						   scan);
	UnregisterSnapshot(snapshot);
}

/*
 * Run as the table's owner, as ptsort's owner.h does.  Returns the level of
 * nested settings.
 */
int
enter_owner(Relation table)
{
	int			level = NewGUCNestLevel();
	Oid			user;
	int			context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(table->rd_rel->relowner,
						   context | SECURITY_RESTRICTED_OPERATION);
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	return level;
}

Datum
gist_check(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	LOCKMODE	lock = RecoveryInProgress() ? AccessShareLock : ShareLock;
	Relation	table = table_open(IndexGetRelation(index_id, false), lock);
	Relation	index = index_open(index_id, lock);
	Check		check = {.index = index,.depth = -1,.room = 1024};
	Oid			user;
	int			context;
	int			level;

	if (index->rd_rel->relam != GIST_AM_OID ||
		index->rd_rel->relkind != RELKIND_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a GiST index",
						RelationGetRelationName(index))));
	GetUserIdAndSecContext(&user, &context);
	level = enter_owner(table);
	check.tight = PG_GETARG_BOOL(1);
	check.gist = initGISTstate(index);
	check.gist->tempCxt = createTempGistContext();
	check.nblocks = RelationGetNumberOfBlocks(index);
	check.table_blocks = RelationGetNumberOfBlocks(table);
	if (check.nblocks == 0)
		damaged(&check, GIST_ROOT_BLKNO, "there is no root");
	check.seen = palloc_extended(check.nblocks,
								 MCXT_ALLOC_ZERO | MCXT_ALLOC_HUGE);
	check.leaves = palloc(check.room * sizeof(LeafTuple));
	visit(&check, GIST_ROOT_BLKNO, NULL, NULL, 0);
	check_unreached(&check);
	sort_leaves(&check);
	scan_rows(table, index, check_row, &check);
	MemoryContextDelete(check.gist->tempCxt);
	freeGISTstate(check.gist);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	index_close(index, NoLock);
	table_close(table, NoLock);
	PG_RETURN_INT64(check.nleaves);
}
