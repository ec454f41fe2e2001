/*-------------------------------------------------------------------------
 *
 * key_column.c
 *	  Properties of a key column that follow from its operator class.
 *
 * ptsort makes a word from a value by the first rule that matches:
 *
 * 1. The sort support function offers an abbreviated key that its comparator
 *	  compares as an integer.  Abbreviated keys meet the requirements for words.
 *	  (uuid, inet, macaddr: unsigned; numeric: see word_numeric.)
 * 2. The comparator compares datums as integers: int4, int8, date, timestamp,
 *	  and other types that use one of the server's three integer comparators.
 * 3. The operator class has a known sort support function of the server or,
 *	  without sort support, a known comparison function of the server.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "util.h"
#include "utils/date.h"
#include "utils/fmgroids.h"

#include "key/key_column.h"

#define SIGN_BIT	(UINT64CONST(1) << 63)

/* KnownOrder: a function of the server, and the maker of words in its order. */
typedef struct KnownOrder
{
	Oid			function;
	WordMaker	make;
} KnownOrder;

static inline uint64
word_from_signed(int64 value)
{
	return (uint64) value ^ SIGN_BIT;
}

/*
 * Map a float to an integer with the same order.  As in the operator class, the
 * two zeros are equal, and all NaNs are equal and greater than infinity.
 */
static inline uint64
word_from_float(float8 value)
{
	union
	{
		float8		value;
		uint64		bits;
	}			u;

	if (isnan(value))
		return PG_UINT64_MAX;
	u.value = (value == 0.0) ? 0.0 : value;
	return (u.bits & SIGN_BIT) ? ~u.bits : u.bits | SIGN_BIT;
}

/* Defines a WordMaker, whose parameters are 'value' and 'ssup'. */
#define DEFINE_WORD(name, expression) \
static uint64 \
name(Datum value, SortSupport ssup) \
{ \
	return expression; \
}

DEFINE_WORD(word_abbreviated, (uint64) ssup->abbrev_converter(value, ssup))
DEFINE_WORD(word_unsigned, (uint64) value)
DEFINE_WORD(word_int64, word_from_signed(DatumGetInt64(value)))
/* The upper half of an int4's datum is undefined; DatumGetInt32 drops it. */
DEFINE_WORD(word_int32, word_from_signed(DatumGetInt32(value)))
DEFINE_WORD(word_int16, word_from_signed(DatumGetInt16(value)))
DEFINE_WORD(word_oid, DatumGetObjectId(value))
DEFINE_WORD(word_float4, word_from_float(DatumGetFloat4(value)))
DEFINE_WORD(word_float8, word_from_float(DatumGetFloat8(value)))

/*
 * numeric's abbreviated key is a signed integer that grows as the value
 * shrinks.  Infinity is -INT64_MAX, and NaN is INT64_MIN.
 */
DEFINE_WORD(word_numeric, word_from_signed(~word_abbreviated(value, ssup)))

/* timetz orders by the time in UTC; the zone breaks ties. */
static uint64
word_timetz(Datum value, SortSupport ssup)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);

	return word_from_signed(time->time + time->zone * USECS_PER_SEC);
}

/*
 * Sort support functions with comparators of their own, and comparison
 * functions of operator classes without sort support.  A user's operator class
 * with one of these sort support functions gets that function's comparator, so
 * the class's type does not matter.  key_pack.c does not list the comparison
 * functions, because values that they consider equal may have different images.
 */
static const KnownOrder known_orders[] = {
	{F_BTINT2SORTSUPPORT, word_int16},
	{F_BTOIDSORTSUPPORT, word_oid},
	{F_BTOID8SORTSUPPORT, word_unsigned},
	{F_BTFLOAT4SORTSUPPORT, word_float4},
	{F_BTFLOAT8SORTSUPPORT, word_float8},
	{F_BTFLOAT4CMP, word_float4},
	{F_BTFLOAT8CMP, word_float8},
	{F_TIMETZ_CMP, word_timetz},
};

/* KnownText: a type of strings and how its values are stored. */
typedef struct KnownText
{
	Oid			sortsupport;
	TextForm	form;
	bool		bytewise;		/* ordered by bytes in every collation */
} KnownText;

static const KnownText known_text[] = {
	{F_BTTEXTSORTSUPPORT, TEXT_VARLENA, false},
	{F_BPCHAR_SORTSUPPORT, TEXT_PADDED, false},
	{F_BTNAMESORTSUPPORT, TEXT_NAME, false},
	{F_BYTEA_SORTSUPPORT, TEXT_VARLENA, true},
	{F_BTTEXT_PATTERN_SORTSUPPORT, TEXT_VARLENA, true},
	{F_BTBPCHAR_PATTERN_SORTSUPPORT, TEXT_PADDED, true},
};

static WordMaker
maker_of_function(Oid function)
{
	for (int i = 0; i < lengthof(known_orders); i++)
	{
		if (known_orders[i].function == function)
			return known_orders[i].make;
	}
	return NULL;
}

/*
 * Returns the first 8 bytes of a string, padded with zeros, as the server's
 * abbreviation does, but without its estimate of the number of distinct keys.
 */
