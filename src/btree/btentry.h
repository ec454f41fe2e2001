/*-------------------------------------------------------------------------
 *
 * btentry.h
 *	  Adds sort entries of exact keys to nbtree pages.
 *
 * The words of an exact key hold the whole key.  So a few shifts and stores
 * make the index tuple in its place on the page (key_pack.h), and keys are
 * equal if their words are; that is far cheaper than copying and comparing
 * index tuples.  A buffer is needed only for tuples with nulls, whose columns
 * have other offsets, and for posting lists, which go through a BtPending
 * (btpage.h).  The pages are byte for byte those that index tuples would make.
 *
 * An entry is the words of the key and its inline image (variants.h).  In all
 * functions 'entries' are n entries in index order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTENTRY_H
#define PTSORT_BTENTRY_H

#include "btree/btpage.h"
#include "key/key_pack.h"

/*
 * btentry_fill adds entries to a leaf, as one tuple each.  It stops, and sets
 * *full, if the page has no room for the next one.  If the index is
 * deduplicated it also stops before an entry that has the same key as the next
 * one, and before the last entry.  Returns the number added.
 */
extern int	btentry_fill(const BtRules *rules, BtOpenPage *open,
						 const KeyPack *pack, const uint64 *entries, int n,
						 bool *full);

/* btentry_start makes an entry's tuple the base tuple of a posting list. */
extern void btentry_start(BtPending *pending, const KeyPack *pack,
						  const uint64 *entry);

/*
 * btentry_accept adds the heap TIDs of the first entries to the pending posting
 * list, while they have its key and it has room.  Returns the number added.
 */
extern int	btentry_accept(BtPending *pending, const KeyPack *pack,
						   const uint64 *entries, int n);

#endif							/* PTSORT_BTENTRY_H */
