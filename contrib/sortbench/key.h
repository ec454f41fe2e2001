/*-------------------------------------------------------------------------
 *
 * key.h
 *	  The sort keys of records.
 *
 * A key is a string of bytes at the same place in each record.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_KEY_H
#define SORTBENCH_KEY_H

#include "port/pg_bswap.h"

typedef struct Key
{
	int			offset;
	int			length;
} Key;

/* Maximum number of words in a packed key: see key_pack() */
#define MAX_PACKED		3

/*
 * In the last word of a packed key, the lower NUMBER_BITS bits hold the
 * record's number, and the upper bits hold key bytes.
 */
#define NUMBER_BITS		40
#define NUMBER_MASK		((UINT64CONST(1) << NUMBER_BITS) - 1)
#define TAIL_BYTES		((64 - NUMBER_BITS) / 8)

/* Compares two records by their keys. */
static inline int
key_compare(const Key *key, const uint8 *a, const uint8 *b)
{
	return memcmp(a + key->offset, b + key->offset, key->length);
}

/* Number of words in a packed key; 0 if the key is too long to pack. */
static inline int
key_packed_words(const Key *key)
{
	if (key->length <= sizeof(uint64) + TAIL_BYTES)
		return 2;
	if (key->length <= 2 * sizeof(uint64) + TAIL_BYTES)
		return 3;
	return 0;
}

/* Writes the key's first bytes as words, padded with zeros. */
static inline void
key_words(const Key *key, const uint8 *record, uint64 *words, int n)
{
	uint64		bytes[MAX_PACKED] = {0};

	Assert(n > 0 && n <= MAX_PACKED);
	memcpy(bytes, record + key->offset, Min(key->length, n * sizeof(uint64)));
	for (int i = 0; i < n; i++)
		words[i] = pg_ntoh64(bytes[i]);
}

/*
 * key_pack makes a packed key.  Comparing the packed keys of two records
 * compares the keys, and then the numbers, of the records.  "words" must be
 * the result of key_packed_words().
 */
static inline void
key_pack(const Key *key, int words, const uint8 *record, uint64 number,
		 uint64 *packed)
{
	key_words(key, record, packed, words);
	packed[words - 1] = (packed[words - 1] & ~NUMBER_MASK) | number;
}

#endif							/* SORTBENCH_KEY_H */
