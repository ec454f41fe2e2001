/*-------------------------------------------------------------------------
 *
 * checkgintids.c
 *	  Reads the lists of TIDs of a GIN index.
 *
 * A segment of a list has its first TID, and then differences of TIDs.  These
 * are numbers of 7 bits in each byte, the lowest first; the highest bit of all
 * bytes but the last is set.
 *
 * An index that pg_upgrade took from 9.3 may have leaves of posting trees and
 * lists that are arrays of TIDs, and pages whose pd_lower is not set.  The
 * server reads them, so they are sound.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/checkgin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

enum
{
	OFFSET_BITS = GIN_OFFSET_BITS,
	BYTE_BITS = BITS_PER_BYTE - 1,	/* of a number, in a byte of a list */
	NUMBER_BITS = OFFSET_BITS + sizeof(BlockNumber) * BITS_PER_BYTE
};

/* Add a TID to a list.  Returns false, and sets the fault, if it is wrong. */
static inline bool
add_tid(const GinCheck *check, GinTids *list, uint64 tid)
{
	OffsetNumber offset = (OffsetNumber) tid;

	if (unlikely(offset == 0 || offset > check->most))
		list->fault = "a TID is impossible";
	else if (unlikely(list->n > 0 && tid <= list->last))
	{
		list->fault = "the TIDs do not ascend";
		list->kind = CHECK_OUT_OF_ORDER;
	}
	else
	{
		list->tids[list->n++] = list->last = tid;
		return true;
	}
	return false;
}

/* A word with 1 in each byte, and the sum of a word's bytes */
#define EACH_BYTE	(PG_UINT64_MAX / PG_UINT8_MAX)
static inline uint64
sum_bytes(uint64 word)
{
	const uint64 each_other = PG_UINT64_MAX / PG_UINT16_MAX;
	const uint64 low = each_other * PG_UINT8_MAX;

	return (((word & low) + ((word >> BITS_PER_BYTE) & low)) * each_other) >>
		(sizeof(word) - sizeof(uint16)) * BITS_PER_BYTE;
}

/*
 * Add the sum and the number of numbers that end in the 8 bytes at 'byte'.
 * Returns the end of the last one, or NULL if a number may be 0, or longer.
 */
static const unsigned char *
sum_numbers(const unsigned char *byte, uint64 *sum, int *n)
{
	const uint64 high = EACH_BYTE << BYTE_BITS;
	uint64		word;
	uint64		ends;
	uint64		at = high;		/* the first bytes of numbers */
	int			used;

	memcpy(&word, byte, sizeof(word));
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	ends = ~word & high;
	if (ends == 0 || ((word - EACH_BYTE) & ends) != 0)
		return NULL;
	used = pg_leftmost_one_pos64(ends) + 1;
	word &= PG_UINT64_MAX >> (sizeof(word) * BITS_PER_BYTE - used);
	at &= ~((word & high) << BITS_PER_BYTE);
	for (int shift = 0; at != 0; shift += BYTE_BITS)
	{
		*sum += sum_bytes(word & (at - (at >> BYTE_BITS))) << shift;
		at = (at & word) << BITS_PER_BYTE;
	}
	*n += sum_bytes(ends >> BYTE_BITS);
	return byte + used / BITS_PER_BYTE;
}

/* Count a segment's TIDs.  Returns false if add_segment() must look at it. */
static bool
count_segment(GinTids *list, const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	uint64		word = pt_tid_word(&segment->first);
	const uint64 mask = (UINT64CONST(1) << OFFSET_BITS) - 1;
	uint64		sum = word >> 16 << OFFSET_BITS | (word & mask);
	int			n = 1;

	if ((OffsetNumber) word == 0 || (list->n > 0 && word <= list->last))
		return false;
	while (byte != NULL && end - byte >= sizeof(uint64))
		byte = sum_numbers(byte, &sum, &n);
	if (byte != NULL && byte < end)
	{
		unsigned char rest[sizeof(uint64)];

		/* numbers that are 1 fill the word */
		memset(rest, 1, sizeof(rest));
		memcpy(rest, byte, end - byte);
		n -= sizeof(rest) - (end - byte);
		sum -= sizeof(rest) - (end - byte);
		if (end[-1] > PG_INT8_MAX || sum_numbers(rest, &sum, &n) == NULL)
			return false;
	}
	list->n += n;
	list->last = sum >> OFFSET_BITS << 16 | (sum & mask);
	return byte != NULL && sum >> NUMBER_BITS == 0;
}

