/*-------------------------------------------------------------------------
 *
 * gin.h
 *	  ptsort's GIN build, which replaces the server's ginbuild().
 *
 * Each participant collects the TIDs of its rows' keys in a table
 * (gincollect.c), and puts records, a key with some of its TIDs, into a sort.
 * A load reads the sorted records and merges the lists of each key.  It makes
 * leaf tuples with posting lists or, for long lists, posting trees
 * (ginposting.c), and fills the entry tree's leaves from the left (ginload.c).
 *
 * A participant writes the pages of its slice, but only the leader can finish
 * the first and the last key of a slice, because neighbouring slices may have
 * more of their TIDs, and the pages at both ends.  So the participant hands
 * these over in the slice's list (slicelist.h).  The leader reads the lists in
 * the order of the slices, finishes what participants handed over, and adds the
 * levels above the leaves, the root and the metapage.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GIN_H
#define PTSORT_GIN_H

#include "variant/variants.h"
#include "write/indexbuild.h"

extern const IndexBuildKind ginbuild_kind;


/*
 * gincollect.c
 *
 * gincollect_begin makes an empty table in the sort's room; its records go into
 * the sort.  gincollect_row adds the keys of a row.  gincollect_end puts all
 * records, and frees the table.
 */
typedef struct GinCollector GinCollector;

extern GinCollector *gincollect_begin(PtSort *sort);
extern void gincollect_row(GinCollector *collector, ItemPointer tid,
						   Datum *values, bool *isnull);
extern void gincollect_end(GinCollector *collector);

/*
 * Bytes of an entry page that remain free for inserts, as in a btree.  (The
 * server fills half of a page or, if memory is full several times, a bit more.)
 */
#define GIN_FREE_BYTES	(BLCKSZ / 10)

/* Bytes of a segment in a posting tree: GinPostingListSegmentMaxSize */
#define GIN_SEGMENT_SIZE	384

/* gin_table_size returns the part of a participant's budget for its table. */
static inline Size
gin_table_size(int64 budget)
{
	return Min(Max(budget, PTSORT_MIN_BUDGET) / 5, 4 * 1024 * 1024);
}


/*
 * ginload.c
 */

/* GinPart: what each participant counts */
typedef struct GinPart
{
	int64		entries;		/* TIDs, counted for each key */
	int64		keys;			/* leaf tuples */
	int64		entry_pages;
	int64		data_pages;		/* of posting trees */
} GinPart;

/*
 * GinChain: the page of a level that is being filled.  Its block is known if
 * the page before, which links to it, is complete; else InvalidBlockNumber.
 */
typedef struct GinChain
{
	Page		page;			/* NULL: not begun */
	BlockNumber block;
} GinChain;

/*
 * GinPosting: the TIDs of one key, in ascending order.  'items' collects them.
 * If they do not fit into a leaf tuple, they move to the leaves of a posting
 * tree, a segment (a GinPostingList) at a time.
 */
typedef struct GinPosting
{
	ItemPointer items;
	int			nitems;
	bool		is_tree;
	GinChain	leaf;
	Size		used;			/* bytes of the leaf; 0: not begun */
	ItemPointerData last;		/* last TID in the leaf */
	PostingItem *links;			/* to all complete leaves */
	int			nlinks;
	int			maxlinks;
} GinPosting;

typedef struct GinLevel
{
	GinChain	chain;
	bool		is_leaf;
	struct GinLevel *parent;	/* NULL until it exists */
} GinLevel;

/* ItemKind: of the items of a slice's list */
typedef enum ItemKind
{
	ITEM_RECORD = 1,			/* GinRecord: TIDs of a key, perhaps none */
	ITEM_DATA_LEAF,				/* PostingItem: leaf of the key's tree */
	ITEM_NEXT_DATA_LEAF,		/* BlockNumber of the next one */
	ITEM_TUPLE,					/* IndexTuple of a leaf */
	ITEM_DOWNLINK,				/* IndexTuple: link to a leaf */
	ITEM_NEXT_LEAF				/* BlockNumber of the next one */
} ItemKind;

/* GinLoad: a load, in one of its processes. */
typedef struct GinLoad
{
	Load		base;			/* must be first */
	GinOrder   *order;
	GinState   *gin;			/* the order's */
	MemoryContext temp;			/* reset for each key */
	GinLevel   *leaf;			/* of the entry tree */
	GinPart		part;			/* copied at the end of each slice */

	GinRecord  *key;			/* current key, without a list */
	Size		key_room;
	bool		has_key;
	bool		is_first;		/* the key is the slice's first */
	uint64	   *pending;		/* TIDs that later records may precede */
	int			npending;
	int			maxpending;
	uint64	   *merged;			/* scratch, as large as 'pending' */
	GinPosting	posting;		/* all other TIDs of the key */
	List	   *late;			/* leader: GinRecords to insert at the end */
} GinLoad;

extern const LoadMethod ginload;


/*
 * ginpage.c
 *
 * gin_begin_page begins the chain's page.  gin_end_page passes the page, whose
 * right sibling has block 'next', to the writer, and returns its block.
 * gin_new_block returns a block for a page.  gin_check_block raises an error if
 * a page links to the chain's next page, which would remain empty.
 */
extern BlockNumber gin_new_block(GinLoad *load);
extern void gin_begin_page(GinLoad *load, GinChain *chain, uint16 flags);
extern BlockNumber gin_end_page(GinLoad *load, GinChain *chain,
								BlockNumber next);
extern void gin_check_block(const GinLoad *load, const GinChain *chain);

/*
 * Levels of the entry tree.  gin_level_end_page writes the level's page, and
 * adds a downlink to it to the level above or, for a leaf of a slice, to the
 * slice's list.  gin_write_root ends the pages of all levels; the last is the
 * root.
 */
extern GinLevel *gin_level_create(GinLoad *load, bool is_leaf);
extern void gin_level_add(GinLoad *load, GinLevel *level, IndexTuple tuple);
extern void gin_level_add_downlink(GinLoad *load, GinLevel *level,
								   IndexTuple downlink);
extern void gin_level_end_page(GinLoad *load, GinLevel *level,
							   BlockNumber next);
extern void gin_write_root(GinLoad *load);


/*
 * ginposting.c
 *
 * ginposting_add adds the next TID.  ginposting_adopt adds a complete leaf with
 * greater TIDs, which another participant wrote.  ginposting_tids sets *tids to
 * a copy of all TIDs that are not in complete leaves, and returns their number.
 * ginposting_tuple returns the leaf tuple for a key, and writes the tree if
 * there is one; then the posting is empty, as after ginposting_reset.
 */
extern void ginposting_init(GinPosting *posting);
extern void ginposting_reset(GinPosting *posting);
extern void ginposting_add(GinLoad *load, GinPosting *posting, uint64 tid);
extern void ginposting_adopt(GinLoad *load, GinPosting *posting,
							 const PostingItem *link);
extern int	ginposting_tids(const GinPosting *posting, uint64 **tids);
extern IndexTuple ginposting_tuple(GinLoad *load, GinPosting *posting,
								   const GinRecord *key);

#endif							/* PTSORT_GIN_H */
