/*-------------------------------------------------------------------------
 *
 * indexsize.c
 *	  Forecasts the pages of an index from the sorted entries of a sample.
 *
 * Btree.  The sample's tuples have the sizes of the index's tuples.  From the
 * number and the mean size of the items on leaves follow the leaves, by the
 * rules of btpage.c (has_room).  Tuples of upper levels count as large as those
 * of the sample, although some are truncated.
 *
 * If the index is deduplicated, the size of its posting lists depends on how
 * many rows share each key; see keycount.c.
 *
 * GiST.  How full pages are depends on the class's picksplit.  So this file
 * divides a part of the sample's tuples into leaves as gistload.c does, and
 * measures the time, because picksplit takes most of a build's time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/gist_private.h"
#include "access/nbtree.h"
#include "btree/btpage.h"
#include "forecast/forecast.h"
#include "gist/gist.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Bytes of an empty page that items and their line pointers can use */
#define PAGE_ROOM	(BLCKSZ - SizeOfPageHeaderData - \
					 MAXALIGN(sizeof(BTPageOpaqueData)))

/* Items: items on the leaves of the index. */
typedef struct Items
{
	double		n;
	double		bytes;			/* with line pointers */
	double		extra;			/* of the posting lists */
} Items;

/* Reader: the state of reading the sample. */
typedef struct Reader
{
	BtRules		rules;
	double		scale;
	Items		items;
	KeyGroup	few[KEYCOUNT_FEW + 1];	/* by number of blocks */
	/* the present key */
	uint32		rows;
	uint32		blocks;
	Size		bytes;
} Reader;

/*
 * Add the items of 'keys' keys with 'rows' rows each, on average.  Between one
 * row and two, a part of the keys have no posting list.
 */
static void
add_keys(Items *items, double keys, double rows, Size size)
{
	int			most = Max(btpage_most_tids(size), 1);
	double		lists = keys * ceil(rows / most);
	double		extra = keys * (rows < 2 ? 2 * (rows - 1) : rows) *
		sizeof(ItemPointerData);

	if (most == 1 || rows <= 1)
	{
		lists = keys * rows;
		extra = 0;
	}
	else						/* the mean of what MAXALIGN adds */
		extra += keys * Min(rows - 1, 1) * (MAXIMUM_ALIGNOF / 2 - 1);
	items->n += lists;
	items->bytes += lists * (size + sizeof(ItemIdData)) + extra;
	items->extra += extra;
}

/* KeyCallback */
static void
add_few(const KeyGroup *group, double keys, double rows, double blocks,
		void *reader)
{
	add_keys(&((Reader *) reader)->items, keys, rows,
			 rint(group->bytes / group->keys));
}


/*
 * The sample
 */

/* Count the key whose rows the reader read. */
static void
end_key(Reader *reader)
{
	KeyGroup   *few = &reader->few[Min(reader->blocks, KEYCOUNT_FEW)];

	if (!reader->rules.deduplicate)
		add_keys(&reader->items, reader->rows * reader->scale, 1,
				 reader->bytes);
	else if (reader->scale <= 1 || reader->blocks > KEYCOUNT_FEW)
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

static void
read_sample(Reader *reader, Sample *sample, IndexSize *size)
{
	Relation	index = reader->rules.index;
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	IndexTuple	last = palloc0(VARIANT_FORM_ROOM);
	IndexTuple	tuple;

	while ((tuple = variant_get_index(sample->sort, true)) != NULL)
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
		size->tuple_bytes += reader->bytes;
		size->largest = Max(size->largest, reader->bytes);
		memcpy(last, tuple, reader->bytes);
	}
	if (reader->rows > 0)
		end_key(reader);
	pfree(last);
}

/*
 * Count the leaves.  A leaf is full if the next item does not fit, or if less
 * than leaf_full bytes are free, the last item's posting list included.
 * Its last item becomes its high key, and moves to the next leaf.
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
btreesize_forecast(IndexSize *size, Relation heap, Relation index,
				   Sample *sample)
{
	Reader		reader = {.scale = sample_scale(sample)};
	double		used;			/* tuples of a page of an upper level */
	double		level;

	memset(size, 0, sizeof(IndexSize));
	btpage_rules(&reader.rules, heap, index, _bt_allequalimage(index, false));
	read_sample(&reader, sample, size);
	if (reader.rules.deduplicate && reader.scale > 1)
		keycount_few(reader.few, reader.scale, add_few, &reader);
	count_leaves(size, &reader);
	size->tuple_bytes /= Max(sample->entries, 1);

	size->pages = size->leaves + 1;
	used = (PAGE_ROOM - reader.rules.upper_full) /
		(MAXALIGN(size->tuple_bytes) + sizeof(ItemIdData));
	for (level = size->leaves; level > 1; size->pages += level)
	{
		level = ceil(level / Max(used, 2));
		size->free_bytes += level * reader.rules.upper_full;
	}
}


