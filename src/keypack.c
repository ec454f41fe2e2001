/*-------------------------------------------------------------------------
 *
 * keypack.c
 *	  Several key columns packed into the words of one sort key.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "keypack.h"
#include "storage/itemptr.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/uuid.h"

/* A comparison function of the server, and the values that it compares. */
typedef struct KnownValue
{
	Oid			function;
	FieldKind	kind;
	int16		typlen;
	bool		typbyval;
} KnownValue;

/*
 * Types whose order is that of integers, and whose equal values have equal
 * images.  (float4, float8 and timetz are not among them: they have equal values
 * with different images.)
 */
static const KnownValue known_values[] = {
	{F_BTBOOLCMP, FIELD_BOOL, 1, true},
	{F_BTCHARCMP, FIELD_CHAR, 1, true},
	{F_BTINT2CMP, FIELD_INT16, 2, true},
	{F_BTINT4CMP, FIELD_INT32, 4, true},
	{F_BTINT8CMP, FIELD_INT64, 8, true},
	{F_BTOIDCMP, FIELD_UINT32, 4, true},
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

/*
 * keypack_kind returns how values of a column are packed, given the comparison
 * function of its operator class and the layout of its type; FIELD_NONE if
 * they cannot be.  Types alike in both (domains, a user's own) are alike here.
 */
FieldKind
keypack_kind(Oid order_function, int16 typlen, bool typbyval)
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

static int
kind_bits(FieldKind kind)
{
	switch (kind)
	{
		case FIELD_BOOL:
			return 1;
		case FIELD_CHAR:
			return 8;
		case FIELD_INT16:
			return 16;
		case FIELD_INT32:
		case FIELD_UINT32:
			return 32;
		case FIELD_MACADDR:
		case FIELD_TID:
			return 48;
		default:
			return 64;
	}
}

/* The null bit of a value in two fields stands behind the second. */
static inline bool
has_null_bit(const KeyField *field)
{
	return field->kind != FIELD_UUID_HIGH;
}

/* keypack_add appends a column; false if there is no room in the pack. */
bool
keypack_add(KeyPack *pack, FieldKind kind, int column, bool nulls_first,
			bool reverse)
{
	KeyField   *field = &pack->fields[pack->nfields];

	if (kind == FIELD_NONE || pack->nfields + 2 > KEYPACK_MAX_FIELDS)
		return false;
	field->kind = kind;
	field->column = column;
	field->bits = kind_bits(kind);
	field->nulls_first = nulls_first;
	field->reverse = reverse;
	pack->bits += field->bits + (has_null_bit(field) ? 1 : 0);
	pack->nfields++;
	if (kind == FIELD_UUID_HIGH)
		return keypack_add(pack, FIELD_UUID_LOW, column, nulls_first, reverse);
	return true;
}

/* Big-endian integer of n bytes. */
static inline uint64
bytes_get(const unsigned char *bytes, int n)
{
	uint64		result = 0;

	for (int i = 0; i < n; i++)
		result = (result << 8) | bytes[i];
	return result;
}

static inline void
bytes_put(unsigned char *bytes, int n, uint64 value)
{
	for (int i = n - 1; i >= 0; i--, value >>= 8)
		bytes[i] = (unsigned char) value;
}

/* The value's bits, in ascending order, in the lower field->bits bits. */
static inline uint64
field_get(const KeyField *field, Datum value, uint64 word)
{
	const unsigned char *bytes = (const unsigned char *) DatumGetPointer(value);

	switch (field->kind)
	{
		case FIELD_BOOL:
			return DatumGetBool(value) ? 1 : 0;
		case FIELD_CHAR:
			return (uint8) DatumGetChar(value);
		case FIELD_INT16:
			return (uint16) DatumGetInt16(value) ^ UINT64CONST(0x8000);
		case FIELD_INT32:
			return (uint32) DatumGetInt32(value) ^ UINT64CONST(0x80000000);
		case FIELD_INT64:
			return (uint64) DatumGetInt64(value) ^ UINT64CONST(0x8000000000000000);
		case FIELD_UINT32:
			return DatumGetUInt32(value);
		case FIELD_UINT64:
			return DatumGetUInt64(value);
		case FIELD_MACADDR:
			return bytes_get(bytes, 6);
		case FIELD_MACADDR8:
		case FIELD_UUID_HIGH:
			return bytes_get(bytes, 8);
		case FIELD_UUID_LOW:
			return bytes_get(bytes + 8, 8);
		case FIELD_TID:
			{
				ItemPointer tid = (ItemPointer) DatumGetPointer(value);

				return ((uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
					ItemPointerGetOffsetNumberNoCheck(tid);
			}
		case FIELD_WORD:
			return word;
		case FIELD_NONE:
			break;
	}
	return 0;
}

/* The reverse; by-reference values are made in `image`. */
static inline Datum
field_set(const KeyField *field, uint64 bits, char *image)
{
	unsigned char *bytes = (unsigned char *) image;

	switch (field->kind)
	{
		case FIELD_BOOL:
			return BoolGetDatum(bits != 0);
		case FIELD_CHAR:
			return CharGetDatum((char) bits);
		case FIELD_INT16:
			return Int16GetDatum((int16) (bits ^ UINT64CONST(0x8000)));
		case FIELD_INT32:
			return Int32GetDatum((int32) (bits ^ UINT64CONST(0x80000000)));
		case FIELD_INT64:
			return Int64GetDatum((int64) (bits ^ UINT64CONST(0x8000000000000000)));
		case FIELD_UINT32:
			return Int32GetDatum((int32) bits); /* as fetch_att() has it */
		case FIELD_UINT64:
			return UInt64GetDatum(bits);
		case FIELD_MACADDR:
			bytes_put(bytes, 6, bits);
			break;
		case FIELD_MACADDR8:
		case FIELD_UUID_HIGH:
			bytes_put(bytes, 8, bits);
			break;
		case FIELD_UUID_LOW:
			bytes_put(bytes + 8, 8, bits);
			break;
		case FIELD_TID:
			ItemPointerSet((ItemPointer) image, (BlockNumber) (bits >> 16),
						   (OffsetNumber) (bits & 0xFFFF));
			break;
		case FIELD_WORD:
		case FIELD_NONE:
			elog(ERROR, "value cannot be rebuilt from a sort key");
	}
	return PointerGetDatum(image);
}

/* All ones in the lower n bits, 1 <= n <= 64. */
static inline uint64
ones(int n)
{
	return PG_UINT64_MAX >> (64 - n);
}

/*
 * Put the lower n bits of value at bit position *at of the words (0 is the
 * most significant bit of the first).  What does not fit before `end` is cut
 * off below.
 */
static inline void
put_bits(uint64 *words, int *at, int end, uint64 value, int n)
{
	int			room;

	if (*at + n > end)
	{
		if (*at >= end)
			return;
		value >>= *at + n - end;
		n = end - *at;
	}
	room = 64 - *at % 64;
	if (n <= room)
		words[*at / 64] |= value << (room - n);
	else
	{
		words[*at / 64] |= value >> (n - room);
		words[*at / 64 + 1] |= value << (64 - (n - room));
	}
	*at += n;
}

/* Take n bits from bit position *at. */
static inline uint64
take_bits(const uint64 *words, int *at, int n)
{
	int			room = 64 - *at % 64;
	uint64		result = words[*at / 64];

	if (n <= room)
		result >>= room - n;
	else
		result = (result << (n - room)) | (words[*at / 64 + 1] >> (64 - (n - room)));
	*at += n;
	return result & ones(n);
}

/*
 * A single column of 64 bits, by far the most frequent key, has its value in
 * the first word and its null bit on top of the tail, and is worth a short way.
 */
#define WHOLE_WORD_NULL_BIT	(UINT64CONST(1) << 63)

static inline bool
is_whole_word(const KeyPack *pack)
{
	return pack->nfields == 1 && pack->fields[0].bits == 64 &&
		pack->fields[0].kind != FIELD_WORD;
}

/*
 * keypack_encode fills `nwords` words and the tail, the word behind them, whose
 * lower bits are 0.  `word` is the value of a FIELD_WORD, already in the order
 * of its column.
 */
void
keypack_encode(const KeyPack *pack, const Datum *values, const bool *isnull,
			   uint64 word, int nwords, uint64 *words)
{
	int			at = 0;
	int			end = nwords * 64 + PTSORT_TAIL_BITS;

	if (is_whole_word(pack) && !isnull[0])
	{
		uint64		bits = field_get(&pack->fields[0], values[0], word);

		words[0] = pack->fields[0].reverse ? ~bits : bits;
		words[1] = pack->fields[0].nulls_first ? WHOLE_WORD_NULL_BIT : 0;
		return;
	}

	for (int i = 0; i <= nwords; i++)
		words[i] = 0;
	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];
		bool		null = isnull[field->column];
		uint64		bits;

		if (null)
			bits = field->nulls_first ? 0 : ones(field->bits);
		else
		{
			bits = field_get(field, values[field->column], word);
			if (field->reverse && field->kind != FIELD_WORD)
				bits = ~bits & ones(field->bits);
		}
		put_bits(words, &at, end, bits, field->bits);
		if (has_null_bit(field))
			put_bits(words, &at, end, null != field->nulls_first ? 1 : 0, 1);
	}
}

/*
 * keypack_decode rebuilds the columns of an exact pack.  By-reference values
 * are made in images, KEYPACK_IMAGE_SIZE bytes for each column.
 */
void
keypack_decode(const KeyPack *pack, const uint64 *words, Datum *values,
			   bool *isnull, char *images)
{
	int			at = 0;

	if (is_whole_word(pack) &&
		((words[1] & WHOLE_WORD_NULL_BIT) != 0) == pack->fields[0].nulls_first)
	{
		isnull[0] = false;
		values[0] = field_set(&pack->fields[0],
							  pack->fields[0].reverse ? ~words[0] : words[0],
							  images);
		return;
	}

	for (int i = 0; i < pack->nfields; i++)
	{
		const KeyField *field = &pack->fields[i];
		uint64		bits = take_bits(words, &at, field->bits);
		bool		null = false;

		if (has_null_bit(field))
			null = (take_bits(words, &at, 1) != 0) != field->nulls_first;
		if (field->reverse)
			bits = ~bits & ones(field->bits);
		isnull[field->column] = null;
		values[field->column] = null ? (Datum) 0 :
			field_set(field, bits, images + field->column * KEYPACK_IMAGE_SIZE);
	}
}
