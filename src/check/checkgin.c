/*-------------------------------------------------------------------------
 *
 * checkgin.c
 *	  Checks a page of a GIN index, its metapage and its pending list.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "check/checkgin.h"

/*
 * Tuples of a page
 */

static bool
fits_segment(const char *at, const char *end)
{
	return (Size) (end - at) >= offsetof(GinPostingList, bytes) &&
		(Size) (end - at) >= SizeOfGinPostingList((const GinPostingList *) at);
}

/* Find the end of a leaf tuple's key.  Returns 0 if its list does not fit. */
static Size
check_list(const PageScan *scan, OffsetNumber offset, IndexTuple tuple)
{
	Size		size = IndexTupleSize(tuple);
	Size		start = GinGetPostingOffset(tuple);
	const char *at = (char *) tuple + start;
	int			n = GinGetNPosting(tuple);
	bool		fits;

	if (n == GIN_TREE_POSTING)
		return size;
	fits = start >= sizeof(IndexTupleData) && start <= size &&
		start == SHORTALIGN(start);
	if (fits && n > 0)
		fits = GinItupIsCompressed(tuple) ?
			fits_segment(at, (char *) tuple + size) :
			n * sizeof(ItemPointerData) <= size - start;
	return fits ? start : checkpage_bad(scan, offset,
										"the list does not fit its tuple");
}

/* Check a tuple's key, which ends before 'end'.  Returns its column or 0. */
static int
check_key(const PageScan *scan, OffsetNumber offset, IndexTuple tuple,
		  Size end)
{
	GinCheck   *check = scan->self->state;
	bool		nulls = IndexTupleHasNulls(tuple);
	Size		at = IndexInfoFindDataOffset(tuple->t_info);
	int			n = check->gin.oneCol ? 1 : 2;
	uint16		column = 1;
	Datum		values[2];
	bool		isnull[2];

	if (n > 1 && at + sizeof(column) <= end)
		memcpy(&column, (char *) tuple + at, sizeof(column));
	if (column < 1 || column > scan->self->ncolumns)
		return checkpage_bad(scan, offset, "the tuple has no such column");
	at = checkpage_values(check->columns[column - 1], n, tuple, end, values,
						  isnull, n);
	if (at == 0 || isnull[n - 1] != nulls || (n > 1 && isnull[0]))
		return checkpage_bad(scan, offset, "the tuple's values do not fit its header");
	if (nulls)
	{
		at = GinCategoryOffset(tuple, &check->gin);
		if (at + sizeof(GinNullCategory) > end ||
			GinGetNullCategory(tuple, &check->gin) < GIN_CAT_NULL_KEY ||
			GinGetNullCategory(tuple, &check->gin) > GIN_CAT_NULL_ITEM)
			return checkpage_bad(scan, offset, "the tuple's category is unknown");
	}
	return column;
}

/* Returns the end of a tuple's key, or 0 if the rest of the tuple is wrong. */
static Size
check_shape(const PageScan *scan, OffsetNumber offset, IndexTuple tuple)
{
	const GinCheck *check = scan->self->state;
	const CheckPage *page = scan->page;
	OffsetNumber row = GinItemPointerGetOffsetNumber(&tuple->t_tid);

	if (ItemIdIsDead(PageGetItemId((Page) page->page, offset)))
		return checkpage_bad(scan, offset, "the line pointer is wrong");
	if (checkgin_has_flag(page, GIN_LIST) && (row == 0 || row > check->most))
		return checkpage_bad(scan, offset, "the tuple points to no row");
	if (!checkgin_has_flag(page, GIN_LIST | GIN_LEAF) && row != 0)
		return checkpage_bad(scan, offset, "the downlink has an offset");
	return page->is_leaf ? check_list(scan, offset, tuple) :
		IndexTupleSize(tuple);
}

/* Check a tuple, and add it to the page's tuples if it is sound. */
static void
check_tuple(const PageScan *scan, OffsetNumber offset)
{
	CheckPage  *page = scan->page;
	IndexTuple	tuple = checkpage_item(scan, offset);
	Size		end = tuple == NULL ? 0 : check_shape(scan, offset, tuple);
	int			column = end == 0 ? 0 : check_key(scan, offset, tuple, end);

	page->nkeys[offset] = column;
	if (column > 0)
		page->tuples[offset] = tuple;
}

