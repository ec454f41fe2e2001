/*-------------------------------------------------------------------------
 *
 * key_pack.c
 *	  Packing of several key columns into the words of one sort key.
 *
 * A field consists of the value's own bits.  Some bits are inverted so that an
 * unsigned comparison gives the column's order: the sign of a signed integer,
 * and all bits if the order is descending.  Inverting the same bits again
 * restores the value.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tupmacs.h"
#include "key/key_pack.h"
#include "util.h"
#include "utils/fmgroids.h"
#include "utils/uuid.h"

/* KnownValue: a comparison function of the server, and what it compares. */
typedef struct KnownValue
{
	Oid			function;
	FieldKind	kind;
	int16		typlen;
	bool		typbyval;
} KnownValue;

/*
 * Types that are ordered as integers and whose equal values have equal images
 * (unlike float4, float8 and timetz).
 */
static const KnownValue known_values[] = {
	{F_BTBOOLCMP, FIELD_BOOL, 1, true},
	{F_BTCHARCMP, FIELD_CHAR, 1, true},
	{F_BTINT2CMP, FIELD_INT16, 2, true},
	{F_BTINT4CMP, FIELD_INT32, 4, true},
	{F_BTINT8CMP, FIELD_INT64, 8, true},
	{F_BTOIDCMP, FIELD_UINT32, 4, true},
	{F_BTOID8CMP, FIELD_UINT64, 8, true},
	{F_DATE_CMP, FIELD_INT32, 4, true},
	{F_TIME_CMP, FIELD_INT64, 8, true},
	{F_TIMESTAMP_CMP, FIELD_INT64, 8, true},
	{F_TIMESTAMPTZ_CMP, FIELD_INT64, 8, true},
	{F_CASH_CMP, FIELD_INT64, 8, true},
	{F_PG_LSN_CMP, FIELD_UINT64, 8, true},
	{F_XID8CMP, FIELD_UINT64, 8, true},
	{F_MACADDR_CMP, FIELD_MACADDR, 6, false},
	{F_MACADDR8_CMP, FIELD_MACADDR8, 8, false},
	{F_BTTIDCMP, FIELD_TID, 6, false},
	{F_UUID_CMP, FIELD_UUID_HIGH, UUID_LEN, false},
};

FieldKind
key_pack_kind(Oid order_function, int16 typlen, bool typbyval)
{
	for (int i = 0; i < lengthof(known_values); i++)
	{
		const KnownValue *known = &known_values[i];

		if (known->function == order_function && known->typlen == typlen &&
			known->typbyval == typbyval)
			return known->kind;
	}
	return FIELD_NONE;
}

static const uint8 kind_bits[] = {
	[FIELD_BOOL] = 1,
	[FIELD_CHAR] = 8,
	[FIELD_INT16] = 16,
	[FIELD_INT32] = 32,
	[FIELD_INT64] = 64,
	[FIELD_UINT32] = 32,
	[FIELD_UINT64] = 64,
	[FIELD_MACADDR] = 48,
	[FIELD_MACADDR8] = 64,
	[FIELD_TID] = 48,
	[FIELD_UUID_HIGH] = 64,
	[FIELD_UUID_LOW] = 64,
	[FIELD_WORD] = 64
};

/* Returns a mask of the lower n bits, 1 <= n <= 64. */
static inline uint64
ones(int n)
{
	return PG_UINT64_MAX >> (64 - n);
}

/* Returns a mask of a field's bits that must be inverted. */
static uint64
kind_flip(FieldKind kind, bool reverse)
{
	int			bits = kind_bits[kind];
	uint64		flip = 0;

	/* the word from the caller already has the order of its column */
	if (kind == FIELD_WORD)
		return 0;
	if (kind == FIELD_INT16 || kind == FIELD_INT32 || kind == FIELD_INT64)
		flip = UINT64CONST(1) << (bits - 1);	/* the sign */
	return reverse ? flip ^ ones(bits) : flip;
}

