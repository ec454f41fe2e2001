/*-------------------------------------------------------------------------
 *
 * checkorder.c
 *	  Checks the order of the tuples of a page, and looks for rows with equal
 *	  keys in a unique index.
 *
 * The comparison is that of the operator class, as in a sort (key.h).  Text is
 * compared by the tables of its collation if these prove the order.  The
 * provider compares one in TEXT_SPOT_EVERY pairs again (text_rank.c), all
 * pairs that are not in order by the tables, and all pairs of a check with
 * "full".
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

/* Returns a tuple's last or first heap TID as a word; 0 if it has none. */
static uint64
tid_word(IndexTuple tuple, bool last)
{
	ItemPointer tid = last && BTreeTupleIsPosting(tuple) ?
		BTreeTupleGetMaxHeapTID(tuple) : BTreeTupleGetHeapTID(tuple);

	return tid == NULL ? 0 : pt_tid_word(tid);
}

/* Between these two calls, an error of a comparison may be a finding. */
static inline void
begin_comparing(CheckIndex *self, bool full)
{
	self->key->failure.full = full;
	self->catching = self->trusted;
}

static inline void
end_comparing(CheckIndex *self)
{
	self->catching = false;
	self->key->failure.full = false;
}

static inline int
compare(CheckIndex *self, const CheckPage *a, int i, const CheckPage *b, int j)
{
	const int	nkeys = self->nkeys;
	int			n = Min(a->nkeys[i], b->nkeys[j]);
	uint64		left;
	uint64		right;

	for (int c = 0; c < n; c++)
	{
		int			cmp = ApplySortComparator(a->values[i * nkeys + c],
											  a->isnull[i * nkeys + c],
											  b->values[j * nkeys + c],
											  b->isnull[j * nkeys + c],
											  &self->key->support[c]);

		if (cmp != 0)
		{
			self->same_keys = false;
			return cmp;
		}
	}
	self->same_keys = a->nkeys[i] == b->nkeys[j];
	if (!self->same_keys)
		return a->nkeys[i] < b->nkeys[j] ? -1 : 1;
	if (!self->tree->heapkeyspace)
		return 0;
	left = tid_word(a->tuples[i], true);
	right = tid_word(b->tuples[j], false);
	return (left > right) - (left < right);
}

int
check_compare(CheckIndex *self, const CheckPage *a, int i,
			  const CheckPage *b, int j, bool full)
{
	int			cmp;

	begin_comparing(self, full);
	cmp = compare(self, a, i, b, j);
	end_comparing(self);
	return cmp;
}

bool
check_is_sorted(CheckIndex *self, const CheckPage *a, int i,
				const CheckPage *b, int j, bool strictly)
{
	int			most = strictly && self->tree->heapkeyspace ? -1 : 0;

	return check_compare(self, a, i, b, j, self->full) <= most ||
		check_compare(self, a, i, b, j, true) <= most;
}

/* Returns the last tuple that is sound and no high key, or 0. */
static int
last_tuple(const CheckPage *page)
{
	for (int i = page->last; i >= page->first; i--)
		if (page->tuples[i] != NULL)
			return i;
	return 0;
}

void
checkorder_page(CheckIndex *self)
{
	CheckPage  *page = self->here;
	BTPageOpaque opaque = checkpage_opaque(page);
	int			most = self->tree->heapkeyspace ? -1 : 0;
	int			last = last_tuple(page);

	memset(page->same, false, sizeof(page->same));
	begin_comparing(self, self->full);
	for (int i = page->first; i < page->last; i++)
	{
		if (page->tuples[i] == NULL || page->tuples[i + 1] == NULL)
			continue;
		if (unlikely(compare(self, page, i, page, i + 1) > most))
		{
			if (!check_is_sorted(self, page, i, page, i + 1, true))
				check_found(self, CHECK_OUT_OF_ORDER, page->block, i + 1,
							"the tuple does not follow the tuple before it");
			begin_comparing(self, self->full);
		}
		page->same[i] = self->same_keys;
	}
	end_comparing(self);
	if (!P_RIGHTMOST(opaque) && page->tuples[P_HIKEY] != NULL && last != 0 &&
		!check_is_sorted(self, page, last, page, P_HIKEY,
						 !P_ISLEAF(opaque)))
		check_found(self, CHECK_OUT_OF_ORDER, page->block, last,
					"the tuple follows the page's high key");
}


/*
 * Rows with equal keys
 */

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
		(void) checkbtree_tuples(self, there, MaxIndexTuplesPerPage, true);
		if (!P_ISLEAF(checkpage_opaque(there)))
			return 0;
		for (int i = there->first;
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
	for (int i = page->first; i <= page->last; i++)
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
