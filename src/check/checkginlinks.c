/*-------------------------------------------------------------------------
 *
 * checkginlinks.c
 *	  Checks the links between the pages of a GIN index.
 *
 * Each page above the leaves is compared with its right sibling, and with its
 * children and the next one to their right: their kind and height, the keys
 * between them, and whether their right links lead from each child to the next.
 * Only pages of unfinished splits have no downlink.  An entry leaf is compared
 * with the roots of its posting trees.  A page's height never changes, except
 * the root's.
 *
 * VACUUM deletes pages of posting trees: it changes the left sibling, the
 * parent and the page at the same time.  The left sibling keeps its right
 * bound, and searches move right from the end of its TIDs.  So a right bound
 * may precede the keys of the right sibling's downlinks or not; only the keys
 * of downlinks ascend from page to page.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/checkgin.h"

static bool
is_data(const CheckPage *page)
{
	return checkgin_has_flag(page, GIN_DATA);
}

static bool
is_rightmost(const CheckPage *page)
{
	return checkgin_right(page) == InvalidBlockNumber;
}

/* Place: a key, or the first TID, of a page; see find_place. */
typedef struct Place
{
	bool		is_data;
	uint64		tid;
	GinKey		key;
} Place;

/*
 * Find the key at an offset of a page, or a leaf's first TID.  Returns false if
 * there is none, if it is damaged, or if it is infinite.
 */
static bool
find_place(CheckIndex *self, const CheckPage *page, OffsetNumber offset,
		   Place *place)
{
	place->is_data = is_data(page);
	if (place->is_data && page->is_leaf)
	{
		/* a segment begins with its first TID */
		place->tid = pt_tid_word((ItemPointer)
								 GinDataPageGetData((Page) page->page));
		return !GinDataLeafPageIsEmpty((Page) page->page);
	}
	if (offset == 0 || offset > checkgin_last_key(page))
		return false;
	if (place->is_data)
		place->tid = pt_tid_word(&checkgin_item(page, offset)->key);
	else if (page->tuples[offset] != NULL)
		place->key = checkgin_key(self, page, offset);
	return place->is_data || page->tuples[offset] != NULL;
}

static int
compare_places(CheckIndex *self, const Place *a, const Place *b)
{
	return a->is_data ? (a->tid > b->tid) - (a->tid < b->tid) :
		checkgin_compare(self, a->key, b->key);
}

/*
 * Read the ends of a page to which self->here links.  Returns false if the page
 * cannot be linked, or with fault->what NULL if it is not readable or damaged,
 * which the participant that checks it reports.
 */
static bool
follow(CheckIndex *self, BlockNumber block, bool data, OffsetNumber offset,
	   LinkFault *fault)
{
	GinCheck   *check = self->state;
	CheckPage  *there = self->there;

	/* a page that was read ahead may be too old to confirm a fault */
	if (!checkcompare_follow(self, block, offset, check->looks <= 1, fault))
		return false;
	if (block == GIN_METAPAGE_BLKNO || checkgin_has_flag(there, GIN_DELETED))
		return checkcompare_broken(self, fault, offset, block,
								   "a link points to a page that is not in the tree");
	if (!checkgin_tuples(self, there, GIN_ENDS, true))
		return false;
	if (is_data(there) != data || checkgin_has_flag(there, GIN_LIST))
		return checkcompare_broken(self, fault, offset, block,
								   "a link points to a page of another kind");
	return true;
}

/* LinkTest */
static bool
test_right(CheckIndex *self, LinkFault *fault)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;
	BlockNumber right = checkgin_right(here);
	Place		last;
	Place		first;

	((GinCheck *) self->state)->looks++;
	if (right == InvalidBlockNumber)
		return !checkgin_has_flag(here, GIN_INCOMPLETE_SPLIT) ||
			checkcompare_broken(self, fault, 0, right,
								"an unfinished split has no page to the right");
	if (here->block == GIN_ROOT_BLKNO)
		return checkcompare_broken(self, fault, 0, right,
								   "the root has a right sibling");
	if (!follow(self, right, is_data(here), 0, fault))
		return fault->what == NULL;
	if (there->is_leaf != here->is_leaf)
		return checkcompare_broken(self, fault, 0, right,
								   "a link points to a page of another level");
	return !find_place(self, there, there->first, &first) ||
		!find_place(self, here, here->last, &last) ||
		compare_places(self, &last, &first) < 0 ||
		checkcompare_disorder(self, fault, here->last, right,
							  "the last key does not precede the right sibling's");
}

/* Returns the first child of the right sibling, or InvalidBlockNumber. */
static BlockNumber
first_cousin(CheckIndex *self)
{
	CheckPage  *page = self->again;

	if (checkread_page(self, checkgin_right(self->here), page) != NULL ||
		!checkgin_tuples(self, page, GIN_ENDS, true) || page->is_leaf)
		return InvalidBlockNumber;
	return checkgin_child(page, page->first);
}

