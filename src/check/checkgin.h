/*-------------------------------------------------------------------------
 *
 * checkgin.h
 *	  What the files of the check of GIN indexes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKGIN_H
#define PTSORT_CHECKGIN_H

#include "access/gin_private.h"
#include "check/check.h"

/* CheckMethod.tuples: find only the first tuple and the last */
#define GIN_ENDS	FirstOffsetNumber

/* The server's lists store offset numbers in this number of bits. */
#define GIN_OFFSET_BITS	11
#define GIN_MOST_OFFSET	((1 << GIN_OFFSET_BITS) - 1)

/* GinKey: a key of the entry tree; it points into a page's copy or a row. */
typedef struct GinKey
{
	OffsetNumber column;
	GinNullCategory category;
	Datum		value;
} GinKey;

/*
 * GinTids: a list's TIDs as words (pt_tid_word).  A byte holds one at most.  If
 * 'counts' is set before it is read, only 'n' and 'last' are known, and a TID
 * between the first and the last that no row can have is no fault.
 */
typedef struct GinTids
{
	bool		counts;
	int			n;
	uint64		last;
	const char *fault;			/* NULL: the list is sound */
	CheckKind	kind;			/* of the fault */
	uint64		tids[BLCKSZ];
} GinTids;

/* GinEntry: the key and the place of a list; a tree's leaf has no offset. */
typedef struct GinEntry
{
	GinKey		key;
	BlockNumber block;
	OffsetNumber offset;
} GinEntry;

typedef void (*GinListStep) (CheckIndex *self, const GinEntry *entry,
							 const GinTids *list);

/* GinCheck: CheckIndex.state */
typedef struct GinCheck
{
	GinState	gin;
	CheckColumn *columns[INDEX_MAX_KEYS];	/* of the tuples of each column */
	OffsetNumber most;			/* greatest offset number of a TID */
	GinTids		list;
	int			looks;			/* checkginlinks.c: number of comparisons */
	int			height;			/* checkginlinks.c: of the first child, or -1 */
	struct GinRow *row;			/* checkginrows.c: the row that it looks at */
} GinCheck;

/* This trusts nothing in the page's header. */
static inline GinPageOpaque
checkgin_opaque(const CheckPage *page)
{
	return (GinPageOpaque) (page->page + BLCKSZ -
							MAXALIGN(sizeof(GinPageOpaqueData)));
}

/* True if a page has one of these flags. */
static inline bool
checkgin_has_flag(const CheckPage *page, uint16 flags)
{
	return (checkgin_opaque(page)->flags & flags) != 0;
}

static inline BlockNumber
checkgin_right(const CheckPage *page)
{
	return checkgin_opaque(page)->rightlink;
}

static inline uint64
checkgin_bound(const CheckPage *page)
{
	return pt_tid_word(GinDataPageGetRightBound((Page) page->page));
}

/* Returns the last offset whose key is not infinite. */
static inline int
checkgin_last_key(const CheckPage *page)
{
	return page->last - (!page->is_leaf && page->last > 0 &&
						 checkgin_right(page) == InvalidBlockNumber);
}

/* A tuple of an entry leaf with a posting tree */
static inline bool
checkgin_is_tree(const CheckPage *page, OffsetNumber offset)
{
	return !checkgin_has_flag(page, GIN_LIST) &&
		page->tuples[offset] != NULL && GinIsPostingTree(page->tuples[offset]);
}

/* A downlink of a posting tree: its key and its child */
static inline PostingItem *
checkgin_item(const CheckPage *page, OffsetNumber offset)
{
	return GinDataPageGetPostingItem((Page) page->page, offset);
}

/* Returns the child of a downlink, or InvalidBlockNumber if it is damaged. */
static inline BlockNumber
checkgin_child(const CheckPage *page, OffsetNumber offset)
{
	if (offset > page->last)
		return InvalidBlockNumber;
	if (checkgin_has_flag(page, GIN_DATA))
		return PostingItemGetBlockNumber(checkgin_item(page, offset));
	return page->tuples[offset] == NULL ? InvalidBlockNumber :
		GinGetDownlink(page->tuples[offset]);
}

/*
 * checkgin.c: checkgin_tuples is CheckMethod.tuples.  With 'most' GIN_ENDS it
 * finds the first tuple and the last.  CheckPage.nkeys is the column number.
 * checkgin_key and checkgin_compare read the keys of sound tuples.
 *
 * checkgin_pending reads the pending list from list->head with a page's memory,
 * calls a function for each page, and sets the other members of *list.  It
 * returns what is wrong with the list, or NULL.  checkgin_pending_head returns
 * the head that the metapage has now.
 */
typedef void (*GinPageStep) (CheckIndex *self, const CheckPage *page);
extern bool checkgin_tuples(CheckIndex *self, CheckPage *page, int most,
							bool quiet);
extern GinKey checkgin_key(CheckIndex *self, const CheckPage *page,
						   OffsetNumber offset);
extern int	checkgin_compare(CheckIndex *self, GinKey a, GinKey b);
extern const char *checkgin_pending(CheckIndex *self, CheckPage *page,
									GinMetaPageData *list, GinPageStep step);
extern BlockNumber checkgin_pending_head(CheckIndex *self);

/*
 * checkgintids.c: read the list of a tuple, or of a leaf of a posting tree;
 * checkgin_tuples checked where it ends.
 */
extern void checkgin_entry_tids(CheckIndex *self, const CheckPage *page,
								IndexTuple tuple, GinTids *list);
extern void checkgin_leaf_tids(CheckIndex *self, const CheckPage *page,
							   GinTids *list);

/* checkginlinks.c: check the links of self->here to other pages. */
extern void checkginlinks_page(CheckIndex *self);

/*
 * checkginrows.c: checkginrows_visit calls a step for the lists of self->here,
 * a leaf or a page of the pending list; if 'with_trees' is true, also for those
 * in posting trees, and with their keys.  checkginrows_put_list is a step that
 * puts the entries into self->sort.  The others are members of CheckMethod.
 */
extern void checkginrows_begin(CheckIndex *self);
extern void checkginrows_visit(CheckIndex *self, bool with_trees,
							   GinListStep step);
extern void checkginrows_put_list(CheckIndex *self, const GinEntry *entry,
								  const GinTids *list);
extern void checkginrows_put_row(CheckIndex *self, uint64 tid, Datum *values,
								 bool *isnull);
extern IndexTuple checkginrows_form(CheckIndex *self, Datum *values,
									bool *isnull);
extern bool checkginrows_find(CheckIndex *self, IndexTuple tuple);
extern void checkginrows_end(CheckIndex *self);

#endif							/* PTSORT_CHECKGIN_H */
