/*-------------------------------------------------------------------------
 *
 * checkbtree.c
 *	  Checks a page of a btree, and looks for an entry.
 *
 * checkbtree_tuples() checks one page, without its order and its links, and
 * finds the values of key columns in the same pass.  checkorder.c and
 * checklinks.c do the rest.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "check/check.h"

/* Offset number of the tuple that is looked for in its CheckPage */
#define TARGET			FirstOffsetNumber

/* Returns false if a page's header is damaged, or if it has no tuples. */
static bool
check_header(const PageScan *scan)
{
	const CheckPage *page = scan->page;
	BTPageOpaque opaque = checkpage_opaque(page);

	if (!checkpage_has_header(scan->self, page))
		return checkpage_bad(scan, 0, "the page's header is wrong");
	if (P_ISMETA(opaque))
		return checkpage_bad(scan, 0, "a page other than block 0 says that it is the metapage");
	if (P_ISDELETED(opaque))
		return false;
	if (opaque->btpo_flags == 0 && opaque->btpo_level == 0 &&
		P_LEFTMOST(opaque) && P_RIGHTMOST(opaque) &&
		PageIsEmpty((Page) page->page))
		return false;			/* initialised, but never used */
	if (P_ISHALFDEAD(opaque) && !P_ISLEAF(opaque))
		return checkpage_bad(scan, 0, "an internal page is half dead");
	if (P_HAS_FULLXID(opaque))
		return checkpage_bad(scan, 0, "a page that is not deleted has a deletion XID");
	if (P_ISLEAF(opaque) != (opaque->btpo_level == 0))
		return checkpage_bad(scan, 0, "the page's level and its leaf flag contradict each other");
	if (!P_ISLEAF(opaque) && P_HAS_GARBAGE(opaque))
		return checkpage_bad(scan, 0, "an internal page has dead tuples");
	if (opaque->btpo_level > scan->self->tree->level &&
		opaque->btpo_level >= CHECK_MAX_LEVELS)
		return checkpage_bad(scan, 0, "the page's level is impossible");
	return !P_ISHALFDEAD(opaque);
}

/* Find the number of tuples.  Returns false if it is impossible. */
static bool
check_number(const PageScan *scan)
{
	CheckPage  *page = scan->page;
	BTPageOpaque opaque = checkpage_opaque(page);
	OffsetNumber last = PageGetMaxOffsetNumber((Page) page->page);

	if (last > MaxIndexTuplesPerPage)
		return checkpage_bad(scan, 0, "the page has too many line pointers");
	if (!P_RIGHTMOST(opaque) && last < P_HIKEY)
		return checkpage_bad(scan, 0, "the page has no high key");
	if (!scan->page->is_leaf && last < P_FIRSTDATAKEY(opaque))
		return checkpage_bad(scan, 0, "an internal page has no downlink");
	page->last = last;
	return true;
}

/* Check a tuple's TIDs.  Returns the end of its values, or 0. */
static Size
check_tids(const PageScan *scan, OffsetNumber offset, IndexTuple tuple)
{
	Size		size = IndexTupleSize(tuple);
	Size		start;
	ItemPointer tid;
	int			n;

	if (BTreeTupleIsPosting(tuple))
	{
		n = BTreeTupleGetNPosting(tuple);
		start = BTreeTupleGetPostingOffset(tuple);
		if (!scan->self->tree->allequalimage)
			return checkpage_bad(scan, offset, "a posting list in an index that may have none");
		if (n < 2 || start < sizeof(IndexTupleData) ||
			start != MAXALIGN(start) ||
			start + n * sizeof(ItemPointerData) > size)
			return checkpage_bad(scan, offset, "the posting list does not fit its tuple");
		for (int i = 0; i < n; i++)
		{
			tid = BTreeTupleGetPostingN(tuple, i);
			if (!ItemPointerIsValid(tid) ||
				(i > 0 && ItemPointerCompare(tid - 1, tid) >= 0))
				return checkpage_bad(scan, offset, "the posting list is not in order");
		}
		return start;
	}
	if (!BTreeTupleIsPivot(tuple))
	{
		if (scan->page->is_leaf && !ItemPointerIsValid(&tuple->t_tid))
			return checkpage_bad(scan, offset, "the tuple points to no row");
		return size;
	}
	tid = BTreeTupleGetHeapTID(tuple);
	if (tid == NULL)
		return size;
	if (size < sizeof(IndexTupleData) + MAXALIGN(sizeof(ItemPointerData)) ||
		!ItemPointerIsValid(tid))
		return checkpage_bad(scan, offset, "the pivot tuple's heap TID is wrong");
	return size - MAXALIGN(sizeof(ItemPointerData));
}