/* Compare a downlink's key with self->there, the last page it leads to. */
static bool
test_upper(CheckIndex *self, OffsetNumber offset, LinkFault *fault)
{
	CheckPage  *there = self->there;
	Place		key;
	Place		last;

	if (!find_place(self, self->here, offset, &key))
		return true;
	if (is_data(there))
		return is_rightmost(there) || checkgin_bound(there) == key.tid ||
			checkcompare_disorder(self, fault, offset, there->block,
								  "the downlink's key is not the child's right bound");
	return !find_place(self, there, there->last, &last) ||
		compare_places(self, &last, &key) <= 0 ||
		checkcompare_disorder(self, fault, offset, there->block,
							  "the child's last key follows the downlink's key");
}

/*
 * Follow right links from a child, which is in self->there, to 'target', the
 * next child, or to the end of the level.
 */
static bool
test_way(CheckIndex *self, BlockNumber target, OffsetNumber offset,
		 LinkFault *fault)
{
	CheckPage  *there = self->there;

	for (BlockNumber i = 0; checkread_has_block(self, i); i++)
	{
		BlockNumber next = checkgin_right(there);
		bool		split = checkgin_has_flag(there, GIN_INCOMPLETE_SPLIT);

		CHECK_FOR_INTERRUPTS();
		if (!split && next != target)
			return checkcompare_broken(self, fault, offset, there->block,
									   "the right link does not lead to the next child");
		if (next == target)
			return split || test_upper(self, offset, fault);
		if (!follow(self, next, is_data(self->here), offset, fault))
			return fault->what == NULL;
	}
	return true;
}

/* Compare self->here with the child of its downlink at 'offset'. */
static bool
test_child(CheckIndex *self, OffsetNumber offset, LinkFault *fault)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;
	BlockNumber child = checkgin_child(here, offset);
	BlockNumber next = InvalidBlockNumber;
	Place		before;
	Place		first;

	if (!is_data(here) && here->tuples[offset] == NULL)
		return true;
	if (!follow(self, child, is_data(here), offset, fault))
		return fault->what == NULL;
	if (!checkcompare_level(self, offset, &((GinCheck *) self->state)->height,
							fault))
		return false;
	if (offset > here->first &&
		find_place(self, here, offset - 1, &before) &&
		find_place(self, there, there->first, &first) &&
		compare_places(self, &before, &first) >= 0)
		return checkcompare_disorder(self, fault, offset, child,
									 "the downlink before does not precede the child's keys");
	if (offset < here->last || !is_rightmost(here))
	{
		next = offset < here->last ? checkgin_child(here, offset + 1) :
			first_cousin(self);
		if (next == InvalidBlockNumber)
			return true;
	}
	if (!test_way(self, next, offset, fault))
		return offset == here->last && !is_rightmost(here) &&
			next != first_cousin(self);
	if (offset < here->last || is_rightmost(here))
		return true;
	/* compare the last key with that child of the right sibling */
	if (!follow(self, next, is_data(here), offset, fault))
		return fault->what == NULL;
	return !find_place(self, here, offset, &before) ||
		!find_place(self, there, there->first, &first) ||
		compare_places(self, &before, &first) < 0 ||
		checkcompare_disorder(self, fault, offset, next,
							  "the last key does not precede the next child's keys");
}

/* True if a leaf's tuple has no posting tree, or its root is sound. */
static bool
test_root(CheckIndex *self, OffsetNumber offset, LinkFault *fault)
{
	if (!checkgin_is_tree(self->here, offset))
		return true;
	if (!follow(self, GinGetPostingTree(self->here->tuples[offset]), true,
				offset, fault))
		return fault->what == NULL;
	return is_rightmost(self->there) ||
		checkcompare_broken(self, fault, offset, self->there->block,
							"the root of a posting tree has a right sibling");
}

/* LinkTest */
static bool
test_below(CheckIndex *self, LinkFault *fault)
{
	GinCheck   *check = self->state;
	CheckPage  *here = self->here;

	check->looks++;
	check->height = -1;
	for (int i = here->first; i <= here->last; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!(here->is_leaf ? test_root(self, i, fault) :
			  test_child(self, i, fault)))
			return false;
	}
	return true;
}

void
checkginlinks_page(CheckIndex *self)
{
	GinCheck   *check = self->state;

	check->looks = 0;
	/* what is above other leaves is compared with them and with their order */
	if (!self->here->is_leaf || is_rightmost(self->here) ||
		self->here->block == GIN_ROOT_BLKNO)
		checkcompare_pages(self, test_right);
	check->looks = 0;
	checkcompare_pages(self, test_below);
}
