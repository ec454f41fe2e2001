/*-------------------------------------------------------------------------
 *
 * gistsize.c
 *	  Forecasts the pages of a GiST index from the sorted entries of a sample.
 *
 * How full pages are depends on the class's picksplit.  So this file divides a
 * part of the sample's tuples into leaves as gistload.c does, and measures the
 * time, because picksplit takes most of a build's time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/gist_private.h"
#include "forecast/forecast.h"
#include "gist/gist.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

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
