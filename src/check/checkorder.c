/*-------------------------------------------------------------------------
 *
 * checkorder.c
 *	  Checks the order of the tuples of a page.
 *
 * The comparison is that of the operator class, as in a sort (key.h).  Text is
 * compared by the tables of its collation if these prove the order.  The
 * provider compares one in ORDER_SPOT_EVERY pairs again, all pairs that are not
 * in order by the tables, and all pairs of a check with "full".
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"
#include "order/order.h"
#include "util.h"

/* Returns a tuple's last or first heap TID as a word; 0 if it has none. */
static uint64
tid_word(IndexTuple tuple, bool last)
{
	ItemPointer tid = last && BTreeTupleIsPosting(tuple) ?
		BTreeTupleGetMaxHeapTID(tuple) : BTreeTupleGetHeapTID(tuple);

	return tid == NULL ? 0 : pt_tid_word(tid);
}

int
check_compare(CheckIndex *self, const CheckPage *a, int i,
			  const CheckPage *b, int j, bool full)
{
	const int	nkeys = self->nkeys;
	int			n = Min(a->nkeys[i], b->nkeys[j]);
	int			cmp = 0;
	uint64		left;
	uint64		right;

	self->key->failure.full = full;
	self->catching = self->trusted;
	for (int c = 0; c < n && cmp == 0; c++)
		cmp = ApplySortComparator(a->values[i * nkeys + c],
								  a->isnull[i * nkeys + c],
								  b->values[j * nkeys + c],
								  b->isnull[j * nkeys + c],
								  &self->key->support[c]);
	self->catching = false;
	self->key->failure.full = false;
	self->same_keys = cmp == 0 && a->nkeys[i] == b->nkeys[j];
	if (cmp != 0)
		return cmp;
	if (!self->same_keys)
		return a->nkeys[i] < b->nkeys[j] ? -1 : 1;
	if (!self->tree->heapkeyspace)
		return 0;
	left = tid_word(a->tuples[i], true);
	right = tid_word(b->tuples[j], false);
	return (left > right) - (left < right);
}

bool
check_is_sorted(CheckIndex *self, const CheckPage *a, int i,
				const CheckPage *b, int j, bool strictly)
{
	int			most = strictly && self->tree->heapkeyspace ? -1 : 0;
	bool		sorted;

	if (self->full)
		return check_compare(self, a, i, b, j, true) <= most;
	sorted = check_compare(self, a, i, b, j, false) <= most;
	if (sorted && ++self->compared % ORDER_SPOT_EVERY != 0)
		return true;
	if (check_compare(self, a, i, b, j, true) > most)
	{
		if (sorted)
		{
			/* the tables are wrong, or a damaged string is no valid string */
			self->full = self->catching = true;
			text_compare_contradicted(&self->key->failure,
									  self->key->failure.words);
		}
		return false;
	}
	return true;
}

/* Returns the last tuple that is sound and no high key, or 0. */
static int
last_tuple(const CheckPage *page)
{
	for (int i = page->last; i >= checkpage_first(page); i--)
		if (page->tuples[i] != NULL)
			return i;
	return 0;
}

void
checkorder_page(CheckIndex *self)
{
	CheckPage  *page = self->here;
	BTPageOpaque opaque = checkpage_opaque(page);
	int			last = last_tuple(page);

	memset(page->same, false, sizeof(page->same));
	for (int i = checkpage_first(page); i <= page->last; i++)
	{
		if (i == page->last || page->tuples[i] == NULL ||
			page->tuples[i + 1] == NULL)
			continue;
		if (!check_is_sorted(self, page, i, page, i + 1, true))
			check_found(self, CHECK_OUT_OF_ORDER, page->block, i + 1,
						"the tuple does not follow the tuple before it");
		page->same[i] = self->same_keys;
	}
	if (!P_RIGHTMOST(opaque) && page->tuples[P_HIKEY] != NULL && last != 0 &&
		!check_is_sorted(self, page, last, page, P_HIKEY,
						 !P_ISLEAF(opaque)))
		check_found(self, CHECK_OUT_OF_ORDER, page->block, last,
					"the tuple follows the page's high key");
}
