/*-------------------------------------------------------------------------
 *
 * gincheck.c
 *	  gin_check(): checks the structure and the contents of a GIN index.
 *
 * Locks and rights are as in gist_check().  The function raises an error unless
 *
 *	- each page's header, line pointers, tuples and lists are well formed; this
 *	  function calls a class's functions only for keys that passed that check
 *	- block 0 is the metapage, block 1 the root of the entry tree
 *	- one way leads to each page, and all other pages are deleted or new
 *	- in each tree, all leaves have the same depth, and the right links of each
 *	  level chain its pages in the order of the downlinks
 *	- the keys of the entry tree ascend, and lie between the keys of downlinks
 *	- each list has the number of TIDs that its tuple says; TIDs ascend and lie
 *	  in the table
 *	- the TIDs of a posting tree lie between the right bounds of the pages, and
 *	  downlinks repeat these bounds
 *	- the metapage's numbers fit the pending list
 *
 * The last downlink of the rightmost page of a level counts as infinite.  In
 * the entry tree, the server does not keep its key up to date.
 *
 * With "tight", the index must also be as it is after a build: the key of a
 * downlink is the last one of its page, no list and no leaf is empty, and the
 * statistics in the metapage count all pages and keys.  VACUUM empties lists,
 * and inserts do not update the statistics, neither of which is damage.
 *
 * The digest is a sum of hashes of (column, category, bytes of the key, TID)
 * over the entry tree and the pending list, so it does not depend on the layout
 * of the index.  "heap" compares it with that of the entries that the class
 * extracts from the rows that this session sees, so it requires an index that
 * was built or vacuumed after the last row died.  A class may have equal keys
 * with unequal bytes (numeric 1.0 and 1.00).  An index has the bytes of one of
 * them, so the digests of two sound indexes may differ, and "heap" can fail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/gin_private.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tupmacs.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "gistcheck.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(gin_check);

#define MAX_DEPTH 32

/* The server's lists store offsets of TIDs in this number of bits. */
#define OFFSET_BITS 11

/* Segments of posting trees have at most this size after a build. */
#define MAX_SEGMENT 384

/* Total: a set of TIDs with their keys. */
typedef struct Total
{
	int64		tids;
	uint64		digest;
} Total;

typedef struct GinCheck
{
	Relation	index;
	GinState	state;
	bool		tight;
	BlockNumber nblocks;
	BlockNumber table_blocks;
	MemoryContext temp;			/* reset after each page and row */
	bool	   *seen;			/* by block */
	int64		keys;
	Total		found;			/* in the index */
	Total		rows;			/* from the table */
	uint64		key_hash;		/* of the list that is being read */
	uint64		last_tid;
	int64		pages[2][2];	/* entry tree or posting trees; inner or leaf */
	int64		free_bytes[2][2];
} GinCheck;

/* Tree: where the check of the entry tree or of a posting tree is. */
typedef struct Tree
{
	int			levels;			/* that were entered */
	int			leaf_depth;		/* of the first leaf; -1: none so far */
	BlockNumber next[MAX_DEPTH];	/* right link of each level's last page */
	uint64		bound[MAX_DEPTH];	/* right bound of each level's last page */
} Tree;

/* Entry: the key of a tuple. */
typedef struct Entry
{
	OffsetNumber column;
	GinNullCategory category;
	Datum		key;
	Size		end;			/* offset in the tuple */
} Entry;

static void
damaged(const GinCheck *check, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\", block %u: %s",
					RelationGetRelationName(check->index), block, what)));
}

/* Returns a copy of a page. */
static Page
copy_page(const GinCheck *check, BlockNumber block)
{
	Page		page = palloc(BLCKSZ);
	PageHeader	header = (PageHeader) page;
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(check->index, block);
	LockBuffer(buffer, GIN_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (PageIsNew(page))
		return page;
	if (PageGetPageSize(page) != BLCKSZ ||
		PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION ||
		header->pd_special != BLCKSZ - MAXALIGN(sizeof(GinPageOpaqueData)))
		damaged(check, block, "this is no GIN page");
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_upper != MAXALIGN(header->pd_upper))
		damaged(check, block, "the free space is out of bounds");
	return page;
}

