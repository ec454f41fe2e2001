/*-------------------------------------------------------------------------
 *
 * key_pack.h
 *	  Packing of several key columns into the words of one sort key, and the
 *	  sort entries of index tuples with an exact key.
 *
 * A pack is a list of fields.  Each field encodes a column's value, in the
 * column's order, as an unsigned integer with a fixed number of bits.  A null
 * is the smallest or the largest integer; a bit after the field distinguishes
 * nulls from values.  Fields follow each other, most significant first, so the
 * words have the order of the columns.  A single column of 64 bits has its
 * value in the first word and its null bit in the tail.
 *
 * If every key column is in the pack, the pack is *exact*: ptsort can rebuild
 * the columns from the pack.  The last bits of an exact pack may be in the
 * *tail*: the upper bits of the word after the key's words.  The lower bits of
 * this word then hold a heap TID.
 *
 * An *entry* consists of the words of the key and a last word, which completes
 * the index tuple:
 *
 *		15 bits tail of the key | 32 bits block | 16 bits offset | 1 bit dead
 *
 * A comparison of entries as unsigned integers, first word first, gives the
 * order of their keys and then of their heap TIDs.  The last word is the inline
 * image of the tuple (PtSortVariant.inline_image).  ptsort marks recently dead
 * tuples in unique indexes only.  Only key_pack.h and .c use the layout.
 *
 * The place of each field is fixed in tuples without nulls.  Tuples with nulls
 * take a slower path, because nulls change the offsets of the columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_PACK_H
#define PTSORT_KEY_PACK_H

#include "compat.h"

#include "access/itup.h"
#include "access/tupdesc.h"
#include "port/pg_bswap.h"
#include "ptsort_variant.h"
#include "storage/itemptr.h"

/* Maximum number of bits in the tail of an exact key. */
#define KEY_TAIL_BITS	15

/* Maximum number of words of an entry; key_words() fills arrays this long. */
#define KEY_ENTRY_WORDS (PTSORT_MAX_WORDS + 1)

/* Maximum size of an index tuple with an exact key: 16 bytes per column. */
#define KEY_TUPLE_SIZE	(16 * (INDEX_MAX_KEYS + 1))

#define KEY_ENTRY_OFFSET_SHIFT	1
#define KEY_ENTRY_BLOCK_SHIFT	(KEY_ENTRY_OFFSET_SHIFT + 16)
#define KEY_ENTRY_TAIL_SHIFT	(KEY_ENTRY_BLOCK_SHIFT + 32)
#define KEY_ENTRY_DEAD			UINT64CONST(1)

StaticAssertDecl(KEY_ENTRY_TAIL_SHIFT + KEY_TAIL_BITS == 64,
				 "the parts of an entry's last word must fill it");

/*
 * key_entry_set_tuple adds the heap TID and the dead bit to an entry.  The
 * entry must already contain the words and tail that key_words() made.
 */
static inline void
key_entry_set_tuple(uint64 *entry, int nwords, ItemPointer tid, bool dead)
{
	uint64		block = ItemPointerGetBlockNumberNoCheck(tid);
	uint64		offset = ItemPointerGetOffsetNumberNoCheck(tid);

	entry[nwords] |= block << KEY_ENTRY_BLOCK_SHIFT |
		offset << KEY_ENTRY_OFFSET_SHIFT | (dead ? KEY_ENTRY_DEAD : 0);
}

static inline void
key_entry_tid(const uint64 *entry, int nwords, ItemPointer tid)
{
	uint64		last = entry[nwords];

	ItemPointerSet(tid, (BlockNumber) (last >> KEY_ENTRY_BLOCK_SHIFT),
				   (OffsetNumber) ((last >> KEY_ENTRY_OFFSET_SHIFT) & 0xFFFF));
}

/* True if the entry's tuple is marked as recently dead. */
static inline bool
key_entry_is_dead(const uint64 *entry, int nwords)
{
	return (entry[nwords] & KEY_ENTRY_DEAD) != 0;
}