/* Add the TIDs of a segment. */
static bool
add_segment(const GinCheck *check, GinTids *list,
			const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	const uint64 mask = (UINT64CONST(1) << OFFSET_BITS) - 1;
	uint64		word = pt_tid_word(&segment->first);
	uint64		tid = word >> 16 << OFFSET_BITS | (word & mask);

	if (!add_tid(check, list, word))
		return false;
	while (byte < end)
	{
		uint64		bits = *byte & PG_INT8_MAX;

		for (int shift = BYTE_BITS; *byte++ > PG_INT8_MAX; shift += BYTE_BITS)
		{
			if (byte == end || shift >= NUMBER_BITS)
			{
				list->fault = "a list has a number without an end";
				return false;
			}
			bits |= (uint64) (*byte & PG_INT8_MAX) << shift;
		}
		tid += bits;
		if (tid >> NUMBER_BITS != 0)
			tid &= ~mask;		/* an impossible TID */
		if (!add_tid(check, list, tid >> OFFSET_BITS << 16 | (tid & mask)))
			return false;
	}
	return true;
}

/* Read the segments between two places or, if not compressed, the TIDs. */
static void
read_list(const GinCheck *check, GinTids *list, const char *at,
		  const char *end, bool compressed)
{
	bool		goes_on = true;

	list->n = 0;
	list->fault = NULL;
	list->kind = CHECK_BAD_PAGE;
	while (goes_on && at < end)
	{
		int			n = list->n;
		uint64		last = list->last;

		if (compressed && list->counts)
		{
			if (count_segment(list, (const GinPostingList *) at))
			{
				at += SizeOfGinPostingList((const GinPostingList *) at);
				continue;
			}
			list->n = n;
			list->last = last;
		}
		goes_on = compressed ?
			add_segment(check, list, (const GinPostingList *) at) :
			add_tid(check, list, pt_tid_word((const ItemPointerData *) at));
		at += compressed ? SizeOfGinPostingList((const GinPostingList *) at) :
			sizeof(ItemPointerData);
	}
}

void
checkgin_entry_tids(CheckIndex *self, const CheckPage *page, IndexTuple tuple,
					GinTids *list)
{
	bool		is_pending = checkgin_has_flag(page, GIN_LIST);
	const char *at = is_pending ? (char *) &tuple->t_tid :
		(char *) GinGetPosting(tuple);
	int			n = is_pending ? 1 : GinGetNPosting(tuple);
	bool		compressed = !is_pending && GinItupIsCompressed(tuple);
	Size		size = n * sizeof(ItemPointerData);

	if (compressed && n > 0)
		size = SizeOfGinPostingList((const GinPostingList *) at);
	read_list(self->state, list, at, at + size, compressed);
	if (list->fault == NULL && list->n != n)
		list->fault = "a list has not the number of TIDs that its tuple says";
}

void
checkgin_leaf_tids(CheckIndex *self, const CheckPage *page, GinTids *list)
{
	bool		compressed = checkgin_has_flag(page, GIN_COMPRESSED);
	const char *at = (char *) GinDataPageGetData((Page) page->page);
	const char *end = compressed ?
		page->page + ((PageHeader) page->page)->pd_lower :
		at + checkgin_opaque(page)->maxoff * sizeof(ItemPointerData);

	read_list(self->state, list, at, end, compressed);
}
