/*-------------------------------------------------------------------------
 *
 * key_pack.h
 *	  Several key columns packed into the words of one sort key.
 *
 * A pack is a list of fields.  Each field is the value of a column as an
 * unsigned integer, of a fixed number of bits, that grows as the column's
 * order does.  For a null it is the smallest or the largest integer, and a bit
 * after it tells the null from a value.  Fields follow each other, most
 * significant first, so the words order as the columns do.  A single column of
 * 64 bits has its value in the first word and its null bit in the tail.
 *
 * If every key column is in the pack, the pack is *exact*: the columns can be
 * rebuilt from it (key_form.h).  The last bits of an exact pack may be in the
 * *tail*, the upper bits of the word after the key's words; its lower bits are
 * then left to a heap TID.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_PACK_H
#define PTSORT_KEY_PACK_H

#include "compat.h"

#include "key/key_entry.h"

/* How a field's bits follow from a value. */
typedef enum FieldKind
{
	FIELD_NONE,					/* not known: such a column ends the pack */
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
	FIELD_UUID_HIGH,			/* a uuid takes two fields */
	FIELD_UUID_LOW,
	FIELD_WORD					/* a word made elsewhere; cannot be rebuilt */
} FieldKind;

/* One field. */
typedef struct KeyField
{
	FieldKind	kind;
	int			column;			/* index into values, isnull */
	int			bits;			/* of the value */
	int			at;				/* where it begins: see put_bits */
	bool		nulls_first;
	bool		reverse;		/* descending */
	uint64		flip;			/* bits inverted, so that the order is right */
} KeyField;

/* Most fields: a bit each. */
#define KEY_PACK_MAX_FIELDS 64

/* KeyPack: zero-initialise, then add columns. */
typedef struct KeyPack
{
	int			nfields;
	int			bits;			/* of all fields */
	uint64		not_null[KEY_ENTRY_WORDS];	/* null bits if there are no
											 * nulls, as far as there is room */
	KeyField	fields[KEY_PACK_MAX_FIELDS];
} KeyPack;

/*
 * key_pack_kind returns how values of a column are packed, given the
 * comparison function of its operator class and the layout of its type;
 * FIELD_NONE if they cannot be.  Types with the same of both (domains, a
 * user's own) are treated the same.
 */
extern FieldKind key_pack_kind(Oid order_function, int16 typlen,
							   bool typbyval);

/* key_pack_add appends a column; false if there is no room in the pack. */
extern bool key_pack_add(KeyPack *pack, FieldKind kind, int column,
						 bool nulls_first, bool reverse);

/*
 * key_pack_encode fills 'nwords' words and the tail, the word after them,
 * whose lower bits are 0.  'word' is the value of a FIELD_WORD, already in the
 * order of its column.
 */
extern void key_pack_encode(const KeyPack *pack, const Datum *values,
							const bool *isnull, uint64 word, int nwords,
							uint64 *words);

/*
 * key_pack_word returns a word of a value that is not null, in ascending
 * order: the first field, on its own.
 */
extern uint64 key_pack_word(FieldKind kind, Datum value);

/* The null bit of a value in two fields is after the second. */
static inline bool
key_pack_has_null_bit(const KeyField *field)
{
	return field->kind != FIELD_UUID_HIGH;
}

/*
 * KeySingle: a pack of one column whose values are not by reference.  It is
 * worth functions of its own.
 */
typedef struct KeySingle
{
	int			bits;			/* of the value */
	uint64		flip;			/* as in KeyField, but in place */
	uint64		null_bit[2];	/* its place in an entry */
	uint64		not_null[2];	/* ... and its value if there is a value */
} KeySingle;

/* key_pack_single fills in a KeySingle; false if the pack is not one. */
extern bool key_pack_single(const KeyPack *pack, KeySingle *single);

/* key_single_encode makes the entry of a value that is not null. */
static inline void
key_single_encode(const KeySingle *single, Datum value, uint64 *entry)
{
	entry[0] = (((uint64) value << (64 - single->bits)) ^ single->flip) |
		single->not_null[0];
	entry[1] = single->not_null[1];
}

/* key_single_is_null: is the value of the entry null? */
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

	/* as the server does it when it takes a value from a tuple */
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
