/*-------------------------------------------------------------------------
 *
 * checkfind.c
 *	  Looks for single entries, to confirm what checkrows.c found.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"
#include "utils/memutils.h"

static int
by_tid(const void *a, const void *b)
{
	uint64		left = ((const CheckSuspect *) a)->tid;
	uint64		right = ((const CheckSuspect *) b)->tid;

	return (left > right) - (left < right);
}

CheckSuspect *
checkfind_first(CheckIndex *self, uint64 tid)
{
	CheckSuspect key = {.tid = tid};
	CheckSuspect *found = bsearch(&key, self->sought, self->nsought,
								  sizeof(CheckSuspect), by_tid);

	while (found > self->sought && found[-1].tid == tid)
		found--;
	return found;
}

/* Find the tuples of a copied leaf.  False if it is no leaf of the tree. */
static bool
find_leaf(CheckIndex *self, CheckPage *page)
{
	return self->method->tuples(self, page, MaxIndexTuplesPerPage, true) &&
		page->is_leaf;
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
	for (int i = page->first; i <= page->last; i++)
		if (i != except && page->tuples[i] != NULL &&
			!checkpage_is_dead(page, i) &&
			checkpage_has_tid(page->tuples[i], suspect->tid) &&
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
		if (!find_leaf(self, page))
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
	CheckSuspect *end = self->sought + self->nsought;
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
		uint64		tid = pt_tid_word(&tids[i]);
		CheckSuspect *found = checkfind_first(self, tid);

		if (found == NULL)
			continue;
		if (!hashed)
			hash = checkrows_hash(self, tuple);
		hashed = true;
		for (; found < end && found->tid == tid; found++)
			if (found->hash == hash && !found->reported)
				confirm(self, found, offset);
	}
}

/* CheckStep */
static void
look_at_page(CheckIndex *self)
{
	if (!self->here->is_leaf)
		return;
	for (int i = self->here->first; i <= self->here->last; i++)
		look_at_tuple(self, i);
}

void
checkfind_pages(CheckIndex *self, CheckStep step)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(self->index);
	MemoryContext caller;

	if (self->nsought == 0)
		return;
	qsort(self->sought, self->nsought, sizeof(CheckSuspect), by_tid);
	caller = MemoryContextSwitchTo(self->scratch);
	for (BlockNumber block = self->method->first; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (block % PAGEREAD_MOST == self->method->first)
			checkread_ahead(self, block, Min(nblocks - block, PAGEREAD_MOST));
		if (checkread_next(self, block, self->here) == NULL &&
			self->method->tuples(self, self->here, MaxIndexTuplesPerPage, true))
			check_guard(self, step);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
}

void
checkfind_suspects(CheckIndex *self)
{
	checkfind_pages(self, look_at_page);
}