bool
key_pack_add(KeyPack *pack, FieldKind kind, int column, bool nulls_first,
			 bool reverse)
{
	KeyField   *field = &pack->fields[pack->nfields];

	if (kind == FIELD_NONE || pack->nfields + 2 > KEY_PACK_MAX_FIELDS)
		return false;
	field->kind = kind;
	field->column = column;
	field->bits = kind_bits[kind];
	field->nulls_first = nulls_first;
	field->flip = kind_flip(kind, reverse);
	field->at = pack->bits;
	pack->bits += field->bits;
	field->within = kind == FIELD_UUID_LOW ? sizeof(uint64) : 0;
	if (key_pack_has_null_bit(field))
	{
		if (pack->bits < KEY_ENTRY_WORDS * 64)
		{
			pack->null_bits[pack->bits / 64] |= key_bit(pack->bits);
			if (nulls_first)
				pack->not_null[pack->bits / 64] |= key_bit(pack->bits);
		}
		pack->bits++;
	}
	pack->nfields++;
	if (kind == FIELD_UUID_HIGH)
		return key_pack_add(pack, FIELD_UUID_LOW, column, nulls_first, reverse);
	return true;
}

/* Returns the value's own bits, right-aligned. */
static inline uint64
field_get(FieldKind kind, Datum value, uint64 word)
{
	const char *bytes = DatumGetPointer(value);

	switch (kind)
	{
		case FIELD_BOOL:
			return DatumGetBool(value) ? 1 : 0;
		case FIELD_CHAR:
			return (uint8) DatumGetChar(value);
		case FIELD_INT16:
			return (uint16) DatumGetInt16(value);
		case FIELD_INT32:
			return (uint32) DatumGetInt32(value);
		case FIELD_INT64:
			return (uint64) DatumGetInt64(value);
		case FIELD_UINT32:
			return DatumGetUInt32(value);
		case FIELD_UINT64:
			return DatumGetUInt64(value);
		case FIELD_MACADDR:
			return pt_string_word(bytes, 6) >> 16;
		case FIELD_MACADDR8:
		case FIELD_UUID_HIGH:
			return pt_bytes_word(bytes);
		case FIELD_UUID_LOW:
			return pt_bytes_word(bytes + sizeof(uint64));
		case FIELD_TID:
			return pt_tid_word((const ItemPointerData *) bytes);
		case FIELD_WORD:
			return word;
		case FIELD_NONE:
			break;
	}
	return 0;
}

uint64
key_pack_word(FieldKind kind, Datum value)
{
	return field_get(kind, value, 0) ^ kind_flip(kind, false);
}

/*
 * Put the lower n bits of 'value' at bit position 'at' of the words (position
 * 0 is the most significant bit of the first word).  Drop any bits at position
 * 'end' or after it.
 */
static inline void
put_bits(uint64 *words, uint32 at, uint32 end, uint64 value, uint32 n)
{
	uint32		room = 64 - at % 64;
	uint64	   *target = &words[at / 64];

	Assert(n > 0 && n <= 64);
	if (unlikely(at + n > end))
	{
		if (at >= end)
			return;
		value >>= at + n - end;
		n = end - at;
	}
	if (n <= room)
		target[0] |= value << (room - n);
	else
	{
		target[0] |= value >> (n - room);
		target[1] |= value << (64 - (n - room));
	}
}

/* Put a null.  The words must already have the null bit of a non-null value. */
static void
put_null(uint64 *words, const KeyField *field, int end)
{
	int			at = field->at + field->bits;

	if (!field->nulls_first)
		put_bits(words, field->at, end, ones(field->bits), field->bits);
	if (key_pack_has_null_bit(field) && at < end)
		words[at / 64] ^= key_bit(at);
}

