/*-------------------------------------------------------------------------
 *
 * key_pack.h
 *	  Several key columns packed into the words of one sort key; the sort entry
 *	  of an index tuple with an exact key.
 *
 * A pack is a list of fields.  Each field is a column's value as an unsigned
 * integer with a fixed number of bits, in the column's order.  A null is the
 * smallest or the largest integer, and a bit after the field distinguishes it
 * from a value.  Fields follow each other, most significant first, so the
 * words have the order of the columns.  A single column of 64 bits has its
 * value in the first word and its null bit in the tail.
 *
 * If every key column is in the pack, the pack is *exact*: the columns can be
 * rebuilt from it (key_form.h).  The last bits of an exact pack may be in the
 * *tail*, the upper bits of the word after the key's words; the lower bits of
 * that word then hold a heap TID.
 *
 * An *entry* consists of the words of the key and that word, which completes
 * the index tuple:
 *
 *		15 bits tail of the key | 32 bits block | 16 bits offset | 1 bit dead
 *
 * Compared as unsigned integers, first word first, entries have the order of
 * their keys and then of their heap TIDs.  The last word is the inline image
 * of the tuple (PtSortVariant.inline_image).  Recently dead tuples are marked
 * in unique indexes only.  This is the only file that knows the layout.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_PACK_H
#define PTSORT_KEY_PACK_H

#include "compat.h"

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

/*
 * FieldKind: how a value becomes the bits of a field.  Those up to FIELD_UINT64
 * are passed by value.
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
	FIELD_WORD					/* a word made elsewhere; its value cannot be
								 * rebuilt */
} FieldKind;

/* key_bit returns the bit at a position of the words, see put_bits. */
static inline uint64
key_bit(int at)
{
	return (UINT64CONST(1) << 63) >> (at % 64);
}

/* One field. */
typedef struct KeyField
{
	FieldKind	kind;
	int			column;			/* index into values, isnull */
	int			bits;			/* number of bits of the value */
	int			at;				/* bit position in the words: see put_bits */
	bool		nulls_first;
	bool		reverse;		/* descending */
	uint64		flip;			/* bits to invert for the column's order */
} KeyField;

/* Maximum number of fields. */
#define KEY_PACK_MAX_FIELDS 64

/* KeyPack: zero-initialise, then add columns. */
typedef struct KeyPack
{
	int			nfields;
	int			bits;			/* number of bits of all fields */
	uint64		not_null[KEY_ENTRY_WORDS];	/* null bits of a tuple without
											 * nulls, within the entry */
	KeyField	fields[KEY_PACK_MAX_FIELDS];
} KeyPack;

/*
 * key_pack_kind returns how values of a column are packed, given the
 * comparison function of its operator class and the layout of its type;
 * FIELD_NONE if they cannot be packed.  Types with the same function and
 * layout (domains, a user's own types) are treated the same.
 */
extern FieldKind key_pack_kind(Oid order_function, int16 typlen,
							   bool typbyval);

/* key_pack_add appends a column; false if there is no room in the pack. */
extern bool key_pack_add(KeyPack *pack, FieldKind kind, int column,
						 bool nulls_first, bool reverse);

/*
 * key_pack_encode fills 'nwords' words and the tail's word after them, whose
 * lower bits become 0.  'word' is the value of a FIELD_WORD, already in the
 * order of its column.
 */
extern void key_pack_encode(const KeyPack *pack, const Datum *values,
							const bool *isnull, uint64 word, int nwords,
							uint64 *words);

/*
 * key_pack_word returns a word of a value that is not null, in ascending
 * order: the value's first field alone.
 */
extern uint64 key_pack_word(FieldKind kind, Datum value);

/*
 * True if a null bit follows the field; a value in two fields has it after the
 * second.
 */
static inline bool
key_pack_has_null_bit(const KeyField *field)
{
	return field->kind != FIELD_UUID_HIGH;
}

/*
 * KeySingle: a pack of one column whose values are passed by value.  This
 * frequent case has functions of its own.
 */
typedef struct KeySingle
{
	int			bits;			/* number of bits of the value */
	uint64		flip;			/* bits of the entry's first word to invert */
	uint64		null_bit[2];	/* the null bit in an entry */
	uint64		not_null[2];	/* value of the null bit if the column is not
								 * null */
} KeySingle;

/*
 * key_pack_single fills in a KeySingle.  Returns false if the pack has another
 * form.
 */
extern bool key_pack_single(const KeyPack *pack, KeySingle *single);

/* key_single_encode makes the entry of a value that is not null. */
static inline void
key_single_encode(const KeySingle *single, Datum value, uint64 *entry)
{
	entry[0] = (((uint64) value << (64 - single->bits)) ^ single->flip) |
		single->not_null[0];
	entry[1] = single->not_null[1];
}

/* key_single_is_null returns true if the value of the entry is null. */
static inline bool
key_single_is_null(const KeySingle *single, const uint64 *entry)
{
	return (((entry[0] ^ single->not_null[0]) & single->null_bit[0]) |
			((entry[1] ^ single->not_null[1]) & single->null_bit[1])) != 0;
}

/* key_single_value returns the value of an entry that is not null. */
static inline Datum
key_single_value(const KeySingle *single, const uint64 *entry)
{
	uint64		bits = (entry[0] ^ single->flip) >> (64 - single->bits);

	/* like fetch_att() */
	switch (single->bits)
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
