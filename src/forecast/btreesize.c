/*-------------------------------------------------------------------------
 *
 * btreesize.c
 *	  Estimates the pages of a btree index from the sorted entries of a sample.
 *
 * The sample's tuples have the sizes of the index's tuples.  From the number
 * and the mean size of the items on leaves follow the leaves, by the rules of
 * btpage.c (has_room).  High keys and the tuples of upper levels come from
 * truncating tuples of the sample.
 *
 * If the index is deduplicated, the size of its posting lists depends on how
 * many rows share each key.  A single mean would not suffice: the posting lists
 * of a table with some unique and some frequent keys take less space than those
 * of a table in which all keys have the mean frequency.
 *
 * Rows of a key in one block count together, because the sample has either all
 * of them or none.  With n blocks in the table for each block of the sample, a
 * key in c blocks is in m blocks of the sample with the probability
 *
 *		P(m, c) = C(c, m) (1/n)^m (1 - 1/n)^(c - m)
 *
 * The unknown numbers of keys with c blocks are those that make the numbers in
 * the sample most likely (a mixture of distributions, fitted by expectation
 * maximization).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "btree/btpage.h"
#include "forecast/forecast.h"
#include "variant/variants.h"

/* Bytes of an empty page that items and their line pointers can use */
#define PAGE_ROOM	(BLCKSZ - SizeOfPageHeaderData - \
					 MAXALIGN(sizeof(BTPageOpaqueData)))

/* One of this many neighbours in the sample is truncated to a high key. */
#define PIVOT_STEP	61

/* A key in more blocks of the sample counts as often as the sample says. */
#define FEW_BLOCKS	12

/* Numbers of blocks of the table that the mixture distinguishes */
#define BLOCK_STEPS 28

/* Large tables need thousands of iterations, which take some milliseconds. */
#define ITERATIONS	20000

/* Items: items on the leaves of the index. */
typedef struct Items
{
	double		n;
	double		bytes;			/* with line pointers */
	double		extra;			/* of the posting lists */
} Items;

/* KeyGroup: the keys in the same number of blocks of the sample, in sum. */
typedef struct KeyGroup
{
	double		keys;
	double		rows;
	double		bytes;			/* of tuples without posting lists */
} KeyGroup;

/* Reader: the state of reading the sample. */
typedef struct Reader
{
	BtRules		rules;
	double		scale;
	Items		items;
	KeyGroup	few[FEW_BLOCKS + 1];	/* by number of blocks */
	double		pivots;			/* tuples of upper levels */
	double		pivot_bytes;
	/* the present key */
	uint32		rows;
	uint32		blocks;
	Size		bytes;
} Reader;

static void
add_items(Items *items, double n, Size size, Size extra)
{
	items->n += n;
	items->bytes += n * (size + sizeof(ItemIdData));
	items->extra += n * extra;
}

/* Add the items of 'keys' keys with 'rows' rows each, an integer. */
static void
add_lists(Items *items, double keys, double rows, Size size)
{
	int			most = Max(btpage_most_tids(size), 1);
	double		full_lists = floor(rows / most);
	double		rest = rows - full_lists * most;
	Size		full = MAXALIGN(size + most * sizeof(ItemPointerData));
	Size		last = MAXALIGN(size + (int) rest * sizeof(ItemPointerData));

	if (most == 1)
		full = size;
	add_items(items, keys * full_lists, full, full - size);
	if (rest == 1)
		add_items(items, keys, size, 0);
	else if (rest > 1)
		add_items(items, keys, last, last - size);
}

/* Like add_lists, for a mean number of rows: round it up for some keys. */
static void
add_keys(Items *items, double keys, double rows, Size size)
{
	double		low = floor(Max(rows, 1));
	double		part = Max(rows - low, 0);

	add_lists(items, keys * (1 - part), low, size);
	add_lists(items, keys * part, low + 1, size);
}


/*
 * Keys and blocks
 */

/* Set the values of c: 1 to 8, then a geometric sequence. */
static void
choose_steps(double blocks[BLOCK_STEPS], double scale)
{
	double		most = scale * FEW_BLOCKS * 2;
	double		factor = pow(most / 8, 1.0 / (BLOCK_STEPS - 8));

	for (int i = 0; i < BLOCK_STEPS; i++)
		blocks[i] = i < 8 ? i + 1 : blocks[i - 1] * Max(factor, 1.01);
}

/* Returns P(m, c); c need not be an integer. */
static double
probability(int m, double c, double scale)
{
	double		share = 1 / scale;

	if (m > c)
		return 0;
	return exp(lgamma(c + 1) - lgamma(m + 1) - lgamma(c - m + 1) +
			   m * log(share) + (c - m) * log1p(-share));
}

/*
 * Improve the numbers of keys.  part[m][i] becomes the part of the sample's keys
 * in m blocks that have blocks[i] blocks in the table.
 */
static void
iterate(double keys[BLOCK_STEPS], const KeyGroup *seen,
		double p[FEW_BLOCKS + 1][BLOCK_STEPS],
		double part[FEW_BLOCKS + 1][BLOCK_STEPS])
{
	double		found[BLOCK_STEPS] = {0};

	for (int m = 1; m <= FEW_BLOCKS; m++)
	{
		double		expected = 0;

		for (int i = 0; i < BLOCK_STEPS; i++)
			expected += keys[i] * p[m][i];
		for (int i = 0; i < BLOCK_STEPS; i++)
		{
			part[m][i] = expected > 0 ? keys[i] * p[m][i] / expected : 0;
			found[i] += seen[m].keys * part[m][i];
		}
	}
	for (int i = 0; i < BLOCK_STEPS; i++)
		keys[i] = found[i] / Max(1 - p[0][i], 1e-12);
}

