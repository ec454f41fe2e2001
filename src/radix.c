/*-------------------------------------------------------------------------
 *
 * radix.c
 *	  Sort entries of a few 64-bit words by those words.
 *
 * A most significant digit radix sort between two arrays, which change roles
 * at each level.  At each level the bits that all entries of a bucket share
 * are skipped, whatever their place, so clustered keys cost no more levels than
 * random ones; when a word is used up the next one follows.  Ten million
 * random words take two levels, of 11 bits each, before buckets are so small
 * that insertion sort finishes them.  Input that is in order, or in reverse
 * order, is recognised while that costs next to nothing.
 *
 * The first level moves entries between places all over memory.  It collects
 * them in small buffers, one per bucket, so that each visit to a bucket brings
 * several entries (AlphaSort's and Agarwal's observation that sorting is a
 * matter of cache and TLB misses).  Later levels stay in cache.
 *
 * No input is bad: each level costs O(n) and uses up at least one differing
 * bit, and normally DIGIT_BITS of them.
 *
 * The functions are written for any stride and are compiled once for each that
 * occurs, by inlining with a constant.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "radix.h"

/* Digits: 2,048 counters fit the first level cache. */
#define DIGIT_BITS		11
#define MAX_BUCKETS		(1 << DIGIT_BITS)

/* Buckets of up to this many entries are left to insertion sort. */
#define INSERTION_LIMIT 24

/* From this many entries on a scatter collects entries before it writes. */
#define COMBINE_LIMIT	(128 * 1024)
#define COMBINE_ENTRIES 8

/* Work on fewer entries than this needs no interrupt check of its own. */
#define INTERRUPT_LIMIT 10000

#define pt_inline		pg_attribute_always_inline

/* Copy one entry. */
static pt_inline void
copy_entry(uint64 *target, const uint64 *source, const int stride)
{
	target[0] = source[0];
	target[1] = source[1];
	if (stride > 2)
		target[2] = source[2];
}

/* Does entry a come before entry b, by words from `word` on? */
static pt_inline bool
entry_before(const uint64 *a, const uint64 *b, int word, int nkeys)
{
	for (; word < nkeys; word++)
	{
		if (a[word] != b[word])
			return a[word] < b[word];
	}
	return false;
}

static pt_inline void
insertion_sort(uint64 *entries, int64 n, const int stride, int word, int nkeys)
{
	uint64	   *end = entries + n * stride;

	for (uint64 *next = entries + stride; next < end; next += stride)
	{
		uint64		moving[3];
		uint64	   *place = next;

		if (!entry_before(next, next - stride, word, nkeys))
			continue;
		copy_entry(moving, next, stride);
		do
		{
			copy_entry(place, place - stride, stride);
			place -= stride;
		} while (place > entries && entry_before(moving, place - stride, word, nkeys));
		copy_entry(place, moving, stride);
	}
}

/* Are the entries in order already?  Stops at the first that is not. */
static pt_inline bool
is_sorted(const uint64 *entries, int64 n, const int stride, int word, int nkeys)
{
	for (int64 i = 1; i < n; i++)
	{
		if (entry_before(entries + i * stride, entries + (i - 1) * stride,
						 word, nkeys))
			return false;
	}
	return true;
}

/*
 * Are they in strictly descending order?  Strictly, because turning equal ones
 * around would not be stable.
 */
static pt_inline bool
is_reversed(const uint64 *entries, int64 n, const int stride, int nkeys)
{
	for (int64 i = 1; i < n; i++)
	{
		if (!entry_before(entries + i * stride, entries + (i - 1) * stride,
						  0, nkeys))
			return false;
	}
	return true;
}

static pt_inline void
reverse(uint64 *entries, int64 n, const int stride)
{
	for (int64 i = 0, j = n - 1; i < j; i++, j--)
	{
		uint64		other[3];

		copy_entry(other, entries + i * stride, stride);
		copy_entry(entries + i * stride, entries + j * stride, stride);
		copy_entry(entries + j * stride, other, stride);
	}
}

/* The bits of a word in which the entries differ. */
static pt_inline uint64
differing_bits(const uint64 *entries, int64 n, const int stride, int word)
{
	uint64		first = entries[word];
	uint64		result = 0;

	for (int64 i = 1; i < n; i++)
		result |= entries[i * stride + word] ^ first;
	return result;
}

/* Distribute entries by a digit; ends[] are the buckets' starts at first. */
static pt_inline void
scatter(const uint64 *source, uint64 *target, int64 n, const int stride,
		int word, int shift, uint64 mask, int64 *ends)
{
	for (int64 i = 0; i < n; i++)
	{
		const uint64 *entry = source + i * stride;

		copy_entry(target + ends[(entry[word] >> shift) & mask]++ * stride,
				   entry, stride);
	}
}

