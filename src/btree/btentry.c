/*-------------------------------------------------------------------------
 *
 * btentry.c
 *	  Adds sort entries of exact keys to nbtree pages.
 *
 * The loops are compiled once for each number of words, and check for room once
 * for many tuples of the same size, because per tuple both would be a large
 * part of the cost.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btentry.h"

/* Add the tuple of an entry with nulls; false if there is no room. */
static pg_noinline bool
add_with_nulls(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
			   const uint64 *entry)
{
	uint64		buffer[KEY_TUPLE_SIZE / sizeof(uint64)];
	IndexTuple	itup = (IndexTuple) buffer;
	Size		size = key_pack_tuple(pack, entry, itup);

	if (!btpage_has_room(rules, open, size))
		return false;
	key_entry_tid(entry, pack->nwords, &itup->t_tid);
	btpage_append(open, itup, size, 0);
	return true;
}

/*
 * Add up to n entries, for which there is room.  Stops before an entry with
 * nulls and, to deduplicate, before one with the same key as the next.  Returns
 * the number added.
 */
static pg_attribute_always_inline int
add_entries(BtOpenPage *open, const KeyPack *pack, const uint64 *entry, int n,
			bool deduplicate, int nwords)
{
	PageHeader	header = (PageHeader) open->page;
	Size		size = pack->size;
	unsigned	at = header->pd_upper;
	ItemId		item = PageGetItemId(open->page,
									 OffsetNumberNext(open->lastoff));
	int			i;

	for (i = 0; i < n; i++, entry += nwords + 1)
	{
		IndexTuple	itup;

		if (deduplicate && key_entry_same(nwords, entry, entry + nwords + 1))
			break;
		if (unlikely(key_pack_has_nulls(pack, nwords, entry)))
			break;
		at -= size;
		*item++ = btpage_item(at, size);
		/* the free space of a new page is zero, and so is the padding */
		itup = (IndexTuple) ((char *) header + at);
		key_pack_fill(pack, entry, itup);
		key_entry_tid(entry, nwords, &itup->t_tid);
	}
	if (i > 0)
	{
		header->pd_upper = at;
		header->pd_lower += i * sizeof(ItemIdData);
		open->lastoff += i;
		open->lastextra = 0;
	}
	return i;
}

/* btentry_fill with a constant number of words. */
static pg_attribute_always_inline int
fill(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
	 const uint64 *entries, int n, bool *full, int nwords)
{
	int			stride = nwords + 1;
	int			last = rules->deduplicate ? n - 1 : n;
	int			i = 0;

	*full = false;
	while (i < last)
	{
		int			room = btpage_room(rules, open, pack->size);
		const uint64 *entry;

		i += add_entries(open, pack, entries + i * stride, Min(room, last - i),
						 rules->deduplicate, nwords);
		if (i == last)
			break;
		entry = entries + i * stride;
		if (rules->deduplicate && key_entry_same(nwords, entry, entry + stride))
			break;
		if (key_pack_has_nulls(pack, nwords, entry))
		{
			if (add_with_nulls(rules, open, pack, entry))
			{
				i++;
				continue;
			}
		}
		else if (btpage_has_room(rules, open, pack->size))
			continue;
		*full = true;
		break;
	}
	return i;
}

int
btentry_fill(const BtRules *rules, BtOpenPage *open, const KeyPack *pack,
			 const uint64 *entries, int n, bool *full)
{
	if (pack->nwords == 1)
		return fill(rules, open, pack, entries, n, full, 1);
	Assert(pack->nwords == 2);
	return fill(rules, open, pack, entries, n, full, 2);
}

void
btentry_start(BtPending *pending, const KeyPack *pack, const uint64 *entry)
{
	Size		size = key_pack_tuple(pack, entry, pending->base);

	key_entry_tid(entry, pack->nwords, &pending->base->t_tid);
	memcpy(pending->entry, entry, (pack->nwords + 1) * sizeof(uint64));
	btpending_begin(pending, size);
}

int
btentry_accept(BtPending *pending, const KeyPack *pack, const uint64 *entries,
			   int n)
{
	int			nwords = pack->nwords;
	ItemPointer tids = (ItemPointer) ((char *) pending->base +
									  pending->keysize);
	int			ntids = pending->ntids;
	const uint64 *entry = entries;

	n = Min(n, pending->maxtids - ntids);
	for (int i = 0; i < n; i++, entry += nwords + 1)
	{
		if (!key_entry_same(nwords, pending->entry, entry))
		{
			n = i;
			break;
		}
		key_entry_tid(entry, nwords, &tids[ntids + i]);
	}
	n = Max(n, 0);
	pending->ntids = ntids + n;
	return n;
}
