/*-------------------------------------------------------------------------
 *
 * key_entry.h
 *	  The sort entry of an index tuple with an exact key.
 *
 * An *entry* consists of the words of the key and one more word, which
 * completes the index tuple:
 *
 *		15 bits tail of the key | 32 bits block | 16 bits offset | 1 bit dead
 *
 * Compared as unsigned integers, first word first, entries have the order of
 * their keys and then of their heap TIDs.  The last word is the inline image
 * of the tuple (PtSortVariant.inline_image).  Recently dead tuples are marked
 * in unique indexes only.
 *
 * This is the only file that knows the layout.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_ENTRY_H
#define PTSORT_KEY_ENTRY_H

#include "postgres.h"

#include "access/itup.h"
#include "ptsort_variant.h"
#include "storage/itemptr.h"

/* Maximum bits of an exact key in the word after its words, at the top. */
#define KEY_TAIL_BITS	15

/* Maximum words of an entry; key_words() needs an array of this size. */
#define KEY_ENTRY_WORDS (PTSORT_MAX_WORDS + 1)

/* Maximum bytes of an index tuple with an exact key: 16 for each column. */
#define KEY_TUPLE_SIZE	(16 * (INDEX_MAX_KEYS + 1))

#define KEY_ENTRY_OFFSET_SHIFT	1
#define KEY_ENTRY_BLOCK_SHIFT	(KEY_ENTRY_OFFSET_SHIFT + 16)
#define KEY_ENTRY_TAIL_SHIFT	(KEY_ENTRY_BLOCK_SHIFT + 32)
#define KEY_ENTRY_DEAD			UINT64CONST(1)

StaticAssertDecl(KEY_ENTRY_TAIL_SHIFT + KEY_TAIL_BITS == 64,
				 "the parts of an entry's last word must fill it");

/*
 * key_entry_set_tuple completes an entry, whose words and tail key_words()
 * made, with the heap TID and whether the tuple is dead.
 */
static inline void
key_entry_set_tuple(uint64 *entry, int nwords, ItemPointer tid, bool dead)
{
	uint64		block = ItemPointerGetBlockNumberNoCheck(tid);
	uint64		offset = ItemPointerGetOffsetNumberNoCheck(tid);

	entry[nwords] |= block << KEY_ENTRY_BLOCK_SHIFT |
		offset << KEY_ENTRY_OFFSET_SHIFT | (dead ? KEY_ENTRY_DEAD : 0);
}

/* key_entry_tid stores the heap TID of an entry in '*tid'. */
static inline void
key_entry_tid(const uint64 *entry, int nwords, ItemPointer tid)
{
	uint64		last = entry[nwords];

	ItemPointerSet(tid, (BlockNumber) (last >> KEY_ENTRY_BLOCK_SHIFT),
				   (OffsetNumber) ((last >> KEY_ENTRY_OFFSET_SHIFT) & 0xFFFF));
}

/*
 * key_entry_is_dead returns true if the entry's tuple is marked as recently
 * dead.
 */
static inline bool
key_entry_is_dead(const uint64 *entry, int nwords)
{
	return (entry[nwords] & KEY_ENTRY_DEAD) != 0;
}

/*
 * key_entry_same_tail returns true if two entries with equal words have the
 * same key.
 */
static inline bool
key_entry_same_tail(int nwords, const uint64 *a, const uint64 *b)
{
	return (a[nwords] ^ b[nwords]) >> KEY_ENTRY_TAIL_SHIFT == 0;
}

/* key_entry_same returns true if two entries have the same key. */
static inline bool
key_entry_same(int nwords, const uint64 *a, const uint64 *b)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return key_entry_same_tail(nwords, a, b);
}

#endif							/* PTSORT_KEY_ENTRY_H */