/* True if two entries with equal words have the same key. */
static inline bool
key_entry_same_tail(int nwords, const uint64 *a, const uint64 *b)
{
	return (a[nwords] ^ b[nwords]) >> KEY_ENTRY_TAIL_SHIFT == 0;
}

/* True if two entries have the same key. */
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

/*
 * FieldKind: how a value becomes the bits of a field.  The values of kinds up
 * to FIELD_UINT64 are passed by value.
 */
typedef enum FieldKind
{
	FIELD_NONE,					/* unknown: the column cannot be packed */
	FIELD_BOOL,
	FIELD_CHAR,
	FIELD_INT16,
	FIELD_INT32,
	FIELD_INT64,
	FIELD_UINT32,
	FIELD_UINT64,
	FIELD_MACADDR,
	FIELD_MACADDR8,
	FIELD_TID,
	FIELD_UUID_HIGH,			/* a uuid is two fields */
	FIELD_UUID_LOW,
	FIELD_WORD					/* a word from the caller; the value cannot be
								 * rebuilt from it */
} FieldKind;

/* key_bit returns a mask of the bit at a position of the words (put_bits). */
static inline uint64
key_bit(int at)
{
	return (UINT64CONST(1) << 63) >> (at % 64);
}

/* KeyField: one field of a pack. */
typedef struct KeyField
{
	uint64		flip;			/* bits to invert for the column's order */
	uint16		at;				/* bit position in the words: see put_bits */
	uint16		within;			/* offset in the value, in bytes */
	uint16		offset;			/* offset in a tuple without nulls, in bytes */
	uint8		kind;			/* FieldKind */
	uint8		bits;			/* number of bits of the value */
	uint8		column;			/* index into values, isnull */
	bool		nulls_first;
} KeyField;

#define KEY_PACK_MAX_FIELDS 64

/* KeyPack: a list of fields.  Callers zero the pack, then add columns. */
typedef struct KeyPack
{
	int			nfields;
	int			bits;			/* number of bits of all fields */
	int			nwords;			/* exact pack: number of words before the
								 * tail's word */
	TupleDesc	desc;			/* exact pack: descriptor of its tuples */
	Size		size;			/* exact pack: size of a tuple without nulls */
	uint64		null_bits[KEY_ENTRY_WORDS]; /* mask of an entry's null bits */
	uint64		not_null[KEY_ENTRY_WORDS];	/* the null bits of an entry
											 * without nulls */
	KeyField	fields[KEY_PACK_MAX_FIELDS];
} KeyPack;

/*
 * key_pack_kind returns the kind of field for a column, given the comparison
 * function of its operator class and the layout of its type (which may be a
 * domain or a user's own type).
 */
extern FieldKind key_pack_kind(Oid order_function, int16 typlen,
							   bool typbyval);

/* key_pack_add appends a column.  Returns false if it cannot be packed. */
extern bool key_pack_add(KeyPack *pack, FieldKind kind, int column,
						 bool nulls_first, bool reverse);

/*
 * key_pack_encode fills 'nwords' words, and then the tail's word.  'word'
 * is the value of a FIELD_WORD, already in the column's order.
 */
extern void key_pack_encode(const KeyPack *pack, const Datum *values,
							const bool *isnull, uint64 word, int nwords,
							uint64 *words);

/* key_pack_word makes a word, for ascending order, of a value's first field. */
extern uint64 key_pack_word(FieldKind kind, Datum value);

/* True if a null bit follows the field; a uuid's follows its second field. */
static inline bool
key_pack_has_null_bit(const KeyField *field)
{
	return field->kind != FIELD_UUID_HIGH;
}

/*
 * key_pack_set_desc sets the descriptor of an exact pack's tuples.  The pack
 * has 'nwords' words and a tail, and keeps the pointer to 'desc'.  Callers must
 * call this function before the functions below.
 */
extern void key_pack_set_desc(KeyPack *pack, TupleDesc desc, int nwords);

/*
 * key_pack_tuple makes the tuple of an entry as index_form_tuple() would; the
 * caller sets the heap TID.  'target' must have room for KEY_TUPLE_SIZE bytes.
 * Returns the tuple's size.
 */
