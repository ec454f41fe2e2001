/*-------------------------------------------------------------------------
 *
 * tiesort.c
 *	  Sort tuples by comparison alone, where words do not decide.
 *
 * A quicksort over all tuples would visit tuples all over memory in each of its
 * passes, and spend much of its time waiting for them.  So, as in AlphaSort,
 * each block of tuples that fits the cache is sorted first, by quicksort.
 * tournament.h then merges the blocks, which needs only the first tuple of each
 * block in the cache.  Consecutive blocks that are in order are joined first,
 * so input in order is not merged at all.  Input in descending order is
 * reversed.
 *
 * Up to FEW_TUPLES tuples are sorted by insertion, using binary search to find
 * the place: no other way needs fewer comparisons, which dominate the cost.
 *
 * lastsort.c sorts tuples that all have the same key, byte for byte.
 *
 * tiesort compares only keys, except in sorts that are not stable and whose
 * variant provides neither a last word nor an order of bytes.  Afterwards
 * lastsort.c sorts each group of equal keys by place or TID, or bytesort.c
 * sorts it by bytes.  So a key that many tuples share costs at most two
 * comparisons per tuple.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/bytesort.h"
#include "memory/lastsort.h"
#include "memory/tiesort.h"
#include "miscadmin.h"

/*
 * Tuples of a block.  They were put one after the other, so at 60 bytes each a
 * block takes half of a second level cache of 512 kB.
 */
#define BLOCK_TUPLES	4096

/*
 * Largest number of tuples to sort by insertion; more would take long to move.
 */
#define FEW_TUPLES		64

/* Number of tuples to prefetch ahead. */
#define TUPLES_AHEAD	8

/* How to compare, and what the comparisons found. */
typedef struct TieSort
{
	SortOrder  *order;
	bool		keys_only;		/* equal keys are sorted afterwards */
	bool		all_equal;		/* all keys compare equal */
	int64		nequal;			/* comparisons that found equal keys */
} TieSort;

/* Order of the tuples at two addresses. */
static inline int
compare(TieSort *sort, uint64 a, uint64 b)
{
	const void *left = (void *) (uintptr_t) a;
	const void *right = (void *) (uintptr_t) b;
	int			cmp;

	if (!sort->keys_only)
		return order_compare_in_memory(sort->order, left, right);
	cmp = order_compare_keys(sort->order, left, right);
	if (cmp == 0)
		sort->nequal++;
	return cmp;
}

#define ST_SORT qsort_addresses
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b, sort) compare(sort, *(a), *(b))
#define ST_COMPARE_ARG_TYPE TieSort
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"
#include "util.h"

/* Sorted addresses from 'next' to before 'end'. */
typedef struct TieRun
{
	const uint64 *next;
	const uint64 *end;
} TieRun;

/* A tournament tree over runs. */
typedef struct TieMerge
{
	TieSort    *sort;
	TieRun	   *runs;
	int			nruns;
	int		   *tree;			/* numbers of runs; [0] is the winner */
} TieMerge;

/* True if the first tuple of run a comes before that of run b. */
static inline bool
is_before(TieMerge *merge, int a, int b)
{
	const TieRun *left = &merge->runs[a];
	const TieRun *right = &merge->runs[b];

	if (left->next == left->end || right->next == right->end)
		return right->next == right->end;
	return compare(merge->sort, *left->next, *right->next) < 0;
}

#define TT_NODE int
#define TT_ARG TieMerge
#define TT_LEAF(i, arg) (i)
#define TT_BEFORE(a, b, arg) is_before(arg, *(a), *(b))
#include "memory/tournament.h"

/*
 * Sort blocks and join consecutive ones that are in order.  Returns the number
 * of runs.
 */
static int
make_runs(TieSort *sort, uint64 *addresses, int64 n, TieRun *runs)
{
	int			nruns = 0;

	for (int64 start = 0; start < n; start += BLOCK_TUPLES)
	{
		uint64	   *block = addresses + start;
		int64		size = Min(n - start, BLOCK_TUPLES);

		CHECK_FOR_INTERRUPTS();
		qsort_addresses(block, size, sort);
		if (nruns > 0 &&
			compare(sort, block[-1], block[0]) <= 0)
			runs[nruns - 1].end = block + size;
		else
		{
			runs[nruns].next = block;
			runs[nruns++].end = block + size;
		}
	}
	return nruns;
}

/* Merge the runs into addresses that are 'stride' words apart. */
static void
merge_runs(TieMerge *merge, uint64 *target, int64 n, int stride)
{
	int			winner = tournament_play(merge->tree, merge->nruns, 1, merge);

	for (int64 i = 0; i < n; i++)
	{
		TieRun	   *run = &merge->runs[winner];

		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		target[i * stride] = *run->next++;
		if (run->end - run->next > 1)
			pt_prefetch((void *) (uintptr_t) run->next[1]);
		winner = tournament_replay(merge->tree, merge->nruns, winner, winner,
								   merge);
	}
}

/*
 * True if addresses that are 'stride' words apart are in descending order.
 * Stops at the first that is not.
 */
static bool
is_reversed(TieSort *sort, const uint64 *addresses, int64 n, int stride)
{
	for (int64 i = 1; i < n; i++)
	{
		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		if (compare(sort, addresses[(i - 1) * stride],
					addresses[i * stride]) <= 0)
			return false;
	}
	return true;
}

