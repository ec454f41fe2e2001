/*-------------------------------------------------------------------------
 *
 * radix.c
 *	  Sort entries of a few 64-bit words by those words.
 *
 * A most-significant-digit radix sort between two arrays that swap roles at
 * each level.  Each level skips to the highest bit in which the entries of a
 * bucket differ.  So clustered keys need no more levels than random keys.  When
 * a word is used up, the sort goes on with the next word.  Ten million random
 * words take two levels of 11 bits each.  Buckets are then so small that one
 * insertion sort over many buckets finishes them.  The sort also tests whether
 * its input is in order or in reverse order; the test costs little.
 *
 * Collecting entries in a small buffer per bucket, to write several entries at
 * a time, makes the first level slower.
 *
 * There is no bad input: each level costs O(n) and uses up at least one
 * differing bit, normally DIGIT_BITS bits.
 *
 * The functions take the stride as an argument.  The compiler inlines them with
 * constant strides, so each function has a version for each stride in use.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/entrysort.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "util.h"

/* Digit size in bits: 2,048 counters fit the first-level cache. */
#define DIGIT_BITS		11
#define MAX_BUCKETS		(1 << DIGIT_BITS)

/*
 * An insertion sort handles buckets of up to INSERTION_LIMIT entries.  If
 * buckets have at most SMALL_BUCKET entries on average, most buckets have at
 * most INSERTION_LIMIT entries.
 */
#define INSERTION_LIMIT 24
#define SMALL_BUCKET	(INSERTION_LIMIT / 3)

/* Approximate size of the sample that shows in which bits entries differ. */
#define SAMPLE_ENTRIES	256

/*
 * Number of counters to allocate at a time: enough for four levels.  Few sorts
 * need more levels.
 */
#define COUNTERS		(RADIX_MEMORY / sizeof(int64))

#define pt_inline		pg_attribute_always_inline

static pt_inline void
copy_entry(uint64 *target, const uint64 *source, const int stride)
{
	target[0] = source[0];
	target[1] = source[1];
	if (stride > 2)
		target[2] = source[2];
}

/*
 * True if the first nkeys words order entry a before entry b.  The processor
 * cannot predict which word decides, so there is no branch per word.
 */
static pt_inline bool
entry_before(const uint64 *a, const uint64 *b, const int nkeys)
{
	bool		before = a[nkeys - 1] < b[nkeys - 1];

	for (int i = nkeys - 2; i >= 0; i--)
		before = (a[i] < b[i]) | ((a[i] == b[i]) & before);
	return before;
}

static pt_inline void
insertion_sort_of(uint64 *entries, int64 n, const int stride, const int nkeys)
{
	uint64	   *end = entries + n * stride;

	for (uint64 *next = entries + stride; next < end; next += stride)
	{
		uint64		moving[3];
		uint64	   *place = next;

		if (!entry_before(next, next - stride, nkeys))
			continue;
		copy_entry(moving, next, stride);
		do
		{
			copy_entry(place, place - stride, stride);
			place -= stride;
		} while (place > entries &&
				 entry_before(moving, place - stride, nkeys));
		copy_entry(place, moving, stride);
	}
}

static pt_inline void
insertion_sort(uint64 *entries, int64 n, const int stride, int nkeys)
{
	if (nkeys == 1)
		insertion_sort_of(entries, n, stride, 1);
	else if (nkeys == 2 || stride == 2)
		insertion_sort_of(entries, n, stride, 2);
	else
		insertion_sort_of(entries, n, stride, 3);
}

/*
 * True if the words from 'word' on are in order or, with 'reversed', in
 * strictly descending order: reversing equal entries would not be stable.
 * Stops at the first misplaced entry.
 */
