/*-------------------------------------------------------------------------
 *
 * btentry.h
 *	  Adds sort entries of exact keys to nbtree pages.
 *
 * Tuples are made in their place on the page, from the words of the key, and
 * equal keys are equal words.  Posting lists go through a BtPending
 * (btpage.h), and the pages are the same as if index tuples had been added.
 *
 * An entry (see variants.h) is the words of the key and its inline image.
 * "entries" are n of them, in index order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTENTRY_H
#define PTSORT_BTENTRY_H

#include "btree/btpage.h"
#include "key/key_form.h"

/*
 * btentry_fill adds entries to a leaf, as one tuple each.  It stops if the
 * page has no room for the next one, which sets *full, and, if the index is
 * deduplicated, before an entry that has the same key as the one behind it, or
 * is the last one.  Returns how many it has added.
 */
extern int	btentry_fill(const BtRules *rules, BtOpenPage *open,
						 const KeyForm *form, const uint64 *entries, int n,
						 bool *full);

/* btentry_start makes the tuple of an entry the base tuple. */
extern void btentry_start(BtPending *pending, const KeyForm *form,
						  const uint64 *entry);

/*
 * btentry_accept adds the heap TIDs of the first entries to what is pending,
 * while they have the same key and there is room.  Returns how many.
 */
extern int	btentry_accept(BtPending *pending, const KeyForm *form,
						   const uint64 *entries, int n);

#endif							/* PTSORT_BTENTRY_H */
