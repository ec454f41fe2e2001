/*-------------------------------------------------------------------------
 *
 * tiesort.c
 *	  Sort entries with equal words by comparing their images.
 *
 * A quicksort over all tuples would visit tuples all over memory in each pass,
 * and spend much of its time waiting for memory.  So tiesort, like AlphaSort,
 * first sorts blocks of tuples by quicksort; each block fits the cache.
 * tournament.h then merges the blocks; the merge needs only each block's next
 * tuple in the cache.  Blocks in ascending order are joined, not merged;
 * descending input is reversed.
 *
 * If there are few distinct keys, tiesort_few_keys finds each tuple's key by
 * binary search among the keys found before, and distributes the entries by
 * key, like a radix sort by a digit.  If a tuple has none of the first FEW_KEYS
 * keys, it gives up.  Giving up usually costs little: this tuple is one of the
 * first in the input, unless a few keys are much more frequent than the rest.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/entrysort.h"
#include "miscadmin.h"
#include "util.h"

/*
 * Number of tuples in a block.  A block of 60-byte tuples takes half of a 512
 * kB second-level cache.
 */
#define BLOCK_TUPLES	4096

/* TieRun: sorted addresses from 'next' up to, but not including, 'end'. */
typedef struct TieRun
{
	const uint64 *next;
	const uint64 *end;
} TieRun;

/* TieSort: the state of one call of tiesort. */
typedef struct TieSort
{
	SortOrder  *order;
	bool		keys_only;
	bool		tied;			/* true if two keys compared equal */
	TieRun	   *runs;			/* sorted runs to merge */
	int			nruns;
	int		   *tree;			/* tournament tree of run numbers */
} TieSort;