/* Reverse the addresses. */
static void
reverse(uint64 *addresses, int64 n, int stride)
{
	for (int64 i = 0, j = n - 1; i < j; i++, j--)
	{
		uint64		other = addresses[i * stride];

		addresses[i * stride] = addresses[j * stride];
		addresses[j * stride] = other;
	}
}

/*
 * Returns the number of leading tuples that are in order.  Reverses them if
 * they are in descending order.
 */
static int
order_first(TieSort *sort, uint64 *addresses, int n)
{
	bool		descending = compare(sort, addresses[0], addresses[1]) > 0;
	int			end = 2;

	while (end < n && descending ==
		   (compare(sort, addresses[end - 1], addresses[end]) > 0))
		end++;
	if (descending)
		reverse(addresses, end, 1);
	return end;
}

/* Sort a few tuples, at least two. */
static void
sort_few(TieSort *sort, uint64 *addresses, int n)
{
	int			ordered = order_first(sort, addresses, n);

	/* up to here each tuple was compared with the one before it */
	sort->all_equal = (ordered == n && sort->nequal == n - 1);
	for (int i = ordered; i < n; i++)
	{
		uint64		moving = addresses[i];
		int			low = 0;
		int			high = i;

		while (low < high)
		{
			int			middle = (low + high) / 2;

			if (compare(sort, moving, addresses[middle]) < 0)
				high = middle;
			else
				low = middle + 1;
		}
		memmove(&addresses[low + 1], &addresses[low],
				(i - low) * sizeof(uint64));
		addresses[low] = moving;
	}
}

/* Number of leading entries whose keys compare equal. */
static int64
count_equal(SortOrder *order, const uint64 *addresses, int64 n, int stride)
{
	int64		i = 1;

	while (i < n &&
		   order_compare_keys(order, (void *) (uintptr_t) addresses[0],
							  (void *) (uintptr_t) addresses[i * stride]) == 0)
	{
		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + TUPLES_AHEAD < n)
			pt_prefetch((void *) (uintptr_t)
						addresses[(i + TUPLES_AHEAD) * stride]);
		i++;
	}
	return i;
}

/*
 * Sort n addresses that are 'stride' words apart.  'scratch' has room for n.
 */
static void
sort_addresses(TieSort *sort, uint64 *addresses, int64 n, int stride,
			   uint64 *scratch)
{
	TieMerge	merge = {.sort = sort};

	if (n > FEW_TUPLES && is_reversed(sort, addresses, n, stride))
	{
		reverse(addresses, n, stride);
		return;
	}
	if (n > FEW_TUPLES && sort->nequal > 0 &&
		count_equal(sort->order, addresses, n, stride) == n)
	{
		sort->all_equal = true;
		return;
	}
	for (int64 i = 0; i < n; i++)
		scratch[i] = addresses[i * stride];
	if (n > BLOCK_TUPLES)
	{
		merge.runs = palloc_extended((n / BLOCK_TUPLES + 1) * sizeof(TieRun),
									 MCXT_ALLOC_HUGE);
		merge.nruns = make_runs(sort, scratch, n, merge.runs);
	}
	else if (n > FEW_TUPLES)
		qsort_addresses(scratch, n, sort);
	else
		sort_few(sort, scratch, n);

	if (merge.nruns > 1)
	{
		merge.tree = palloc0(merge.nruns * sizeof(int));
		merge_runs(&merge, addresses, n, stride);
		pfree(merge.tree);
	}
	else
	{
		for (int64 i = 0; i < n; i++)
			addresses[i * stride] = scratch[i];
	}
	if (merge.runs)
		pfree(merge.runs);
}

/*
 * Sort entries whose keys compare equal: by place, TID, or bytes.  (Only in
 * sorts that are not builds may two tuples have the same TID.)
 */
static void
sort_equal(SortOrder *order, uint64 *entries, int64 n, int stride,
		   uint64 *scratch, int64 room)
{
	uint64		word = entries[0];
	TieSort		all = {.order = order};
	bool		sorted;

	if (order_sorts_bytes(order))
	{
		bytesort(order, entries, n, stride, scratch, room);
		return;
	}
	sorted = lastsort(order, entries, n, stride, scratch, room);
	for (int64 i = 0; i < n; i++)
		entries[i * stride] = word;
	if (!sorted)
		sort_addresses(&all, entries + stride - 1, n, stride, scratch);
}

/* Sort each group of entries whose keys compare equal. */
static void
sort_groups(SortOrder *order, uint64 *entries, int64 n, int stride,
			uint64 *scratch, int64 room)
{
	while (n > 0)
	{
		int64		equal = count_equal(order, entries + stride - 1, n, stride);

		if (equal > 1)
			sort_equal(order, entries, equal, stride, scratch, room);
		entries += equal * stride;
		n -= equal;
	}
}

void
tiesort(SortOrder *order, uint64 *entries, int64 n, int stride,
		uint64 *scratch, int64 room)
{
	TieSort		sort = {
		.order = order,
		.keys_only = order->stable || order_sorts_bytes(order) ||
		order_has_last_words(order)
	};

	if (lastsort_same(order, entries, n, stride, scratch, room))
		return;
	if (sort.keys_only && order_words_decide(order, entries))
		sort.all_equal = true;
	else
		sort_addresses(&sort, entries + stride - 1, n, stride, scratch);
	if (sort.all_equal && order->stable)
		return;
	if (sort.all_equal)
		sort_equal(order, entries, n, stride, scratch, room);
	else if (sort.nequal > 0)
		sort_groups(order, entries, n, stride, scratch, room);
}