/*
 * Returns the end of a tuple's values, or 0 if its number of columns or its
 * TIDs are wrong.  Sets *n to the number of columns.
 */
static Size
check_shape(const PageScan *scan, OffsetNumber offset, IndexTuple tuple,
			int *n)
{
	const CheckIndex *self = scan->self;

	*n = self->ncolumns;
	if (!scan->page->is_leaf && offset == scan->page->first)
		*n = 0;					/* an internal page's first downlink */
	else if (BTreeTupleIsPivot(tuple))
		*n = BTreeTupleGetNAtts(tuple, self->index);
	/* a leaf's entry for one row always has all columns */
	if ((!scan->page->is_leaf || (tuple->t_info & INDEX_ALT_TID_MASK) != 0 ||
		 offset < scan->page->first) &&
		(*n > self->ncolumns ||
		 (!self->tree->heapkeyspace && !BTreeTupleIsPivot(tuple) &&
		  !ItemPointerIsValid(&tuple->t_tid)) ||
		 !_bt_check_natts(self->index, self->tree->heapkeyspace,
						  (Page) scan->page->page, offset)))
		return checkpage_bad(scan, offset, "the tuple has a wrong number of columns");
	return check_tids(scan, offset, tuple);
}

/* Check a tuple, and add it to the page's tuples if it is sound. */
static void
check_tuple(const PageScan *scan, OffsetNumber offset)
{
	const CheckIndex *self = scan->self;
	CheckPage  *page = scan->page;
	IndexTuple	tuple = checkpage_item(scan, offset);
	bool		has_room;
	Size		end;
	int			n;

	page->tuples[offset] = NULL;
	if (tuple == NULL)
		return;
	end = check_shape(scan, offset, tuple, &n);
	if (end == 0)
		return;
	has_room = self->tree->heapkeyspace &&
		(!BTreeTupleIsPivot(tuple) || BTreeTupleGetHeapTID(tuple) == NULL);
	if (IndexTupleSize(tuple) >
		(has_room ? scan->max_size : scan->max_size_no_tid))
		(void) checkpage_bad(scan, offset, "the tuple is too large");
	if (checkpage_values(self->columns, n, tuple, end,
						 &page->values[offset * self->nkeys],
						 &page->isnull[offset * self->nkeys], self->nkeys) == 0)
	{
		(void) checkpage_bad(scan, offset, "the tuple's values do not fit its header");
		return;
	}
	page->tuples[offset] = tuple;
	page->nkeys[offset] = Min(n, self->nkeys);
}

bool
checkbtree_tuples(CheckIndex *self, CheckPage *page, int most, bool quiet)
{
	PageScan	scan = {self, page, quiet};

	page->last = 0;
	page->tuples[P_HIKEY] = NULL;
	if (PageIsNew((Page) page->page) || !check_header(&scan))
		return false;
	page->is_leaf = P_ISLEAF(checkpage_opaque(page));
	page->first = P_FIRSTDATAKEY(checkpage_opaque(page));
	scan.max_size = pt_bt_max_item_size((Page) page->page);
	scan.max_size_no_tid = pt_bt_max_item_size_no_tid((Page) page->page);
	if (!check_number(&scan))
		return false;
	for (int i = 1; i <= Min(page->last, most); i++)
		check_tuple(&scan, i);
	for (int i = most + 1; i <= page->last; i++)
		page->tuples[i] = NULL;
	return true;
}

/*
 * Look for the target on self->here, a leaf.  Sets *beyond to true if its
 * place may be on a page to the right: no tuple is greater.
 */
