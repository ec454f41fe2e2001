/*-------------------------------------------------------------------------
 *
 * checklinks.c
 *	  Checks the links between the pages of a btree.
 *
 * Each page is compared with its right sibling: level, left link, and whether
 * the high key precedes the sibling's tuples.  Each internal page is compared
 * with its children: their level, the keys between them, and whether their
 * right links lead from each child to the next.  So there is no page between
 * two children that has no downlink, except those of unfinished splits and
 * deletions.  Only the leftmost page of a level has no left sibling, and only
 * the rightmost page no right sibling.  Together this implies that each page of
 * a level has one downlink, one left and one right neighbour, and that the
 * order of tuples holds across the whole level.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

/* Offset number of the last of a neighbour's first tuples */
#define ENDS		(P_FIRSTKEY + 1)

/*
 * Read a page to which self->here links, and its first tuples.  Returns false
 * if the page cannot be linked, or with fault->what NULL if it is not readable,
 * which the participant that checks it reports.
 */
static bool
follow(CheckIndex *self, BlockNumber block, uint32 level, OffsetNumber offset,
	   LinkFault *fault)
{
	CheckPage  *there = self->there;
	BTPageOpaque opaque = checkpage_opaque(there);

	if (block == P_NONE)
		block = InvalidBlockNumber;
	if (!checkcompare_follow(self, block, offset, false, fault))
		return false;
	(void) checkbtree_tuples(self, there, ENDS, true);
	if (P_ISDELETED(opaque) || P_ISMETA(opaque))
		return checkcompare_broken(self, fault, offset, block,
								   "a link points to a page that is not in the tree");
	if (opaque->btpo_level != level)
		return checkcompare_broken(self, fault, offset, block,
								   "a link points to a page of another level");
	return true;
}

/*
 * Returns the offset number of the first tuple of a page that has a key, and is
 * not the high key; the high key if there is no other; or 0.
 */
static OffsetNumber
first_key(const CheckPage *page)
{
	OffsetNumber first = page->first;

	if (!P_ISLEAF(checkpage_opaque(page)))
		first = OffsetNumberNext(first);
	if (first <= page->last)
		return page->tuples[first] == NULL ? 0 : first;
	if (P_RIGHTMOST(checkpage_opaque(page)) || page->last == 0 ||
		page->tuples[P_HIKEY] == NULL)
		return 0;
	return P_HIKEY;
}

/* True if the page is the rightmost of its level, or if that is not known. */
static bool
is_rightmost(CheckIndex *self, uint32 level, BlockNumber target)
{
	BlockNumber block = self->tree->rightmost[level];

	if (block == InvalidBlockNumber)
		return true;
	for (BlockNumber i = 0; i < self->tree->nblocks && block != target; i++)
	{
		if (block == P_NONE || block == InvalidBlockNumber)
			return false;
		CHECK_FOR_INTERRUPTS();
		if (checkread_page(self, block, self->there) != NULL)
			return true;
		block = checkpage_opaque(self->there)->btpo_next;
	}
	return true;
}

/* True if the leftmost page that the leader found is not leftmost any more. */
static bool
is_leftmost_gone(CheckIndex *self, uint32 level)
{
	BlockNumber block = self->tree->leftmost[level];

	return block == InvalidBlockNumber ||
		checkread_page(self, block, self->there) != NULL ||
		!checkpage_is_live(self->there);
}

/* LinkTest */
static bool
test_edges(CheckIndex *self, LinkFault *fault)
{
	BTPageOpaque opaque = checkpage_opaque(self->here);
	BlockNumber block = self->here->block;
	uint32		level = opaque->btpo_level;

	/* the root was split since the check began, or is not known */
	if (level > self->tree->level || !self->tree->sound ||
		self->tree->root == P_NONE)
		return true;
	if (P_ISROOT(opaque) && block != self->tree->root)
		return checkcompare_broken(self, fault, 0, InvalidBlockNumber,
								   "the page says that it is the root, but is not");
	if (!P_LEFTMOST(opaque) && block == self->tree->leftmost[level])
		return checkcompare_broken(self, fault, 0, opaque->btpo_prev,
								   "the leftmost page of a level has a left sibling");
	if (P_LEFTMOST(opaque) && block != self->tree->leftmost[level] &&
		!is_leftmost_gone(self, level))
		return checkcompare_broken(self, fault, 0, InvalidBlockNumber,
								   "the page has no left sibling, but is not the leftmost of its level");
	if (P_RIGHTMOST(opaque) && block != self->tree->rightmost[level] &&
		!is_rightmost(self, level, block))
		return checkcompare_broken(self, fault, 0, InvalidBlockNumber,
								   "the page has no right sibling, but is not the rightmost of its level");
	return true;
}

