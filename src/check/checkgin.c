/*-------------------------------------------------------------------------
 *
 * checkgin.c
 *	  Checks a page of a GIN index, its metapage and its pending list.
 *
 * An index that pg_upgrade took from 9.3 may have leaves of posting trees and
 * lists that are arrays of TIDs, and pages whose pd_lower is not set.  The
 * server reads them, so they are sound.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "catalog/pg_type.h"
#include "check/checkgin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

/* The server's lists store offset numbers in this number of bits. */
enum
{
	OFFSET_BITS = 11,
	BYTE_BITS = BITS_PER_BYTE - 1,	/* of a number, in a byte of a list */
	NUMBER_BITS = OFFSET_BITS + sizeof(BlockNumber) * BITS_PER_BYTE
};

/*
 * Lists of TIDs
 */

/* Add a TID to a list.  Returns false, and sets the fault, if it is wrong. */
static inline bool
add_tid(const GinCheck *check, GinTids *list, uint64 tid)
{
	OffsetNumber offset = (OffsetNumber) tid;

	if (unlikely(offset == 0 || offset > check->most))
		list->fault = "a TID is impossible";
	else if (unlikely(list->n > 0 && tid <= list->last))
	{
		list->fault = "the TIDs do not ascend";
		list->kind = CHECK_OUT_OF_ORDER;
	}
	else
	{
		list->tids[list->n++] = list->last = tid;
		return true;
	}
	return false;
}

/* A word with 1 in each byte, and the sum of a word's bytes */
#define EACH_BYTE	(PG_UINT64_MAX / PG_UINT8_MAX)
static inline uint64
sum_bytes(uint64 word)
{
	const uint64 each_other = PG_UINT64_MAX / PG_UINT16_MAX;
	const uint64 low = each_other * PG_UINT8_MAX;

	return (((word & low) + ((word >> BITS_PER_BYTE) & low)) * each_other) >>
		(sizeof(word) - sizeof(uint16)) * BITS_PER_BYTE;
}

/*
 * Add the sum and the number of numbers that end in the 8 bytes at 'byte'.
 * Returns the end of the last one, or NULL if a number may be 0, or longer.
 *
 * A number's bytes have 7 bits each, the lowest first; the highest bit of all
 * but the last is set.
 */
static const unsigned char *
sum_numbers(const unsigned char *byte, uint64 *sum, int *n)
{
	const uint64 high = EACH_BYTE << BYTE_BITS;
	uint64		word;
	uint64		ends;
	uint64		at = high;		/* the first bytes of numbers */
	int			used;

	memcpy(&word, byte, sizeof(word));
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	ends = ~word & high;
	if (ends == 0 || ((word - EACH_BYTE) & ends) != 0)
		return NULL;
	used = pg_leftmost_one_pos64(ends) + 1;
	word &= PG_UINT64_MAX >> (sizeof(word) * BITS_PER_BYTE - used);
	at &= ~((word & high) << BITS_PER_BYTE);
	for (int shift = 0; at != 0; shift += BYTE_BITS)
	{
		*sum += sum_bytes(word & (at - (at >> BYTE_BITS))) << shift;
		at = (at & word) << BITS_PER_BYTE;
	}
	*n += sum_bytes(ends >> BYTE_BITS);
	return byte + used / BITS_PER_BYTE;
}

/* Count a segment's TIDs.  Returns false if add_segment() must look at it. */
static bool
count_segment(GinTids *list, const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	uint64		word = pt_tid_word(&segment->first);
	const uint64 mask = (UINT64CONST(1) << OFFSET_BITS) - 1;
	uint64		sum = word >> 16 << OFFSET_BITS | (word & mask);
	int			n = 1;

	if (list->n > 0 && word <= list->last)
		return false;
	while (byte != NULL && end - byte >= sizeof(uint64))
		byte = sum_numbers(byte, &sum, &n);
	if (byte != NULL && byte < end)
	{
		unsigned char rest[sizeof(uint64)];

		/* numbers that are 1 fill the word */
		memset(rest, 1, sizeof(rest));
		memcpy(rest, byte, end - byte);
		n -= sizeof(rest) - (end - byte);
		sum -= sizeof(rest) - (end - byte);
		if (end[-1] > PG_INT8_MAX || sum_numbers(rest, &sum, &n) == NULL)
			return false;
	}
	list->n += n;
	list->last = sum >> OFFSET_BITS << 16 | (sum & mask);
	return byte != NULL && sum >> NUMBER_BITS == 0;
}

