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

/* GistMark: what the shared memory says about a block of the index. */
typedef enum GistMark
{
	GIST_IS_LIVE = 1,			/* a participant found tuples there */
	GIST_IS_LINKED = 2,			/* scans reach the page */
	GIST_IS_LINKED_TWICE = 4,	/* there are two ways to the page */
	GIST_MARK_BITS = 4
} GistMark;
#define BLOCKS_PER_WORD	(BITS_PER_BYTE * sizeof(uint32) / GIST_MARK_BITS)

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

Size
checkgistwalk_size(BlockNumber nblocks)
{
	return mul_size(nblocks / BLOCKS_PER_WORD + 1, sizeof(pg_atomic_uint32));
}

static pg_atomic_uint32 *
word_of(const CheckIndex *self, BlockNumber block)
{
	return (pg_atomic_uint32 *) self->shared + block / BLOCKS_PER_WORD;
}

/* Returns the marks of a block, in the lowest bits of a word. */
static uint32
get_marks(const CheckIndex *self, BlockNumber block)
{
	return pg_atomic_read_u32(word_of(self, block)) >>
		block % BLOCKS_PER_WORD * GIST_MARK_BITS;
}

/* Mark a block.  Returns true if it was marked before. */
static bool
set_mark(const CheckIndex *self, GistMark mark, BlockNumber block)
{
	uint32		bit = (uint32) mark << block % BLOCKS_PER_WORD * GIST_MARK_BITS;

	return block < self->tree->nblocks &&
		(pg_atomic_fetch_or_u32(word_of(self, block), bit) & bit) != 0;
}

static void
mark_linked(const CheckIndex *self, BlockNumber block)
{
	if (set_mark(self, GIST_IS_LINKED, block))
		(void) set_mark(self, GIST_IS_LINKED_TWICE, block);
}

void
checkgistwalk_init(CheckIndex *self)
{
	for (uint64 i = 0; i < self->tree->nblocks; i += BLOCKS_PER_WORD)
		pg_atomic_init_u32(word_of(self, i), 0);
	mark_linked(self, GIST_ROOT_BLKNO);
}

/* Remove all marks but GIST_IS_LIVE. */
static void
clear_links(CheckIndex *self)
{
	for (uint64 i = 0; i < self->tree->nblocks; i += BLOCKS_PER_WORD)
		pg_atomic_fetch_and_u32(word_of(self, i), PG_UINT32_MAX /
								((1 << GIST_MARK_BITS) - 1) * GIST_IS_LIVE);
	mark_linked(self, GIST_ROOT_BLKNO);
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

/* Returns what is wrong with the number of ways to a block, or NULL. */
static const char *
find_wrong(const CheckIndex *self, BlockNumber block)
{
	uint32		marks = get_marks(self, block);

	if (marks & GIST_IS_LINKED_TWICE)
		return "there are two ways to the page";
	return (marks & (GIST_IS_LIVE | GIST_IS_LINKED)) == GIST_IS_LIVE ?
		"there is no downlink for the page" : NULL;
}

static bool
are_wrong(const CheckIndex *self)
{
	for (BlockNumber i = 0; i < self->tree->nblocks; i++)
		if (find_wrong(self, i) != NULL)
			return true;
	return false;
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
	for (BlockNumber i = 0; i < self->tree->nblocks; i++)
	{
		const char *wrong = find_wrong(self, i);

		if (wrong != NULL && checkread_page(self, i, self->here) == NULL &&
			self->method->tuples(self, self->here, MaxIndexTuplesPerPage, true))
			check_found(self, CHECK_BROKEN_LINK, i, 0, "%s", wrong);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}
