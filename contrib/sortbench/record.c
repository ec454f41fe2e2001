/*-------------------------------------------------------------------------
 *
 * record.c
 *	  Generate the benchmark's records.
 *
 * The records follow the rules of the sort benchmark (sortbenchmark.org), and
 * equal those of gensort 1.5.  A record has 100 bytes; the first 10 bytes are
 * the key.  The generator makes record n from the n-th number of a linear
 * congruential sequence of 128-bit random numbers.  random_after() computes
 * each number directly, so a file can begin with any record.
 *
 * Binary record n has the ten highest bytes of the n-th random number and of
 * each of the next nine numbers.  So successive records have numbers in
 * common.  To make the copies of a number differ, the generator XORs all bytes
 * after the key with bytes that the format prescribes.
 *
 *		ASCII							TeraSort (binary gensort up to 1.4)
 *		0	key: digits of base 95		key: the number's first 10 bytes
 *		10	two spaces					00 11
 *		12	the record's number, 32 hexadecimal digits
 *		44	two spaces					88 99 AA BB
 *			13 digits (from 46 on)		12 digits of the random number, each
 *										four times
 *		96	(98) CR LF					CC DD EE FF
 *
 * Hadoop's TeraGen makes TeraSort records as well.
 *
 * To skew the key of record n, the generator replaces the key's first bits
 * (first bytes in ASCII records) with those of the key of record b, where b is
 * the length of n in bits.  So even in a large file, the first bits come from
 * few different keys.  The generator replaces a random number of bits, up to 6
 * bytes.  It leaves a quarter of the keys unchanged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sortbench.h"

#if SIZEOF_DATUM < 8
#error "sortbench needs a 64-bit server"
#endif

#define WIDE(high, low) ((uint128) UINT64CONST(high) << 64 | UINT64CONST(low))

/* Each step sets the random number x (initially 0) to FACTOR * x + SUMMAND. */
#define FACTOR		WIDE(0x2360ED051FC65DA4, 0x4385DF649FCCF645)
#define SUMMAND		WIDE(0x4A696D4772617952, 0x4950202020202001)

/* Characters from ' ' to '~' */
#define CHARACTERS	95

/* Number of bytes in a binary record that come from one random number */
#define PART_SIZE	10

/*
 * Bytes to XOR with the last twenty bytes of a binary record.  For the bytes
 * before the last twenty, set_mix() takes all byte values with four bits set,
 * in descending order.
 */
static const uint8 last_mix[2 * PART_SIZE] = {
	0xC8, 0xC4, 0xC2, 0xC1, 0x98, 0x94, 0x92, 0x91, 0x8C, 0xE0,
	0x17, 0x0F, 0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B
};

bool
record_kind(const char *name, RecordKind *kind)
{
	static const char *const names[] = {
		"uniform", "skewed", "ascii", "ascii skewed", "terasort"
	};

	for (int i = 0; i < lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
		{
			*kind = (RecordKind) i;
			return true;
		}
	}
	return false;
}

/* Computes the random number after "steps" steps, by repeated squaring. */
static uint128
random_after(uint64 steps)
{
	uint128		factor = FACTOR;
	uint128		summand = SUMMAND;
	uint128		random = 0;

	for (; steps > 0; steps >>= 1)
	{
		if (steps & 1)
			random = random * factor + summand;
		summand = (factor + 1) * summand;
		factor *= factor;
	}
	return random;
}

static void
put_text_key(uint128 random, uint8 *key)
{
	uint64		high = (uint64) (random >> 64);
	uint64		low = (uint64) random;

	for (int i = 0; i < 8; i++, high /= CHARACTERS)
		key[i] = ' ' + high % CHARACTERS;
	for (int i = 8; i < BENCHMARK_KEY; i++, low /= CHARACTERS)
		key[i] = ' ' + low % CHARACTERS;
}

/* Writes the ten highest bytes of a number. */
static void
put_part(uint128 random, uint8 *bytes)
{
	for (int i = 0; i < PART_SIZE; i++)
		bytes[i] = (uint8) (random >> (120 - 8 * i));
}

