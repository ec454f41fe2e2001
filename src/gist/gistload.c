/*-------------------------------------------------------------------------
 *
 * gistload.c
 *	  Loads a GiST index from sorted tuples; see gist.h.
 *
 * The levels obey the rules of gist_indexsortbuild_levelstate_add and _flush
 * (gistbuild.c in the server).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/gist_private.h"
#include "catalog/pg_type.h"
#include "debug.h"
#include "gist/gist.h"
#include "utils/geo_decls.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "variant/variants.h"

/* GistLevel: a level of this participant's tree. */
typedef struct GistLevel
{
	bool		is_leaf;
	int			npages;			/* pages in use */
	Page		pages[GIST_LOAD_PAGES];
	BlockNumber last;			/* last page of the level; 0: none */
	struct GistLevel *parent;	/* NULL until it exists */
} GistLevel;

typedef struct GistLoad
{
	Load		base;			/* must be first */
	int64		slice_start;	/* tuples before the current slice */
	int64		head;			/* next tuples of the slice that are for the
								 * leader; -1: unknown before the first */
	GISTSTATE  *gist;
	GistAxis	axis;
	GistLevel  *leaf;
} GistLoad;


/*
 * Points
 *
 * The keys of points are boxes.  The picksplit functions of boxes sort all
 * lower and all upper ends on both axes, with pg_qsort(), which takes little
 * time if the ends already have their order.  The ends of a point are equal, so
 * one cheap sort by the first axis saves two of these four sorts.  The halves
 * of a split keep the order for their own splits.  PostGIS rounds the ends of a
 * point to the neighboring float4s, so its boxes are a little larger.
 *
 * How a split divides points does not depend on their order, except points with
 * equal ends.  For other boxes it may, so their order remains.
 */

/* AxisEntry: a tuple and its end, as an integer of the same order. */
typedef struct AxisEntry
{
	uint64		end;
	IndexTuple	tuple;
} AxisEntry;

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE AxisEntry
#define ST_COMPARE(a, b) \
	((a)->end < (b)->end ? -1 : (a)->end > (b)->end ? 1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

GistAxis
gistaxis_of(Relation index)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), 0)->atttypid;
	GistAxis	result = GIST_NO_AXIS;
	HeapTuple	tuple;
	Form_pg_type form;

	if (type == BOXOID)
		return GIST_BOX;
	if (TupleDescAttr(RelationGetDescr(index), 0)->attlen != 4 * sizeof(float4))
		return GIST_NO_AXIS;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return GIST_NO_AXIS;
	form = (Form_pg_type) GETSTRUCT(tuple);
	if (strcmp(NameStr(form->typname), "box2df") == 0)
		result = GIST_BOX2DF;
	ReleaseSysCache(tuple);
	return result;
}

/* Returns a float as an integer of the same order. */
static uint64
float_word(double value)
{
	uint64		word;

	memcpy(&word, &value, sizeof(word));
	return word >> 63 ? ~word : word | UINT64CONST(1) << 63;
}

/*
 * Returns false unless the tuple's key is null or the box of a point.  Sets
 * *end to the lower end on the first axis.
 */
static bool
get_end(GistAxis axis, IndexTuple tuple, TupleDesc desc, uint64 *end)
{
	bool		isnull;
	Datum		key = index_getattr(tuple, 1, desc, &isnull);
	float4		box2df[4];		/* xmin, xmax, ymin, ymax */
	const BOX  *box = DatumGetBoxP(key);

	*end = PG_UINT64_MAX;
	if (isnull)
		return true;
	if (axis == GIST_BOX)
	{
		*end = float_word(box->low.x);
		return box->low.x == box->high.x && box->low.y == box->high.y;
	}
	memcpy(box2df, DatumGetPointer(key), sizeof(box2df));
	*end = float_word(box2df[0]);
	return box2df[1] <= nextafterf(box2df[0], INFINITY) &&
		box2df[3] <= nextafterf(box2df[2], INFINITY);
}

void
gistaxis_sort(GistAxis axis, IndexTuple *tuples, int n, Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);
	bool		all_points = axis != GIST_NO_AXIS;
	AxisEntry  *entries = palloc(n * sizeof(AxisEntry));

	for (int i = 0; i < n && all_points; i++)
	{
		entries[i].tuple = tuples[i];
		all_points = get_end(axis, tuples[i], desc, &entries[i].end);
	}
	if (all_points)
	{
		sort_entries(entries, n);
		for (int i = 0; i < n; i++)
			tuples[i] = entries[i].tuple;
	}
	pfree(entries);
}


static void level_add(GistLoad *load, GistLevel *level, IndexTuple tuple);

static GistLevel *
level_create(GistLoad *load, bool is_leaf)
{
	GistLevel  *level = MemoryContextAllocZero(load->base.cxt,
											   sizeof(GistLevel));

	level->is_leaf = is_leaf;
	return level;
}

static GistLevel *
level_above(GistLoad *load, GistLevel *level)
{
	if (level->parent == NULL)
		level->parent = level_create(load, false);
	return level->parent;
}