/* Compares the tuples at two addresses. */
static inline int
compare(TieSort *sort, uint64 a, uint64 b)
{
	const void *left = (void *) (uintptr_t) a;
	const void *right = (void *) (uintptr_t) b;
	int			cmp;

	if (!sort->keys_only)
		return order_compare_in_memory(sort->order, left, right);
	cmp = order_compare_keys(sort->order, left, right);
	sort->tied |= cmp == 0;
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

/* True if the first tuple of run a comes before the first tuple of run b. */
static inline bool
is_before(TieSort *sort, int a, int b)
{
	const TieRun *left = &sort->runs[a];
	const TieRun *right = &sort->runs[b];

	if (left->next == left->end || right->next == right->end)
		return right->next == right->end;
	return compare(sort, *left->next, *right->next) < 0;
}

#define TT_NODE int
#define TT_ARG TieSort
#define TT_LEAF(i, arg) (i)
#define TT_BEFORE(a, b, arg) is_before(arg, *(a), *(b))
#include "memory/tournament.h"

/* Sort blocks, and make one run of consecutive blocks that are in order. */
static void
make_runs(TieSort *sort, uint64 *addresses, int64 n)
{
	for (int64 start = 0; start < n; start += BLOCK_TUPLES)
	{
		uint64	   *block = addresses + start;
		int64		size = Min(n - start, BLOCK_TUPLES);

		CHECK_FOR_INTERRUPTS();
		qsort_addresses(block, size, sort);
		if (sort->nruns == 0 || compare(sort, block[-1], block[0]) > 0)
			sort->runs[sort->nruns++].next = block;
		sort->runs[sort->nruns - 1].end = block + size;
	}
}

/* Merge the runs into 'target', whose addresses lie 'stride' words apart. */
static void
merge_runs(TieSort *sort, uint64 *target, int64 n, int stride)
{
	int			winner = tournament_play(sort->tree, sort->nruns, 1, sort);

	for (int64 i = 0; i < n; i++)
	{
		TieRun	   *run = &sort->runs[winner];

		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		target[i * stride] = *run->next++;
		if (run->end - run->next > 1)
			pt_prefetch((void *) (uintptr_t) run->next[1]);
		winner = tournament_replay(sort->tree, sort->nruns, winner, winner,
								   sort);
	}
}

/* Sort 'scratch'.  If this makes several runs, merge them into 'addresses'. */
static void
sort_many(TieSort *sort, uint64 *addresses, int64 n, int stride,
		  uint64 *scratch)
{
	sort->runs = palloc_extended((n / BLOCK_TUPLES + 1) * sizeof(TieRun),
								 MCXT_ALLOC_HUGE);
	make_runs(sort, scratch, n);
	if (sort->nruns > 1)
	{
		sort->tree = palloc0(sort->nruns * sizeof(int));
		merge_runs(sort, addresses, n, stride);
		pfree(sort->tree);
	}
	pfree(sort->runs);
}

/*
 * If the tuples are in strictly descending order, reverse the addresses, which
 * lie 'stride' words apart.  Comparing stops at the first misplaced tuple.
 */
static bool
reverse_descending(TieSort *sort, uint64 *addresses, int64 n, int stride)
{
	for (int64 i = 1; i < n; i++)
	{
		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		if (compare(sort, addresses[(i - 1) * stride],
					addresses[i * stride]) <= 0)
			return false;
	}
	for (int64 i = 0, j = n - 1; i < j; i++, j--)
	{
		uint64		other = addresses[i * stride];

		addresses[i * stride] = addresses[j * stride];
		addresses[j * stride] = other;
	}
	return true;
}

bool
tiesort(const EntrySort *es, uint64 *entries, int64 n, bool keys_only)
{
	const int	stride = es->stride;
	uint64	   *addresses = entries + stride - 1;
	TieSort		sort = {
		.order = es->order,
		.keys_only = keys_only
	};

	if (n > RADIX_FEW_ENTRIES &&
		reverse_descending(&sort, addresses, n, stride))
		return false;
	for (int64 i = 0; i < n; i++)
		es->scratch[i] = addresses[i * stride];
	if (n > BLOCK_TUPLES)
		sort_many(&sort, addresses, n, stride, es->scratch);
	else
		qsort_addresses(es->scratch, n, &sort);
	for (int64 i = 0; sort.nruns <= 1 && i < n; i++)
		addresses[i * stride] = es->scratch[i];
	return sort.tied;
}

int64
tiesort_group(const EntrySort *es, const uint64 *entries, int64 n)
{
	const char *first = entry_image(entries, es->stride);
	int64		i = 1;

	while (i < n &&
		   order_compare_keys(es->order, first,
							  entry_image(entries + i * es->stride,
										  es->stride)) == 0)
	{
		if (i % BLOCK_TUPLES == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + ENTRIES_AHEAD < n)
			pt_prefetch(entry_image(entries + (i + ENTRIES_AHEAD) * es->stride,
									es->stride));
		i++;
	}
	return i;
}

int
tiesort_find_key(FewKeys *keys, SortOrder *order, const char *image)
{
	int			low = 0;
	int			high = keys->nkeys;
	int			number;

	for (number = 0; number < keys->nkeys; number++)
	{
		if (order_same_key(order, keys->images[number], image))
			return number;
	}
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			cmp;

		number = keys->order[middle];
		cmp = order_compare_keys(order, image, keys->images[number]);
		if (cmp == 0)
			return number;
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (keys->nkeys == FEW_KEYS)
		return -1;
	number = keys->nkeys++;
	memmove(&keys->order[low + 1], &keys->order[low],
			(number - low) * sizeof(int));
	keys->order[low] = number;
	keys->images[number] = image;
	return number;
}

/* Group the addresses of n entries by key; numbers[i] is entry i's key. */
static void
distribute(const EntrySort *es, uint64 *entries, int64 n, const FewKeys *keys,
		   const int64 *counts, const uint64 *numbers, uint64 *moved)
{
	uint64	   *addresses = entries + es->stride - 1;
	int64		next[FEW_KEYS];
	int64		place = 0;

	for (int i = 0; i < keys->nkeys; i++)
	{
		next[keys->order[i]] = place;
		place += counts[i];
	}
	for (int64 i = 0; i < n; i++)
		moved[next[numbers[i]]++] = addresses[i * es->stride];
	for (int64 i = 0; i < n; i++)
		addresses[i * es->stride] = moved[i];
}

int
tiesort_few_keys(const EntrySort *es, uint64 *entries, int64 n, int64 *counts)
{
	const int	stride = es->stride;
	uint64	   *numbers = es->scratch;	/* at least 2 * n words */
	FewKeys		keys = {0};
	int64		found[FEW_KEYS] = {0};	/* number of entries with each key */

	for (int64 i = 0; i < n; i++)
	{
		const uint64 *entry = entries + i * stride;
		int			number = tiesort_find_key(&keys, es->order,
											  entry_image(entry, stride));

		if (number < 0)
			return 0;
		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + ENTRIES_AHEAD < n)
			pt_prefetch(entry_image(entry + ENTRIES_AHEAD * stride, stride));
		numbers[i] = number;
		found[number]++;
	}
	for (int i = 0; i < keys.nkeys; i++)
		counts[i] = found[keys.order[i]];
	if (keys.nkeys > 1)
		distribute(es, entries, n, &keys, counts, numbers, numbers + n);
	return keys.nkeys;
}
