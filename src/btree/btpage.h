/*-------------------------------------------------------------------------
 *
 * btpage.h
 *	  Forms nbtree pages from tuples that arrive in index order.
 *
 * A page is built in private memory.  While it is open, the slot of the high
 * key (P_HIKEY) is reserved and data starts at P_FIRSTKEY.  On every level,
 * only closing a page shows whether it gets a high key or is the level's
 * rightmost page, which has none.
 *
 * Deduplication: BtPending collects the heap TIDs of equal tuples and returns
 * one posting list tuple for them.  A tuple that may be the first of several is
 * added to the page as a plain tuple, and removed if the next one is equal.
 *
 * Tuples of exact keys come as entries, which hold the whole key and the heap
 * TID (key_pack.h).  A few shifts and stores make the index tuple in its place
 * on the page, and comparing two keys compares bits; that is far cheaper than
 * copying and comparing index tuples.  A buffer is needed only for tuples with
 * nulls, whose columns have other offsets, and for posting lists.  In all
 * functions 'entries' are n entries in index order.
 *
 * Nothing here knows about blocks, files or WAL (btwrite) nor about the tree
 * (btload).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTPAGE_H
#define PTSORT_BTPAGE_H

#include "access/itup.h"
#include "access/nbtree.h"
#include "key/key_pack.h"
#include "utils/rel.h"

/* BtRules: how to form pages of an index; set by btpage_rules(). */
typedef struct BtRules
{
	Relation	heap;			/* for error messages only */
	Relation	index;
	BTScanInsert inskey;		/* comparisons of suffix truncation */
	Size		leaf_full;		/* a leaf with less space left is full */
	Size		upper_full;		/* a higher page with less space is full */
	bool		deduplicate;	/* true to make posting lists */
	bool		varlena_leads;	/* the first column is a varlena */
	MemoryContext tmpcxt;		/* reset whenever a page is closed */
} BtRules;

/* BtOpenPage: a page that still accepts tuples; plain data. */
typedef struct BtOpenPage
{
	Page		page;			/* BLCKSZ bytes, owned by the caller */
	BlockNumber blkno;			/* block of the page in the file */
	uint32		level;			/* 0 = leaf */
	OffsetNumber lastoff;		/* last used offset, P_HIKEY if none */
	Size		lastextra;		/* bytes of last item's posting list */
	Size		extrabefore;	/* lastextra before that item was added */
} BtOpenPage;

/*
 * BtPending: equal tuples that will become one posting list tuple: the base
 * tuple, immediately followed by the heap TIDs of all, its own first.
 */
typedef struct BtPending
{
	IndexTuple	base;			/* in a buffer of BUFFER_SIZE bytes */
	Size		keysize;		/* size of the base tuple; 0: none pending */
	int			ntids;
	int			maxtids;		/* maximum of ntids */
	uint64		entry[KEY_ENTRY_WORDS]; /* the base tuple's, if it has one */
} BtPending;

/*
 * btpage_rules fills in 'rules' for a build of 'index'.  'allequalimage': equal
 * keys of all columns have equal images; the leader looks that up for all
 * participants.  Allocates in the current memory context.
 */
extern void btpage_rules(BtRules *rules, Relation heap, Relation index,
						 bool allequalimage);

/*
 * btpage_open makes 'buffer' an empty page of this level, without siblings, to
 * be written at block 'blkno'.
 */
extern void btpage_open(BtOpenPage *open, Page buffer, BlockNumber blkno,
						uint32 level);

/*
 * btpage_add adds a tuple, of this MAXALIGN'ed size, with a posting list of
 * 'extra' bytes.  Returns false if the page has no room for it.
 */
extern bool btpage_add(const BtRules *rules, BtOpenPage *open, IndexTuple itup,
					   Size size, Size extra);

/*
 * btpage_fill adds entries to a leaf, as one tuple each.  It stops, and sets
 * *full, if the page has no room for the next one.  If the index is
 * deduplicated it also stops before an entry that has the same key as the next
 * one, and before the last entry.  Returns the number added.
 */
extern int	btpage_fill(const BtRules *rules, BtOpenPage *open,
						const KeyPack *pack, const uint64 *entries, int n,
						bool *full);

/*
 * btpage_carry_over copies the last item of page 'from' to the empty page 'to'
 * as its first one, because closing 'from' will make that item a high key.
 */
extern void btpage_carry_over(const BtOpenPage *from, BtOpenPage *to);

/*
 * btpage_close makes the last item, a lower bound of the keys to the right of
 * the page, the page's high key, shortened as much as possible on leaves.
 * There must be at least two items.  Returns the high key, which points into
 * the page.  The caller sets the sibling links.
 */
extern IndexTuple btpage_close(const BtRules *rules, BtOpenPage *open);

/* btpage_close_rightmost finishes a page that has no right sibling. */
extern void btpage_close_rightmost(BtOpenPage *open);

/*
 * btpage_first_tuple returns a palloc'd copy of the first data item of a leaf
 * that is open or has a high key; if that is a posting list tuple, the plain
 * tuple of its first TID.
 */
extern IndexTuple btpage_first_tuple(Page page);

extern void btpending_init(BtPending *pending);

/*
 * btpending_accept adds the heap TID of a tuple to the pending posting list if
 * it has the list's key.  If none is pending, the last tuple of the leaf may
 * begin one.  Returns false if the tuple does not belong to the list, or the
 * list has no room: the caller must finish it.
 */
extern bool btpending_accept(const BtRules *rules, BtPending *pending,
							 BtOpenPage *open, IndexTuple itup);

/*
 * btpending_start makes an entry's tuple the base tuple of a posting list.
 * btpending_accept_entries then adds the heap TIDs of the first entries, while
 * they have its key and it has room.  Returns the number added.
 */
extern void btpending_start(BtPending *pending, const KeyPack *pack,
							const uint64 *entry);
extern int	btpending_accept_entries(BtPending *pending, const KeyPack *pack,
									 const uint64 *entries, int n);

/*
 * btpending_finish returns the tuple to add to the page, valid until the next
 * posting list starts, and sets *extra to the size of its posting list.  Then
 * nothing is pending.
 */
extern IndexTuple btpending_finish(BtPending *pending, Size *extra);

#endif							/* PTSORT_BTPAGE_H */