/* LinkTest */
static bool
test_right(CheckIndex *self, LinkFault *fault)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;
	BTPageOpaque opaque = checkpage_opaque(here);
	BlockNumber right = opaque->btpo_next;
	OffsetNumber first;
	bool		strictly;

	if (P_RIGHTMOST(opaque))
		return true;
	if (!follow(self, right, opaque->btpo_level, 0, fault))
		return fault->what == NULL;
	if (checkpage_opaque(there)->btpo_prev != here->block)
		return checkcompare_broken(self, fault, 0, right,
								   "the left link of the right sibling does not point back");
	first = checkpage_is_live(there) ? first_key(there) : 0;
	/* an empty sibling may have the same high key */
	strictly = first != P_HIKEY || P_RIGHTMOST(checkpage_opaque(there));
	if (first == 0 || here->tuples[P_HIKEY] == NULL ||
		check_is_sorted(self, here, P_HIKEY, there, first, strictly))
		return true;
	return checkcompare_disorder(self, fault, P_HIKEY, right,
								 "the high key does not precede the right sibling's tuples");
}

/*
 * True if a page of a level above the leaves belongs to a branch whose deletion
 * is not finished: it ends in a half-dead leaf.
 */
static bool
is_being_deleted(CheckIndex *self, BlockNumber block)
{
	for (int i = 0; i < CHECK_MAX_LEVELS; i++)
	{
		CheckPage  *page = self->there;
		BTPageOpaque opaque = checkpage_opaque(page);

		if (checkread_page(self, block, page) != NULL ||
			PageIsNew((Page) page->page))
			return false;
		if (P_ISHALFDEAD(opaque))
			return true;
		if (P_ISLEAF(opaque) ||
			!checkbtree_tuples(self, page, ENDS, true) ||
			page->tuples[page->first] == NULL)
			return false;
		block = BTreeTupleGetDownLink(page->tuples[page->first]);
	}
	return false;
}

/*
 * True if two pivot tuples are the same, except for their downlinks.  A split
 * inserts a copy of the left page's new high key into the parent.
 */
static bool
is_same_pivot(const CheckIndex *self, IndexTuple a, IndexTuple b)
{
	Size		start = self->tree->heapkeyspace ?
		offsetof(ItemPointerData, ip_posid) : offsetof(IndexTupleData, t_info);

	return IndexTupleSize(a) == IndexTupleSize(b) &&
		memcmp((char *) a + start, (char *) b + start,
			   IndexTupleSize(a) - start) == 0;
}

/*
 * Compare the high key of self->there, the last page before the next child,
 * with the next child's key; 'key' is its offset number.
 */
static bool
test_high_key(CheckIndex *self, OffsetNumber key, LinkFault *fault)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;

	if (!checkpage_is_live(there) ||
		P_INCOMPLETE_SPLIT(checkpage_opaque(there)))
		return true;
	if (P_RIGHTMOST(checkpage_opaque(there)))
		return checkcompare_broken(self, fault, key, there->block,
								   "the rightmost page of a level is not the last child");
	if (here->tuples[key] == NULL || there->tuples[P_HIKEY] == NULL ||
		is_same_pivot(self, there->tuples[P_HIKEY], here->tuples[key]))
		return true;
	return checkcompare_broken(self, fault, key, there->block,
							   "the key differs from the high key of the page before it");
}

/*
 * Follow right links from a child, which is in self->there, to 'target', the
 * next child.  The pages between them may have no downlink only because a split
 * or a deletion is not finished.
 */
static bool
test_way(CheckIndex *self, BlockNumber target, OffsetNumber offset,
		 OffsetNumber key, LinkFault *fault)
{
	BTPageOpaque opaque = checkpage_opaque(self->there);
	uint32		level = opaque->btpo_level;
	bool		split = P_INCOMPLETE_SPLIT(opaque);
	BlockNumber block = opaque->btpo_next;
	BlockNumber next;

	for (BlockNumber i = 0; i < self->tree->nblocks && block != target; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!follow(self, block, level, offset, fault))
			return fault->what == NULL;
		next = opaque->btpo_next;
		if (!split && !P_ISHALFDEAD(opaque))
		{
			if (level == 0 || !is_being_deleted(self, block))
				return checkcompare_broken(self, fault, offset, block,
										   "there is no downlink for a page");
			if (!follow(self, block, level, offset, fault))
				return fault->what == NULL;
		}
		split = P_INCOMPLETE_SPLIT(opaque);
		block = next;
	}
	return test_high_key(self, key, fault);
}