static pt_inline bool
is_sorted(const uint64 *entries, int64 n, const int stride, int word,
		  int nkeys, const bool reversed)
{
	for (int64 i = 1; i < n; i++)
	{
		const uint64 *entry = entries + i * stride + word;
		int			cmp = order_compare_words(entry, entry - stride,
											  nkeys - word);

		if (reversed ? cmp >= 0 : cmp < 0)
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

/* Returns a mask of the bits of a word in which the entries differ. */
static pt_inline uint64
differing_bits(const uint64 *entries, int64 n, const int64 stride, int word)
{
	uint64		first = entries[word];
	uint64		result = 0;

	for (int64 i = 1; i < n; i++)
		result |= entries[i * stride + word] ^ first;
	return result;
}

/*
 * RadixSort: the state that all levels of recursion share.  Each level uses
 * counters from the front of 'counters' until its buckets are sorted.
 */
typedef struct RadixSort
{
	int			nkeys;
	int64	   *counters;
	int64	   *counters_end;
} RadixSort;

/* Digit: the adjacent bits of a word that one level sorts by. */
typedef struct Digit
{
	int			word;
	int			shift;
	uint64		mask;
} Digit;

static pt_inline uint64
digit_of(const uint64 *entry, const Digit *digit)
{
	return (entry[digit->word] >> digit->shift) & digit->mask;
}

/* Distribute entries by digit.  Advances ends[] from bucket starts to ends. */
static pt_inline void
scatter(const uint64 *source, uint64 *target, int64 n, const int stride,
		const Digit *digit, int64 *ends)
{
	for (int64 i = 0; i < n; i++)
	{
		const uint64 *entry = source + i * stride;
		int64		place = ends[digit_of(entry, digit)]++;

		copy_entry(target + place * stride, entry, stride);
	}
}

static void sort_level(RadixSort *sort, uint64 *entries, uint64 *other, int64 n,
					   int stride, int word, bool want_other);

/*
 * Count the entries of each bucket.  Returns a mask of the bits of the digit's
 * word in which the entries differ.
 */
static pt_inline uint64
count_buckets(const uint64 *entries, int64 n, const int stride,
			  const Digit *digit, int64 *counts)
{
	uint64		first = entries[digit->word];
	uint64		result = 0;

	memset(counts, 0, (digit->mask + 1) * sizeof(int64));
	for (int64 i = 0; i < n; i++)
	{
		const uint64 *entry = entries + i * stride;

		result |= entry[digit->word] ^ first;
		counts[digit_of(entry, digit)]++;
	}
	return result;
}

/* Make a digit of up to max_bits bits, from the highest differing bit down. */
static pt_inline void
set_digit(Digit *digit, int word, uint64 differing, int max_bits)
{
	int			top = pg_leftmost_one_pos64(differing) + 1;
	int			bits = Min(top, max_bits);

	digit->word = word;
	digit->shift = top - bits;
	digit->mask = (UINT64CONST(1) << bits) - 1;
}

/*
 * Find the next digit (up to max_bits bits) in which the entries differ, and
 * the start of each bucket.  Returns false if the entries are in order.
 *
 * A sample nearly always shows in which bits many entries differ; count_buckets
 * shows whether the sample missed any bits.
 */
static pt_inline bool
find_buckets(const uint64 *entries, int64 n, const int stride, int word,
			 int nkeys, int max_bits, Digit *digit, int64 *starts)
{
	int64		start = 0;
	uint64		differing;

	for (;; word++)
	{
		int64		step = Max(n / SAMPLE_ENTRIES, 1);

		if (word >= nkeys)
			return false;
		differing = differing_bits(entries, n / step, step * stride, word);
		if (differing == 0 && step > 1)
			differing = differing_bits(entries, n, stride, word);
		if (differing != 0)
			break;
		/* entries that share a word are often in order by the next words */
		if (is_sorted(entries, n, stride, word + 1, nkeys, false))
			return false;
	}
	set_digit(digit, word, differing, max_bits);
	differing = count_buckets(entries, n, stride, digit, starts);
	if ((differing >> digit->shift) > digit->mask)
	{
		set_digit(digit, word, differing, max_bits);
		(void) count_buckets(entries, n, stride, digit, starts);
	}

	for (uint64 bucket = 0; bucket <= digit->mask; bucket++)
	{
		int64		count = starts[bucket];

		starts[bucket] = start;
		start += count;
	}
	return true;
}

/*
 * Order the buckets in 'entries'.  Most buckets are small.  One insertion sort
 * orders many adjacent small buckets; sort_level orders each larger bucket.
 */
static pt_inline void
sort_small_buckets(RadixSort *sort, uint64 *entries, uint64 *other, int64 n,
				   const int stride, const Digit *digit, const int64 *ends)
{
	int64		from = 0;
	int64		start = 0;

	for (uint64 bucket = 0; bucket <= digit->mask; bucket++)
	{
		int64		at = start * stride;
		int64		count = ends[bucket] - start;

		if (count > INSERTION_LIMIT)
		{
			insertion_sort(entries + from * stride, start - from, stride,
						   sort->nkeys);
			sort_level(sort, entries + at, other + at, count, stride,
					   digit->word, false);
			from = ends[bucket];
		}
		start = ends[bucket];
	}
	insertion_sort(entries + from * stride, n - from, stride, sort->nkeys);
}

/*
 * Order the n entries in 'entries', with 'other' as scratch.  The result is in
 * 'other' if want_other is true, else in 'entries'.
 */
static pt_inline void
sort_level_of(RadixSort *sort, uint64 *entries, uint64 *other, int64 n,
			  const int stride, int word, bool want_other)
{
	int64	   *ends = sort->counters;
	int64		start = 0;
	int			max_bits = Max(4, pg_leftmost_one_pos64((uint64) n));
	Digit		digit;

	if (n <= INSERTION_LIMIT)
		insertion_sort(entries, n, stride, sort->nkeys);
	if (n <= INSERTION_LIMIT ||
		!find_buckets(entries, n, stride, word, sort->nkeys,
					  Min(DIGIT_BITS, max_bits), &digit, ends))
	{
		if (want_other)
			memcpy(other, entries, n * stride * sizeof(uint64));
		return;
	}
	CHECK_FOR_INTERRUPTS();
	scatter(entries, other, n, stride, &digit, ends);
	sort->counters += digit.mask + 1;
	if (n <= SMALL_BUCKET * (int64) (digit.mask + 1))
	{
		sort_small_buckets(sort, other, entries, n, stride, &digit, ends);
		if (!want_other)
			memcpy(entries, other, n * stride * sizeof(uint64));
	}
	else
	{
		for (uint64 bucket = 0; bucket <= digit.mask; bucket++)
		{
			int64		count = ends[bucket] - start;
			int64		at = start * stride;

			if (count > 1 || (count == 1 && !want_other))
				sort_level(sort, other + at, entries + at, count, stride,
						   digit.word, !want_other);
			start = ends[bucket];
		}
	}
	sort->counters -= digit.mask + 1;
}

/* Ensure that the level has counters, and sort with a constant stride. */
static void
sort_level(RadixSort *sort, uint64 *entries, uint64 *other, int64 n, int stride,
		   int word, bool want_other)
{
	RadixSort	before = *sort;

	check_stack_depth();
	if (unlikely(sort->counters_end - sort->counters < MAX_BUCKETS))
	{
		sort->counters = palloc(COUNTERS * sizeof(int64));
		sort->counters_end = sort->counters + COUNTERS;
	}
	if (stride == 2)
		sort_level_of(sort, entries, other, n, 2, word, want_other);
	else
		sort_level_of(sort, entries, other, n, 3, word, want_other);
	if (unlikely(sort->counters_end != before.counters_end))
		pfree(sort->counters);
	*sort = before;
}

void
radix_sort(uint64 *entries, int64 n, int stride, int nkeys, uint64 *scratch)
{
	RadixSort	sort = {.nkeys = nkeys};

	if (n < 2 || is_sorted(entries, n, stride, 0, nkeys, false))
		return;
	if (is_sorted(entries, n, stride, 0, nkeys, true))
		reverse(entries, n, stride);
	else if (n <= RADIX_FEW_ENTRIES && stride == 2)
		insertion_sort(entries, n, 2, nkeys);
	else if (n <= RADIX_FEW_ENTRIES)
		insertion_sort(entries, n, 3, nkeys);
	else
		sort_level(&sort, entries, scratch, n, stride, 0, false);
}