/*
 * GiST
 */

/* Groups of tuples to divide, and the most tuples of a group */
static const int max_groups = 32;
#define MAX_TUPLES		(GIST_LOAD_PAGES * MaxIndexTuplesPerPage)

/* GistGroup: tuples that fill GIST_LOAD_PAGES pages. */
typedef struct GistGroup
{
	Relation	index;
	GISTSTATE  *gist;
	GistAxis	axis;
	Page		page;			/* a leaf, for picksplit */
	int			n;
	Size		bytes;
	IndexTuple	tuples[MAX_TUPLES];
	int64		divided;		/* tuples of all groups so far */
} GistGroup;

/* Divide the group into leaves, count them, and empty the group. */
static void
divide(IndexSize *size, GistGroup *group)
{
	MemoryContext old = MemoryContextSwitchTo(group->gist->tempCxt);
	SplitPageLayout *layout;
	instr_time	start;

	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	gistaxis_sort(group->axis, group->tuples, group->n, group->index);
	layout = gistSplit(group->index, group->page, group->tuples, group->n,
					   group->gist);
	size->split_ms += pt_ms_since(start);
	for (; layout != NULL; layout = layout->next)
	{
		size->leaves++;
		size->free_bytes += GiSTPageSize - layout->lenlist -
			layout->block.num * sizeof(ItemIdData);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(group->gist->tempCxt);
	group->divided += group->n;
	group->n = 0;
	group->bytes = 0;
}

/*
 * Read the entries of the sample, and divide the first groups of them.  The
 * groups' tuples are in the context that divide() resets.
 */
static void
divide_groups(IndexSize *size, GistGroup *group, Sample *sample)
{
	int			ngroups = 0;
	IndexTuple	tuple;

	while ((tuple = variant_get_gist(sample->sort)) != NULL)
	{
		Size		bytes = IndexTupleSize(tuple);
		Size		on_page = bytes + sizeof(ItemIdData);

		size->tuple_bytes += bytes;
		size->largest = Max(size->largest, bytes);
		if (ngroups == max_groups)
			continue;
		if (group->bytes + on_page > GIST_LOAD_PAGES * GiSTPageSize)
		{
			divide(size, group);
			ngroups++;
		}
		group->tuples[group->n] = MemoryContextAlloc(group->gist->tempCxt,
													 bytes);
		memcpy(group->tuples[group->n++], tuple, bytes);
		group->bytes += on_page;
	}
	if (group->divided == 0 && group->bytes > GiSTPageSize)
		divide(size, group);
}

/*
 * From the groups' leaves to those of the index, and to all its pages.  Other
 * pages are as full, of tuples as large.
 */
static void
count_pages(IndexSize *size, const GistGroup *group, double rows)
{
	double		scale = rows / group->divided;
	double		fanout = group->divided / size->leaves;
	double		free_bytes = size->free_bytes / size->leaves;

	size->leaves *= scale;
	size->split_ms *= scale;
	for (double level = size->leaves; level > 1; level /= Max(fanout, 2))
		size->pages += ceil(level);
	size->pages++;				/* the root */
	size->free_bytes = size->pages * free_bytes;
}

void
gistsize_forecast(IndexSize *size, Relation index, Sample *sample)
{
	double		rows = sample->entries * sample_scale(sample);
	GistGroup  *group = palloc0(sizeof(GistGroup));

	memset(size, 0, sizeof(IndexSize));
	group->index = index;
	group->gist = initGISTstate(index);
	group->gist->tempCxt = createTempGistContext();
	group->axis = gistaxis_of(index);
	group->page = palloc(BLCKSZ);
	gistinitpage(group->page, F_LEAF);
	divide_groups(size, group, sample);
	if (group->divided > 0)
		count_pages(size, group, rows);
	else
	{
		size->pages = size->leaves = 1;
		size->free_bytes = GiSTPageSize - Min(group->bytes, GiSTPageSize);
	}
	size->tuple_bytes /= Max(sample->entries, 1);
	MemoryContextDelete(group->gist->tempCxt);
	freeGISTstate(group->gist);
}
