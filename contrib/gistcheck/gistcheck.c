/*-------------------------------------------------------------------------
 *
 * gistcheck.c
 *	  gist_check(): checks the structure and the contents of a GiST index.
 *
 * The function reads the whole tree, and then the table.  It holds a ShareLock,
 * so nobody writes meanwhile.  It checks that
 *
 *	- each page is reachable once, and all other pages are deleted or new
 *	- all leaves have the same depth
 *	- each tuple lies in the key of its page's downlink
 *	- each heap TID is there once
 *	- each row that the index must have has a leaf tuple with the same bytes
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/gist_private.h"
#include "access/itup.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(gist_check);

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
	BlockNumber nblocks;
	bool	   *seen;			/* by block */
	int			depth;			/* of the first leaf; -1: none yet */
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
	if (!PageIsNew(page))
		gistcheckpage(check->index, buffer);
	UnlockReleaseBuffer(buffer);
	return page;
}

static IndexTuple
get_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
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

/* Check the tree below a page, whose downlink is 'parent' (NULL: the root). */
static void
visit(Check *check, BlockNumber block, IndexTuple parent, int depth)
{
	Page		page;

	check_stack_depth();
	if (block >= check->nblocks)
		damaged(check, block, "a downlink leads beyond the end");
	if (check->seen[block])
		damaged(check, block, "there are two ways to this page");
	check->seen[block] = true;
	page = copy_page(check, block);
	if (PageIsNew(page) || GistPageIsDeleted(page))
		damaged(check, block, "a downlink leads to a deleted page");
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
		MemoryContext old = MemoryContextSwitchTo(check->gist->tempCxt);

		if (parent != NULL &&
			gistgetadjusted(check->index, parent, tuple, check->gist) != NULL)
			damaged(check, block, "a tuple is not in the key of its parent");
		MemoryContextSwitchTo(old);
		MemoryContextReset(check->gist->tempCxt);
		if (GistPageIsLeaf(page))
			add_leaf(check, block, offset, tuple);
		else if (GistTupleIsInvalid(tuple))
			damaged(check, block, "there is an invalid tuple");
		else
			visit(check, ItemPointerGetBlockNumber(&tuple->t_tid), tuple,
				  depth + 1);
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

/* Pages that no downlink leads to must be unused. */
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
	same = IndexTupleSize(tuple) == IndexTupleSize(formed) &&
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

static void
check_rows(Check *check, Relation table)
{
	IndexInfo  *info = BuildIndexInfo(check->index);

	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	table_index_build_scan(table, check->index, info, false, false, check_row,
						   check, NULL);
}

Datum
gist_check(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	Relation	table = table_open(IndexGetRelation(index_id, false),
								   ShareLock);
	Relation	index = index_open(index_id, ShareLock);
	Check		check = {.index = index,.depth = -1,.room = 1024};

	if (index->rd_rel->relam != GIST_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a GiST index",
						RelationGetRelationName(index))));
	check.gist = initGISTstate(index);
	check.gist->tempCxt = createTempGistContext();
	check.nblocks = RelationGetNumberOfBlocks(index);
	check.seen = palloc_extended(check.nblocks,
								 MCXT_ALLOC_ZERO | MCXT_ALLOC_HUGE);
	check.leaves = palloc(check.room * sizeof(LeafTuple));
	visit(&check, GIST_ROOT_BLKNO, NULL, 0);
	check_unreached(&check);
	sort_leaves(&check);
	check_rows(&check, table);
	MemoryContextDelete(check.gist->tempCxt);
	freeGISTstate(check.gist);
	index_close(index, NoLock);
	table_close(table, NoLock);
	PG_RETURN_INT64(check.nleaves);
}