/*
 * Make an empty page.  Pages that the server does not log keep this LSN: a scan
 * considers a page whose parent has no LSN as the root, and so would not follow
 * the page's splits.
 */
static void
init_page(Page page, uint32 flags)
{
	gistinitpage(page, flags);
	PageSetLSN(page, GistBuildLSN);
}

static Page
begin_page(GistLoad *load, GistLevel *level)
{
	Page	   *page = &level->pages[level->npages++];

	if (*page == NULL)
		*page = MemoryContextAlloc(load->base.cxt, BLCKSZ);
	init_page(*page, level->is_leaf ? F_LEAF : 0);
	return *page;
}

static IndexTuple *
level_tuples(const GistLevel *level, int *n)
{
	IndexTuple *tuples = gistextractpage(level->pages[0], n);

	for (int i = 1; i < level->npages; i++)
	{
		int			more;
		IndexTuple *added = gistextractpage(level->pages[i], &more);

		tuples = gistjoinvector(tuples, n, added, more);
	}
	return tuples;
}

/*
 * Returns the union of a page's tuples.  btree_gist's bit types convert all
 * tuples to keys of inner pages except the first, so the first comes again at
 * the end.
 */
static IndexTuple
page_union(const GistLoad *load, IndexTuple *tuples, int n)
{
	IndexTuple *all = palloc((n + 1) * sizeof(IndexTuple));

	memcpy(all, tuples, n * sizeof(IndexTuple));
	all[n] = tuples[0];
	return gistunion(load->base.index, all, n + 1, load->gist);
}

/* Have the class's picksplit divide the tuples of the level's pages. */
static SplitPageLayout *
divide(const GistLoad *load, const GistLevel *level)
{
	SplitPageLayout *layout;
	int			n;
	IndexTuple *tuples = level_tuples(level, &n);

	if (level->npages > 1)
	{
		gistaxis_sort(load->axis, tuples, n, load->base.index);
		return gistSplit(load->base.index, level->pages[0], tuples, n,
						 load->gist);
	}
	layout = palloc0(sizeof(SplitPageLayout));
	layout->itup = page_union(load, tuples, n);
	layout->list = gistfillitupvec(tuples, n, &layout->lenlist);
	layout->block.num = n;
	return layout;
}

/*
 * Tell the writer how many blocks all participants will still take.  A page of
 * a small slice may have few tuples, but a page has at least half of the tuples
 * that fit.
 */
static void
estimate_blocks(GistLoad *load, const SplitPageLayout *layout)
{
	double		used = layout->lenlist + layout->block.num * sizeof(ItemIdData);
	double		half = layout->block.num * (BLCKSZ / 2) / Max(used, 1);
	PageWriter *writer = &load->base.writer;
	int64		written = writer->pages_written + writer->npages;
	double		mean = Max((double) writer->tuples / Max(written, 1), half);
	int64		to_come = load->base.all_tuples - pagewrite_report(writer);

	writer->to_come = (BlockNumber) (Max(to_come, 0) / Max(mean, 1));
	writer->at_least = writer->to_come / 2;
}

/* Write a page of a layout; store its block in the page's union. */
static void
write_page(GistLoad *load, GistLevel *level, SplitPageLayout *layout)
{
	Page		page = pagewrite_get_buffer(&load->base.writer);
	char	   *data = (char *) layout->list;
	BlockNumber block;

	init_page(page, level->is_leaf ? F_LEAF : 0);
	for (int i = 0; i < layout->block.num; i++)
	{
		Size		size = IndexTupleSize((IndexTuple) data);

		if (PageAddItem(page, data, size, i + FirstOffsetNumber, false,
						false) == InvalidOffsetNumber)
			elog(ERROR, "failed to add item to index page in \"%s\"",
				 RelationGetRelationName(load->base.index));
		data += size;
	}
	if (pagewrite_needs_chunk(&load->base.writer))
		estimate_blocks(load, layout);
	block = pagewrite_get_block(&load->base.writer);
	ItemPointerSetBlockNumber(&layout->itup->t_tid, block);
	if (level->last != 0)		/* as in the server, for debugging only */
		GistPageGetOpaque(page)->rightlink = level->last;
	level->last = block;
	pagewrite_page(&load->base.writer, page, block);
}

/* Write the level's pages, and add their unions to the level above. */
static void
level_flush(GistLoad *load, GistLevel *level)
{
	MemoryContext old = MemoryContextSwitchTo(load->gist->tempCxt);
	SplitPageLayout *layout;

	CHECK_FOR_INTERRUPTS();
	layout = divide(load, level);
	level->npages = 0;
	for (; layout != NULL; layout = layout->next)
	{
		CHECK_FOR_INTERRUPTS();
		write_page(load, level, layout);
		if (level->is_leaf && load->base.list != NULL)
			slicelist_append(load->base.list, layout->itup);
		else
			level_add(load, level_above(load, level), layout->itup);
	}
	MemoryContextSwitchTo(old);
}

