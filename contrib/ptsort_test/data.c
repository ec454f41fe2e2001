/*-------------------------------------------------------------------------
 *
 * data.c
 *	  Makes the rows of a test from their numbers.
 *
 * Row r of a data set is a function of (seed, r), so every participant can
 * make its own rows.  The first column of the table follows TestData.pattern.
 * If the last column is text, it is the payload.  The payload has the row's
 * number and key at both ends, so the test notices damage at any place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "ptsort_test.h"

/* If a test sets no number of distinct keys, all keys are below this value. */
#define KEY_RANGE	(INT64CONST(1) << 62)

/* Multiplying by this prime permutes the row numbers. */
#define STRIDE		1000003

/* test_mix returns a hash of two numbers. */
uint64
test_mix(uint64 a, uint64 b)
{
	uint64		x = a * UINT64CONST(0x9E3779B97F4A7C15) + b;

	x = (x ^ (x >> 31)) * UINT64CONST(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 29)) * UINT64CONST(0x94D049BB133111EB);
	return x ^ (x >> 32);
}

/* test_pattern returns the pattern with the given name. */
TestPattern
test_pattern(const char *name)
{
	if (strcmp(name, "random") == 0)
		return PATTERN_RANDOM;
	if (strcmp(name, "ascending") == 0)
		return PATTERN_ASCENDING;
	if (strcmp(name, "descending") == 0)
		return PATTERN_DESCENDING;
	if (strcmp(name, "permuted") == 0)
		return PATTERN_PERMUTED;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown pattern \"%s\"", name)));
}

/*
 * Returns the number, 0 to KEY_RANGE - 1, that the first column's value
 * encodes.
 */
static uint64
leading_number(const TestData *data, int64 row)
{
	int64		distinct = data->distinct_keys;
	int64		position = row;

	if (data->pattern == PATTERN_RANDOM)
		return test_mix(data->seed, row) %
			(distinct > 0 ? distinct : KEY_RANGE);

	if (data->pattern == PATTERN_DESCENDING)
		position = data->n - 1 - row;
	else if (data->pattern == PATTERN_PERMUTED)
		position = (row * STRIDE + (uint32) data->seed) % data->n;

	if (distinct <= 0)
		return position;
	if (data->pattern == PATTERN_PERMUTED)
		return position % distinct;
	return position / ((data->n + distinct - 1) / distinct);
}

/*
 * Returns a string for a number: short or long, often with a common prefix.
 * Strings of different numbers differ.  The strings of numbers below 2^32 sort
 * like the numbers.
 */
static Datum
make_text(uint64 number)
{
	static const char *const fill[] = {"", "ab", "a much longer tail"};
	const char *tail = fill[number % 3];
	char	   *text;

	if (number >> 32 == 0)
		text = psprintf("%010u%s", (uint32) number, tail);
	else
		text = psprintf("%s%c%c%llx%s",
						(number & 3) == 0 ? "common prefix " : "",
						(char) ('A' + (number >> 8) % 26),
						(char) ('a' + (number >> 16) % 26),
						(unsigned long long) number, tail);
	return PointerGetDatum(cstring_to_text(text));
}

/* Returns a UUID.  UUIDs sort like their numbers. */
static Datum
make_uuid(uint64 number)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	uint64		half[2];

	half[0] = pg_hton64(number);
	half[1] = pg_hton64(test_mix(number, 7));
	memcpy(uuid->data, half, sizeof(half));
	return PointerGetDatum(uuid);
}

/* Returns the payload: row number and key, fill bytes, key and row number. */
static Datum
make_payload(const TestData *data, int64 row)
{
	unsigned long long key = leading_number(data, row);
	char	   *head = psprintf("%lld.%llu<", (long long) row, key);
	char	   *tail = psprintf(">%llu.%lld", key, (long long) row);
	int			head_length = strlen(head);
	int			tail_length = strlen(tail);
	int			fill = Max(0, data->width - head_length - tail_length);
	int			length = head_length + fill + tail_length;
	text	   *result = palloc(VARHDRSZ + length);

	SET_VARSIZE(result, VARHDRSZ + length);
	memcpy(VARDATA(result), head, head_length);
	memset(VARDATA(result) + head_length, 'a' + row % 26, fill);
	memcpy(VARDATA(result) + head_length + fill, tail, tail_length);
	pfree(head);
	pfree(tail);
	return PointerGetDatum(result);
}

/*
 * Returns a value of the type.  Values sort like their numbers where the type
 * allows that order.
 */
static Datum
make_value(Oid type, uint64 number)
{
	int64		centred = (int64) number - KEY_RANGE / 2;

	switch (type)
	{
		case BOOLOID:
			return BoolGetDatum(number & 1);
		case INT2OID:
			return Int16GetDatum((int16) (number % 65536 - 32768));
		case INT4OID:
			return Int32GetDatum((int32) (number % UINT64CONST(0x100000000) -
										  INT64CONST(0x80000000)));
		case INT8OID:
			return Int64GetDatum(centred);
		case FLOAT8OID:
			return Float8GetDatum((float8) centred);
		case TIMESTAMPTZOID:
			return TimestampTzGetDatum(centred);
		case NUMERICOID:
			return NumericGetDatum(int64_div_fast_to_numeric(centred, 4));
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			return make_text(number);
		case NAMEOID:
			return DirectFunctionCall1(text_name, make_text(number));
		case UUIDOID:
			return make_uuid(number);
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("no test data for type %s", format_type_be(type))));
	}
}

/* test_row makes all columns of a row, in the current memory context. */
void
test_row(const TestData *data, int64 row, TupleDesc desc, Datum *values,
		 bool *isnull)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;
		uint64		noise = test_mix(data->seed + i * 1000, row + KEY_RANGE);

		if (i > 0 && i == desc->natts - 1 && type == TEXTOID)
		{
			values[i] = make_payload(data, row);
			isnull[i] = false;
			continue;
		}
		isnull[i] = data->null_every > 0 &&
			test_mix(noise, i) % data->null_every == 0;
		if (isnull[i])
			values[i] = (Datum) 0;
		else
			values[i] = make_value(type, i == 0 ? leading_number(data, row) :
								   noise % 1000);
	}
}