/* Returns the first child of the right sibling, or InvalidBlockNumber. */
static BlockNumber
first_cousin(CheckIndex *self)
{
	CheckPage  *page = self->again;
	BlockNumber right = checkpage_opaque(self->here)->btpo_next;
	OffsetNumber first;

	if (right == P_NONE || checkread_page(self, right, page) != NULL ||
		!checkbtree_tuples(self, page, ENDS, true) ||
		P_ISLEAF(checkpage_opaque(page)))
		return InvalidBlockNumber;
	first = page->first;
	return page->tuples[first] == NULL ? InvalidBlockNumber :
		BTreeTupleGetDownLink(page->tuples[first]);
}

/*
 * The last child of the rightmost page, which is in self->there, is the
 * rightmost of its level, unless its split is not finished.
 */
static bool
test_last_child(CheckIndex *self, OffsetNumber offset, LinkFault *fault)
{
	BTPageOpaque opaque = checkpage_opaque(self->there);

	if (P_RIGHTMOST(opaque) || P_INCOMPLETE_SPLIT(opaque))
		return true;
	return checkcompare_broken(self, fault, offset, self->there->block,
							   "the last child is not the rightmost page of its level");
}

/* Compare self->here with the child of its downlink at 'offset'. */
static bool
test_child(CheckIndex *self, OffsetNumber offset, LinkFault *fault)
{
	CheckPage  *here = self->here;
	CheckPage  *there = self->there;
	uint32		level = checkpage_opaque(here)->btpo_level;
	OffsetNumber first;
	BlockNumber next;

	if (here->tuples[offset] == NULL)
		return true;
	if (!follow(self, BTreeTupleGetDownLink(here->tuples[offset]), level - 1,
				offset, fault))
		return fault->what == NULL;
	/* the downlink of a half-dead page stays only if its parent dies, too */
	if (P_ISHALFDEAD(checkpage_opaque(there)) &&
		here->first < here->last)
		return checkcompare_broken(self, fault, offset, there->block,
								   "there is a downlink for a page that is half dead");
	first = checkpage_is_live(there) ? first_key(there) : 0;
	if (first != 0 && here->nkeys[offset] > 0 &&
		!check_is_sorted(self, here, offset, there, first, true))
		return checkcompare_disorder(self, fault, offset, there->block,
									 "the downlink's key does not precede the child's tuples");
	if (offset < here->last)
		return here->tuples[offset + 1] == NULL ||
			test_way(self, BTreeTupleGetDownLink(here->tuples[offset + 1]),
					 offset + 1, offset + 1, fault);
	if (P_RIGHTMOST(checkpage_opaque(here)))
		return test_last_child(self, offset, fault);
	next = first_cousin(self);
	return next == InvalidBlockNumber ||
		test_way(self, next, offset, P_HIKEY, fault) ||
		next != first_cousin(self);
}

/* LinkTest */
static bool
test_children(CheckIndex *self, LinkFault *fault)
{
	for (int i = self->here->first; i <= self->here->last; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!test_child(self, i, fault))
			return false;
	}
	return true;
}

void
checklinks_page(CheckIndex *self)
{
	checkcompare_pages(self, test_edges);
	checkcompare_pages(self, test_right);
	if (!self->here->is_leaf)
		checkcompare_pages(self, test_children);
}

