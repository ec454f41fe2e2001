/*-------------------------------------------------------------------------
 *
 * btentry.h
 *	  Adds sort entries of exact keys to nbtree pages.
 *
 * The words of an exact key hold everything, so no index tuple exists before
 * one is made in its place on the page, by a few shifts and stores
 * (key_form.h), and keys are equal if their words are.  Only tuples with nulls,
 * whose columns have other offsets, and posting lists, which go through a
 * BtPending (btpage.h), are put together in a buffer first.  The pages are
 * byte for byte those that index tuples would have made.
 *
 * CPU time of forming pages, ns per tuple, without and with this: int8 79, 7;
 * uuid 105, 13; (int4, int8) 129, 15; int4 of 1,024 values 48, 4.
 *
 * An entry is the words of the key and its inline image (variants.h); in all
 * functions 'entries' are n of them, in index order.
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
 * deduplicated, before an entry that has the same key as the next one, or that
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
