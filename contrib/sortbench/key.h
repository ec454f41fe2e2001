/*-------------------------------------------------------------------------
 *
 * key.h
 *	  The sort keys of records.
 *
 * A key has parts, each with an offset in the record and a type.  key_part()
 * converts the value of a part to bytes, so that comparing the bytes of two
 * values gives the order of the values.  The key's bytes are the bytes of all
 * parts, one after the other.  So comparing the bytes of two keys gives the
 * order of the keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_KEY_H
#define SORTBENCH_KEY_H

#include "port/pg_bswap.h"

#define MAX_PARTS		16

typedef enum PartType
{
	PART_BYTES,
	PART_UINT,
	PART_INT,
	PART_FLOAT
} PartType;

typedef struct Part
{
	PartType	type;
	int			offset;
	int			length;
	bool		little;			/* least significant byte first */
	bool		descending;
} Part;

typedef struct Key
{
	int			nparts;
	int			length;			/* sum of the parts' lengths */
	Part		parts[MAX_PARTS];
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

extern void key_plain(Key *key, int offset, int length, int record_size);
extern void key_parse(Key *key, const char *const *parts, int nparts,
					  int record_size);
extern void key_part(const Part *part, const uint8 *record, uint8 *bytes);
extern int	key_compare(const Key *key, const uint8 *a, const uint8 *b);

/* True if the key is one string of bytes in the record, in ascending order. */
static inline bool
key_is_plain(const Key *key)
{
	return key->nparts == 1 && key->parts[0].type == PART_BYTES &&
		!key->parts[0].descending;
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

/* Writes the first "room" bytes of the key, padded with zeros. */
static inline void
key_prefix(const Key *key, const uint8 *record, uint8 *bytes, int room)
{
	if (key_is_plain(key))
	{
		int			n = Min(key->length, room);

		memcpy(bytes, record + key->parts[0].offset, n);
		memset(bytes + n, 0, room - n);
		return;
	}
	memset(bytes, 0, room);
	for (int i = 0, at = 0; i < key->nparts && at < room; i++)
	{
		const Part *part = &key->parts[i];

		/*
		 * If the part does not fit, cut it if it is a byte string, and omit
		 * it if it has another type.
		 */
		if (at + part->length > room)
		{
			Part		cut = *part;

			if (part->type != PART_BYTES)
				return;
			cut.length = room - at;
			key_part(&cut, record, bytes + at);
			return;
		}
		key_part(part, record, bytes + at);
		at += part->length;
	}
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
	uint64		bytes[MAX_PACKED];

	Assert(words > 0 && words <= MAX_PACKED);
	key_prefix(key, record, (uint8 *) bytes, words * sizeof(uint64));
	for (int i = 0; i < words; i++)
		packed[i] = pg_ntoh64(bytes[i]);
	packed[words - 1] = (packed[words - 1] & ~NUMBER_MASK) | number;
}

#endif							/* SORTBENCH_KEY_H */