/* Returns a copy of a page in use, whose flags must be 'flags', or 'others'. */
static Page
take_page(GinCheck *check, BlockNumber block, int flags, int others)
{
	Page		page;
	int			found;

	if (block >= check->nblocks)
		damaged(check, block, "this page is beyond the end");
	if (check->seen[block])
		damaged(check, block, "there are two ways to this page");
	check->seen[block] = true;
	page = copy_page(check, block);
	if (PageIsNew(page) || GinPageIsDeleted(page))
		damaged(check, block, "a page in use is deleted");
	found = GinPageGetOpaque(page)->flags;
	if (found != flags && found != others)
		damaged(check, block, (found & GIN_INCOMPLETE_SPLIT) ?
				"a split did not finish" : "the flags are wrong");
	return page;
}

/* Enter a page of a tree: check its depth and the right link to it. */
static void
enter_page(GinCheck *check, Tree *tree, BlockNumber block, Page page, int depth)
{
	bool		data = GinPageIsData(page) != 0;
	bool		leaf = GinPageIsLeaf(page) != 0;

	check_stack_depth();
	if (depth == MAX_DEPTH)
		damaged(check, block, "the tree is too deep");
	if (depth == tree->levels)
		tree->levels++;
	else if (tree->next[depth] != block)
		damaged(check, block, "the page before does not link to this one");
	tree->next[depth] = GinPageGetOpaque(page)->rightlink;
	if (leaf && tree->leaf_depth < 0)
		tree->leaf_depth = depth;
	if (leaf && tree->leaf_depth != depth)
		damaged(check, block, "this leaf is not as deep as the first");
	check->pages[data][leaf]++;
	check->free_bytes[data][leaf] += PageGetExactFreeSpace(page);
}

static void
leave_tree(const GinCheck *check, const Tree *tree, BlockNumber root)
{
	for (int depth = 0; depth < tree->levels; depth++)
	{
		if (tree->next[depth] != InvalidBlockNumber)
			damaged(check, root, "a last page of this tree has a right link");
	}
}

static uint64
mix(uint64 bits)
{
	bits = (bits ^ (bits >> 33)) * UINT64CONST(0xff51afd7ed558ccd);
	bits = (bits ^ (bits >> 33)) * UINT64CONST(0xc4ceb9fe1a85ec53);
	return bits ^ (bits >> 33);
}

static uint64
hash_key(const GinCheck *check, OffsetNumber column, GinNullCategory category,
		 Datum key)
{
	Form_pg_attribute att = TupleDescAttr(check->state.origTupdesc, column - 1);
	MemoryContext old = MemoryContextSwitchTo(check->temp);
	uint64		seed = column * 256 + category + 1;
	Datum		space = 0;
	const char *bytes = DatumGetPointer(key);
	Size		length = 0;

	if (category != GIN_CAT_NORM_KEY)
		length = 0;
	else if (att->attlen == -1)
	{
		key = PointerGetDatum(PG_DETOAST_DATUM_PACKED(key));
		bytes = VARDATA_ANY(DatumGetPointer(key));
		length = VARSIZE_ANY_EXHDR(DatumGetPointer(key));
	}
	else
		length = att->attlen == -2 ? strlen(bytes) : att->attlen;
	if (att->attbyval)
	{
		store_att_byval(&space, key, att->attlen);
		bytes = (char *) &space;
	}
	seed = hash_bytes_extended((const unsigned char *) bytes, length, seed);
	MemoryContextSwitchTo(old);
	return seed;
}

static void
add_to(Total *total, uint64 key_hash, uint64 tid)
{
	total->tids++;
	total->digest += mix(key_hash + mix(tid));
}

/* Returns a TID as the number that the server's lists store differences of. */
static uint64
tid_number(const GinCheck *check, BlockNumber block, const ItemPointerData *tid)
{
	OffsetNumber offset = GinItemPointerGetOffsetNumber(tid);

	if (offset >> OFFSET_BITS != 0)
		damaged(check, block, "a TID has too large an offset");
	return (uint64) GinItemPointerGetBlockNumber(tid) << OFFSET_BITS | offset;
}