/* Add the TIDs of a segment. */
static bool
add_segment(const GinCheck *check, GinTids *list,
			const GinPostingList *segment)
{
	const unsigned char *byte = segment->bytes;
	const unsigned char *end = byte + segment->nbytes;
	const uint64 mask = (UINT64CONST(1) << OFFSET_BITS) - 1;
	uint64		word = pt_tid_word(&segment->first);
	uint64		tid = word >> 16 << OFFSET_BITS | (word & mask);

	if (!add_tid(check, list, word))
		return false;
	while (byte < end)
	{
		uint64		bits = *byte & PG_INT8_MAX;

		for (int shift = BYTE_BITS; *byte++ > PG_INT8_MAX; shift += BYTE_BITS)
		{
			if (byte == end || shift >= NUMBER_BITS)
			{
				list->fault = "a list has a number without an end";
				return false;
			}
			bits |= (uint64) (*byte & PG_INT8_MAX) << shift;
		}
		tid += bits;
		if (tid >> NUMBER_BITS != 0)
			tid &= ~mask;		/* an impossible TID */
		if (!add_tid(check, list, tid >> OFFSET_BITS << 16 | (tid & mask)))
			return false;
	}
	return true;
}

/* Read the segments between two places or, if not compressed, the TIDs. */
static void
read_list(const GinCheck *check, GinTids *list, const char *at,
		  const char *end, bool compressed)
{
	bool		goes_on = true;

	list->n = 0;
	list->fault = NULL;
	list->kind = CHECK_BAD_PAGE;
	while (goes_on && at < end)
	{
		int			n = list->n;
		uint64		last = list->last;

		if (compressed && list->counts)
		{
			if (count_segment(list, (const GinPostingList *) at))
			{
				at += SizeOfGinPostingList((const GinPostingList *) at);
				continue;
			}
			list->n = n;
			list->last = last;
		}
		goes_on = compressed ?
			add_segment(check, list, (const GinPostingList *) at) :
			add_tid(check, list, pt_tid_word((const ItemPointerData *) at));
		at += compressed ? SizeOfGinPostingList((const GinPostingList *) at) :
			sizeof(ItemPointerData);
	}
}

void
checkgin_entry_tids(CheckIndex *self, const CheckPage *page, IndexTuple tuple,
					GinTids *list)
{
	bool		is_pending = checkgin_has_flag(page, GIN_LIST);
	const char *at = is_pending ? (char *) &tuple->t_tid :
		(char *) GinGetPosting(tuple);
	int			n = is_pending ? 1 : GinGetNPosting(tuple);
	bool		compressed = !is_pending && GinItupIsCompressed(tuple);
	Size		size = n * sizeof(ItemPointerData);

	if (compressed && n > 0)
		size = SizeOfGinPostingList((const GinPostingList *) at);
	read_list(self->state, list, at, at + size, compressed);
	if (list->fault == NULL && list->n != n)
		list->fault = "a list has not the number of TIDs that its tuple says";
}

void
checkgin_leaf_tids(CheckIndex *self, const CheckPage *page, GinTids *list)
{
	bool		compressed = checkgin_has_flag(page, GIN_COMPRESSED);
	const char *at = (char *) GinDataPageGetData((Page) page->page);
	const char *end = compressed ?
		page->page + ((PageHeader) page->page)->pd_lower :
		at + checkgin_opaque(page)->maxoff * sizeof(ItemPointerData);

	read_list(self->state, list, at, end, compressed);
}

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