static void
level_add(GistLoad *load, GistLevel *level, IndexTuple tuple)
{
	Size		needed = IndexTupleSize(tuple) + sizeof(ItemIdData);
	Page		page = NULL;

	if (level->npages > 0)
		page = level->pages[level->npages - 1];
	if (page == NULL || PageGetFreeSpace(page) < needed)
	{
		if (level->npages == GIST_LOAD_PAGES)
			level_flush(load, level);
		page = begin_page(load, level);
	}
	gistfillbuffer(page, &tuple, 1, InvalidOffsetNumber);
}

/*
 * Returns the number of the slice's tuples that belong to a group of pages that
 * begins in an earlier slice, if all tuples have the size of the first.  (A
 * tuple may be too large for a page: level_add raises the server's error.)
 */
static int64
head_tuples(const GistLoad *load, IndexTuple first)
{
	Size		space = GiSTPageSize - sizeof(ItemIdData);	/* see level_add */
	int64		per_page = space / (IndexTupleSize(first) + sizeof(ItemIdData));
	int64		group = GIST_LOAD_PAGES * Max(per_page, 1);
	int64		begun = load->slice_start % group;

	return begun > 0 ? group - begun : 0;
}

/* Append the level's tuples to the slice's list. */
static void
append_rest(GistLoad *load, GistLevel *level)
{
	for (int i = 0; i < level->npages; i++)
	{
		Page		page = level->pages[i];
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber n = FirstOffsetNumber; n <= last; n++)
			slicelist_append(load->base.list, (IndexTuple)
							 PageGetItem(page, PageGetItemId(page, n)));
	}
	level->npages = 0;
}

/* True for a downlink, which gistFormTuple made; false for a leaf's tuple. */
static bool
is_downlink(IndexTuple tuple)
{
	return ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) == TUPLE_IS_VALID;
}

/*
 * Add the tuples of a slice's list to the leaves, and its downlinks to the
 * lowest inner level.
 */
static void
list_add(GistLoad *load, int slice)
{
	SliceList  *list;
	void	   *tuple;

	fault_point("gistload: open list");
	list = slicelist_open(load->base.fileset, slice, false);
	while (slicelist_next(list, &tuple) != 0)
	{
		if (!is_downlink(tuple))
			level_add(load, load->leaf, tuple);
		else
		{
			if (load->leaf->npages > 0)
				level_flush(load, load->leaf);
			level_add(load, level_above(load, load->leaf), tuple);
		}
		MemoryContextReset(load->gist->tempCxt);
	}
	slicelist_close(list);
}


/* LoadMethod.begin */
static void
begin(Load *base, const Build *build)
{
	GistLoad   *load = (GistLoad *) base;

	load->gist = initGISTstate(build->index);
	load->gist->tempCxt = createTempGistContext();
	load->axis = gistaxis_of(build->index);
	load->leaf = level_create(load, true);
}

static void
add(GistLoad *load, IndexTuple tuple)
{
	load_count(&load->base);
	if (load->base.list != NULL && load->head < 0)
		load->head = head_tuples(load, tuple);
	if (load->head > 0)
	{
		slicelist_append(load->base.list, tuple);
		load->head--;
		return;
	}
	level_add(load, load->leaf, tuple);
	if (!load->gist->tempCxt->isReset)
		MemoryContextReset(load->gist->tempCxt);
}

/* LoadMethod.add_slice */
static void
add_slice(Load *base, PtSort *sort, int slice)
{
	GistLoad   *load = (GistLoad *) base;
	IndexTuple	tuple;

	fault_point("gistload: begin slice");
	load->slice_start = sort_slice_start(sort);
	load->head = -1;
	while ((tuple = variant_get_gist(sort)) != NULL)
		add(load, tuple);
	if (base->list == NULL)
		return;
	append_rest(load, load->leaf);
	fault_point("gistload: end slice");
}

/* Write the unfinished pages of all levels below the root, and the root. */
static void
write_root(GistLoad *load)
{
	GistLevel  *level = load->leaf;
	Page		root;

	fault_point("gistload: upper levels");
	while (level->parent != NULL || level->npages > 1)
	{
		if (level->npages > 0)
			level_flush(load, level);
		level = level->parent;
	}
	if (level->npages == 0)		/* no tuples at all */
		(void) begin_page(load, level);
	fault_point("gistload: root");
	root = pagewrite_get_buffer(&load->base.writer);
	memcpy(root, level->pages[0], BLCKSZ);
	pagewrite_page(&load->base.writer, root, GIST_ROOT_BLKNO);
}

static void
make_deleted(Page page)
{
	init_page(page, 0);
	GistPageSetDeleted(page, FirstNormalFullTransactionId);
}

/* LoadMethod.finish */
static void
finish(Load *base, Build *build)
{
	GistLoad   *load = (GistLoad *) base;

	for (int i = 0; base->fileset != NULL && i < base->shared->nslices; i++)
		list_add(load, i);
	write_root(load);
	pagewrite_retire_spare(&base->writer, make_deleted);
}

const LoadMethod gistload = {
	.size = sizeof(GistLoad),
	.reserved = GIST_ROOT_BLKNO + 1,
	.begin = begin,
	.add_slice = add_slice,
	.finish = finish
};