/* Add a TID of the current list. */
static void
add_tid(GinCheck *check, BlockNumber block, uint64 tid)
{
	if (tid <= check->last_tid)
		damaged(check, block, "TIDs do not ascend");
	if (tid >> OFFSET_BITS >= check->table_blocks ||
		(tid & ((1 << OFFSET_BITS) - 1)) == 0)
		damaged(check, block, "a TID leads beyond the table");
	check->last_tid = tid;
	add_to(&check->found, check->key_hash, tid);
}

/* Read a segment of a list that ends within 'room' bytes.  Returns its size. */
static Size
read_segment(GinCheck *check, BlockNumber block, const char *at, Size room)
{
	const GinPostingList *list = (const GinPostingList *) at;
	const unsigned char *byte = list->bytes;
	const unsigned char *end;
	uint64		tid;

	if (room < offsetof(GinPostingList, bytes) ||
		room < SizeOfGinPostingList(list))
		damaged(check, block, "a list is out of bounds");
	tid = tid_number(check, block, &list->first);
	add_tid(check, block, tid);
	end = byte + list->nbytes;
	while (byte < end)
	{
		int			shift = 0;

		do
		{
			if (byte == end || shift == 49)
				damaged(check, block, "a list has a number without an end");
			tid += (uint64) (*byte & 0x7f) << shift;
			shift += 7;
		} while (*byte++ & 0x80);
		add_tid(check, block, tid);
	}
	if (list->nbytes % 2 != 0 && *end != 0)
		damaged(check, block, "the padding of a list is not zero");
	return SizeOfGinPostingList(list);
}

/* Read the segments of a leaf of a posting tree. */
static void
read_posting_leaf(GinCheck *check, BlockNumber block, Page page, uint64 bound)
{
	const char *at = GinDataPageGetData(page);
	const char *end = (char *) page + ((PageHeader) page)->pd_lower;

	if (end < at || ((PageHeader) page)->pd_upper !=
		((PageHeader) page)->pd_special)
		damaged(check, block, "the lists of this page are out of bounds");
	if (check->tight && at == end)
		damaged(check, block, "this leaf is empty");
	while (at < end)
	{
		Size		size = read_segment(check, block, at, end - at);

		if (check->tight && size > MAX_SEGMENT)
			damaged(check, block, "a segment is too long");
		at += size;
	}
	if (bound != 0 && (check->last_tid > bound ||
					   (check->tight && check->last_tid != bound)))
		damaged(check, block, "the last TID does not fit the right bound");
}

/*
 * Check the tree below a page of a posting tree.  'key' is the key of its
 * downlink.  This key and the right bound of a rightmost page are 0.
 */
static void
visit_posting(GinCheck *check, Tree *tree, BlockNumber block, uint64 key,
			  int depth)
{
	Page		page = take_page(check, block, GIN_DATA,
								 GIN_DATA | GIN_LEAF | GIN_COMPRESSED);
	int			n = GinPageGetOpaque(page)->maxoff;
	ItemPointer bound_tid = GinDataPageGetRightBound(page);
	uint64		bound = tid_number(check, block, bound_tid);
	uint64		last;

	enter_page(check, tree, block, page, depth);
	if (bound != key || (bound == 0) != GinPageRightMost(page))
		damaged(check, block, "the right bound is not that of the downlink");
	last = tree->bound[depth];
	tree->bound[depth] = bound;
	if (GinPageIsLeaf(page))
	{
		check->last_tid = Max(check->last_tid, last);
		read_posting_leaf(check, block, page, bound);
		pfree(page);
		return;
	}
	if (n == 0 || ((PageHeader) page)->pd_lower != (char *)
		GinDataPageGetPostingItem(page, n + 1) - (char *) page)
		damaged(check, block, "the number of downlinks is wrong");
	for (int i = 1; i <= n; i++)
	{
		PostingItem *item = GinDataPageGetPostingItem(page, i);

		key = tid_number(check, block, &item->key);
		if (bound == 0 && i == n ? key != 0 : key <= last)
			damaged(check, block, "downlinks do not ascend");
		visit_posting(check, tree, PostingItemGetBlockNumber(item), key,
					  depth + 1);
		last = key;
	}
	if (last > bound || (check->tight && last != bound))
		damaged(check, block, "the last downlink does not fit the right bound");
	pfree(page);
}