static uint64
word_bytes(Datum value, SortSupport ssup)
{
	struct varlena *string = (struct varlena *) DatumGetPointer(value);
	uint64		word;

	if (unlikely(VARATT_IS_COMPRESSED(string) || VARATT_IS_EXTERNAL(string)))
		string = PG_DETOAST_DATUM_PACKED(value);
	word = pt_string_word(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
	if (unlikely((Pointer) string != DatumGetPointer(value)))
		pfree(string);
	return word;
}

bool
key_maker_decides(WordMaker make)
{
	return make == word_unsigned || make == word_int64 || make == word_int32 ||
		make == word_int16 || make == word_oid || make == word_float4 ||
		make == word_float8;
}

/* Rule 1: the maker for abbreviated keys; NULL if these are not integers. */
static WordMaker
maker_of_abbreviation(SortSupport ssup, Oid sortsupport)
{
	if (ssup->abbrev_converter == NULL)
		return NULL;
	if (ssup->comparator == ssup_datum_unsigned_cmp)
		return word_abbreviated;
	if (sortsupport == F_NUMERIC_SORTSUPPORT)
		return word_numeric;
	return NULL;
}

/* Rule 2: the maker for values that are compared as integers, or NULL. */
static WordMaker
maker_of_comparator(int (*comparator) (Datum, Datum, SortSupport))
{
	if (comparator == ssup_datum_signed_cmp)
		return word_int64;
	if (comparator == ssup_datum_int32_cmp)
		return word_int32;
	if (comparator == ssup_datum_unsigned_cmp)
		return word_unsigned;
	return NULL;
}

void
key_column_look_up(KeyColumn *column)
{
	column->comparison = get_opfamily_proc(column->opfamily, column->opcintype,
										   column->opcintype, BTORDER_PROC);
	column->sortsupport = get_opfamily_proc(column->opfamily,
											column->opcintype,
											column->opcintype,
											BTSORTSUPPORT_PROC);
}

/* True if a function is citext_cmp, which compares case-insensitive text. */
static bool
is_citext(Oid comparison)
{
	Oid			extension = get_extension_oid("citext", true);

	return OidIsValid(extension) &&
		getExtensionOfObject(ProcedureRelationId, comparison) == extension &&
		strcmp(get_func_name(comparison), "citext_cmp") == 0;
}

bool
key_column_is_text(const KeyColumn *column, TextForm *form, bool *bytewise)
{
	if (!OidIsValid(column->sortsupport))
	{
		*form = TEXT_LOWERED;
		if (!is_citext(column->comparison))
			return false;
		*bytewise = text_rank_bytewise(column->collation);
		return true;
	}
	for (int i = 0; i < lengthof(known_text); i++)
	{
		const KnownText *text = &known_text[i];

		if (text->sortsupport == column->sortsupport)
		{
			*form = text->form;
			*bytewise = text->bytewise ||
				text_rank_bytewise(column->collation);
			return true;
		}
	}
	return false;
}

WordMaker
key_column_maker(const KeyColumn *column, SortSupport ssup, FieldKind *kind)
{
	WordMaker	make;
	TextForm	form;
	bool		bytewise;
	int16		typlen;
	bool		typbyval;

	*kind = FIELD_NONE;
	make = maker_of_abbreviation(ssup, column->sortsupport);
	if (make == NULL)
		make = maker_of_comparator(ssup->abbrev_converter != NULL ?
								   ssup->abbrev_full_comparator :
								   ssup->comparator);
	/* the server does not abbreviate text in the C library's collations */
	if ((make == word_abbreviated || make == NULL) &&
		key_column_is_text(column, &form, &bytewise) && bytewise &&
		form == TEXT_VARLENA)
		return word_bytes;
	if (make != NULL)
		return make;
	if (OidIsValid(column->sortsupport))
		return maker_of_function(column->sortsupport);
	get_typlenbyval(column->opcintype, &typlen, &typbyval);
	*kind = key_pack_kind(column->comparison, typlen, typbyval);
	return maker_of_function(column->comparison);
}

void
key_column_of_operator(KeyColumn *column, AttrNumber attno, Oid type,
					   Oid lt_operator, Oid collation,
					   bool nulls_first)
{
	memset(column, 0, sizeof(KeyColumn));
	if (!pt_ordering_op_opfamily(lt_operator, &column->opfamily,
								 &column->opcintype))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("operator %u is not a valid ordering operator",
						lt_operator)));
	column->lt_operator = lt_operator;
	column->attno = attno;
	column->collation = collation;
	column->nulls_first = nulls_first;
	get_typlenbyval(OidIsValid(type) ? type : column->opcintype,
					&column->typlen, &column->typbyval);
}

void
key_column_support(const KeyColumn *column, bool abbreviate, SortSupport ssup)
{
	memset(ssup, 0, sizeof(*ssup));
	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = column->collation;
	ssup->ssup_nulls_first = column->nulls_first;
	ssup->ssup_attno = column->attno;
	ssup->abbreviate = abbreviate;
	if (column->index)
		pt_sortsupport_from_index(column->index, column->reverse, ssup);
	else
		PrepareSortSupportFromOrderingOp(column->lt_operator, ssup);
}
