/*-------------------------------------------------------------------------
 *
 * leaves.c
 *	  Reads the TIDs of all leaves of a btree index, beside writers; see
 *	  validate.h.
 *
 * A process follows the links to the right, as an index scan does.  A split
 * moves entries to a new page on the right, which the process reads next.  If
 * it already read the page that splits, it follows the old link, and does not
 * see the moved entries again.  VACUUM, which deletes pages, conflicts with the
 * lock of the statement that validates the index.  So the first leaf of each
 * part stays where it is, and the process that reads the part before meets it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "throttle/throttle.h"
#include "validate/validate.h"

/* Look for the parts on the first level that has so many pages. */
#define LEAST_PARTS		32

/* Number of leaves between two points at which a process may pause */
#define POINT			16

static BTPageOpaque
copy_page(Relation index, BlockNumber block, BufferAccessStrategy strategy,
		  PGAlignedBlock *copy)
{
	Buffer		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block,
											RBM_NORMAL, strategy);

	LockBuffer(buffer, BT_READ);
	_bt_checkpage(index, buffer);
	memcpy(copy->data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return BTPageGetOpaque((Page) copy->data);
}

static BlockNumber
child_of(const PGAlignedBlock *copy, OffsetNumber offset)
{
	Page		page = (Page) copy->data;

	return BTreeTupleGetDownLink((IndexTuple)
								 PageGetItem(page, PageGetItemId(page, offset)));
}

/*
 * Replace n pages of one level by their children.  Returns the number of these,
 * or 0 if the pages are leaves.
 */
static int
expand(Relation index, BlockNumber **level, int n)
{
	BlockNumber *children = palloc(mul_size(n, MaxIndexTuplesPerPage *
											sizeof(BlockNumber)));
	int			nchildren = 0;
	PGAlignedBlock copy;

	for (int i = 0; i < n; i++)
	{
		BTPageOpaque opaque = copy_page(index, (*level)[i], NULL, &copy);
		OffsetNumber last = PageGetMaxOffsetNumber((Page) copy.data);

		if (P_ISLEAF(opaque))
			return 0;
		for (OffsetNumber offset = P_FIRSTDATAKEY(opaque); offset <= last;
			 offset++)
			children[nchildren++] = child_of(&copy, offset);
	}
	*level = children;
	return nchildren;
}

static BlockNumber
leftmost_leaf(Relation index, BlockNumber block)
{
	PGAlignedBlock copy;
	BTPageOpaque opaque;

	while (opaque = copy_page(index, block, NULL, &copy), !P_ISLEAF(opaque))
	{
		CHECK_FOR_INTERRUPTS();
		block = child_of(&copy, P_FIRSTDATAKEY(opaque));
	}
	return block;
}

void
leaves_divide(Relation index, LeafParts *parts)
{
	PGAlignedBlock copy;
	BlockNumber *level = palloc(sizeof(BlockNumber));
	int			n = 1;
	int			nchildren;
	int			stride;

	parts->n = 0;
	parts->first[0] = P_NONE;
	(void) copy_page(index, BTREE_METAPAGE, NULL, &copy);
	level[0] = BTPageGetMeta((Page) copy.data)->btm_root;
	if (level[0] == P_NONE)
		return;
	while (n < LEAST_PARTS && (nchildren = expand(index, &level, n)) > 0)
		n = nchildren;
	stride = (n + LEAF_PARTS - 1) / LEAF_PARTS;
	for (int i = 0; i < n; i += stride)
		parts->first[parts->n++] = leftmost_leaf(index, level[i]);
	parts->first[parts->n] = P_NONE;
}

static void
read_tids(const PGAlignedBlock *copy, BTPageOpaque opaque, LeafReader reader,
		  void *arg)
{
	Page		page = (Page) copy->data;
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = P_FIRSTDATAKEY(opaque); offset <= last;
		 offset++)
	{
		IndexTuple	tuple = (IndexTuple)
			PageGetItem(page, PageGetItemId(page, offset));

		if (BTreeTupleIsPosting(tuple))
			reader(BTreeTupleGetPosting(tuple), BTreeTupleGetNPosting(tuple),
				   arg);
		else
			reader(&tuple->t_tid, 1, arg);
	}
}

void
leaves_read(Relation index, const LeafParts *parts, int part,
			LeafReader reader, void *arg)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber block = parts->first[part];
	PGAlignedBlock copy;

	for (int n = 1; block != P_NONE && block != parts->first[part + 1]; n++)
	{
		BTPageOpaque opaque = copy_page(index, block, strategy, &copy);

		CHECK_FOR_INTERRUPTS();
		if (!P_IGNORE(opaque))
			read_tids(&copy, opaque, reader, arg);
		work_count(WORK_BLOCKS, 1);
		if (n % POINT == 0)
			throttle_point();
		block = opaque->btpo_next;
	}
	FreeAccessStrategy(strategy);
}