/* Check the line pointers of a page.  Returns their number. */
static int
check_items(const GinCheck *check, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {false};
	int			n = PageGetMaxOffsetNumber(page);

	if ((header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0)
		damaged(check, block, "there is half a line pointer");
	for (int i = 1; i <= n; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		int			start = ItemIdGetOffset(id);
		int			length = ItemIdGetLength(id);

		if (!ItemIdIsNormal(id) || start < header->pd_upper ||
			start != MAXALIGN(start) || length < sizeof(IndexTupleData) ||
			length != MAXALIGN(length) || start + length > header->pd_special)
			damaged(check, block, "a line pointer is out of bounds");
		for (int at = start; at < start + length; at += MAXIMUM_ALIGNOF)
		{
			if (taken[at / MAXIMUM_ALIGNOF])
				damaged(check, block, "tuples overlap");
			taken[at / MAXIMUM_ALIGNOF] = true;
		}
		if (IndexTupleSize((IndexTuple) PageGetItem(page, id)) != length)
			damaged(check, block, "a tuple has a wrong length");
	}
	return n;
}

/* Returns a tuple of a page, and reads its key. */
static IndexTuple
get_entry(GinCheck *check, BlockNumber block, Page page, int offset,
		  Entry *entry)
{
	IndexTuple	tuple = (IndexTuple) PageGetItem(page,
												 PageGetItemId(page, offset));
	GinState   *state = &check->state;
	const char *data = (char *) tuple + IndexInfoFindDataOffset(tuple->t_info);
	int			nulls = IndexTupleHasNulls(tuple) ? *(uint8 *) (tuple + 1) : -1;
	uint16		column = 1;

	entry->end = 0;
	if (!state->oneCol && data + sizeof(column) - (char *) tuple <=
		IndexTupleSize(tuple))
		memcpy(&column, data, sizeof(column));
	if (column >= 1 && column <= state->origTupdesc->natts)
		entry->end = values_end(tuple, state->tupdesc[column - 1]);
	if (entry->end != 0 && nulls >= 0)
		entry->end = Max(entry->end, GinCategoryOffset(tuple, state) + 1);
	if (entry->end == 0 || entry->end > IndexTupleSize(tuple) ||
		(nulls >= 0 && nulls != (state->oneCol ? 0 : 1)))
		damaged(check, block, "a tuple is damaged");
	entry->column = column;
	entry->key = gintuple_get_key(state, tuple, &entry->category);
	if (nulls >= 0 && (entry->category < GIN_CAT_NULL_KEY ||
					   entry->category > GIN_CAT_NULL_ITEM))
		damaged(check, block, "a tuple has an unknown category");
	return tuple;
}

static int
compare(GinCheck *check, const Entry *a, const Entry *b)
{
	MemoryContext old = MemoryContextSwitchTo(check->temp);
	int			order = ginCompareAttEntries(&check->state,
											 a->column, a->key, a->category,
											 b->column, b->key, b->category);

	MemoryContextSwitchTo(old);
	return order;
}

/* Read the list or the posting tree of a leaf tuple. */
static void
read_list(GinCheck *check, BlockNumber block, IndexTuple tuple,
		  const Entry *entry)
{
	Size		size = GinGetPostingOffset(tuple);
	int			n = GinGetNPosting(tuple);
	int64		end = check->found.tids + n;

	check->keys++;
	check->key_hash = hash_key(check, entry->column, entry->category,
							   entry->key);
	check->last_tid = 0;
	if (GinIsPostingTree(tuple))
	{
		Tree		tree = {.leaf_depth = -1};

		visit_posting(check, &tree, GinGetPostingTree(tuple), 0, 0);
		leave_tree(check, &tree, GinGetPostingTree(tuple));
		return;
	}
	if (!GinItupIsCompressed(tuple) || size < entry->end ||
		size != SHORTALIGN(size) || size > IndexTupleSize(tuple))
		damaged(check, block, "a list does not begin after its key");
	if (n > 0)
		size += read_segment(check, block, (char *) tuple + size,
							 IndexTupleSize(tuple) - size);
	else if (check->tight)
		damaged(check, block, "a list is empty");
	if (check->found.tids != end)
		damaged(check, block, "a list does not have as many TIDs as it says");
	if (MAXALIGN(size) != IndexTupleSize(tuple))
		damaged(check, block, "a tuple is longer than its list");
}

/*
 * Check the entry tree below a page, which has the keys that are larger than
 * 'lower' and not larger than 'upper' (NULL: no limit).
 */
static void
visit_entries(GinCheck *check, Tree *tree, BlockNumber block,
			  const Entry *lower, const Entry *upper, int depth)
{
	Page		page = take_page(check, block, 0, GIN_LEAF);
	bool		leaf = GinPageIsLeaf(page) != 0;
	int			n = check_items(check, block, page);
	bool		infinite = false;
	const Entry *last = lower;
	Entry		entries[2];

	enter_page(check, tree, block, page, depth);
	for (int i = 1; i <= n; i++)
	{
		Entry	   *entry = &entries[i % 2];
		IndexTuple	tuple = get_entry(check, block, page, i, entry);

		infinite = !leaf && i == n && GinPageRightMost(page);
		if (!infinite && last != NULL && compare(check, last, entry) >= 0)
			damaged(check, block, "keys do not ascend");
		if (!leaf &&
			GinItemPointerGetOffsetNumber(&tuple->t_tid) != InvalidOffsetNumber)
			damaged(check, block, "a downlink has an offset");
		if (leaf)
			read_list(check, block, tuple, entry);
		else
			visit_entries(check, tree, GinGetDownlink(tuple), last,
						  infinite ? NULL : entry, depth + 1);
		last = entry;
	}
	if (n == 0 && (!leaf || depth > 0))
		damaged(check, block, "this page is empty");
	if (n > 0 && upper != NULL)
	{
		int			order = infinite ? 1 : compare(check, last, upper);

		if (order > 0 || (check->tight && order != 0))
			damaged(check, block, "the last key does not fit the downlink");
	}
	pfree(page);
	MemoryContextReset(check->temp);
}

/* Check the pending list, and that the metapage counts its pages and rows. */
static void
visit_pending(GinCheck *check, const GinMetaPageData *meta)
{
	BlockNumber tail = InvalidBlockNumber;
	BlockNumber pages = 0;
	Size		free_bytes = 0;
	int64		rows = 0;

	for (BlockNumber block = meta->head; block != InvalidBlockNumber;)
	{
		Page		page = take_page(check, block, GIN_LIST,
									 GIN_LIST | GIN_LIST_FULLROW);
		int			n = check_items(check, block, page);

		if (n == 0)
			damaged(check, block, "this page is empty");
		for (int i = 1; i <= n; i++)
		{
			Entry		entry;
			IndexTuple	tuple = get_entry(check, block, page, i, &entry);

			check->key_hash = hash_key(check, entry.column, entry.category,
									   entry.key);
			check->last_tid = 0;
			add_tid(check, block, tid_number(check, block, &tuple->t_tid));
		}
		tail = block;
		block = GinPageGetOpaque(page)->rightlink;
		pages++;
		rows += GinPageGetOpaque(page)->maxoff;
		free_bytes = PageGetExactFreeSpace(page);
		pfree(page);
	}
	if (tail != meta->tail || pages != meta->nPendingPages ||
		rows != meta->nPendingHeapTuples ||
		(pages > 0 && free_bytes != meta->tailFreeSize))
		damaged(check, GIN_METAPAGE_BLKNO,
				"the metapage does not describe the pending list");
}

/* Pages to which no way leads must be deleted or new. */
static void
check_unreached(const GinCheck *check)
{
	for (BlockNumber block = 0; block < check->nblocks; block++)
	{
		Page		page;

		if (check->seen[block])
			continue;
		page = copy_page(check, block);
		if (!PageIsNew(page) && !GinPageIsDeleted(page))
			damaged(check, block, "no way leads to this page");
		pfree(page);
	}
}

static void
check_pages(GinCheck *check)
{
	const char *const names[] = {
		"entry inner", "entry leaf", "posting inner", "posting leaf"
	};
	Tree		tree = {.leaf_depth = -1};
	Page		page;
	GinMetaPageData *meta;

	if (check->nblocks <= GIN_ROOT_BLKNO)
		damaged(check, GIN_ROOT_BLKNO, "there is no root");
	check->seen = palloc_extended(check->nblocks,
								  MCXT_ALLOC_ZERO | MCXT_ALLOC_HUGE);
	page = take_page(check, GIN_METAPAGE_BLKNO, GIN_META, GIN_META);
	meta = GinPageGetMeta(page);
	if (((PageHeader) page)->pd_lower != (char *) (meta + 1) - (char *) page ||
		meta->ginVersion != GIN_CURRENT_VERSION)
		damaged(check, GIN_METAPAGE_BLKNO, "the metapage is damaged");
	visit_entries(check, &tree, GIN_ROOT_BLKNO, NULL, NULL, 0);
	leave_tree(check, &tree, GIN_ROOT_BLKNO);
	visit_pending(check, meta);
	check_unreached(check);
	if (check->tight &&
		(meta->nEntries != check->keys ||
		 meta->nEntryPages != check->pages[0][0] + check->pages[0][1] ||
		 meta->nDataPages != check->pages[1][0] + check->pages[1][1] ||
		 meta->nTotalPages != check->nblocks))
		damaged(check, GIN_METAPAGE_BLKNO, "the statistics are wrong");
	for (int i = 0; i < 4; i++)
		elog(DEBUG1, "%s: %lld pages, %lld bytes free", names[i],
			 (long long) check->pages[i / 2][i % 2],
			 (long long) check->free_bytes[i / 2][i % 2]);
}

/* IndexBuildCallback: add the entries of a row. */
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *arg)
{
	GinCheck   *check = arg;
	uint64		number = tid_number(check, GIN_METAPAGE_BLKNO, tid);
	MemoryContext old = MemoryContextSwitchTo(check->temp);

	for (int column = 1; column <= check->state.origTupdesc->natts; column++)
	{
		GinNullCategory *categories;
		int32		n;
		Datum	   *keys = ginExtractEntries(&check->state, column,
											 values[column - 1],
											 isnull[column - 1],
											 &n, &categories);

		for (int i = 0; i < n; i++)
			add_to(&check->rows,
				   hash_key(check, column, categories[i], keys[i]), number);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->temp);
}