/* Check the key of a tuple, which ends before 'end'; returns its column or 0. */
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

/*
 * Check a tuple, and add it to the page's tuples if it is sound.  'taken' has
 * the places in the page that belong to tuples.
 */
static void
check_tuple(const PageScan *scan, OffsetNumber offset, bool *taken)
{
	CheckPage  *page = scan->page;
	IndexTuple	tuple = checkpage_item(scan, offset);
	Size		end = tuple == NULL ? 0 : check_shape(scan, offset, tuple);
	bool	   *at = taken + ((char *) tuple - page->page) / MAXIMUM_ALIGNOF;

	page->tuples[offset] = NULL;
	if (end == 0)
		return;
	page->nkeys[offset] = check_key(scan, offset, tuple, end);
	if (page->nkeys[offset] == 0)
		return;
	page->tuples[offset] = tuple;
	for (Size i = 0; i < IndexTupleSize(tuple); i += MAXIMUM_ALIGNOF)
	{
		if (*at)
			(void) checkpage_bad(scan, offset, "the tuple overlaps another one");
		*at++ = true;
	}
}

static bool
check_entries(const PageScan *scan, int most)
{
	CheckPage  *page = scan->page;
	unsigned	lower = ((PageHeader) page->page)->pd_lower;
	OffsetNumber n = PageGetMaxOffsetNumber((Page) page->page);
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {false};

	if (n > MaxIndexTuplesPerPage ||
		(lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
		(n == 0 && !checkgin_has_flag(page, GIN_LIST) &&
		 (page->block != GIN_ROOT_BLKNO || !page->is_leaf)))
		return checkpage_bad(scan, 0, "the number of tuples is impossible");
	page->last = n;
	for (int i = 1; i <= n; i++)
	{
		page->tuples[i] = NULL;
		if (i <= most || i == n)
			check_tuple(scan, i, taken);
	}
	return true;
}

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
		GinDataPageMaxDataSize || (!page->is_leaf && n == 0) ||
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
	PageHeader	header = (PageHeader) page->page;
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
	scan.upper = header->pd_upper;
	scan.special = header->pd_special;
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

	list->counts = true;
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
 * A server changes the pending list and the metapage at the same time.  So the
 * metapage before or after the walk describes the list, unless both changed.
 */
static void
check_pending(CheckIndex *self)
{
	int			changes = 0;

	for (int same = 0; same < CHECK_SURE;)
	{
		GinMetaPageData found = *GinPageGetMeta((Page) self->here->page);
		const char *fault = checkgin_pending(self, self->there,
											 &found, NULL);

		if ((fault == NULL && describes(self->here, &found)) ||
			checkread_page(self, GIN_METAPAGE_BLKNO, self->again) != NULL ||
			(fault == NULL && describes(self->again, &found)))
			return;
		if (memcmp(self->here->page, self->again->page, BLCKSZ) == 0)
			same++;
		else if (++changes > CHECK_PATIENCE)
		{
			self->report->undecided++;
			return;
		}
		else
			same = 0;
		memcpy(self->here->page, self->again->page, BLCKSZ);
		if (same == CHECK_SURE)
			check_found(self, CHECK_BROKEN_LINK, GIN_METAPAGE_BLKNO, 0, "%s",
						fault != NULL ? fault :
						"the metapage does not describe the pending list");
		else
			pg_usleep(1000L << same);
	}
}

static void
begin_pages(CheckIndex *self, CheckTree *tree)
{
	const char *fault = check_metapage(self);

	self->report->pages++;
	if (fault != NULL)
		check_found(self, CHECK_BAD_PAGE, GIN_METAPAGE_BLKNO, 0, "%s", fault);
	else
		check_pending(self);
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
		MaxHeapTuplesPerPage : (1 << OFFSET_BITS) - 1;
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
	.end = checkginrows_end,
	.many = true,
	.put_row = checkginrows_put_row,
	.form = checkginrows_form,
	.find = checkginrows_find
};