static bool
find_on_leaf(CheckIndex *self, const CheckPage *target, bool *beyond)
{
	CheckPage  *page = self->here;
	IndexTuple	tuple = target->tuples[TARGET];
	uint64		tid = pt_tid_word(&tuple->t_tid);

	*beyond = true;
	for (int i = page->first; i <= page->last; i++)
	{
		if (page->tuples[i] == NULL || checkpage_is_dead(page, i))
			continue;
		if (check_compare(self, target, TARGET, page, i, true) < 0)
			*beyond = false;
		if (self->same_keys && checkpage_has_tid(page->tuples[i], tid) &&
			checkrows_hash(self, page->tuples[i]) ==
			checkrows_hash(self, tuple))
			return true;
	}
	return false;
}

static BlockNumber
choose_child(CheckIndex *self, const CheckPage *target)
{
	CheckPage  *page = self->here;
	int			child = page->first;

	for (int i = child + 1; i <= page->last; i++)
		if (page->tuples[i] != NULL &&
			check_compare(self, page, i, target, TARGET, true) < 0)
			child = i;
	return page->tuples[child] == NULL ? P_NONE :
		BTreeTupleGetDownLink(page->tuples[child]);
}

/* Descend from the root to the target.  Moves right as _bt_moveright() does. */
static bool
descend(CheckIndex *self, const CheckPage *target)
{
	CheckPage  *page = self->here;
	BlockNumber block;
	bool		beyond;

	if (checkread_page(self, BTREE_METAPAGE, page) != NULL)
		return false;
	block = BTPageGetMeta((Page) page->page)->btm_root;
	/* damaged links may form a circle */
	for (BlockNumber n = 0; n <= self->tree->nblocks && block != P_NONE; n++)
	{
		BTPageOpaque opaque = checkpage_opaque(page);

		CHECK_FOR_INTERRUPTS();
		if (checkread_page(self, block, page) != NULL ||
			PageIsNew((Page) page->page))
			return false;
		block = opaque->btpo_next;
		if (!checkbtree_tuples(self, page, MaxIndexTuplesPerPage, true))
			continue;
		if (!P_RIGHTMOST(opaque) && page->tuples[P_HIKEY] != NULL &&
			check_compare(self, target, TARGET, page, P_HIKEY, true) > 0)
			continue;
		if (!P_ISLEAF(opaque))
			block = choose_child(self, target);
		else if (find_on_leaf(self, target, &beyond))
			return true;
		else if (!beyond)
			return false;
	}
	return false;
}

/* CheckMethod.find */
static bool
find(CheckIndex *self, IndexTuple tuple)
{
	CheckPage  *target = self->again;
	TupleDesc	desc = RelationGetDescr(self->index);

	target->tuples[TARGET] = tuple;
	target->nkeys[TARGET] = self->nkeys;
	for (int i = 0; i < self->nkeys; i++)
		target->values[TARGET * self->nkeys + i] =
			index_getattr(tuple, i + 1, desc,
						  &target->isnull[TARGET * self->nkeys + i]);
	return descend(self, target);
}

static void
begin(CheckIndex *self)
{
	self->desc = RelationGetDescr(self->index);
	self->key = key_index(self->index);
	self->nkeys = IndexRelationGetNumberOfKeyAttributes(self->index);
}

/* The links are the last step: checklinks_page may replace the copy. */
static void
check_page(CheckIndex *self)
{
	bool		is_leaf = self->here->is_leaf;
	CheckStep	steps[] = {
		checkorder_page,
		is_leaf ? checkrows_put_page : NULL,
		is_leaf && self->index->rd_index->indisunique ? checkunique_page : NULL,
		checklinks_page
	};

	for (int i = 0; i < lengthof(steps); i++)
		if (steps[i] != NULL)
			check_guard(self, steps[i]);
}

static IndexTuple
form(CheckIndex *self, Datum *values, bool *isnull)
{
	return index_form_tuple(self->desc, values, isnull);
}

const CheckMethod check_btree = {
	.am = BTREE_AM_OID,
	.special = MAXALIGN(sizeof(BTPageOpaqueData)),
	.first = BTREE_METAPAGE + 1,
	.begin = begin,
	.begin_pages = checklinks_tree,
	.tuples = checkbtree_tuples,
	.page = check_page,
	.end = checkfind_suspects,
	.put_row = checkrows_put_values,
	.form = form,
	.find = find
};
