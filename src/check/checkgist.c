/*-------------------------------------------------------------------------
 *
 * checkgist.c
 *	  Checks the pages of a GiST index.
 *
 * An inner page is compared with its children.  All of them have the same
 * height above the leaves: GiST deletes no inner page, and only the root grows,
 * so the height of a page does not change.  All tuples of a child lie in the
 * key of its downlink, because inserts enlarge the key before they descend.  A
 * tuple lies in a key if their union equals the key.  Inserts use the same rule
 * to decide whether they must change a key, so a class that breaks the rule
 * changes its keys at each insert.  The check first forms the union of all
 * tuples, which is faster, and looks at single tuples only if the union does
 * not lie in the key.  A class may store a larger key than the union (intarray
 * does).  Then an inner page's tuple need not lie in the key above it, but all
 * entries below the tuple must.
 *
 * A split sets the child's NSN to the LSN that the parent's page has when the
 * downlink of the new page is there, and until then the flag F_FOLLOW_RIGHT.
 * So without this flag, an NSN that is larger than the parent's LSN is a fault:
 * scans would follow a right link that has no meaning any more.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "check/checkgist.h"
#include "utils/memutils.h"

/* All flags that a page in use can have */
#define LIVE_FLAGS \
	(F_LEAF | F_TUPLES_DELETED | F_FOLLOW_RIGHT | F_HAS_GARBAGE)

/* Returns false if the page is not in use, or if its header is damaged. */
static bool
check_header(const PageScan *scan)
{
	CheckPage  *page = scan->page;
	Page		copy = (Page) page->page;
	PageHeader	header = (PageHeader) copy;
	bool		is_root = page->block == GIST_ROOT_BLKNO;
	int			flags;

	if (PageIsNew(copy))
		return is_root && checkpage_bad(scan, 0, "the root is empty");
	if (!checkpage_has_header(scan->self, page) ||
		GistPageGetOpaque(copy)->gist_page_id != GIST_PAGE_ID ||
		(header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0)
		return checkpage_bad(scan, 0, "the page's header is wrong");
	flags = GistPageGetOpaque(copy)->flags;
	if (flags & F_DELETED)
		return is_root && checkpage_bad(scan, 0, "the root is deleted");
	if (flags & ~LIVE_FLAGS)
		return checkpage_bad(scan, 0, "the page has unknown flags");
	page->is_leaf = (flags & F_LEAF) != 0;
	if (!page->is_leaf && (flags & F_HAS_GARBAGE))
		return checkpage_bad(scan, 0, "an internal page has dead tuples");
	page->last = PageGetMaxOffsetNumber(copy);
	if (page->last <= MaxIndexTuplesPerPage &&
		(page->is_leaf || page->last > 0))
		return true;
	page->last = 0;
	return checkpage_bad(scan, 0, "the page's number of tuples is impossible");
}

/* Check a tuple, and add it to the page's tuples if it is sound. */
static void
check_tuple(const PageScan *scan, OffsetNumber offset)
{
	CheckIndex *self = scan->self;
	CheckPage  *page = scan->page;
	IndexTuple	tuple = checkpage_item(scan, offset);
	int			n = page->is_leaf ? self->ncolumns :
		IndexRelationGetNumberOfKeyAttributes(self->index);
	bool		is_valid;
	Size		end;

	page->tuples[offset] = NULL;
	if (tuple == NULL)
		return;
	end = checkpage_values(self->columns, n, tuple, IndexTupleSize(tuple),
						   NULL, NULL, 0);
	is_valid = page->is_leaf ? ItemPointerIsValid(&tuple->t_tid) :
		ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) == TUPLE_IS_VALID;
	if (MAXALIGN(end) != IndexTupleSize(tuple) ||
		(tuple->t_info & INDEX_AM_RESERVED_BIT) != 0)
		(void) checkpage_bad(scan, offset,
							 "the tuple's values do not fit its header");
	else if (!is_valid)
		(void) checkpage_bad(scan, offset, page->is_leaf ?
							 "the tuple points to no row" :
							 "the downlink is invalid");
	else if (ItemIdIsDead(PageGetItemId((Page) page->page, offset)) &&
			 !GistPageHasGarbage((Page) page->page))
		(void) checkpage_bad(scan, offset,
							 "a dead tuple in a page that says it has none");
	else
		page->tuples[offset] = tuple;
}

/* CheckMethod.tuples */
static bool
find_tuples(CheckIndex *self, CheckPage *page, int most, bool quiet)
{
	PageScan	scan = {self, page, quiet};

	page->last = 0;
	page->first = FirstOffsetNumber;
	if (!check_header(&scan))
		return false;
	for (int i = FirstOffsetNumber; i <= page->last; i++)
		check_tuple(&scan, i);
	checkpage_overlap(&scan);
	return true;
}

bool
checkgist_covers(CheckIndex *self, IndexTuple downlink, IndexTuple tuple)
{
	GISTSTATE  *gist = checkgist_state(self);
	MemoryContext caller = MemoryContextSwitchTo(gist->tempCxt);
	bool		covers;

	self->catching = self->trusted;
	covers = gistgetadjusted(self->index, downlink, tuple, gist) == NULL;
	self->catching = false;
	MemoryContextSwitchTo(caller);
	MemoryContextReset(gist->tempCxt);
	return covers;
}

