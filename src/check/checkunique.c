/*-------------------------------------------------------------------------
 *
 * checkunique.c
 *	  Looks for rows with equal keys in a unique index.
 *
 * Old row versions may have entries with equal keys.  So entries are duplicates
 * only if the statement's snapshot sees two of their rows.  An index scan would
 * return both.  The rows are still there: nothing removes a row that a snapshot
 * sees, or gives its TID to another row.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

/*
 * True if the snapshot sees the row, and the server already compared its key
 * with those of other rows: for a deferrable constraint it does that later.  It
 * compares the version to which the index points, not its HOT updates.
 */
static bool
is_visible(CheckIndex *self, ItemPointerData tid)
{
	ItemPointerData first = tid;
	TupleTableSlot *slot;
	bool		isnull;
	Datum		xmin = ObjectIdGetDatum(InvalidTransactionId);

	if (!table_index_fetch_tuple_check(self->heap, &tid, GetActiveSnapshot(),
									   NULL))
		return false;
	if (self->index->rd_index->indimmediate ||
		self->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return true;
	slot = table_slot_create(self->heap, NULL);
	if (table_tuple_fetch_row_version(self->heap, &first, SnapshotAny, slot))
		xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);
	ExecDropSingleTupleTableSlot(slot);
	return !TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

static int
count_visible(CheckIndex *self, IndexTuple tuple)
{
	ItemPointer tids = BTreeTupleGetHeapTID(tuple);
	int			n = checkpage_tids(tuple);
	int			visible = 0;

	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid = tids[i];

		CHECK_FOR_INTERRUPTS();
		if (ItemPointerGetBlockNumber(&tid) <
			RelationGetNumberOfBlocks(self->heap) &&
			checkread_table(self, ItemPointerGetBlockNumber(&tid)) &&
			is_visible(self, tid))
			visible++;
	}
	return visible;
}

/* True if a tuple with these keys may be in a unique index twice. */
static bool
may_repeat(const CheckIndex *self, const CheckPage *page, int i)
{
	if (self->index->rd_index->indnullsnotdistinct)
		return false;
	for (int c = 0; c < self->nkeys; c++)
		if (page->isnull[i * self->nkeys + c])
			return true;
	return false;
}

/*
 * Returns the number of visible rows of pages to the right whose keys equal the
 * last keys of self->here, at most 1.
 */
static int
count_to_the_right(CheckIndex *self)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;
	BlockNumber block = checkpage_opaque(here)->btpo_next;

	/* damaged links may form a circle */
	for (BlockNumber n = 0; n < self->tree->nblocks && block != P_NONE; n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (checkread_page(self, block, there) != NULL ||
			PageIsNew((Page) there->page))
			return 0;
		(void) checkpage_tuples(self, there, MaxIndexTuplesPerPage, true);
		if (!P_ISLEAF(checkpage_opaque(there)))
			return 0;
		for (int i = checkpage_first(there);
			 i <= there->last && checkpage_is_live(there); i++)
		{
			if (there->tuples[i] == NULL)
				return 0;
			(void) check_compare(self, here, here->last, there, i, true);
			if (!self->same_keys)
				return 0;
			if (count_visible(self, there->tuples[i]) > 0)
				return 1;
		}
		block = checkpage_opaque(there)->btpo_next;
	}
	return 0;
}

void
checkunique_page(CheckIndex *self)
{
	const CheckPage *page = self->here;
	int			visible = 0;
	bool		counted = false;

	/* looks at the rows only of tuples that may have an equal tuple */
	for (int i = checkpage_first(page); i <= page->last; i++)
	{
		bool		is_last = i == page->last;
		bool		has_equal = counted || page->same[i] || is_last;

		if (page->tuples[i] == NULL || may_repeat(self, page, i))
		{
			visible = 0;
			counted = false;
			continue;
		}
		if (has_equal || BTreeTupleIsPosting(page->tuples[i]))
			visible += count_visible(self, page->tuples[i]);
		if (is_last && visible == 1)
			visible += count_to_the_right(self);
		counted = page->same[i];
		if (counted)
			continue;
		if (visible > 1)
			check_found(self, CHECK_DUPLICATE, page->block, i,
						"%d rows have the same keys", visible);
		visible = 0;
	}
}
