/*-------------------------------------------------------------------------
 *
 * checkpage.c
 *	  What the pages of all access methods have in common.
 *
 * Any byte of a page may be wrong.  So a check reads nothing whose place and
 * size it did not check: only sound tuples reach the functions of data types.
 * A value can still be one that its data type never makes; most functions of
 * the server raise an error then, and check_guard turns the error into a
 * finding.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

bool
checkpage_bad(const PageScan *scan, OffsetNumber offset, const char *what)
{
	if (!scan->quiet)
		check_found(scan->self, CHECK_BAD_PAGE, scan->page->block, offset,
					"%s", what);
	return false;
}

bool
checkpage_has_header(const CheckIndex *self, const CheckPage *page)
{
	PageHeader	header = (PageHeader) page->page;
	const Size	special = BLCKSZ - self->method->special;

	return header->pd_special == special &&
		PageGetPageSize((Page) page->page) == BLCKSZ &&
		PageGetPageLayoutVersion((Page) page->page) == PG_PAGE_LAYOUT_VERSION &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper && header->pd_upper <= special;
}

IndexTuple
checkpage_item(const PageScan *scan, OffsetNumber offset)
{
	PageHeader	header = (PageHeader) scan->page->page;
	ItemIdData	item = *PageGetItemId((Page) header, offset);
	IndexTuple	tuple = (IndexTuple) (scan->page->page + item.lp_off);
	const char *fault = NULL;

	if ((item.lp_flags != LP_NORMAL && item.lp_flags != LP_DEAD) ||
		item.lp_len < sizeof(IndexTupleData) ||
		item.lp_off != MAXALIGN(item.lp_off) ||
		item.lp_off < header->pd_upper ||
		item.lp_off + item.lp_len > header->pd_special)
		fault = "the line pointer is wrong";
	else if (IndexTupleSize(tuple) != item.lp_len)
		fault = "the tuple's size is not that of its line pointer";
	if (fault == NULL)
		return tuple;
	(void) checkpage_bad(scan, offset, fault);
	return NULL;
}

void
checkpage_overlap(const PageScan *scan)
{
	CheckPage  *page = scan->page;
	PageHeader	header = (PageHeader) page->page;
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {false};
	Size		size = 0;

	for (int i = FirstOffsetNumber; i <= page->last; i++)
	{
		bool	   *at;

		if (page->tuples[i] == NULL)
			continue;
		at = &taken[((char *) page->tuples[i] - page->page) / MAXIMUM_ALIGNOF];
		size += IndexTupleSize(page->tuples[i]);
		if (*at || size > header->pd_special - header->pd_upper)
		{
			(void) checkpage_bad(scan, i, "the tuple overlaps another one");
			page->tuples[i] = NULL;
		}
		*at = true;
	}
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

Size
checkpage_values(const CheckColumn *columns, int n, IndexTuple tuple, Size end,
				 Datum *values, bool *isnull, int nvalues)
{
	const uint8 *nulls = IndexTupleHasNulls(tuple) ?
		(uint8 *) (tuple + 1) : NULL;
	const char *start = (char *) tuple;
	Size		at = IndexInfoFindDataOffset(tuple->t_info);
	bool		is_variable = false;

	if (at > end)
		return 0;
	for (int i = 0; i < n; i++)
	{
		const CheckColumn column = columns[i];
		bool		is_null = nulls != NULL && att_isnull(i, nulls);
		Size		size;

		if (i < nvalues)
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
			return 0;
		if (i < nvalues)
			values[i] = fetch_att(start + at, column.byval, column.length);
		at += size;
	}
	return n == 0 || (IndexTupleHasVarwidths(tuple) != 0) == is_variable ?
		at : 0;
}

CheckColumn *
checkpage_columns(TupleDesc desc)
{
	CheckColumn *columns = palloc(mul_size(desc->natts, sizeof(CheckColumn)));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		columns[i].length = att->attlen;
		columns[i].byval = att->attbyval;
		columns[i].alignment = (uint8) att_align_nominal(1, att->attalign);
	}
	return columns;
}
