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

#endif							/* PTSORT_KEY_PACK_H */
