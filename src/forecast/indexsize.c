/*-------------------------------------------------------------------------
 *
 * indexsize.c
 *	  Estimates the pages of an index from the sorted entries of a sample.
 *
 * The sample's tuples have the sizes of the index's tuples.  From them, this
 * file makes a sequence of the sizes of items on leaves, which represents the
 * index's leaves at a smaller scale, and fills simulated pages with it by the
 * rules of btpage.c (has_room).  So the estimate contains what the fillfactor
 * and the sizes of tuples leave free.  High keys and the tuples of upper levels
 * come from truncating tuples of the sample.
 *
 * If the index is deduplicated, keycounts.c estimates how many rows share each
 * key, and so the sizes of posting lists.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "btree/btpage.h"
#include "forecast/forecast.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Bytes of an empty page that items and their line pointers can use */
#define PAGE_ROOM	(BLCKSZ - SizeOfPageHeaderData - \
					 MAXALIGN(sizeof(BTPageOpaqueData)))

/* One of this many neighbours in the sample is truncated to a high key. */
#define PIVOT_STEP	61

/* KeyGroup: the tuples of the sample with one key, or one tuple. */
typedef struct KeyGroup
{
	uint32		rows;
	uint32		blocks;			/* blocks of the sample with these rows */
	uint32		size;			/* size of the tuple without a posting list */
} KeyGroup;

/* LeafFill: leaves that fill with items of given sizes. */
typedef struct LeafFill
{
	Size		full;			/* a leaf with less free space is full */
	double		scale;			/* items of the index for each simulated one */
	double		due;			/* part of the next simulated item */
	double		bytes;			/* of all items of the index */
	double		simulated;		/* bytes of the simulated items */
	int			space;			/* on the open page */
	int			items;
	int			last;			/* size of the last item with line pointer */
	int			last_extra;
	double		leaves;			/* closed */
	double		free_bytes;		/* of closed leaves */
	double		lost_bytes;		/* posting lists that became high keys */
} LeafFill;

/* Size of the line pointer that a page reserves for its high key */
#define EMPTY_LEAF	((int) (PAGE_ROOM - sizeof(ItemIdData)))

/* Close the open leaf; its last item moves on. */
static void
close_leaf(LeafFill *fill)
{
	fill->leaves++;
	fill->free_bytes += fill->space;
	fill->lost_bytes += fill->last_extra;
	fill->space = EMPTY_LEAF - fill->last;
	fill->items = 1;
}

/* Add one item, as has_room() in btpage.c allows. */
static void
fill_leaf(LeafFill *fill, int size, int extra)
{
	int			space = fill->space - (int) sizeof(ItemIdData);

	if (fill->items > 1 &&
		(space < size + (int) MAXALIGN(sizeof(ItemPointerData)) ||
		 (Size) space + fill->last_extra < fill->full))
		close_leaf(fill);
	fill->last = size + sizeof(ItemIdData);
	fill->last_extra = extra;
	fill->space -= fill->last;
	fill->items++;
}

/* Add 'n' items of the index, which may be a fraction. */
static void
add_items(LeafFill *fill, double n, Size size, Size extra)
{
	fill->bytes += n * (size + sizeof(ItemIdData));
	fill->due += n / fill->scale;
	while (fill->due >= 1)
	{
		fill->due--;
		fill->simulated += size + sizeof(ItemIdData);
		fill_leaf(fill, size, extra);
	}
}

/* Add the items of 'keys' keys with 'rows' rows each, an integer. */
static void
add_lists(LeafFill *fill, double keys, double rows, Size size)
{
	int			limit = btpage_most_tids(size);
	int			most = Max(limit, 1);
	double		full_lists = floor(rows / most);
	int			rest = (int) (rows - full_lists * most);

	for (int i = 0; i < 2; i++)
	{
		int			ntids = i == 0 ? most : rest;
		double		n = i == 0 ? full_lists : 1;
		Size		all = size;

		if (ntids > 1)
			all = MAXALIGN(size + ntids * sizeof(ItemPointerData));
		if (n > 0 && ntids > 0)
			add_items(fill, keys * n, all, all - size);
	}
}

/* Like add_lists, for a mean number of rows: round it up for some keys. */
static void
add_keys(LeafFill *fill, double keys, double rows, Size size)
{
	double		low = floor(Max(rows, 1));
	double		part = Max(rows - low, 0);

	if (part < 1)
		add_lists(fill, keys * (1 - part), low, size);
	if (part > 0)
		add_lists(fill, keys * part, low + 1, size);
}


/*
 * The groups of the sample
 */

/* Returns the mean size of tuples of upper levels in *sum / *n. */
static void
note_pivot(Relation index, BTScanInsert inskey, IndexTuple left,
		   IndexTuple right, double *sum, int64 *n)
{
	IndexTuple	pivot = _bt_truncate(index, left, right, inskey);

	*sum += MAXALIGN(IndexTupleSize(pivot)) + sizeof(ItemIdData);
	(*n)++;
	pfree(pivot);
}

