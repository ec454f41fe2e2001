/*-------------------------------------------------------------------------
 *
 * checkpage.c
 *	  Checks one page of a btree, without its order and its links.
 *
 * Any byte of a page may be wrong.  So these functions read nothing whose place
 * and size they did not check, and find the values of key columns in the same
 * pass: only sound tuples reach the comparison functions of data types.  A
 * value can still be one that its data type never makes; most comparison
 * functions of the server raise an error then, and checkorder.c turns the error
 * into a finding.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

/* PageScan: the page whose tuples checkpage_tuples() looks at. */
typedef struct PageScan
{
	CheckIndex *self;
	CheckPage  *page;
	bool		quiet;
	bool		leaf;
	OffsetNumber first;			/* first tuple that is no high key */
	unsigned	upper;			/* tuples are between these two places */
	unsigned	special;
	Size		max_size;		/* of a tuple with room for another TID */
	Size		max_size_no_tid;	/* of a tuple without */
} PageScan;

/* Report that a page, or its tuple at 'offset', is bad.  Returns false. */
static bool
bad(const PageScan *scan, OffsetNumber offset, const char *what)
{
	if (!scan->quiet)
		check_found(scan->self, CHECK_BAD_PAGE, scan->page->block, offset,
					"%s", what);
	return false;
}

bool
checkpage_has_header(const CheckPage *page)
{
	PageHeader	header = (PageHeader) page->page;
	const Size	special = BLCKSZ - MAXALIGN(sizeof(BTPageOpaqueData));

	return header->pd_special == special &&
		PageGetPageSize((Page) page->page) == BLCKSZ &&
		PageGetPageLayoutVersion((Page) page->page) == PG_PAGE_LAYOUT_VERSION &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper && header->pd_upper <= special;
}

/* Returns false if a page's header is damaged, or if it has no tuples. */
static bool
check_header(const PageScan *scan)
{
	const CheckPage *page = scan->page;
	BTPageOpaque opaque = checkpage_opaque(page);

	if (!checkpage_has_header(page))
		return bad(scan, 0, "the page's header is wrong");
	if (P_ISMETA(opaque))
		return bad(scan, 0, "a page other than block 0 says that it is the metapage");
	if (P_ISDELETED(opaque))
		return false;
	if (opaque->btpo_flags == 0 && opaque->btpo_level == 0 &&
		P_LEFTMOST(opaque) && P_RIGHTMOST(opaque) &&
		PageIsEmpty((Page) page->page))
		return false;			/* initialised, but never used */
	if (P_ISHALFDEAD(opaque) && !P_ISLEAF(opaque))
		return bad(scan, 0, "an internal page is half dead");
	if (P_HAS_FULLXID(opaque))
		return bad(scan, 0, "a page that is not deleted has a deletion XID");
	if (P_ISLEAF(opaque) != (opaque->btpo_level == 0))
		return bad(scan, 0, "the page's level and its leaf flag contradict each other");
	if (!P_ISLEAF(opaque) && P_HAS_GARBAGE(opaque))
		return bad(scan, 0, "an internal page has dead tuples");
	if (opaque->btpo_level > scan->self->tree->level &&
		opaque->btpo_level >= CHECK_MAX_LEVELS)
		return bad(scan, 0, "the page's level is impossible");
	return !P_ISHALFDEAD(opaque);
}

/* Find the number of tuples.  Returns false if it is impossible. */
static bool
check_number(const PageScan *scan)
{
	CheckPage  *page = scan->page;
	BTPageOpaque opaque = checkpage_opaque(page);
	OffsetNumber last = PageGetMaxOffsetNumber((Page) page->page);

	if (last > MaxIndexTuplesPerPage)
		return bad(scan, 0, "the page has too many line pointers");
	if (!P_RIGHTMOST(opaque) && last < P_HIKEY)
		return bad(scan, 0, "the page has no high key");
	if (!scan->leaf && last < P_FIRSTDATAKEY(opaque))
		return bad(scan, 0, "an internal page has no downlink");
	page->last = last;
	return true;
}

