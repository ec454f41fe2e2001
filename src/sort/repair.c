/*-------------------------------------------------------------------------
 *
 * repair.c
 *	  Verify the order that hints gave, and correct it.
 *
 * This makes every run true where words are only hints (order.c: VERIFY_RUNS),
 * at one comparison per tuple if they are right: no order of n tuples can be
 * verified by fewer than n - 1.  Entries with equal words have been compared
 * already.
 *
 * Where one is wrong a natural run ends, and natural runs are merged: by
 * powersort (Munro and Wild, "Nearly-optimal mergesorts", 2018), which is
 * optimal up to a comparison per tuple for any runs, however uneven.  A merge
 * looks for the part of the two runs that overlaps first, from where they
 * meet, so an entry that is only a few places wrong costs a few comparisons.
 * Within that part it gallops, as timsort does (Peters, 2002), once one side
 * wins again and again: hints that are wrong about a character displace whole
 * blocks.
 *
 * So a few wrong hints cost little, but many cost more than no hints at all:
 * with every tenth wrong a sort of 300,000 strings takes half of the time of
 * one by comparisons alone, with every third 0.9, with all 1.1.  So a sample is
 * ordered by hints first, and if too many of its neighbours are out of order
 * the caller sorts by comparisons (repair_is_hopeless).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "miscadmin.h"
#include "sort/radix.h"
#include "sort/repair.h"
#include "util.h"

/* Win this often in a row, and the merge gallops. */
#define MIN_GALLOP		7

/* Entries between the one compared and the one asked for from memory. */
#define AHEAD			8

/*
 * A sample of no more entries than this, and no more than 1 in SAMPLE_PART of
 * them, is looked at before hints are used.  If this fraction of its neighbours
 * is out of order, a repair costs as much as sorting by comparisons (half are,
 * by chance).
 */
#define MAX_SAMPLE		1000
#define SAMPLE_PART		16
#define HOPELESS_FRACTION	0.3

/* Comparisons between two checks for interrupts. */
#define CHECK_INTERVAL	1000

/*
 * A natural run, and the depth of its boundary to the next one in the tree of
 * merges.
 */
typedef struct NaturalRun
{
	int64		start;
	int64		end;
	int			power;
} NaturalRun;

/* Powers grow along the stack and are at most the bits of n. */
#define MAX_RUNS		66

typedef struct Repair
{
	SortOrder  *order;
	uint64	   *entries;
	int64		n;
	int			stride;
	uint64	   *scratch;
	int64		compared;
	NaturalRun	stack[MAX_RUNS];
	int			nruns;
} Repair;

static inline uint64 *
entry_at(const Repair *repair, uint64 *array, int64 i)
{
	return array + i * repair->stride;
}

static inline int
compare(Repair *repair, const uint64 *a, const uint64 *b)
{
	int			last = repair->stride - 1;

	if (++repair->compared % CHECK_INTERVAL == 0)
		CHECK_FOR_INTERRUPTS();
	return order_compare_in_memory(repair->order, (void *) (uintptr_t) a[last],
								   (void *) (uintptr_t) b[last]);
}

static inline void
move(const Repair *repair, uint64 *target, const uint64 *source, int64 n)
{
	memmove(target, source, n * repair->stride * sizeof(uint64));
}

bool
repair_is_hopeless(SortOrder *order, const uint64 *entries, int64 n, int stride,
				   uint64 *scratch)
{
	int64		nsample = Min(n / SAMPLE_PART, MAX_SAMPLE);
	int			wrong = 0;

	for (int64 i = 0; i < nsample; i++)
		memcpy(scratch + i * stride, entries + n / nsample * i * stride,
			   stride * sizeof(uint64));
	radix_sort(scratch, nsample, stride, stride - 1, scratch + nsample * stride,
			   n - nsample);
	for (int64 i = 1; i < nsample; i++)
	{
		const uint64 *b = scratch + i * stride;
		const uint64 *a = b - stride;

		wrong += order_compare_words(a, b, stride - 1) != 0 &&
			order_compare_tuples(order, (void *) (uintptr_t) a[stride - 1],
								 (void *) (uintptr_t) b[stride - 1]) > 0;
	}
	return wrong > HOPELESS_FRACTION * nsample;
}

/* True if the provider agrees with the words of two entries. */
static bool
spot_is_right(SortOrder *order, const uint64 *a, const uint64 *b, int stride)
{
	return order_compare_words(a, b, stride - 1) == 0 ||
		order_spot_check(order, (void *) (uintptr_t) a[stride - 1],
						 (void *) (uintptr_t) b[stride - 1]);
}

/*
 * Where a group of many entries is misplaced few neighbours are in the wrong
 * order; so each that is checked is compared with the one before it as well.
 */
void
repair_spot_check(SortOrder *order, const uint64 *entries, int64 n, int stride)
{
	const uint64 *last = entries;

	for (int64 i = ORDER_SPOT_EVERY / 2; i < n; i += ORDER_SPOT_EVERY)
	{
		const uint64 *b = entries + i * stride;
		const uint64 *a = b - stride;

		if (!spot_is_right(order, last, a, stride) ||
			!spot_is_right(order, a, b, stride))
			return;
		last = b;
	}
}

/*
 * How many entries of a sorted array come before the key, at least low and at
 * most high.
 */