/* Returns what is wrong with the metapage, or NULL. */
static const char *
read_metapage(CheckIndex *self, CheckTree *tree)
{
	CheckPage  *page = self->here;
	const char *fault = checkread_page(self, BTREE_METAPAGE, page);
	BTMetaPageData *meta = BTPageGetMeta((Page) page->page);

	if (fault != NULL)
		return fault;
	if (!checkpage_has_header(self, page) ||
		!P_ISMETA(checkpage_opaque(page)) ||
		meta->btm_magic != BTREE_MAGIC)
		return "block 0 is not the metapage of a btree";
	if (meta->btm_version < BTREE_MIN_VERSION ||
		meta->btm_version > BTREE_VERSION)
		return "the metapage has a version that this server does not know";
	if (meta->btm_level >= CHECK_MAX_LEVELS ||
		meta->btm_fastlevel > meta->btm_level)
		return "the metapage's levels are impossible";
	if (meta->btm_version >= BTREE_VERSION && meta->btm_allequalimage &&
		!_bt_allequalimage(self->index, false))
		return "the metapage says wrongly that deduplication is safe";
	tree->root = meta->btm_root;
	tree->level = meta->btm_level;
	tree->heapkeyspace = meta->btm_version > BTREE_NOVAC_VERSION;
	tree->allequalimage = tree->heapkeyspace && meta->btm_allequalimage;
	return NULL;
}

static bool
is_root(CheckIndex *self, BlockNumber block, uint32 level)
{
	return checkread_has_block(self, block) &&
		checkread_page(self, block, self->there) == NULL &&
		checkpage_is_live(self->there) &&
		checkpage_opaque(self->there)->btpo_level == level;
}

static bool
are_roots(CheckIndex *self, const CheckTree *tree)
{
	const BTMetaPageData *meta = BTPageGetMeta((Page) self->here->page);

	if (tree->root == P_NONE)
		return meta->btm_fastroot == P_NONE;
	return is_root(self, tree->root, tree->level) &&
		(P_ISROOT(checkpage_opaque(self->there)) ||
		 P_INCOMPLETE_SPLIT(checkpage_opaque(self->there))) &&
		is_root(self, meta->btm_fastroot, meta->btm_fastlevel);
}

static void
find_edge(CheckIndex *self, const CheckTree *tree, BlockNumber *edge,
		  bool right)
{
	BlockNumber block = tree->root;

	for (int level = tree->level; level >= 0; level--)
	{
		CheckPage  *page = self->there;
		OffsetNumber offset;

		if (!checkread_has_block(self, block) ||
			checkread_page(self, block, page) != NULL ||
			!checkbtree_tuples(self, page, MaxIndexTuplesPerPage, true) ||
			checkpage_opaque(page)->btpo_level != level)
			return;
		edge[level] = block;
		offset = right ? page->last : page->first;
		if (level == 0 || offset == 0 || page->tuples[offset] == NULL)
			return;
		block = BTreeTupleGetDownLink(page->tuples[offset]);
	}
}

/*
 * If the deletion of the leftmost pages of a level is not finished, these pages
 * have no downlink any more.  Step from the first page that has one to the
 * leftmost page.
 */
static void
skip_dying(CheckIndex *self, BlockNumber *block)
{
	for (BlockNumber n = 0; n < self->tree->nblocks; n++)
	{
		BlockNumber left;

		if (*block == InvalidBlockNumber ||
			checkread_page(self, *block, self->there) != NULL)
			return;
		left = checkpage_opaque(self->there)->btpo_prev;
		if (left == P_NONE || !checkread_has_block(self, left) ||
			!is_being_deleted(self, left))
			return;
		*block = left;
	}
}

void
checklinks_tree(CheckIndex *self, CheckTree *tree)
{
	const char *fault = "";
	CheckKind	kind = CHECK_BAD_PAGE;

	tree->heapkeyspace = tree->allequalimage = true;
	memset(tree->leftmost, 0xFF, sizeof(tree->leftmost));
	memset(tree->rightmost, 0xFF, sizeof(tree->rightmost));
	for (int i = 0; i < CHECK_SURE && fault != NULL; i++)
	{
		fault = read_metapage(self, tree);
		if (fault != NULL)
			break;
		if (i > 0)
			pg_usleep(1000L << i);
		if (!are_roots(self, tree))
		{
			kind = PageIsNew((Page) self->there->page) ? CHECK_BAD_PAGE :
				CHECK_BROKEN_LINK;
			fault = "the metapage's root or fast root is no page of its level";
		}
	}
	tree->sound = fault == NULL;
	if (!tree->sound)
		check_found(self, kind, BTREE_METAPAGE, 0, "%s", fault);
	else if (tree->root != P_NONE)
	{
		find_edge(self, tree, tree->leftmost, false);
		find_edge(self, tree, tree->rightmost, true);
		for (int level = 0; level <= tree->level; level++)
			skip_dying(self, &tree->leftmost[level]);
	}
}