/* Returns a line pointer's tuple, or NULL if the line pointer is damaged. */
static IndexTuple
find_tuple(const PageScan *scan, OffsetNumber offset)
{
	ItemIdData	item = *PageGetItemId((Page) scan->page->page, offset);
	IndexTuple	tuple = (IndexTuple) (scan->page->page + item.lp_off);
	const char *fault = NULL;

	if ((item.lp_flags != LP_NORMAL && item.lp_flags != LP_DEAD) ||
		item.lp_len < sizeof(IndexTupleData) ||
		item.lp_off != MAXALIGN(item.lp_off) || item.lp_off < scan->upper ||
		item.lp_off + item.lp_len > scan->special)
		fault = "the line pointer is wrong";
	else if (IndexTupleSize(tuple) != item.lp_len)
		fault = "the tuple's size is not that of its line pointer";
	if (fault == NULL)
		return tuple;
	(void) bad(scan, offset, fault);
	return NULL;
}

/* Check a tuple's TIDs.  Returns the end of its values, or 0. */
static Size
check_tids(const PageScan *scan, OffsetNumber offset, IndexTuple tuple)
{
	Size		size = IndexTupleSize(tuple);
	Size		start;
	ItemPointer tid;
	int			n;

	if (BTreeTupleIsPosting(tuple))
	{
		n = BTreeTupleGetNPosting(tuple);
		start = BTreeTupleGetPostingOffset(tuple);
		if (!scan->self->tree->allequalimage)
			return bad(scan, offset, "a posting list in an index that may have none");
		if (n < 2 || start < sizeof(IndexTupleData) ||
			start != MAXALIGN(start) ||
			start + n * sizeof(ItemPointerData) > size)
			return bad(scan, offset, "the posting list does not fit its tuple");
		for (int i = 0; i < n; i++)
		{
			tid = BTreeTupleGetPostingN(tuple, i);
			if (!ItemPointerIsValid(tid) ||
				(i > 0 && ItemPointerCompare(tid - 1, tid) >= 0))
				return bad(scan, offset, "the posting list is not in order");
		}
		return start;
	}
	if (!BTreeTupleIsPivot(tuple))
	{
		if (scan->leaf && !ItemPointerIsValid(&tuple->t_tid))
			return bad(scan, offset, "the tuple points to no row");
		return size;
	}
	tid = BTreeTupleGetHeapTID(tuple);
	if (tid == NULL)
		return size;
	if (size < sizeof(IndexTupleData) + MAXALIGN(sizeof(ItemPointerData)) ||
		!ItemPointerIsValid(tid))
		return bad(scan, offset, "the pivot tuple's heap TID is wrong");
	return size - MAXALIGN(sizeof(ItemPointerData));
}

/*
 * Returns the size of the value at 'at', of a variable length, or 0 if it does
 * not fit into 'room' bytes.
 */
static Size
variable_size(const char *at, int16 length, Size room)
{
	Size		size;

	if (length == -2)
	{
		size = strnlen(at, room);
		return size < room ? size + 1 : 0;
	}
	if (VARATT_IS_1B(at))
	{
		if (VARATT_IS_1B_E(at))
			return 0;			/* an index holds no TOAST pointers */
		size = VARSIZE_1B(at);
		return size <= room ? size : 0;
	}
	if (room < VARHDRSZ)
		return 0;
	size = VARSIZE_4B(at);
	/* a reader allocates what a compressed value says that it needs */
	if (VARATT_IS_4B_C(at) && room >= VARHDRSZ_COMPRESSED &&
		VARDATA_COMPRESSED_GET_EXTSIZE(at) > (Size) BLCKSZ * BLCKSZ)
		return 0;
	if (size < (VARATT_IS_4B_C(at) ? VARHDRSZ_COMPRESSED : VARHDRSZ) ||
		size > room)
		return 0;
	return size;
}

/*
 * Check that the values of a tuple's first 'n' columns end before 'end', and
 * find the values of the key columns.
 */
