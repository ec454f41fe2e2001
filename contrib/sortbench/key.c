/*-------------------------------------------------------------------------
 *
 * key.c
 *	  The sort keys of records.
 *
 * The syntax of a key part is 'offset length type order', for example '0 10'
 * or '12 4 int little desc'.  Integers are in two's complement, floats in IEEE
 * format.  As in SQL, all NaNs are equal and greater than all other numbers,
 * and the two zeros are equal.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sortbench.h"

/* key_plain makes a key that is one string of bytes. */
void
key_plain(Key *key, int offset, int length, int record_size)
{
	if (offset < 0 || length < 1 || offset > record_size - length)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key of %d bytes at offset %d is not within a record of %d bytes",
						length, offset, record_size)));
	memset(key, 0, sizeof(Key));
	key->nparts = 1;
	key->length = length;
	key->parts[0].offset = offset;
	key->parts[0].length = length;
}

static void
bad_part(const char *words)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid part of a key: \"%s\"", words),
			 errdetail("A part has an offset, a length, and optionally a type (bytes, uint, int, float), big or little, asc or desc."),
			 errhint("For example: \"0 10\", or \"12 4 int little desc\".")));
}

/* Parses a word after offset and length.  Returns false for unknown words. */
static bool
take_word(Part *part, const char *word)
{
	static const char *const types[] = {"bytes", "uint", "int", "float"};

	for (int i = 0; i < lengthof(types); i++)
	{
		if (strcmp(word, types[i]) == 0)
		{
			part->type = (PartType) i;
			return true;
		}
	}
	if (strcmp(word, "little") == 0 || strcmp(word, "big") == 0)
		part->little = word[0] == 'l';
	else if (strcmp(word, "asc") == 0 || strcmp(word, "desc") == 0)
		part->descending = word[0] == 'd';
	else
		return false;
	return true;
}

static void
parse_part(Part *part, const char *words, int record_size)
{
	char	   *copy = pstrdup(words);
	char	   *rest = copy;
	char	   *word;
	int			n = 0;

	memset(part, 0, sizeof(Part));
	while ((word = strsep(&rest, " ")) != NULL)
	{
		if (*word == '\0')
			continue;
		if (n < 2)
		{
			char	   *end;
			long		value = strtol(word, &end, 10);

			if (*end != '\0' || value < 0 || value > MAX_RECORD_SIZE)
				bad_part(words);
			*(n == 0 ? &part->offset : &part->length) = (int) value;
		}
		else if (!take_word(part, word))
			bad_part(words);
		n++;
	}
	if (n < 2 || (part->type == PART_BYTES && part->little) ||
		(part->type == PART_FLOAT && part->length != sizeof(float4) &&
		 part->length != sizeof(float8)) ||
		((part->type == PART_INT || part->type == PART_UINT) &&
		 part->length > sizeof(uint64)))
		bad_part(words);
	if (part->length < 1 || part->offset > record_size - part->length)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("part \"%s\" of the key is not within a record of %d bytes",
						words, record_size)));
	pfree(copy);
}

/* key_parse makes a key of several parts. */
void
key_parse(Key *key, const char *const *parts, int nparts, int record_size)
{
	if (nparts < 1 || nparts > MAX_PARTS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a key has 1 to %d parts", MAX_PARTS)));
	memset(key, 0, sizeof(Key));
	key->nparts = nparts;
	for (int i = 0; i < nparts; i++)
	{
		parse_part(&key->parts[i], parts[i], record_size);
		key->length += key->parts[i].length;
	}
}

/*
 * Converts a big-endian float, so that comparing the bytes of two converted
 * floats gives the order of the floats.
 */
static void
order_float(uint8 *bytes, int length)
{
	bool		is_double = length == sizeof(float8);
	int			exponent_bits = is_double ? 11 : 8;
	int			bits = is_double ? 64 : 32;
	uint64		sign = UINT64CONST(1) << (bits - 1);
	uint64		infinity = ((UINT64CONST(1) << exponent_bits) - 1) <<
		(bits - 1 - exponent_bits);
	uint64		value = 0;

	for (int i = 0; i < length; i++)
		value = value << BITS_PER_BYTE | bytes[i];
	if ((value & ~sign) > infinity)
		value = ~UINT64CONST(0);	/* not a number */
	else if ((value & ~sign) == 0)
		value = sign;
	else if (value & sign)
		value = ~value;
	else
		value |= sign;
	for (int i = length - 1; i >= 0; i--, value >>= BITS_PER_BYTE)
		bytes[i] = (uint8) value;
}

/* key_part writes the part->length key bytes of one part. */
void
key_part(const Part *part, const uint8 *record, uint8 *bytes)
{
	const uint8 *from = record + part->offset;

	Assert(part->length > 0);
	if (part->little)
	{
		for (int i = 0; i < part->length; i++)
			bytes[i] = from[part->length - 1 - i];
	}
	else
		memcpy(bytes, from, part->length);
	if (part->type == PART_INT)
		bytes[0] ^= 0x80;
	else if (part->type == PART_FLOAT)
		order_float(bytes, part->length);
	if (part->descending)
	{
		for (int i = 0; i < part->length; i++)
			bytes[i] = ~bytes[i];
	}
}

/* Compares one part of two records. */
static int
compare_part(const Part *part, const uint8 *a, const uint8 *b)
{
	uint8		bytes_a[sizeof(uint64)];
	uint8		bytes_b[sizeof(uint64)];

	if (part->type == PART_BYTES)
	{
		int			order = memcmp(a + part->offset, b + part->offset,
								   part->length);

		return part->descending ? -order : order;
	}
	key_part(part, a, bytes_a);
	key_part(part, b, bytes_b);
	return memcmp(bytes_a, bytes_b, part->length);
}

/* key_compare compares two records by their keys. */
int
key_compare(const Key *key, const uint8 *a, const uint8 *b)
{
	for (int i = 0; i < key->nparts; i++)
	{
		int			order = compare_part(&key->parts[i], a, b);

		if (order != 0)
			return order;
	}
	return 0;
}
