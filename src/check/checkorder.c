/*-------------------------------------------------------------------------
 *
 * checkorder.c
 *	  Checks the order of the tuples of a page.
 *
 * The comparison is that of the operator class, as in a sort (key.h).  Text is
 * compared by the tables of its collation if these prove the order.  The
 * provider compares one in TEXT_SPOT_EVERY pairs again (text_rank.c), all
 * pairs that are not in order by the tables, and all pairs of a check with
 * "full".
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"
#include "util.h"

/* Returns a tuple's last or first heap TID as a word; 0 if it has none. */
static uint64
tid_word(IndexTuple tuple, bool last)
{
	ItemPointer tid = last && BTreeTupleIsPosting(tuple) ?
		BTreeTupleGetMaxHeapTID(tuple) : BTreeTupleGetHeapTID(tuple);

	return tid == NULL ? 0 : pt_tid_word(tid);
}

/*
 * Between these two calls, an error of a comparison may be a finding.  If
 * 'full' is true, the provider compares text.
 */
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

/* Order two tuples: see check_compare. */
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
	int			most = self->tree->heapkeyspace ? -1 : 0;
	int			last = last_tuple(page);

	memset(page->same, false, sizeof(page->same));
	begin_comparing(self, self->full);
	for (int i = checkpage_first(page); i < page->last; i++)
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