static bool
find_values(const PageScan *scan, OffsetNumber offset, IndexTuple tuple, int n,
			Size end)
{
	const CheckIndex *self = scan->self;
	Datum	   *values = &scan->page->values[offset * self->nkeys];
	bool	   *isnull = &scan->page->isnull[offset * self->nkeys];
	const uint8 *nulls = IndexTupleHasNulls(tuple) ?
		(uint8 *) (tuple + 1) : NULL;
	const char *start = (char *) tuple;
	Size		at = IndexInfoFindDataOffset(tuple->t_info);
	const int	nkeys = self->nkeys;
	bool		is_variable = false;

	if (at > end)
		return false;
	for (int i = 0; i < n; i++)
	{
		const CheckColumn column = self->columns[i];
		bool		is_null = nulls != NULL && att_isnull(i, nulls);
		Size		size;

		if (i < nkeys)
			isnull[i] = is_null;
		if (is_null)
			continue;
		if (column.length > 0)
		{
			at = TYPEALIGN(column.alignment, at);
			size = column.length;
		}
		else
		{
			is_variable = true;
			if (column.length != -1 || at >= end || start[at] == 0)
				at = TYPEALIGN(column.alignment, at);
			size = at < end ?
				variable_size(start + at, column.length, end - at) : 0;
		}
		if (size == 0 || at + size > end)
			return false;
		if (i < nkeys)
			values[i] = fetch_att(start + at, column.byval, column.length);
		at += size;
	}
	return n == 0 || (IndexTupleHasVarwidths(tuple) != 0) == is_variable;
}

/*
 * Returns the end of a tuple's values, or 0 if its number of columns or its
 * TIDs are wrong.  Sets *n to the number of columns.
 */
static Size
check_shape(const PageScan *scan, OffsetNumber offset, IndexTuple tuple,
			int *n)
{
	const CheckIndex *self = scan->self;

	*n = self->ncolumns;
	if (!scan->leaf && offset == scan->first)
		*n = 0;					/* an internal page's first downlink */
	else if (BTreeTupleIsPivot(tuple))
		*n = BTreeTupleGetNAtts(tuple, self->index);
	/* a leaf's entry for one row always has all columns */
	if ((!scan->leaf || (tuple->t_info & INDEX_ALT_TID_MASK) != 0 ||
		 offset < scan->first) &&
		(*n > self->ncolumns ||
		 (!self->tree->heapkeyspace && !BTreeTupleIsPivot(tuple) &&
		  !ItemPointerIsValid(&tuple->t_tid)) ||
		 !_bt_check_natts(self->index, self->tree->heapkeyspace,
						  (Page) scan->page->page, offset)))
		return bad(scan, offset, "the tuple has a wrong number of columns");
	return check_tids(scan, offset, tuple);
}

/* Check a tuple, and add it to the page's tuples if it is sound. */
static void
check_tuple(const PageScan *scan, OffsetNumber offset)
{
	const CheckIndex *self = scan->self;
	CheckPage  *page = scan->page;
	IndexTuple	tuple = find_tuple(scan, offset);
	bool		has_room;
	Size		end;
	int			n;

	page->tuples[offset] = NULL;
	if (tuple == NULL)
		return;
	end = check_shape(scan, offset, tuple, &n);
	if (end == 0)
		return;
	has_room = self->tree->heapkeyspace &&
		(!BTreeTupleIsPivot(tuple) || BTreeTupleGetHeapTID(tuple) == NULL);
	if (IndexTupleSize(tuple) >
		(has_room ? scan->max_size : scan->max_size_no_tid))
		(void) bad(scan, offset, "the tuple is too large");
	if (!find_values(scan, offset, tuple, n, end))
	{
		(void) bad(scan, offset, "the tuple's values do not fit its header");
		return;
	}
	page->tuples[offset] = tuple;
	page->nkeys[offset] = Min(n, self->nkeys);
}

bool
checkpage_tuples(CheckIndex *self, CheckPage *page, int most, bool quiet)
{
	PageScan	scan = {self, page, quiet};

	page->last = 0;
	page->tuples[P_HIKEY] = NULL;
	if (PageIsNew((Page) page->page) || !check_header(&scan))
		return false;
	scan.leaf = P_ISLEAF(checkpage_opaque(page));
	scan.first = checkpage_first(page);
	scan.upper = ((PageHeader) page->page)->pd_upper;
	scan.special = ((PageHeader) page->page)->pd_special;
	scan.max_size = pt_bt_max_item_size((Page) page->page);
	scan.max_size_no_tid = pt_bt_max_item_size_no_tid((Page) page->page);
	if (!check_number(&scan))
		return false;
	for (int i = 1; i <= Min(page->last, most); i++)
		check_tuple(&scan, i);
	for (int i = most + 1; i <= page->last; i++)
		page->tuples[i] = NULL;
	return true;
}
