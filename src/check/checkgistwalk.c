/*-------------------------------------------------------------------------
 *
 * checkgistwalk.c
 *	  Finds out which pages of a GiST index scans reach.
 *
 * The participants mark each page in use, and each page to which a downlink
 * leads, or the right link of a page whose split is not finished.  In the end,
 * all pages in use must have one way to them, or a split moved the downlink
 * while participants read the pages.  Then the leader walks through the whole
 * tree as a scan does: where a child was split after its parent was copied, it
 * follows the child's right link (see the server's access/gist/README).  So it
 * reaches all pages that were in use when it began, each of them once.
 *
 * The check looks for a single entry in the same way, but descends only where a
 * key covers the entry.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/checkgist.h"
#include "utils/memutils.h"

#define WORD_BITS		((BlockNumber) (BITS_PER_BYTE * sizeof(uint32)))

/* A page to visit, and the LSN of its parent's copy; the root has none. */
typedef struct WalkStep
{
	BlockNumber block;
	XLogRecPtr	parent;
} WalkStep;

/*
 * Walk: visits all pages and marks them, or looks for the entry 'sought', or
 * for an entry that does not lie in 'key'.
 */
typedef struct Walk
{
	CheckIndex *self;
	CheckPage  *page;			/* memory for copies */
	IndexTuple	sought;
	IndexTuple	key;
	bool		found;
	int			n;				/* steps on the stack */
	int			room;
	WalkStep   *steps;
} Walk;

/* Words of a mark's bitmap for this number of blocks */
static BlockNumber
count_words(BlockNumber nblocks)
{
	return nblocks / WORD_BITS + 1;
}

Size
checkgistwalk_size(BlockNumber nblocks)
{
	return mul_size(mul_size(count_words(nblocks), NUM_GIST_MARKS),
					sizeof(pg_atomic_uint32));
}

static pg_atomic_uint32 *
bitmap(const CheckIndex *self, GistMark mark)
{
	return (pg_atomic_uint32 *) self->shared +
		(Size) count_words(self->tree->nblocks) * mark;
}

static void
clear(const CheckIndex *self, GistMark mark)
{
	for (BlockNumber i = 0; i < count_words(self->tree->nblocks); i++)
		pg_atomic_init_u32(bitmap(self, mark) + i, 0);
}

/* Mark a block.  Returns true if it was marked before. */
static bool
set_mark(const CheckIndex *self, GistMark mark, BlockNumber block)
{
	uint32		bit = (uint32) 1 << block % WORD_BITS;

	return block < self->tree->nblocks &&
		(pg_atomic_fetch_or_u32(bitmap(self, mark) + block / WORD_BITS,
								bit) & bit) != 0;
}

static void
mark_linked(const CheckIndex *self, BlockNumber block)
{
	if (set_mark(self, GIST_IS_LINKED, block))
		(void) set_mark(self, GIST_IS_LINKED_TWICE, block);
}

static void
clear_links(CheckIndex *self)
{
	clear(self, GIST_IS_LINKED);
	clear(self, GIST_IS_LINKED_TWICE);
	mark_linked(self, GIST_ROOT_BLKNO);
}

void
checkgistwalk_init(CheckIndex *self)
{
	clear(self, GIST_IS_LIVE);
	clear_links(self);
}

void
checkgistwalk_mark(CheckIndex *self)
{
	const CheckPage *page = self->here;
	Page		copy = (Page) page->page;

	(void) set_mark(self, GIST_IS_LIVE, page->block);
	if (GistFollowRight(copy))
		mark_linked(self, GistPageGetOpaque(copy)->rightlink);
	if (page->is_leaf)
		return;
	for (int i = page->first; i <= page->last; i++)
		if (page->tuples[i] != NULL)
			mark_linked(self, checkgist_child(page->tuples[i]));
}

static void
push(Walk *walk, BlockNumber block, XLogRecPtr parent)
{
	if (walk->n == walk->room)
	{
		walk->room *= 2;
		walk->steps = repalloc_huge(walk->steps,
									mul_size(walk->room, sizeof(WalkStep)));
	}
	walk->steps[walk->n++] = (WalkStep)
	{
		block, parent
	};
}

/* True if this is what the walk looks for, or if it may be below. */
static bool
is_on_way(Walk *walk, OffsetNumber offset)
{
	CheckIndex *self = walk->self;
	IndexTuple	tuple = walk->page->tuples[offset];
	IndexTuple	sought = walk->sought;

	if (walk->key != NULL)
		return !checkgist_covers(self, walk->key, tuple);
	if (!walk->page->is_leaf)
		return sought == NULL || checkgist_covers(self, tuple, sought);
	return sought != NULL && !checkpage_is_dead(walk->page, offset) &&
		ItemPointerEquals(&tuple->t_tid, &sought->t_tid) &&
		checkrows_hash(self, tuple) == checkrows_hash(self, sought);
}