/* Add the items of all keys for which those in few blocks stand. */
static void
add_few(Reader *reader)
{
	double		blocks[BLOCK_STEPS];
	double		p[FEW_BLOCKS + 1][BLOCK_STEPS];
	double		part[FEW_BLOCKS + 1][BLOCK_STEPS];
	double		keys[BLOCK_STEPS];

	choose_steps(blocks, reader->scale);
	for (int i = 0; i < BLOCK_STEPS; i++)
	{
		keys[i] = 1;
		for (int m = 0; m <= FEW_BLOCKS; m++)
			p[m][i] = probability(m, blocks[i], reader->scale);
	}
	for (int n = 0; n < ITERATIONS; n++)
		iterate(keys, reader->few, p, part);
	for (int m = 1; m <= FEW_BLOCKS; m++)
	{
		const KeyGroup *few = &reader->few[m];
		double		n = Max(few->keys, 1);
		double		cluster = few->rows / n / m;
		Size		size = rint(few->bytes / n);

		for (int i = 0; i < BLOCK_STEPS; i++)
			add_keys(&reader->items, few->keys * part[m][i] /
					 Max(1 - p[0][i], 1e-12), blocks[i] * cluster, size);
	}
}


/*
 * The sample
 */

/* Count the key whose rows the reader read. */
static void
end_key(Reader *reader)
{
	KeyGroup   *few = &reader->few[Min(reader->blocks, FEW_BLOCKS)];

	if (!reader->rules.deduplicate)
		add_items(&reader->items, reader->rows * reader->scale, reader->bytes,
				  0);
	else if (reader->scale <= 1 || reader->blocks > FEW_BLOCKS)
		add_keys(&reader->items, 1, reader->rows * reader->scale,
				 reader->bytes);
	else
	{
		few->keys++;
		few->rows += reader->rows;
		few->bytes += reader->bytes;
	}
	reader->rows = reader->blocks = 0;
}

/* Note the size of the tuple of upper levels that divides two tuples. */
static void
note_pivot(Reader *reader, IndexTuple left, IndexTuple right)
{
	IndexTuple	pivot = _bt_truncate(reader->rules.index, left, right,
									 reader->rules.inskey);

	reader->pivots++;
	reader->pivot_bytes += MAXALIGN(IndexTupleSize(pivot)) + sizeof(ItemIdData);
	pfree(pivot);
}

static void
read_sample(Reader *reader, Sample *sample, IndexSize *size)
{
	Relation	index = reader->rules.index;
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	IndexTuple	last = palloc0(VARIANT_FORM_ROOM);
	IndexTuple	tuple;

	for (int64 i = 0; (tuple = variant_get_index(sample->sort, true)) != NULL;
		 i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tuple->t_tid);

		if (reader->rows > 0 &&
			(!reader->rules.deduplicate ||
			 _bt_keep_natts_fast(index, last, tuple) <= nkeys))
			end_key(reader);
		if (reader->rows++ == 0 ||
			block != ItemPointerGetBlockNumber(&last->t_tid))
			reader->blocks++;
		reader->bytes = IndexTupleSize(tuple);
		if (i % PIVOT_STEP == 1)
			note_pivot(reader, last, tuple);
		size->tuple_bytes += reader->bytes;
		size->largest = Max(size->largest, reader->bytes);
		memcpy(last, tuple, reader->bytes);
	}
	if (reader->rows > 0)
		end_key(reader);
	pfree(last);
}

/*
 * Count the leaves.  A leaf is full when less than leaf_full bytes are free, of
 * which the posting list of the last item may take a part, or when the next item
 * does not fit.  Its last item becomes its high key, and moves to the next leaf.
 */
static void
count_leaves(IndexSize *size, const Reader *reader)
{
	const Items *items = &reader->items;
	double		room = PAGE_ROOM - sizeof(ItemIdData);
	double		mean = items->bytes / Max(items->n, 1);
	double		extra = items->extra / Max(items->n, 1);
	double		used = Min(room - reader->rules.leaf_full + mean / 2 + extra,
						   floor(room / Max(mean, 1)) * mean);

	if (items->n == 0)
		return;
	if (items->bytes <= used)
	{
		size->leaves = 1;
		size->free_bytes = room - items->bytes;
		return;
	}
	used = Max(used, 2 * mean);
	size->leaves = ceil(items->bytes / (used - mean));
	size->free_bytes = size->leaves * (room - used + extra);
}

void
btreesize_estimate(IndexSize *size, Relation heap, Relation index,
				   Sample *sample)
{
	Reader		reader = {.scale = sample_scale(sample)};
	double		used;
	double		level;

	memset(size, 0, sizeof(IndexSize));
	btpage_rules(&reader.rules, heap, index, _bt_allequalimage(index, false));
	read_sample(&reader, sample, size);
	if (reader.rules.deduplicate && reader.scale > 1)
		add_few(&reader);
	count_leaves(size, &reader);
	size->tuple_bytes /= Max(sample->entries, 1);

	size->pages = size->leaves + 1;
	used = PAGE_ROOM - reader.rules.upper_full;
	for (level = size->leaves; level > 1; size->pages += level)
	{
		level = ceil(level * reader.pivot_bytes / Max(reader.pivots, 1) / used);
		size->free_bytes += level * reader.rules.upper_full;
	}
}