static void
put_key(RecordKind kind, uint128 random, uint8 *key)
{
	if (kind == RECORD_ASCII || kind == RECORD_ASCII_SKEWED)
		put_text_key(random, key);
	else
		put_part(random, key);
}

/* Sets the bytes to XOR with the bytes after a binary record's key. */
static void
set_mix(uint8 *mix)
{
	uint8	   *at = mix;

	for (int byte = 0xFF; byte > 0; byte--)
	{
		if (pg_popcount32(byte) == 4)
			*at++ = (uint8) byte;
	}
	Assert(at == mix + MIX_SIZE - sizeof(last_mix));
	memcpy(at, last_mix, sizeof(last_mix));
}

/* generator_start sets the number of the first record to generate. */
void
generator_start(Generator *generator, RecordKind kind, uint64 number)
{
	uint128		random = 0;

	generator->kind = kind;
	generator->number = number;
	generator->random = random_after(number);
	set_mix(generator->mix);
	for (int i = 0; i < SKEW_KEYS; i++)
	{
		uint8		key[BENCHMARK_KEY];

		random = random * FACTOR + SUMMAND;
		put_key(kind, random, key);
		memcpy(generator->skew[i], key, SKEW_BYTES);
	}
}

static uint8
hex_digit(uint64 value, int shift)
{
	return "0123456789ABCDEF"[(value >> shift) & 0xF];
}

static uint8 *
put_bytes(uint8 *at, const char *bytes, int n)
{
	memcpy(at, bytes, n);
	return at + n;
}

/* Writes a binary record, except its key. */
static void
put_numbers(const Generator *generator, uint8 *at)
{
	uint128		random = generator->random;
	uint8	   *bytes = at;

	for (; bytes < at + MIX_SIZE; bytes += PART_SIZE)
	{
		random = random * FACTOR + SUMMAND;
		put_part(random, bytes);
	}
	for (int i = 0; i < MIX_SIZE; i++)
		at[i] ^= generator->mix[i];
}

/* Writes an ASCII or TeraSort record, except its key. */
static void
put_text(const Generator *generator, bool text, uint8 *at)
{
	uint64		low = (uint64) generator->random;

	at = text ? put_bytes(at, "  ", 2) : put_bytes(at, "\0\x11", 2);
	memset(at, '0', 16);
	at += 16;
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = hex_digit(generator->number, shift);
	at = text ? put_bytes(at, "  ", 2) :
		put_bytes(at, "\x88\x99\xAA\xBB", 4);
	for (int shift = text ? 48 : 44; shift >= 0; shift -= 4, at += 4)
		memset(at, hex_digit(low, shift), 4);
	if (text)
		put_bytes(at, "\r\n", 2);
	else
		put_bytes(at, "\xCC\xDD\xEE\xFF", 4);
}

/* Replaces the first bits of a key. */
static void
skew_key(const Generator *generator, uint8 *key)
{
	bool		text = generator->kind == RECORD_ASCII_SKEWED;
	uint64		number = generator->number;
	int			length = number == 0 ? 0 : pg_leftmost_one_pos64(number) + 1;
	const uint8 *skew = generator->skew[length];
	int			chance = (int) (generator->random >> 32) & (text ? 0x7 : 0x3F);
	int			bits = text ? chance * 8 : chance;

	if (bits > SKEW_BYTES * 8)
		return;
	memcpy(key, skew, bits / 8);
	if (bits % 8 > 0)
	{
		uint8		kept = 0xFF >> (bits % 8);

		key[bits / 8] = (skew[bits / 8] & ~kept) | (key[bits / 8] & kept);
	}
}

/* generator_next writes the next record. */
void
generator_next(Generator *generator, uint8 *record)
{
	RecordKind	kind = generator->kind;
	uint8	   *rest = record + BENCHMARK_KEY;

	generator->random = generator->random * FACTOR + SUMMAND;
	put_key(kind, generator->random, record);
	if (kind == RECORD_UNIFORM || kind == RECORD_SKEWED)
		put_numbers(generator, rest);
	else
		put_text(generator, kind != RECORD_TERASORT, rest);
	if (kind == RECORD_SKEWED || kind == RECORD_ASCII_SKEWED)
		skew_key(generator, record);
	generator->number++;
}
