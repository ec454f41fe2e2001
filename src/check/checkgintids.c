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
	BYTE_BITS = BITS_PER_BYTE - 1,	/* of a number, in a byte of a list */
	NUMBER_BITS = GIN_OFFSET_BITS + sizeof(BlockNumber) * BITS_PER_BYTE
};

/* A TID as a word (pt_tid_word), and as the number that lists count with */
static inline uint64
to_word(uint64 number)
{
	return number >> GIN_OFFSET_BITS << 16 | (number & GIN_MOST_OFFSET);
}

static inline uint64
to_number(uint64 word)
{
	return word >> 16 << GIN_OFFSET_BITS | (word & GIN_MOST_OFFSET);
}

static inline bool
is_possible(const GinCheck *check, uint64 tid)
{
	OffsetNumber offset = (OffsetNumber) tid;

	return offset != 0 && offset <= check->most;
}

/* Add a TID to a list.  Returns false, and sets the fault, if it is wrong. */
static inline bool
add_tid(const GinCheck *check, GinTids *list, uint64 tid)
{
	if (unlikely(!is_possible(check, tid)))
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
	uint64		at;				/* the highest bits of the numbers' bytes */
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
	/* without a branch for the first and the second bytes of numbers */
	at = high & ~((word & high) << BITS_PER_BYTE);
	*sum += sum_bytes(word & (at - (at >> BYTE_BITS)));
	at = (at & word) << BITS_PER_BYTE;
	*sum += sum_bytes(word & (at - (at >> BYTE_BITS))) << BYTE_BITS;
	at = (at & word) << BITS_PER_BYTE;
	for (int shift = 2 * BYTE_BITS; unlikely(at != 0); shift += BYTE_BITS)
	{
		*sum += sum_bytes(word & (at - (at >> BYTE_BITS))) << shift;
		at = (at & word) << BITS_PER_BYTE;
	}
	*n += sum_bytes(ends >> BYTE_BITS);
	return byte + used / BITS_PER_BYTE;
}

/* Count a segment's TIDs.  Returns false if add_segment() must look at it. */
static bool
count_segment(const GinCheck *check, GinTids *list,
			  const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	uint64		word = pt_tid_word(&segment->first);
	uint64		tid = to_number(word);
	int			n = 1;

	if (!is_possible(check, word) || (list->n > 0 && word <= list->last))
		return false;
	while (byte != NULL && end - byte >= sizeof(uint64))
		byte = sum_numbers(byte, &tid, &n);
	if (byte == NULL)
		return false;
	if (byte < end)
	{
		unsigned char rest[sizeof(uint64)];
		int			fill = sizeof(rest) - (end - byte);

		/* numbers that are 1 fill the word */
		memset(rest, 1, sizeof(rest));
		memcpy(rest, byte, end - byte);
		tid -= fill;
		n -= fill;
		if (end[-1] > PG_INT8_MAX || sum_numbers(rest, &tid, &n) == NULL)
			return false;
	}
	word = to_word(tid);
	if (tid >> NUMBER_BITS != 0 || !is_possible(check, word))
		return false;
	list->n += n;
	list->last = word;
	return true;
}

/* Add the TIDs of a segment. */
static bool
add_segment(const GinCheck *check, GinTids *list,
			const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	uint64		word = pt_tid_word(&segment->first);
	uint64		tid = to_number(word);

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
			tid &= ~(uint64) GIN_MOST_OFFSET;	/* an impossible TID */
		if (!add_tid(check, list, to_word(tid)))
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
		const GinPostingList *segment = (const GinPostingList *) at;

		if (!compressed)
			goes_on = add_tid(check, list,
							  pt_tid_word((const ItemPointerData *) at));
		else if (!list->counts || !count_segment(check, list, segment))
			goes_on = add_segment(check, list, segment);
		at += compressed ? SizeOfGinPostingList(segment) :
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
