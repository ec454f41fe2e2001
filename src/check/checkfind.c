/*-------------------------------------------------------------------------
 *
 * checkfind.c
 *	  Looks for single entries, to confirm what checkrows.c found.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"
#include "util.h"
#include "utils/memutils.h"

/* Offset number of the tuple that is looked for in its CheckPage */
#define TARGET			FirstOffsetNumber

static bool
has_tid(IndexTuple tuple, uint64 tid)
{
	int			n = checkpage_tids(tuple);

	for (int i = 0; i < n; i++)
		if (pt_tid_word(BTreeTupleGetHeapTID(tuple) + i) == tid)
			return true;
	return false;
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
	for (int i = checkpage_first(page); i <= page->last; i++)
	{
		if (page->tuples[i] == NULL || checkpage_is_dead(page, i))
			continue;
		if (check_compare(self, target, TARGET, page, i, true) < 0)
			*beyond = false;
		if (self->same_keys && has_tid(page->tuples[i], tid) &&
			checkrows_hash(self, tuple) ==
			checkrows_hash(self, page->tuples[i]))
			return true;
	}
	return false;
}

static BlockNumber
choose_child(CheckIndex *self, const CheckPage *target)
{
	CheckPage  *page = self->here;
	int			child = checkpage_first(page);

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
		if (!checkpage_tuples(self, page, MaxIndexTuplesPerPage, true))
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

bool
checkfind_tuple(CheckIndex *self, IndexTuple tuple)
{
	CheckPage  *target = self->again;
	TupleDesc	desc = RelationGetDescr(self->index);

	target->tuples[TARGET] = tuple;
	target->nkeys[TARGET] = self->nkeys;
	for (int i = 0; i < self->nkeys; i++)
		target->values[TARGET * self->nkeys + i] =
			index_getattr(tuple, i + 1, desc,
						  &target->isnull[TARGET * self->nkeys + i]);
	if (descend(self, target))
		return true;
	/* repeat this only for the first rows, as all rows may lack entries */
	for (int i = 1; i < CHECK_SURE &&
		 self->report->findings[CHECK_NO_ENTRY].count < MAX_SUSPECTS; i++)
	{
		pg_usleep(1000L);
		if (descend(self, target))
			return true;
	}
	return false;
}

static int
by_tid(const void *a, const void *b)
{
	uint64		left = ((const CheckSuspect *) a)->tid;
	uint64		right = ((const CheckSuspect *) b)->tid;

	return (left > right) - (left < right);
}

/* Find the tuples of a copied leaf.  False if it is no leaf of the tree. */
static bool
find_leaf(CheckIndex *self, CheckPage *page)
{
	return checkpage_tuples(self, page, MaxIndexTuplesPerPage, true) &&
		P_ISLEAF(checkpage_opaque(page));
}

static bool
read_leaf(CheckIndex *self, BlockNumber block, CheckPage *page)
{
	return checkread_page(self, block, page) == NULL && find_leaf(self, page);
}

/* True if a leaf has an entry that is not dead, at any offset but 'except'. */
static bool
has_entry(CheckIndex *self, const CheckPage *page,
		  const CheckSuspect *suspect, OffsetNumber except)
{
	for (int i = checkpage_first(page); i <= page->last; i++)
		if (i != except && page->tuples[i] != NULL &&
			!checkpage_is_dead(page, i) &&
			has_tid(page->tuples[i], suspect->tid) &&
			checkrows_hash(self, page->tuples[i]) == suspect->hash)
			return true;
	return false;
}

/*
 * True if the entry on self->here, which is there before and after the function
 * looks at the table, has no line pointer.  False if the page changes each
 * time.
 */
static bool
has_no_row(CheckIndex *self, const CheckSuspect *suspect)
{
	CheckPage  *page = self->here;

	for (int changes = 0; changes <= CHECK_PATIENCE; changes++)
	{
		if (checkrows_has_row(self, suspect->tid) ||
			!read_leaf(self, page->block, self->again) ||
			!has_entry(self, self->again, suspect, 0))
			return false;
		if (memcmp(page->page, self->again->page, BLCKSZ) == 0)
			return true;
		memcpy(page->page, self->again->page, BLCKSZ);
		if (!checkpage_tuples(self, page, MaxIndexTuplesPerPage, true))
			return false;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L);
	}
	self->report->undecided++;
	return false;
}

/* A suspect is at 'offset' of self->here: report it if it is a fault. */
static void
confirm(CheckIndex *self, CheckSuspect *suspect, OffsetNumber offset)
{
	BlockNumber block = self->here->block;
	const char *what = NULL;

	if (suspect->has_other_row)
		what = "the row has other values, or does not satisfy the predicate";
	else if (!suspect->is_double)
		what = has_no_row(self, suspect) ? "the entry points to no row" : NULL;
	else if (suspect->block == InvalidBlockNumber)
		suspect->block = block;
	else if (read_leaf(self, suspect->block, self->again) &&
			 has_entry(self, self->again, suspect,
					   suspect->block == block ? offset : 0))
		what = "there is another entry for the same row";
	if (what == NULL)
		return;
	suspect->reported = true;
	check_found(self, CHECK_NO_ROW, block, offset, "%s", what);
}

static void
look_at_tuple(CheckIndex *self, OffsetNumber offset)
{
	IndexTuple	tuple = self->here->tuples[offset];
	CheckSuspect *first = self->sought;
	CheckSuspect *end = first + self->nsought;
	ItemPointerData tids[MaxTIDsPerBTreePage];
	int			ntids;
	uint64		hash = 0;
	bool		hashed = false;

	if (tuple == NULL || checkpage_is_dead(self->here, offset))
		return;
	ntids = checkpage_tids(tuple);
	/* confirm() may replace the page's copy by a newer one */
	memcpy(tids, BTreeTupleGetHeapTID(tuple), ntids * sizeof(ItemPointerData));
	for (int i = 0; i < ntids; i++)
	{
		CheckSuspect key = {.tid = pt_tid_word(&tids[i])};
		CheckSuspect *found = bsearch(&key, first, self->nsought,
									  sizeof(CheckSuspect), by_tid);

		if (found == NULL)
			continue;
		if (!hashed)
			hash = checkrows_hash(self, tuple);
		hashed = true;
		while (found > first && by_tid(found - 1, &key) == 0)
			found--;
		for (; found < end && by_tid(found, &key) == 0; found++)
			if (found->hash == hash && !found->reported)
				confirm(self, found, offset);
	}
}

/* CheckStep */
static void
look_at_page(CheckIndex *self)
{
	for (int i = checkpage_first(self->here); i <= self->here->last; i++)
		look_at_tuple(self, i);
}

void
checkfind_suspects(CheckIndex *self, CheckSuspect *suspects, int n)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(self->index);
	MemoryContext caller;

	self->sought = suspects;
	self->nsought = n;
	qsort(suspects, n, sizeof(CheckSuspect), by_tid);
	caller = MemoryContextSwitchTo(self->scratch);
	for (BlockNumber block = BTREE_METAPAGE + 1; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (block % PAGEREAD_MOST == 1)
			checkread_ahead(self, block, Min(nblocks - block, PAGEREAD_MOST));
		if (checkread_next(self, block, self->here) != NULL ||
			!find_leaf(self, self->here))
			continue;
		check_guard(self, look_at_page);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
}
