/*-------------------------------------------------------------------------
 *
 * btpage.h
 *	  Forms nbtree pages from tuples that arrive in index order.
 *
 * btload.c builds a page in private memory.  While the page is open, the slot
 * of the high key (P_HIKEY) is reserved and data starts at P_FIRSTKEY.  Until
 * btload.c closes a page, it does not know whether the page gets a high key:
 * the rightmost page of a level has none.
 *
 * Deduplication: a BtPending collects the heap TIDs of equal tuples for one
 * posting list tuple.  btload.c first adds a plain tuple to the page;
 * btpending_accept removes that tuple if the next one is equal.
 *
 * The sort returns tuples of exact keys as entries, which hold the whole key
 * and the heap TID (key_pack.h).  A few shifts and stores make the index tuple
 * in its place on the page, and comparing keys means comparing bits.  Posting
 * lists need a buffer, and so do tuples with nulls, because nulls move the
 * other columns.  In all functions, 'entries' points to n entries in index
 * order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTPAGE_H
#define PTSORT_BTPAGE_H

#include "access/itup.h"
#include "access/nbtree.h"
#include "key/key_pack.h"

/* BtRules: how to form pages of an index; set by btpage_rules(). */
typedef struct BtRules
{
	Relation	heap;			/* for error messages only */
	Relation	index;
	BTScanInsert inskey;		/* insertion key, for suffix truncation */
	Size		leaf_full;		/* a leaf with less free space is full */
	Size		upper_full;		/* an internal page with less space is full */
	bool		deduplicate;	/* true to make posting lists */
	bool		varlena_leads;	/* true if the first column is a varlena */
	MemoryContext tmpcxt;		/* btpage_close resets this context */
} BtRules;

/* BtOpenPage: a page that still accepts tuples; plain data. */
typedef struct BtOpenPage
{
	Page		page;			/* BLCKSZ bytes, which the caller owns */
	BlockNumber blkno;			/* block of the page in the file */
	uint32		level;			/* 0 = leaf */
	OffsetNumber lastoff;		/* last used offset, P_HIKEY if none */
	Size		lastextra;		/* size of last item's posting list */
	Size		extrabefore;	/* lastextra of the item before the last */
} BtOpenPage;

/*
 * BtPending: equal tuples that will become one posting list tuple.  Their heap
 * TIDs directly follow the base tuple, beginning with the base tuple's own.
 */
typedef struct BtPending
{
	IndexTuple	base;			/* in a buffer of BUFFER_SIZE bytes */
	Size		keysize;		/* size of the base tuple; 0: no pending list */
	int			ntids;
	int			maxtids;		/* maximum of ntids */
	uint64		entry[KEY_ENTRY_WORDS]; /* base tuple's entry, if any */
} BtPending;

/*
 * btpage_rules fills in 'rules' for a build of 'index', and allocates in the
 * current memory context.  'allequalimage' is true if equal keys of all columns
 * have equal images; the leader determines it for all participants.
 */
extern void btpage_rules(BtRules *rules, Relation heap, Relation index,
						 bool allequalimage);

/*
 * btpage_open makes 'buffer' an empty page of level 'level', without sibling
 * links.  The caller will write the page to block 'blkno'.
 */
extern void btpage_open(BtOpenPage *open, Page buffer, BlockNumber blkno,
						uint32 level);

/*
 * btpage_add adds a tuple whose MAXALIGN'ed size is 'size' and whose posting
 * list takes 'extra' bytes.  Returns false if the tuple does not fit.
 */
extern bool btpage_add(const BtRules *rules, BtOpenPage *open, IndexTuple itup,
					   Size size, Size extra);

/*
 * btpage_fill adds entries to a leaf, one tuple for each.  It stops, and sets
 * *full, if the page has no room for the next entry.  If the index is
 * deduplicated, it also stops before the last entry, and before an entry with
 * the same key as its successor.  Returns the number of entries added.
 */
extern int	btpage_fill(const BtRules *rules, BtOpenPage *open,
						const KeyPack *pack, const uint64 *entries, int n,
						bool *full);

/*
 * btpage_carry_over copies the last item of page 'from' to the empty page 'to',
 * because closing 'from' will turn that item into a high key.
 */
extern void btpage_carry_over(const BtOpenPage *from, BtOpenPage *to);

/*
 * btpage_close turns the last item, a lower bound of all keys to the right of
 * the page, into the page's high key.  On a leaf it truncates the high key as
 * much as possible.  There must be at least two items.  Returns the high key,
 * which points into the page.  The caller sets the sibling links.
 */
extern IndexTuple btpage_close(const BtRules *rules, BtOpenPage *open);

/* btpage_close_rightmost ends a page that has no right sibling. */
extern void btpage_close_rightmost(BtOpenPage *open);

/*
 * btpage_first_tuple returns a palloc'd copy of the first data item of a leaf.
 * The leaf must be open or have a high key.  If the item is a posting list
 * tuple, the copy is a plain tuple with the first TID.
 */
extern IndexTuple btpage_first_tuple(Page page);

/*
 * btpage_most_tids returns the maximum number of heap TIDs of a posting list.
 * 'keysize' is the size of its base tuple.  The result may be less than 2.
 */
extern int	btpage_most_tids(Size keysize);

extern void btpending_init(BtPending *pending);

/*
 * btpending_accept adds the heap TID of a tuple to the pending posting list, or
 * to one that the last tuple of the leaf starts.  Returns false if the tuple
 * has another key or the list is full; then the caller must finish any list.
 */
extern bool btpending_accept(const BtRules *rules, BtPending *pending,
							 BtOpenPage *open, IndexTuple itup);

/*
 * btpending_start makes an entry's tuple the base tuple of a posting list.
 * btpending_accept_entries then adds heap TIDs of entries until an entry has
 * another key or the list is full.  It returns the number of TIDs added.
 */
extern void btpending_start(BtPending *pending, const KeyPack *pack,
							const uint64 *entry);
extern int	btpending_accept_entries(BtPending *pending, const KeyPack *pack,
									 const uint64 *entries, int n);

/*
 * btpending_finish ends the pending list and returns the tuple to add to the
 * page, valid until the next list starts.  Sets *extra to the size of the
 * tuple's posting list.
 */
extern IndexTuple btpending_finish(BtPending *pending, Size *extra);

#endif							/* PTSORT_BTPAGE_H */
