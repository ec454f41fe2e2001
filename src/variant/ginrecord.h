/*-------------------------------------------------------------------------
 *
 * ginrecord.h
 *	  What the sort of a GIN build sorts: a key with some of its heap TIDs.
 *
 * A record has the bytes of a key, its first TID, and a list of the differences
 * between all TIDs, encoded as in ginpostinglist.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GINRECORD_H
#define PTSORT_GINRECORD_H

#include "compat.h"

#include "access/gin_private.h"

/*
 * A heap TID as an integer, as in ginpostinglist.c: GINTID_BITS bits for the
 * offset number, and above them the block number.  A difference has 7 bits in
 * each of at most GINTID_MOST bytes.
 */
#define GINTID_BITS		11
#define GINTID_MOST		((32 + GINTID_BITS + 6) / 7)

typedef struct GinRecord
{
	uint32		size;			/* of the record in bytes */
	uint32		key_size;		/* in bytes; 0: no key, see category */
	uint64		first;			/* the first TID */
	uint32		ntids;
	uint8		column;			/* of the index, from 1 */
	GinNullCategory category;
	uint16		unused;			/* 0 */

	/*
	 * The value, by-value types as a datum and varlenas with a header of 4
	 * bytes; the list follows
	 */
	char		key[FLEXIBLE_ARRAY_MEMBER];
} GinRecord;

StaticAssertDecl(offsetof(GinRecord, key) % MAXIMUM_ALIGNOF == 0,
				 "the key of a GinRecord is not aligned");

static inline const unsigned char *
ginrecord_list(const GinRecord *record)
{
	return (const unsigned char *) record->key + record->key_size;
}

/* ginrecord_key returns the key of a record of this column's type. */
static inline Datum
ginrecord_key(const GinRecord *record, Form_pg_attribute att)
{
	if (record->key_size == 0)
		return (Datum) 0;
	return att->attbyval ? *(const Datum *) record->key :
		PointerGetDatum(record->key);
}

static inline uint64
gintid_of(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << GINTID_BITS |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void
gintid_get(uint64 value, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber) (value >> GINTID_BITS),
				   (OffsetNumber) (value & ((1 << GINTID_BITS) - 1)));
}

/* gintid_encode appends a difference, and returns the end. */
static inline unsigned char *
gintid_encode(unsigned char *at, uint64 value)
{
	while (value > 0x7F)
	{
		*at++ = 0x80 | (value & 0x7F);
		value >>= 7;
	}
	*at++ = (unsigned char) value;
	return at;
}

static inline uint64
gintid_decode(const unsigned char **at)
{
	uint64		value = **at & 0x7F;

	for (int shift = 7; *(*at)++ & 0x80; shift += 7)
		value |= (uint64) (**at & 0x7F) << shift;
	return value;
}

#endif							/* PTSORT_GINRECORD_H */