Datum
gin_check(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	LOCKMODE	lock = RecoveryInProgress() ? AccessShareLock : ShareLock;
	Relation	table = table_open(IndexGetRelation(index_id, false), lock);
	Relation	index = index_open(index_id, lock);
	GinCheck	check = {.index = index};
	TupleDesc	desc;
	Datum		values[3];
	bool		isnull[3] = {false};
	Oid			user;
	int			context;
	int			level;

	if (index->rd_rel->relam != GIN_AM_OID ||
		index->rd_rel->relkind != RELKIND_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a GIN index",
						RelationGetRelationName(index))));
	(void) get_call_result_type(fcinfo, NULL, &desc);
	GetUserIdAndSecContext(&user, &context);
	level = enter_owner(table);
	initGinState(&check.state, index);
	check.tight = PG_GETARG_BOOL(1);
	check.nblocks = RelationGetNumberOfBlocks(index);
	check.table_blocks = RelationGetNumberOfBlocks(table);
	check.temp = AllocSetContextCreate(CurrentMemoryContext, "gin_check",
									   ALLOCSET_DEFAULT_SIZES);
	check_pages(&check);
	if (PG_GETARG_BOOL(2))
		scan_rows(table, index, add_row, &check);
	if (PG_GETARG_BOOL(2) && (check.rows.tids != check.found.tids ||
							  check.rows.digest != check.found.digest))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has %lld entries, not its rows' %lld",
						RelationGetRelationName(index),
						(long long) check.found.tids,
						(long long) check.rows.tids)));
	MemoryContextDelete(check.temp);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	index_close(index, NoLock);
	table_close(table, NoLock);
	values[0] = Int64GetDatum(check.keys);
	values[1] = Int64GetDatum(check.found.tids);
	values[2] = Int64GetDatum((int64) check.found.digest);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