static bool
same_key(Relation index, IndexTuple a, IndexTuple b)
{
	return _bt_keep_natts_fast(index, a, b) >
		IndexRelationGetNumberOfKeyAttributes(index);
}

/* Read the entries of the sample into groups; return the number of groups. */
static int64
read_groups(KeyGroup *groups, const BtRules *rules, Sample *sample,
			IndexSize *size, double *pivot)
{
	IndexTuple	last = palloc0(VARIANT_FORM_ROOM);
	BlockNumber block = InvalidBlockNumber;
	double		pivots = 0;
	int64		npivots = 0;
	int64		n = 0;
	IndexTuple	tuple;

	for (int64 i = 0; (tuple = variant_get_index(sample->sort, true)) != NULL;
		 i++)
	{
		Size		bytes = IndexTupleSize(tuple);

		if (i == 0 || !rules->deduplicate ||
			!same_key(rules->index, last, tuple))
		{
			groups[n++] = (KeyGroup)
			{
				.size = bytes
			};
			block = InvalidBlockNumber;
		}
		groups[n - 1].rows++;
		if (ItemPointerGetBlockNumber(&tuple->t_tid) != block)
			groups[n - 1].blocks++;
		block = ItemPointerGetBlockNumber(&tuple->t_tid);
		if (i % PIVOT_STEP == 1)
			note_pivot(rules->index, rules->inskey, last, tuple, &pivots,
					   &npivots);
		size->tuple_bytes += bytes;
		size->largest = Max(size->largest, bytes);
		memcpy(last, tuple, bytes);
	}
	*pivot = npivots > 0 ? pivots / npivots : 0;
	pfree(last);
	return n;
}

/* Add the items that a key of the sample stands for. */
static void
add_group(LeafFill *fill, const KeyGroup *group, const KeyCounts *counts,
		  double scale)
{
	double		cluster = (double) group->rows / group->blocks;

	if (scale <= 1)
		add_lists(fill, 1, group->rows, group->size);
	else if (group->blocks > KEYCOUNTS_FEW)
		add_keys(fill, 1, group->rows * scale, group->size);
	else
	{
		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
		{
			double		keys = counts->keys[group->blocks][i];

			if (keys > 0)
				add_keys(fill, keys, counts->blocks[i] * cluster, group->size);
		}
	}
}

/* Add the items of all groups, deduplicated. */
static void
add_groups(LeafFill *fill, const KeyGroup *groups, int64 n, double scale)
{
	double		seen[KEYCOUNTS_FEW + 1] = {0};
	KeyCounts	counts;

	for (int64 i = 0; i < n; i++)
	{
		if (groups[i].blocks <= KEYCOUNTS_FEW)
			seen[groups[i].blocks]++;
	}
	if (scale > 1)
		keycounts_fit(&counts, scale, seen);
	for (int64 i = 0; i < n; i++)
		add_group(fill, &groups[i], &counts, scale);
}


/*
 * The pages
 */

/* Count the leaves, at the scale of the index. */
static void
count_leaves(IndexSize *size, const LeafFill *fill)
{
	double		used = EMPTY_LEAF - fill->space;
	double		mean = fill->leaves > 0 ? fill->free_bytes / fill->leaves :
		fill->full;
	double		part = Min(used / Max(EMPTY_LEAF - mean, 1), 1);
	double		factor = fill->simulated > 0 ?
		fill->bytes / fill->simulated : 0;

	size->leaves = ceil((fill->leaves + part) * factor);
	size->free_bytes = size->leaves *
		(mean + fill->lost_bytes / Max(fill->leaves, 1));
}

/* Count the pages of upper levels, whose items have 'pivot' bytes. */
static void
count_upper_levels(IndexSize *size, const BtRules *rules, double pivot)
{
	double		level = size->leaves;
	double		used = PAGE_ROOM - rules->upper_full;

	size->pages = size->leaves + 1;
	while (level > 1)
	{
		level = ceil(level * pivot / used);
		size->pages += level;
		size->free_bytes += level * rules->upper_full;
	}
}

void
indexsize_estimate(IndexSize *size, Relation heap, Relation index,
				   Sample *sample)
{
	double		scale = sample_scale(sample);
	LeafFill	fill = {.scale = scale,.space = EMPTY_LEAF};
	KeyGroup   *groups = palloc_extended(sizeof(KeyGroup) *
										 Max(sample->entries, 1),
										 MCXT_ALLOC_HUGE);
	BtRules		rules;
	double		pivot;
	int64		n;

	memset(size, 0, sizeof(IndexSize));
	btpage_rules(&rules, heap, index, _bt_allequalimage(index, false));
	fill.full = rules.leaf_full;
	n = read_groups(groups, &rules, sample, size, &pivot);
	if (rules.deduplicate)
		add_groups(&fill, groups, n, scale);
	else
	{
		for (int64 i = 0; i < n; i++)
			add_items(&fill, scale, groups[i].size, 0);
	}
	count_leaves(size, &fill);
	count_upper_levels(size, &rules, pivot);
	size->tuple_bytes /= Max(sample->entries, 1);
	pfree(groups);
}