/* The same through a small buffer per bucket. */
static pt_inline void
scatter_combined(const uint64 *source, uint64 *target, int64 n,
				 const int stride, int word, int shift, uint64 mask,
				 int64 *ends)
{
	Size		line = COMBINE_ENTRIES * stride;
	uint64	   *buffers = palloc((mask + 1) * line * sizeof(uint64));
	uint8	   *fill = palloc0(mask + 1);

	for (int64 i = 0; i < n; i++)
	{
		const uint64 *entry = source + i * stride;
		uint64		digit = (entry[word] >> shift) & mask;
		uint64	   *buffer = buffers + digit * line;

		copy_entry(buffer + fill[digit] * stride, entry, stride);
		if (++fill[digit] == COMBINE_ENTRIES)
		{
			memcpy(target + ends[digit] * stride, buffer, line * sizeof(uint64));
			ends[digit] += COMBINE_ENTRIES;
			fill[digit] = 0;
		}
	}
	for (uint64 digit = 0; digit <= mask; digit++)
	{
		memcpy(target + ends[digit] * stride, buffers + digit * line,
			   fill[digit] * stride * sizeof(uint64));
		ends[digit] += fill[digit];
	}
	pfree(buffers);
	pfree(fill);
}

/* How many bits of n entries to take at once: fewer for small buckets. */
static pt_inline int
digit_bits(int64 n)
{
	return Min(DIGIT_BITS, Max(4, pg_leftmost_one_pos64((uint64) n) - 1));
}

static void sort_level(uint64 *entries, uint64 *other, int64 n, int stride,
					   int word, int nkeys, bool want_other);

/*
 * Order what lies in `entries`, with `other` as scratch; the result lies in
 * `other` if that is wanted, else in `entries`.
 */
static pt_inline void
sort_level_of(uint64 *entries, uint64 *other, int64 n, const int stride,
			  int word, int nkeys, bool want_other)
{
	int64		ends[MAX_BUCKETS];
	uint64		differing = 0;
	uint64		mask;
	int			top;
	int			bits;
	int			shift;
	int64		start = 0;

	if (n <= INSERTION_LIMIT)
	{
		insertion_sort(entries, n, stride, word, nkeys);
		word = nkeys;
	}

	/* Find the next word in which the entries differ. */
	for (; word < nkeys; word++)
	{
		differing = differing_bits(entries, n, stride, word);
		if (differing != 0)
			break;
		/* heavy duplicates are often in order in the words behind */
		if (is_sorted(entries, n, stride, word + 1, nkeys))
			word = nkeys;
	}
	if (differing == 0)
	{
		if (want_other)
			memcpy(other, entries, n * stride * sizeof(uint64));
		return;
	}
	if (n >= INTERRUPT_LIMIT)
		CHECK_FOR_INTERRUPTS();

	top = pg_leftmost_one_pos64(differing) + 1;
	bits = Min(top, digit_bits(n));
	shift = top - bits;
	mask = (UINT64CONST(1) << bits) - 1;

	memset(ends, 0, sizeof(int64) << bits);
	for (int64 i = 0; i < n; i++)
		ends[(entries[i * stride + word] >> shift) & mask]++;
	for (uint64 digit = 0; digit <= mask; digit++)
	{
		int64		count = ends[digit];

		ends[digit] = start;
		start += count;
	}
	if (n >= COMBINE_LIMIT)
		scatter_combined(entries, other, n, stride, word, shift, mask, ends);
	else
		scatter(entries, other, n, stride, word, shift, mask, ends);

	start = 0;
	for (uint64 digit = 0; digit <= mask; digit++)
	{
		int64		count = ends[digit] - start;

		if (count > 1 || (count == 1 && !want_other))
			sort_level(other + start * stride, entries + start * stride, count,
					   stride, word, nkeys, !want_other);
		start = ends[digit];
	}
}

static void
sort_level(uint64 *entries, uint64 *other, int64 n, int stride, int word,
		   int nkeys, bool want_other)
{
	check_stack_depth();
	if (stride == 2)
		sort_level_of(entries, other, n, 2, word, nkeys, want_other);
	else
		sort_level_of(entries, other, n, 3, word, nkeys, want_other);
}

void
radix_sort(uint64 *entries, uint64 *scratch, int64 n, int stride, int nkeys)
{
	if (n < 2 || is_sorted(entries, n, stride, 0, nkeys))
		return;
	if (is_reversed(entries, n, stride, nkeys))
		reverse(entries, n, stride);
	else
		sort_level(entries, scratch, n, stride, 0, nkeys, false);
}