static void
visit(Walk *walk, WalkStep step)
{
	CheckIndex *self = walk->self;
	CheckPage  *page = walk->page;
	Page		copy = (Page) page->own;

	if (walk->sought == NULL && walk->key == NULL &&
		step.parent != InvalidXLogRecPtr)
		mark_linked(self, step.block);
	if (checkread_page(self, step.block, page) != NULL ||
		!self->method->tuples(self, page, MaxIndexTuplesPerPage, true))
		return;
	if (step.parent != InvalidXLogRecPtr &&
		(GistFollowRight(copy) || GistPageGetNSN(copy) > step.parent) &&
		GistPageGetOpaque(copy)->rightlink != InvalidBlockNumber)
		push(walk, GistPageGetOpaque(copy)->rightlink, step.parent);
	for (int i = page->first; i <= page->last && !walk->found; i++)
	{
		if (page->tuples[i] == NULL || !is_on_way(walk, i))
			continue;
		if (page->is_leaf)
			walk->found = true;
		else
			push(walk, checkgist_child(page->tuples[i]), PageGetLSN(copy));
	}
}

/* Walk through the tree below a page.  Returns walk->found. */
static bool
walk_tree(Walk *walk, BlockNumber block, XLogRecPtr parent)
{
	/* damaged links may form a circle */
	int64		most = 2 * (int64) RelationGetNumberOfBlocks(walk->self->index);

	walk->room = PAGEREAD_MOST;
	walk->steps = palloc(mul_size(walk->room, sizeof(WalkStep)));
	push(walk, block, parent);
	while (walk->n > 0 && !walk->found && most-- > 0)
	{
		CHECK_FOR_INTERRUPTS();
		visit(walk, walk->steps[--walk->n]);
	}
	pfree(walk->steps);
	return walk->found;
}

bool
checkgistwalk_find(CheckIndex *self, IndexTuple tuple)
{
	Walk		walk = {.self = self,.page = self->here,.sought = tuple};

	return walk_tree(&walk, GIST_ROOT_BLKNO, InvalidXLogRecPtr);
}

bool
checkgistwalk_covers(CheckIndex *self, IndexTuple downlink, IndexTuple tuple)
{
	Walk		walk = {.self = self,.page = self->again,.key = downlink};

	return !walk_tree(&walk, checkgist_child(tuple),
					  PageGetLSN((Page) self->there->page));
}

/* Bits of the blocks with a wrong number of ways, in a word of the bitmaps */
static uint32
find_wrong(const CheckIndex *self, BlockNumber word)
{
	return (pg_atomic_read_u32(bitmap(self, GIST_IS_LIVE) + word) &
			~pg_atomic_read_u32(bitmap(self, GIST_IS_LINKED) + word)) |
		pg_atomic_read_u32(bitmap(self, GIST_IS_LINKED_TWICE) + word);
}

static bool
are_wrong(const CheckIndex *self)
{
	for (BlockNumber i = 0; i < count_words(self->tree->nblocks); i++)
		if (find_wrong(self, i) != 0)
			return true;
	return false;
}

static void
report_wrong(CheckIndex *self, BlockNumber word)
{
	pg_atomic_uint32 *linked = bitmap(self, GIST_IS_LINKED) + word;
	uint32		wrong = find_wrong(self, word);

	for (int i = 0; i < WORD_BITS && wrong >> i != 0; i++)
	{
		BlockNumber block = word * WORD_BITS + i;

		if ((wrong >> i & 1) != 0 &&
			checkread_page(self, block, self->here) == NULL &&
			self->method->tuples(self, self->here, MaxIndexTuplesPerPage, true))
			check_found(self, CHECK_BROKEN_LINK, block, 0, "%s",
						(pg_atomic_read_u32(linked) >> i & 1) != 0 ?
						"there are two ways to the page" :
						"there is no downlink for the page");
	}
}

void
checkgistwalk_pages(CheckIndex *self)
{
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	for (int i = 0; i < CHECK_SURE && are_wrong(self); i++)
	{
		Walk		walk = {.self = self,.page = self->here};

		clear_links(self);
		(void) walk_tree(&walk, GIST_ROOT_BLKNO, InvalidXLogRecPtr);
	}
	for (BlockNumber i = 0; i < count_words(self->tree->nblocks); i++)
		report_wrong(self, i);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}