void
key_pack_encode(const KeyPack *pack, const Datum *values, const bool *isnull,
				uint64 word, int nwords, uint64 *words)
{
	int			end = nwords * 64 + KEY_TAIL_BITS;
	const KeyField *first = &pack->fields[0];

	/* by far the most frequent key: a single column of 64 bits */
	if (pack->nfields == 1 && first->bits == 64 && first->kind != FIELD_WORD &&
		!isnull[0])
	{
		words[0] = field_get(first->kind, values[0], word) ^ first->flip;
		words[1] = pack->not_null[1];
		return;
	}
	for (int i = 0; i < nwords; i++)
		words[i] = pack->not_null[i];
	words[nwords] = pack->not_null[nwords] &
		~(PG_UINT64_MAX >> KEY_TAIL_BITS);
	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];

		if (unlikely(isnull[field->column]))
			put_null(words, field, end);
		else
			put_bits(words, field->at, end,
					 field_get(field->kind, values[field->column], word) ^
					 field->flip, field->bits);
	}
}

/*
 * Set the offset of each non-null column in a tuple; the first of the columns
 * starts at 'end'.  Returns the tuple's size.
 */
static Size
place_columns(TupleDesc desc, const bool *isnull, Size end, Size *starts)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (isnull[i])
			continue;
		starts[i] = att_align_nominal(end, att->attalign);
		end = starts[i] + att->attlen;
	}
	return MAXALIGN(end);
}

void
key_pack_set_desc(KeyPack *pack, TupleDesc desc, int nwords)
{
	const bool	isnull[INDEX_MAX_KEYS] = {false};
	Size		starts[INDEX_MAX_KEYS] = {0};

	pack->desc = desc;
	pack->nwords = nwords;
	pack->size = place_columns(desc, isnull, MAXALIGN(sizeof(IndexTupleData)),
							   starts);
	Assert(pack->size + MAXIMUM_ALIGNOF <= KEY_TUPLE_SIZE);
	for (int i = 0; i < pack->nfields; i++)
	{
		KeyField   *field = &pack->fields[i];

		field->offset = starts[field->column] + field->within;
	}
}

static void
find_nulls(const KeyPack *pack, const uint64 *entry, bool *isnull)
{
	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];
		int			at = field->at + field->bits;

		/* a uuid's second field has the null bit, and follows the first */
		isnull[field->column] = ((entry[at / 64] ^ pack->not_null[at / 64]) &
								 key_bit(at)) != 0;
	}
}

/* Make the tuple of an entry with nulls, whose columns have other offsets. */
static Size
tuple_with_nulls(const KeyPack *pack, const uint64 *entry, IndexTuple target)
{
	bool		isnull[INDEX_MAX_KEYS] = {false};
	Size		starts[INDEX_MAX_KEYS] = {0};
	uint8	   *bitmap = (uint8 *) (target + 1);
	Size		size;

	find_nulls(pack, entry, isnull);
	size = place_columns(pack->desc, isnull,
						 MAXALIGN(sizeof(IndexTupleData) +
								  sizeof(IndexAttributeBitMapData)), starts);
	memset(target, 0, size);
	for (int i = 0; i < pack->desc->natts; i++)
	{
		if (!isnull[i])
			bitmap[i / BITS_PER_BYTE] |= 1 << (i % BITS_PER_BYTE);
	}
	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];

		if (!isnull[field->column])
			key_field_store(field, entry,
							(char *) target + starts[field->column] +
							field->within);
	}
	target->t_info = (unsigned short) size | INDEX_NULL_MASK;
	return size;
}

Size
key_pack_tuple(const KeyPack *pack, const uint64 *entry, IndexTuple target)
{
	if (unlikely(key_pack_has_nulls(pack, pack->nwords, entry)))
		return tuple_with_nulls(pack, entry, target);
	memset(target, 0, pack->size);
	key_pack_fill(pack, entry, target);
	return pack->size;
}

Datum
key_pack_value(const KeyPack *pack, const uint64 *entry, char *space,
			   bool *isnull)
{
	Form_pg_attribute att = TupleDescAttr(pack->desc, 0);

	*isnull = key_pack_has_nulls(pack, pack->nwords, entry);
	if (unlikely(*isnull))
		return (Datum) 0;
	for (int i = 0; i < pack->nfields; i++)
		key_field_store(&pack->fields[i], entry,
						space + pack->fields[i].within);
	return fetch_att(space, att->attbyval, att->attlen);
}