/* Returns the offset of a tuple that does not lie in a key, or 0. */
static OffsetNumber
find_outside(CheckIndex *self, IndexTuple downlink, const CheckPage *page)
{
	GISTSTATE  *gist = checkgist_state(self);
	IndexTuple	tuples[1 + MaxIndexTuplesPerPage];
	IndexTuple	all;
	MemoryContext caller;
	int			n = 1;

	for (int i = page->first; i <= page->last; i++)
		if (page->tuples[i] != NULL)
			tuples[n++] = page->tuples[i];
	if (n == 1)
		return 0;
	tuples[0] = downlink;
	/* a page may have hundreds of children: checkgist_covers frees the union */
	caller = MemoryContextSwitchTo(gist->tempCxt);
	self->catching = self->trusted;
	all = gistunion(self->index, tuples, n, gist);
	self->catching = false;
	MemoryContextSwitchTo(caller);
	if (checkgist_covers(self, downlink, all))
		return 0;
	for (int i = page->first; i <= page->last; i++)
		if (page->tuples[i] != NULL &&
			!checkgist_covers(self, downlink, page->tuples[i]) &&
			(page->is_leaf ||
			 !checkgistwalk_covers(self, downlink, page->tuples[i])))
			return i;
	return 0;
}

/* CheckMethod.child */
static BlockNumber
get_child(const CheckPage *page, OffsetNumber offset)
{
	return page->tuples[offset] == NULL ? InvalidBlockNumber :
		checkgist_child(page->tuples[offset]);
}

/* Compare self->here with self->there, the child of a downlink. */
static bool
test_child(CheckIndex *self, OffsetNumber offset, int *height,
		   LinkFault *fault)
{
	CheckPage  *there = self->there;
	Page		copy = (Page) there->page;

	if (checkpage_has_header(self, there) && GistPageIsDeleted(copy))
		return checkcompare_broken(self, fault, offset, there->block,
								   "a link points to a page that is not in the tree");
	if (!find_tuples(self, there, MaxIndexTuplesPerPage, true))
		return true;			/* who reads the page reports it */
	if (!GistFollowRight(copy) &&
		GistPageGetNSN(copy) > PageGetLSN((Page) self->here->page))
		return checkcompare_broken(self, fault, offset, there->block,
								   "the child's NSN is later than the page's LSN");
	if (!checkcompare_level(self, offset, height, fault))
		return false;
	if (find_outside(self, self->here->tuples[offset], there) == 0)
		return true;
	return checkcompare_disorder(self, fault, offset, there->block,
								 "the key of the downlink does not cover the page below");
}

/* LinkTest */
static bool
test_children(CheckIndex *self, LinkFault *fault)
{
	CheckPage  *here = self->here;
	int			height = -1;

	for (int i = here->first; i <= here->last; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (here->tuples[i] == NULL)
			continue;
		if (checkcompare_follow(self, checkgist_child(here->tuples[i]), i,
								false, fault) ?
			!test_child(self, i, &height, fault) : fault->what != NULL)
			return false;
	}
	return true;
}

/* CheckStep */
static void
check_links(CheckIndex *self)
{
	checkcompare_pages(self, test_children);
}

/* CheckMethod.page */
static void
check_page(CheckIndex *self)
{
	Page		copy = (Page) self->here->page;
	BlockNumber right = GistPageGetOpaque(copy)->rightlink;

	/* a page that was used again may link to itself, but not during a split */
	if (right == InvalidBlockNumber || right == self->here->block ?
		GistFollowRight(copy) : !checkread_has_block(self, right))
		check_found(self, CHECK_BROKEN_LINK, self->here->block, 0,
					"the right link points to no page of the index");
	checkgistwalk_mark(self);
	check_guard(self, self->here->is_leaf ? checkrows_put_page : check_links);
}

/* CheckMethod.begin */
static void
begin(CheckIndex *self)
{
	GISTSTATE  *gist = initGISTstate(self->index);

	gist->tempCxt = createTempGistContext();
	self->state = gist;
	self->desc = gist->leafTupdesc;
}

/* CheckMethod.begin_pages */
static void
begin_pages(CheckIndex *self, CheckTree *tree)
{
	checkgistwalk_init(self);
	if (tree->nblocks == 0)
		check_found(self, CHECK_BAD_PAGE, GIST_ROOT_BLKNO, 0,
					"the file ends before the root");
}

/* CheckMethod.end */
static void
end(CheckIndex *self)
{
	checkfind_suspects(self);
	checkgistwalk_pages(self);
}

/* CheckMethod.put_row */
static void
put_row(CheckIndex *self, uint64 tid, Datum *values, bool *isnull)
{
	Datum		entry[INDEX_MAX_KEYS];

	gistCompressValues(checkgist_state(self), self->index, values, isnull, true,
					   entry);
	checkrows_put_values(self, tid, entry, isnull);
}

/* CheckMethod.form */
static IndexTuple
form(CheckIndex *self, Datum *values, bool *isnull)
{
	return gistFormTuple(checkgist_state(self), self->index, values, isnull,
						 true);
}

const CheckMethod check_gist = {
	.am = GIST_AM_OID,
	.special = MAXALIGN(sizeof(GISTPageOpaqueData)),
	.first = GIST_ROOT_BLKNO,
	.begin = begin,
	.shared_size = checkgistwalk_size,
	.begin_pages = begin_pages,
	.tuples = find_tuples,
	.page = check_page,
	.child = get_child,
	.end = end,
	.put_row = put_row,
	.form = form,
	.find = checkgistwalk_find
};