static bool
check_entries(const PageScan *scan, int most)
{
	CheckPage  *page = scan->page;
	unsigned	lower = ((PageHeader) page->page)->pd_lower;
	OffsetNumber n = PageGetMaxOffsetNumber((Page) page->page);

	if (n > MaxIndexTuplesPerPage ||
		(lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
		(n == 0 && !checkgin_has_flag(page, GIN_LIST) &&
		 (page->block != GIN_ROOT_BLKNO || !page->is_leaf)))
		return checkpage_bad(scan, 0, "the number of tuples is impossible");
	page->last = n;
	memset(page->tuples, 0, (n + 1) * sizeof(IndexTuple));
	for (int i = 1; i <= Min(n, most); i++)
		check_tuple(scan, i);
	if (most < n)
		check_tuple(scan, n);
	else
		checkpage_overlap(scan);
	return true;
}

/* VACUUM may empty an inner page, but not the last one of a level. */
static bool
check_data(const PageScan *scan)
{
	CheckPage  *page = scan->page;
	const char *at = (char *) GinDataPageGetData((Page) page->page);
	unsigned	lower = ((PageHeader) page->page)->pd_lower;
	int			n = checkgin_opaque(page)->maxoff;

	if (page->is_leaf && checkgin_has_flag(page, GIN_COMPRESSED))
	{
		const char *end = page->page + lower;

		while (at < end && fits_segment(at, end))
			at += SizeOfGinPostingList((const GinPostingList *) at);
		return at == end ||
			checkpage_bad(scan, 0, "the lists do not fit their page");
	}
	if (n * (page->is_leaf ? sizeof(ItemPointerData) : sizeof(PostingItem)) >
		GinDataPageMaxDataSize ||
		(!page->is_leaf && n == 0 &&
		 checkgin_right(page) == InvalidBlockNumber) ||
		(!page->is_leaf && lower != SizeOfPageHeaderData &&
		 page->page + lower != at + n * sizeof(PostingItem)))
		return checkpage_bad(scan, 0, "the number of items is impossible");
	page->last = page->is_leaf ? 0 : n;
	return true;
}

bool
checkgin_tuples(CheckIndex *self, CheckPage *page, int most, bool quiet)
{
	PageScan	scan = {self, page, quiet};
	uint16		flags = checkgin_opaque(page)->flags;
	bool		is_root = page->block == GIN_ROOT_BLKNO;

	page->last = 0;
	page->first = FirstOffsetNumber;
	page->tuples[page->first] = NULL;
	if (PageIsNew((Page) page->page))
		return is_root && checkpage_bad(&scan, 0, "the root is empty");
	if (!checkpage_has_header(self, page))
		return checkpage_bad(&scan, 0, "the page's header is wrong");
	if (flags & GIN_DELETED)
		return is_root && checkpage_bad(&scan, 0, "the root is deleted");
	if (flags == GIN_META && page->block == GIN_METAPAGE_BLKNO)
		return true;
	page->is_leaf = (flags & GIN_LEAF) != 0;
	if ((flags & ~(GIN_DATA | GIN_LEAF | GIN_INCOMPLETE_SPLIT)) == 0 ||
		(flags & ~GIN_INCOMPLETE_SPLIT) ==
		(GIN_DATA | GIN_LEAF | GIN_COMPRESSED))
		return flags & GIN_DATA ? check_data(&scan) :
			check_entries(&scan, most);
	if ((flags & ~GIN_LIST_FULLROW) == GIN_LIST)
		return check_entries(&scan, most);
	return checkpage_bad(&scan, 0, "the page's flags contradict each other");
}

/*
 * Order
 */

GinKey
checkgin_key(CheckIndex *self, const CheckPage *page, OffsetNumber offset)
{
	GinCheck   *check = self->state;
	GinKey		key = {page->nkeys[offset]};

	key.value = gintuple_get_key(&check->gin, page->tuples[offset],
								 &key.category);
	return key;
}

int
checkgin_compare(CheckIndex *self, GinKey a, GinKey b)
{
	GinCheck   *check = self->state;
	int			order;

	self->catching = self->trusted;
	order = ginCompareAttEntries(&check->gin, a.column, a.value, a.category,
								 b.column, b.value, b.category);
	self->catching = false;
	return order;
}

/* CheckStep: the keys of an entry page ascend. */
static void
check_keys(CheckIndex *self)
{
	const CheckPage *page = self->here;
	GinKey		before;
	bool		has_before = false;

	for (int i = 1; i <= checkgin_last_key(page); i++)
	{
		GinKey		key;

		if (page->tuples[i] == NULL)
			continue;
		key = checkgin_key(self, page, i);
		if (has_before && checkgin_compare(self, before, key) >= 0)
			check_found(self, CHECK_OUT_OF_ORDER, page->block, i,
						"the tuple does not follow the tuple before it");
		before = key;
		has_before = true;
	}
}

static void
report_list(CheckIndex *self, const GinTids *list, OffsetNumber offset)
{
	self->report->tuples += list->n;
	if (list->fault != NULL)
		check_found(self, list->kind, self->here->block, offset, "%s",
					list->fault);
}

/* GinListStep: check a list, and put its entries into the sort, if any. */
static void
check_entry(CheckIndex *self, const GinEntry *entry, const GinTids *list)
{
	/* who checks the leaves of a posting tree reports their lists */
	if (entry->offset != 0)
		report_list(self, list, entry->offset);
	if (self->sort != NULL)
		checkginrows_put_list(self, entry, list);
}

/* CheckStep */
static void
check_lists(CheckIndex *self)
{
	((GinCheck *) self->state)->list.counts = self->sort == NULL;
	checkginrows_visit(self, self->sort != NULL, check_entry);
}

/* The TIDs of a leaf, or the keys of downlinks, of a posting tree ascend. */
static void
check_data_order(CheckIndex *self, GinTids *list)
{
	const CheckPage *page = self->here;

	list->counts = self->sort == NULL;
	list->n = 0;
	if (page->is_leaf)
	{
		checkgin_leaf_tids(self, page, list);
		report_list(self, list, 0);
	}
	for (int i = 1; i <= checkgin_last_key(page) && !page->is_leaf; i++)
	{
		uint64		key = pt_tid_word(&checkgin_item(page, i)->key);

		if (list->n++ > 0 && key <= list->last)
			check_found(self, CHECK_OUT_OF_ORDER, page->block, i,
						"the tuple does not follow the tuple before it");
		list->last = key;
	}
	if (checkgin_last_key(page) < page->last &&
		pt_tid_word(&checkgin_item(page, page->last)->key) != 0)
		check_found(self, CHECK_OUT_OF_ORDER, page->block, page->last,
					"the last downlink of a level has a key");
	if (checkgin_right(page) != InvalidBlockNumber && list->n > 0 &&
		list->last > checkgin_bound(page))
		check_found(self, CHECK_OUT_OF_ORDER, page->block, 0,
					"the last TID follows the right bound");
}

/* The links are the last step: checkginlinks_page may replace the copy. */
static void
check_page(CheckIndex *self)
{
	GinCheck   *check = self->state;
	CheckPage  *page = self->here;

	if (checkgin_has_flag(page, GIN_DATA))
		check_data_order(self, &check->list);
	else if (!checkgin_has_flag(page, GIN_LIST))
		check_guard(self, check_keys);
	if (!checkgin_has_flag(page, GIN_DATA) &&
		checkgin_has_flag(page, GIN_LEAF | GIN_LIST))
		check_guard(self, check_lists);
	if (!checkgin_has_flag(page, GIN_LIST))
		check_guard(self, checkginlinks_page);
}

/*
 * Metapage and pending list
 */

/* Returns what is wrong with the metapage, or NULL. */
static const char *
check_metapage(CheckIndex *self)
{
	CheckPage  *page = self->here;
	const char *fault = checkread_page(self, GIN_METAPAGE_BLKNO, page);
	GinMetaPageData *meta = GinPageGetMeta((Page) page->page);
	unsigned	lower = ((PageHeader) page->page)->pd_lower;

	if (fault != NULL)
		return fault;
	if (!checkpage_has_header(self, page) ||
		checkgin_opaque(page)->flags != GIN_META ||
		(lower != SizeOfPageHeaderData &&
		 page->page + lower != (char *) (meta + 1)))
		return "block 0 is not the metapage of a GIN index";
	if (meta->ginVersion < 0 || meta->ginVersion > GIN_CURRENT_VERSION)
		return "the metapage has a version that this server does not know";
	return NULL;
}

const char *
checkgin_pending(CheckIndex *self, CheckPage *page, GinMetaPageData *list,
				 GinPageStep step)
{
	BlockNumber block = list->head;

	list->tail = InvalidBlockNumber;
	list->tailFreeSize = list->nPendingPages = 0;
	list->nPendingHeapTuples = 0;
	while (block != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		if (!checkread_has_block(self, list->nPendingPages))
			return "the pending list has no end";
		if (checkread_page(self, block, page) != NULL ||
			!checkgin_tuples(self, page,
							 step == NULL ? 0 : MaxIndexTuplesPerPage, true) ||
			!checkgin_has_flag(page, GIN_LIST))
			return "the pending list leads to a page that does not belong to it";
		if (step != NULL)
			step(self, page);
		list->tail = block;
		list->tailFreeSize = PageGetExactFreeSpace((Page) page->page);
		list->nPendingPages++;
		list->nPendingHeapTuples += checkgin_opaque(page)->maxoff;
		block = checkgin_right(page);
	}
	return NULL;
}

BlockNumber
checkgin_pending_head(CheckIndex *self)
{
	if (checkread_page(self, GIN_METAPAGE_BLKNO, self->again) != NULL)
		return InvalidBlockNumber;
	return GinPageGetMeta((Page) self->again->page)->head;
}

/* True if the metapage describes the pending list. */
static bool
describes(const CheckPage *page, const GinMetaPageData *found)
{
	const GinMetaPageData *meta = GinPageGetMeta((Page) page->page);

	return meta->head == found->head && meta->tail == found->tail &&
		meta->tailFreeSize == found->tailFreeSize &&
		meta->nPendingPages == found->nPendingPages &&
		meta->nPendingHeapTuples == found->nPendingHeapTuples;
}

/*
 * LinkTest: a server changes the pending list and the metapage at the same
 * time.  So the metapage before or after the walk describes the list, unless
 * both changed.
 */
static bool
test_pending(CheckIndex *self, LinkFault *fault)
{
	GinMetaPageData found = *GinPageGetMeta((Page) self->here->page);
	const char *what = checkgin_pending(self, self->there, &found, NULL);

	if (what == NULL &&
		(describes(self->here, &found) ||
		 checkread_page(self, GIN_METAPAGE_BLKNO, self->again) != NULL ||
		 describes(self->again, &found)))
		return true;
	if (what == NULL)
		what = "the metapage does not describe the pending list";
	return checkcompare_broken(self, fault, 0, InvalidBlockNumber, what);
}

static void
begin_pages(CheckIndex *self, CheckTree *tree)
{
	const char *fault = check_metapage(self);

	if (fault != NULL)
		check_found(self, CHECK_BAD_PAGE, GIN_METAPAGE_BLKNO, 0, "%s", fault);
	else
		checkcompare_pages(self, test_pending);
}

static void
begin(CheckIndex *self)
{
	GinCheck   *check = palloc0(sizeof(GinCheck));

	initGinState(&check->gin, self->index);
	self->state = check;
	self->desc = RelationGetDescr(self->index);
	checkginrows_begin(self);
	check->most = self->heap->rd_rel->relam == HEAP_TABLE_AM_OID ?
		MaxHeapTuplesPerPage : GIN_MOST_OFFSET;
	for (int i = 0; i < self->desc->natts; i++)
		check->columns[i] = checkpage_columns(check->gin.tupdesc[i]);
}

const CheckMethod check_gin = {
	.am = GIN_AM_OID,
	.special = MAXALIGN(sizeof(GinPageOpaqueData)),
	.first = GIN_METAPAGE_BLKNO + 1,
	.begin = begin,
	.begin_pages = begin_pages,
	.tuples = checkgin_tuples,
	.page = check_page,
	.child = checkgin_child,
	.end = checkginrows_end,
	.many = true,
	.put_row = checkginrows_put_row,
	.form = checkginrows_form,
	.find = checkginrows_find
};