static int64
bisect(Repair *repair, uint64 *array, int64 low, int64 high, const uint64 *key)
{
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (compare(repair, entry_at(repair, array, middle), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * How many of the n entries of a sorted array come before the key: looked for
 * in growing steps from the front, then by bisection.
 */
static int64
gallop_front(Repair *repair, uint64 *array, int64 n, const uint64 *key)
{
	int64		low = 0;		/* this many are known to come before it */
	int64		high = 1;

	while (high <= n &&
		   compare(repair, entry_at(repair, array, high - 1), key) < 0)
	{
		low = high;
		high = 2 * high;
	}
	return bisect(repair, array, low, Min(high - 1, n), key);
}

/* gallop_end returns what gallop_front does, but looks from the end. */
static int64
gallop_end(Repair *repair, uint64 *array, int64 n, const uint64 *key)
{
	int64		low = 0;
	int64		high = n;		/* this many, or fewer, come before it */

	for (int64 step = 1; step <= n; step *= 2)
	{
		if (compare(repair, entry_at(repair, array, n - step), key) < 0)
		{
			low = n - step + 1;
			break;
		}
		high = n - step;
	}
	return bisect(repair, array, low, high, key);
}

/*
 * Merge two arrays into the place that begins where 'left' was copied from and
 * ends where 'right' ends.
 */
static void
merge_arrays(Repair *repair, uint64 *left, int64 nleft, uint64 *right,
			 int64 nright, uint64 *target)
{
	int			left_wins = 0;
	int			right_wins = 0;

	while (nleft > 0 && nright > 0)
	{
		int64		taken = 1;

		if (compare(repair, right, left) < 0)
		{
			left_wins = 0;
			if (++right_wins >= MIN_GALLOP)
				taken += gallop_front(repair, entry_at(repair, right, 1),
									  nright - 1, left);
			move(repair, target, right, taken);
			right = entry_at(repair, right, taken);
			nright -= taken;
		}
		else
		{
			right_wins = 0;
			if (++left_wins >= MIN_GALLOP)
				taken += gallop_front(repair, entry_at(repair, left, 1),
									  nleft - 1, right);
			move(repair, target, left, taken);
			left = entry_at(repair, left, taken);
			nleft -= taken;
		}
		target = entry_at(repair, target, taken);
	}
	move(repair, target, left, nleft);
}

/* Merge the two runs on top of the stack. */
static void
merge_top(Repair *repair)
{
	NaturalRun *left = &repair->stack[repair->nruns - 2];
	NaturalRun *right = left + 1;
	int64		middle = left->end;
	uint64	   *begin = entry_at(repair, repair->entries, left->start);
	uint64	   *boundary = entry_at(repair, repair->entries, middle);
	int64		start;
	int64		nright;

	start = left->start +
		gallop_end(repair, begin, middle - left->start, boundary);
	if (start < middle)
	{
		nright = gallop_front(repair, boundary, right->end - middle,
							  entry_at(repair, repair->entries, middle - 1));
		move(repair, repair->scratch, entry_at(repair, repair->entries, start),
			 middle - start);
		merge_arrays(repair, repair->scratch, middle - start, boundary, nright,
					 entry_at(repair, repair->entries, start));
	}
	left->end = right->end;
	left->power = right->power;
	repair->nruns--;
}

/*
 * The power of the boundary between two runs: the first bit in which the
 * places of their middles, as fractions of n, differ.
 */
static int
boundary_power(const Repair *repair, const NaturalRun *left, int64 right_end)
{
	int64		a = left->start + left->end;	/* twice the middles */
	int64		b = left->end + right_end;
	int			power = 1;

	for (;; power++)
	{
		if (a >= repair->n)
		{
			a -= repair->n;
			b -= repair->n;
		}
		else if (b >= repair->n)
			return power;
		a *= 2;
		b *= 2;
	}
}

/* A natural run ends: merge what powersort merges before it comes. */
static void
push_run(Repair *repair, int64 start, int64 end)
{
	NaturalRun *run;

	if (repair->nruns > 0)
	{
		NaturalRun *top = &repair->stack[repair->nruns - 1];
		int			power = boundary_power(repair, top, end);

		while (repair->nruns > 1 &&
			   repair->stack[repair->nruns - 2].power > power)
			merge_top(repair);
		repair->stack[repair->nruns - 1].power = power;
	}
	run = &repair->stack[repair->nruns++];
	run->start = start;
	run->end = end;
	run->power = 0;
}

/*
 * Sorted tuples are all over memory; ask for one before it is needed.  (The
 * third line has the key of wider rows: with it 2 million rows of 290 bytes
 * with a key at byte 90 take a tenth less to verify.)
 */
static inline void
prefetch_tuple(uint64 address)
{
	pt_prefetch((char *) (uintptr_t) address);
	pt_prefetch((char *) (uintptr_t) address + CACHE_LINE);
	pt_prefetch((char *) (uintptr_t) address + 2 * CACHE_LINE);
}

int64
repair_order(SortOrder *order, uint64 *entries, int64 n, int stride,
			 uint64 *scratch)
{
	Repair		repair = {
		.order = order,
		.entries = entries,
		.n = n,
		.stride = stride,
		.scratch = scratch
	};
	int64		start = 0;
	int64		wrong = 0;

	for (int64 i = 1; i < n; i++)
	{
		uint64	   *entry = entry_at(&repair, entries, i);
		uint64	   *previous = entry - stride;

		if (i + AHEAD < n)
			prefetch_tuple(entry_at(&repair, entries, i + AHEAD)[stride - 1]);
		if (order_compare_words(previous, entry, stride - 1) == 0 ||
			compare(&repair, previous, entry) <= 0)
			continue;
		/* What is pushed may be merged at once; i is still untouched. */
		push_run(&repair, start, i);
		start = i;
		wrong++;
	}
	if (wrong > 0)
	{
		push_run(&repair, start, n);
		while (repair.nruns > 1)
			merge_top(&repair);
	}
	return wrong;
}