extern Size key_pack_tuple(const KeyPack *pack, const uint64 *entry,
						   IndexTuple target);

/* True if a column of the entry is null. */
static inline bool
key_pack_has_nulls(const KeyPack *pack, int nwords, const uint64 *entry)
{
	uint64		found = 0;

	for (int i = 0; i <= nwords; i++)
		found |= (entry[i] ^ pack->not_null[i]) & pack->null_bits[i];
	return found != 0;
}

/* Store the value of an entry's field in 'target'. */
static inline void
key_field_store(const KeyField *field, const uint64 *entry, char *target)
{
	int			word = field->at / 64;
	int			shift = field->at % 64;
	uint64		bits = entry[word] << shift;

	if (shift + field->bits > 64)
		bits |= entry[word + 1] >> (64 - shift);
	bits = (bits >> (64 - field->bits)) ^ field->flip;
	switch ((FieldKind) field->kind)
	{
		case FIELD_BOOL:
		case FIELD_CHAR:
			*(uint8 *) target = (uint8) bits;
			break;
		case FIELD_INT16:
			*(uint16 *) target = (uint16) bits;
			break;
		case FIELD_INT32:
		case FIELD_UINT32:
			*(uint32 *) target = (uint32) bits;
			break;
		case FIELD_INT64:
		case FIELD_UINT64:
			*(uint64 *) target = bits;
			break;
		case FIELD_MACADDR:
			bits = pg_hton64(bits << 16);
			memcpy(target, &bits, 6);
			break;
		case FIELD_MACADDR8:
		case FIELD_UUID_HIGH:
		case FIELD_UUID_LOW:
			bits = pg_hton64(bits);
			memcpy(target, &bits, 8);
			break;
		case FIELD_TID:
			ItemPointerSet((ItemPointer) target, (BlockNumber) (bits >> 16),
						   (OffsetNumber) (bits & 0xFFFF));
			break;
		case FIELD_WORD:
		case FIELD_NONE:
			Assert(false);		/* exact keys have no field of these kinds */
	}
}

/* key_pack_tuple for an entry without nulls and zeroed pack->size bytes */
static inline void
key_pack_fill(const KeyPack *pack, const uint64 *entry, IndexTuple target)
{
	target->t_info = (unsigned short) pack->size;
	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];

		key_field_store(field, entry, (char *) target + field->offset);
	}
}

/*
 * key_pack_value returns the value of an entry whose key is a single column,
 * and sets *isnull.  If the value is passed by reference, stores it in 'space',
 * which must have KEY_VALUE_SIZE bytes and maximum alignment.
 */
#define KEY_VALUE_SIZE	16
extern Datum key_pack_value(const KeyPack *pack, const uint64 *entry,
							char *space, bool *isnull);

/* True for one column, passed by value: the case of key_single_* below. */
static inline bool
key_pack_is_single(const KeyPack *pack)
{
	return pack->nfields == 1 && pack->fields[0].kind <= FIELD_UINT64;
}

static inline void
key_single_encode(const KeyPack *pack, Datum value, uint64 *entry)
{
	const KeyField *field = &pack->fields[0];

	entry[0] = ((uint64) value ^ field->flip) << (64 - field->bits) |
		pack->not_null[0];
	entry[1] = pack->not_null[1];
}

static inline Datum
key_single_value(const KeyPack *pack, const uint64 *entry, bool *isnull)
{
	const KeyField *field = &pack->fields[0];
	uint64		bits = (entry[0] >> (64 - field->bits)) ^ field->flip;

	*isnull = key_pack_has_nulls(pack, 1, entry);
	if (unlikely(*isnull))
		return (Datum) 0;
	/* as fetch_att() does */
	switch (field->bits)
	{
		case 64:
			return (Datum) bits;
		case 32:
			return Int32GetDatum((int32) bits);
		case 16:
			return Int16GetDatum((int16) bits);
		default:
			return CharGetDatum((char) bits);
	}
}

#endif							/* PTSORT_KEY_PACK_H */
