/*-------------------------------------------------------------------------
 *
 * checkginrows.c
 *	  Compares the entries of a GIN index with the rows of its table.
 *
 * An entry is a key and a TID.  A participant takes a unit of the table, as
 * large as its memory allows.  For each block of the unit, it adds up a hash of
 * (key, TID) over the keys of the rows that the snapshot sees, and over the
 * entries that it finds while it walks the pending list and all leaves of the
 * entry tree, with the unit's part of each posting tree.  So a table that needs
 * several units costs several walks.
 *
 * Sums that are equal prove that rows and entries agree.  Sums may differ in a
 * sound index: classes may have equal keys with unequal bytes (numeric 1.0 and
 * 1.00), of which the index has one; and cleanup moves entries from the pending
 * list into the tree during the walk.  So the participant looks up each key of
 * the block's rows, by the class's comparison, adds up the hashes of the keys
 * that it finds, and walks again if the sums still differ.  The leader looks
 * again at the entries of rows of blocks that differ each time.
 *
 * Lookups are safe beside other sessions.  Snapshots do not see a row before it
 * has its entries, which stay until no snapshot sees it: VACUUM removes neither
 * them nor pages with them.  Splits move entries to the right, where a lookup
 * follows.  Pages that VACUUM deletes keep their right links, and nothing uses
 * them again while this snapshot exists.  Cleanup adds entries to the tree
 * before it removes pages from the head of the pending list.  So an entry is in
 * the tree, in the pending list, or in the tree after the look at the pending
 * list, if the head of that list stayed.  On a standby, replay may use a deleted
 * page too early.  So a lookup is repeated before a finding.
 *
 * VACUUM removes a dead row's entries before its line pointer.  So an entry that
 * is there, points to no line pointer, and is there again, has no row.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "check/checkgin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#define BITMAP_WORDS	(MaxHeapTuplesPerPage / BITS_PER_BITMAPWORD + 1)

/* BlockRows: the rows of a block of the table, and their entries. */
typedef struct BlockRows
{
	uint64		rows;			/* sum of the hashes of keys and TIDs */
	uint64		entries;
	bool		differs;		/* the sums may differ, so entries are needed */
	bitmapword	visible[BITMAP_WORDS];
	bitmapword	others[BITMAP_WORDS];	/* entries of no visible row */
} BlockRows;

/* RowKey: a key of the row that is looked at. */
typedef struct RowKey
{
	GinKey		key;
	bool		found;
	uint64		hash;			/* of the key that was found */
} RowKey;

/* GinEntry: a key and some of its TIDs, as a walk passes them to its step. */
typedef struct GinEntry
{
	GinKey		key;
	BlockNumber block;			/* where the TIDs are */
	OffsetNumber offset;
	bool		hashed;
	uint64		hash;
} GinEntry;

typedef void (*EntryStep) (CheckIndex *self, GinEntry *entry,
						   const uint64 *tids, int n);

typedef struct GinRows
{
	BlockNumber first;			/* the unit's blocks */
	BlockNumber end;
	BlockRows  *blocks;
	uint64		sum;			/* of the row's keys that were found */
	int			pass;
	uint64		tid;			/* of the row */
	int			nkeys;
	int			nalloc;
	RowKey	   *keys;

	/* a walk; it calls 'step' for TIDs from 'low' to 'high' */
	uint64		low;
	uint64		high;
	EntryStep	step;
	CheckPage  *data;			/* of lookups */
	GinTids		list;
} GinRows;

static inline GinCheck *
get_check(CheckIndex *self)
{
	return self->state;
}

static inline GinRows *
get_rows(CheckIndex *self)
{
	return get_check(self)->rows;
}

static uint64
hash_key(CheckIndex *self, GinKey key)
{
	uint64		seed = key.column * INDEX_MAX_KEYS + key.category;

	return checkrows_hash_value(&self->columns[key.column - 1], key.value,
								key.category != GIN_CAT_NORM_KEY, seed);
}

static inline uint64
hash_entry(uint64 hash, uint64 tid)
{
	return checkrows_mix(hash + checkrows_mix(tid));
}

static inline bool
has_bit(const bitmapword *words, OffsetNumber i)
{
	return (words[i / BITS_PER_BITMAPWORD] >> i % BITS_PER_BITMAPWORD & 1) != 0;
}

static inline void
set_bit(bitmapword *words, OffsetNumber i)
{
	words[i / BITS_PER_BITMAPWORD] |=
		(bitmapword) 1 << i % BITS_PER_BITMAPWORD;
}

/*
 * Walks over entries
 */

/* Read a page of a tree.  Returns its tuples, or false if it has none. */
static bool
read_page(CheckIndex *self, BlockNumber block, CheckPage *page, int most)
{
	CHECK_FOR_INTERRUPTS();
	return checkread_page(self, block, page) == NULL &&
		checkgin_tuples(self, page, most, true) &&
		!checkgin_has_flag(page, GIN_LIST);
}

/* Pass those TIDs of a list on to the step that are in the walk's range. */
static void
pass_on(CheckIndex *self, GinEntry *entry, const GinTids *list)
{
	const GinRows *rows = get_rows(self);
	int			from = 0;
	int			to = list->n;

	if (list->fault != NULL)
		return;					/* the page's check reports it */
	while (from < to && list->tids[from] < rows->low)
		from++;
	while (to > from && list->tids[to - 1] > rows->high)
		to--;
	if (to > from)
		rows->step(self, entry, list->tids + from, to - from);
}

/* Descend to the leaf of a posting tree that has a TID, if any has. */
static bool
find_data_leaf(CheckIndex *self, BlockNumber block, uint64 tid,
			   CheckPage *page)
{
	for (BlockNumber n = 0; checkread_has_block(self, n); n++)
	{
		bool		is_sound = read_page(self, block, page, GIN_ENDS);
		int			i = 1;

		if (!is_sound && (PageIsNew((Page) page->page) ||
						  !checkgin_has_flag(page, GIN_DELETED)))
			return false;
		block = checkgin_right(page);
		if (!is_sound || (block != InvalidBlockNumber &&
						  checkgin_bound(page) < tid))
			continue;
		if (page->is_leaf)
			return checkgin_has_flag(page, GIN_DATA);
		while (i < page->last &&
			   pt_tid_word(&GinDataPageGetPostingItem((Page) page->page,
													  i)->key) < tid)
			i++;
		block = checkginlinks_child(page, i);
	}
	return false;
}

static void
walk_posting_tree(CheckIndex *self, GinEntry *entry, BlockNumber root)
{
	CheckPage  *page = self->there;
	GinTids    *list = &get_check(self)->list;
	bool		goes_on = find_data_leaf(self, root, get_rows(self)->low,
										 page);

	for (BlockNumber n = 0; goes_on && checkread_has_block(self, n); n++)
	{
		BlockNumber right = checkgin_right(page);

		if (!checkgin_has_flag(page, GIN_DELETED))
		{
			checkgin_leaf_tids(self, page, list);
			entry->block = page->block;
			entry->offset = 0;
			pass_on(self, entry, list);
			if (checkgin_bound(page) >= get_rows(self)->high)
				return;
		}
		goes_on = right != InvalidBlockNumber &&
			(read_page(self, right, page, GIN_ENDS) ?
			 page->is_leaf && checkgin_has_flag(page, GIN_DATA) :
			 page->block == right && !PageIsNew((Page) page->page) &&
			 checkgin_has_flag(page, GIN_DELETED));
	}
}

/* CheckStep: the entries of self->here, a leaf or a page of the pending list */
static void
walk_page(CheckIndex *self)
{
	CheckPage  *page = self->here;
	GinTids    *list = &get_check(self)->list;

	for (int i = 1; i <= page->last; i++)
	{
		IndexTuple	tuple = page->tuples[i];
		GinEntry	entry = {.block = page->block,.offset = i};

		if (tuple == NULL)
			continue;
		entry.key = checkgin_key(self, page, i);
		if (checkgin_has_flag(page, GIN_LIST))
		{
			list->n = 1;
			list->fault = NULL;
			list->tids[0] = pt_tid_word(&tuple->t_tid);
			pass_on(self, &entry, list);
		}
		else if (GinIsPostingTree(tuple))
			walk_posting_tree(self, &entry, GinGetPostingTree(tuple));
		else
		{
			checkgin_entry_tids(self, tuple, list);
			pass_on(self, &entry, list);
		}
	}
}

/*
 * Call a function for each page of the pending list, in 'page', until it
 * returns true.  Returns the list's first block.
 */
static BlockNumber
walk_pending(CheckIndex *self, CheckPage *page,
			 bool (*step) (CheckIndex *self, CheckPage *page))
{
	BlockNumber head;
	BlockNumber block;

	if (checkread_page(self, GIN_METAPAGE_BLKNO, page) != NULL)
		return InvalidBlockNumber;
	block = head = GinPageGetMeta((Page) page->page)->head;
	for (BlockNumber n = 0; block != InvalidBlockNumber &&
		 checkread_has_block(self, n); n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (checkread_page(self, block, page) != NULL ||
			!checkgin_tuples(self, page, MaxIndexTuplesPerPage, true) ||
			!checkgin_has_flag(page, GIN_LIST))
			break;
		block = checkgin_right(page);
		if (step(self, page))
			break;
	}
	return head;
}

static bool
walk_list_page(CheckIndex *self, CheckPage *page)
{
	check_guard(self, walk_page);
	MemoryContextReset(self->scratch);
	return false;
}

/*
 * Returns the leftmost leaf of the entry tree or, if 'after' is a leaf, the
 * leaf of the downlink after its downlink, if there is one.
 */
static BlockNumber
find_leaf(CheckIndex *self, BlockNumber after)
{
	CheckPage  *page = self->again;
	BlockNumber block = GIN_ROOT_BLKNO;
	BlockNumber before = InvalidBlockNumber;
	bool		found = false;

	/* the first child may be the page that is damaged */
	for (BlockNumber n = 0; block != InvalidBlockNumber && block != after &&
		 checkread_has_block(self, n); n++)
	{
		if (!read_page(self, block, page, GIN_ENDS))
			return InvalidBlockNumber;
		if (page->is_leaf && after == InvalidBlockNumber)
			return block;
		if (page->is_leaf)
			break;
		before = block;
		block = checkginlinks_child(page, page->first);
	}
	for (BlockNumber n = 0; before != InvalidBlockNumber &&
		 checkread_has_block(self, n); n++)
	{
		if (!read_page(self, before, page, MaxIndexTuplesPerPage))
			return InvalidBlockNumber;
		for (int i = page->first; i <= page->last; i++)
		{
			block = checkginlinks_child(page, i);
			if (found)
				return block;
			found = block == after;
		}
		before = checkgin_right(page);
	}
	return InvalidBlockNumber;
}

/* Call a step for the entries whose TIDs are in the given range. */
static void
walk(CheckIndex *self, uint64 low, uint64 high, EntryStep step)
{
	GinRows    *rows = get_rows(self);
	CheckPage  *page = self->here;
	BlockNumber block = find_leaf(self, InvalidBlockNumber);
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	rows->low = low;
	rows->high = high;
	rows->step = step;
	(void) walk_pending(self, page, walk_list_page);
	for (BlockNumber n = 0; block != InvalidBlockNumber &&
		 checkread_has_block(self, n); n++)
	{
		if (!read_page(self, block, page, MaxIndexTuplesPerPage) ||
			!page->is_leaf)
		{
			block = find_leaf(self, block);
			continue;
		}
		block = checkgin_right(page);
		check_guard(self, walk_page);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
}

/* EntryStep: add to the sums of blocks, or set the bits of other TIDs. */
static void
count_entries(CheckIndex *self, GinEntry *entry, const uint64 *tids, int n)
{
	GinRows    *rows = get_rows(self);

	if (!entry->hashed)
	{
		self->catching = true;
		entry->hash = hash_key(self, entry->key);
		self->catching = false;
		entry->hashed = true;
	}
	for (int i = 0; i < n; i++)
	{
		BlockNumber block = (BlockNumber) (tids[i] >> 16);
		OffsetNumber offset = (OffsetNumber) tids[i];
		BlockRows  *at = &rows->blocks[block - rows->first];

		if (block >= rows->end)
		{
			/* new rows may have new blocks */
			if (rows->pass == 0 && !checkrows_has_row(self, tids[i]))
				checkrows_suspect(self, tids[i], 0, false, false);
		}
		else if (!at->differs)
			continue;
		else if (has_bit(at->visible, offset))
			at->entries += hash_entry(entry->hash, tids[i]);
		else
			set_bit(at->others, offset);
	}
}

/*
 * Rows
 */

static void
extract_keys(CheckIndex *self, Datum *values, bool *isnull)
{
	GinRows    *rows = get_rows(self);

	rows->nkeys = 0;
	for (int column = 1; column <= self->ncolumns; column++)
	{
		GinNullCategory *categories;
		int32		n;
		Datum	   *keys = ginExtractEntries(&get_check(self)->gin, column,
											 values[column - 1],
											 isnull[column - 1], &n,
											 &categories);

		if (rows->nkeys + n > rows->nalloc)
		{
			rows->nalloc = (rows->nkeys + n) * 2;
			rows->keys = repalloc_huge(rows->keys,
									   mul_size(rows->nalloc, sizeof(RowKey)));
		}
		for (int i = 0; i < n; i++)
			rows->keys[rows->nkeys++] = (RowKey)
		{
			{
				column, categories[i], keys[i]
			}
		};
	}
}

/* CheckMethod.form: keep the keys of a row.  The result has no values. */
IndexTuple
checkginrows_form(CheckIndex *self, Datum *values, bool *isnull)
{
	GinRows    *rows = get_rows(self);

	extract_keys(self, values, isnull);
	for (int i = 0; i < rows->nkeys; i++)
	{
		GinKey	   *key = &rows->keys[i].key;
		Form_pg_attribute att = TupleDescAttr(self->desc, key->column - 1);

		/* the value may point into the row */
		if (key->category == GIN_CAT_NORM_KEY)
			key->value = datumCopy(key->value, att->attbyval, att->attlen);
	}
	return palloc0(sizeof(IndexTupleData));
}

/* IndexBuildCallback */
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *arg)
{
	CheckIndex *self = arg;
	GinRows    *rows = get_rows(self);
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);
	uint64		word = pt_tid_word(tid);
	BlockRows  *at = &rows->blocks[(word >> 16) - rows->first];

	extract_keys(self, values, isnull);
	for (int i = 0; i < rows->nkeys; i++)
		at->rows += hash_entry(hash_key(self, rows->keys[i].key), word);
	set_bit(at->visible, (OffsetNumber) word);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}

/* Read the rows of the unit's blocks that are not damaged. */
static void
read_rows(CheckIndex *self, Snapshot snapshot)
{
	GinRows    *rows = get_rows(self);
	BlockNumber block = rows->first;

	while (block < rows->end)
	{
		BlockNumber start = block;
		TableScanDesc scan;

		for (; block < rows->end && checkread_table(self, block); block++)
		{
			CHECK_FOR_INTERRUPTS();
			rows->blocks[block - rows->first].differs = true;
		}
		if (block > start)
		{
			scan = table_beginscan_strat(self->heap, snapshot, 0, NULL, true,
										 false);
			heap_setscanlimits(scan, start, block - start);
			(void) table_index_build_range_scan(self->heap, self->index,
												self->index_info, true, false,
												false, 0, InvalidBlockNumber,
												add_row, self, scan);
		}
		if (block < rows->end)
			checkread_damaged(block++, self);
	}
}

/* True if an entry of a leaf of the entry tree has the row's TID. */
static bool
has_row(CheckIndex *self, IndexTuple tuple)
{
	GinRows    *rows = get_rows(self);
	GinTids    *list = &rows->list;

	if (!GinIsPostingTree(tuple))
		checkgin_entry_tids(self, tuple, list);
	else if (find_data_leaf(self, GinGetPostingTree(tuple), rows->tid,
							rows->data))
		checkgin_leaf_tids(self, rows->data, list);
	else
		return false;
	for (int i = 0; i < list->n; i++)
		if (list->tids[i] == rows->tid)
			return true;
	return false;
}

static void
set_found(CheckIndex *self, RowKey *sought, OffsetNumber offset)
{
	self->catching = true;
	sought->hash = hash_key(self, checkgin_key(self, self->again, offset));
	self->catching = false;
	sought->found = true;
}

/*
 * Returns the offset of the first tuple whose key does not precede a key, or
 * the number of tuples + 1.  The key of a level's last downlink is infinite.
 */
static int
find_offset(CheckIndex *self, const CheckPage *page, GinKey key, bool *equal)
{
	int			low = page->first;
	int			high = page->last + 1;

	*equal = false;
	if (!page->is_leaf && checkgin_right(page) == InvalidBlockNumber)
		high--;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = page->tuples[middle] == NULL ? 1 :
			checkgin_compare(self, key, checkgin_key(self, page, middle));

		*equal |= order == 0;
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Look for a key of the row in the entry tree, as the server does. */
static void
find_in_tree(CheckIndex *self, RowKey *sought)
{
	CheckPage  *page = self->again;
	BlockNumber block = GIN_ROOT_BLKNO;

	for (BlockNumber n = 0; checkread_has_block(self, n); n++)
	{
		bool		equal;
		int			i;

		if (!read_page(self, block, page, MaxIndexTuplesPerPage) ||
			checkgin_has_flag(page, GIN_DATA))
			return;
		i = find_offset(self, page, sought->key, &equal);
		if (i > page->last)
			block = checkgin_right(page);
		else if (!page->is_leaf)
			block = checkginlinks_child(page, i);
		else
		{
			if (equal && has_row(self, page->tuples[i]))
				set_found(self, sought, i);
			return;
		}
	}
}

/* Look for the row's missing keys on a page of the pending list. */
static bool
find_on_list_page(CheckIndex *self, CheckPage *page)
{
	GinRows    *rows = get_rows(self);

	for (int i = 1; i <= page->last; i++)
	{
		if (page->tuples[i] == NULL ||
			pt_tid_word(&page->tuples[i]->t_tid) != rows->tid)
			continue;
		for (int j = 0; j < rows->nkeys; j++)
			if (!rows->keys[j].found &&
				checkgin_compare(self, rows->keys[j].key,
								 checkgin_key(self, page, i)) == 0)
				set_found(self, &rows->keys[j], i);
	}
	return false;
}

/* Returns the number of the row's keys that are not in the index. */
static int
find_keys(CheckIndex *self)
{
	GinRows    *rows = get_rows(self);
	int			missing = 0;
	int			changes = 0;

	for (int look = 0; look < 2; look++)
	{
		missing = 0;
		for (int i = 0; i < rows->nkeys; i++)
		{
			if (!rows->keys[i].found)
				find_in_tree(self, &rows->keys[i]);
			missing += rows->keys[i].found ? 0 : 1;
		}
		if (missing == 0 || look > 0)
			break;
		for (;;)
		{
			BlockNumber head = walk_pending(self, self->again,
											find_on_list_page);

			if (checkread_page(self, GIN_METAPAGE_BLKNO, self->again) != NULL ||
				GinPageGetMeta((Page) self->again->page)->head == head)
				break;
			if (++changes > CHECK_PATIENCE)
			{
				self->report->undecided++;
				return 0;
			}
		}
	}
	return missing;
}

/* CheckStep: look for all keys of the row. */
static void
look_at_row(CheckIndex *self)
{
	GinRows    *rows = get_rows(self);
	CheckFinding *finding = &self->report->findings[CHECK_NO_ENTRY];
	bool		excluded = false;
	int			missing;

	if (checkrows_form(self, rows->tid, &excluded) == NULL)
		return;
	missing = find_keys(self);
	/* repeat this only for the first rows, as all rows may lack entries */
	for (int i = 1; missing > 0 && i < CHECK_SURE &&
		 finding->count < MAX_SUSPECTS; i++)
	{
		pg_usleep(1000L);
		missing = find_keys(self);
	}
	for (int i = 0; i < rows->nkeys; i++)
		if (rows->keys[i].found)
			rows->sum += hash_entry(rows->keys[i].hash, rows->tid);
	if (missing > 0 && rows->pass == 0)
		check_found(self, CHECK_NO_ENTRY, (BlockNumber) (rows->tid >> 16),
					(OffsetNumber) rows->tid,
					"the index lacks a key of the row at this place of the table");
}

/* Call a function for the TIDs of a block that are in one of its bitmaps. */
static void
for_tids(CheckIndex *self, BlockNumber block, const bitmapword *words,
		 CheckStep step)
{
	GinRows    *rows = get_rows(self);
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	for (OffsetNumber i = 1; i <= MaxHeapTuplesPerPage; i++)
	{
		if (!has_bit(words, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		rows->tid = (uint64) block << 16 | i;
		check_guard(self, step);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
}

/* CheckStep */
static void
suspect_row(CheckIndex *self)
{
	checkrows_suspect(self, get_rows(self)->tid, 0, false, true);
}

/* CheckStep: there are entries for a row that the snapshot does not see. */
static void
look_at_other(CheckIndex *self)
{
	uint64		tid = get_rows(self)->tid;

	if (!checkrows_has_row(self, tid))
		checkrows_suspect(self, tid, 0, false, false);
	else if (checkrows_is_excluded(self, tid))
		checkrows_suspect(self, tid, 0, false, true);
}

/* Returns the number of blocks of the unit whose sums still differ. */
static int
compare_sums(CheckIndex *self)
{
	GinRows    *rows = get_rows(self);
	int			n = 0;

	for (BlockNumber block = rows->first; block < rows->end; block++)
	{
		BlockRows  *at = &rows->blocks[block - rows->first];

		if (!at->differs)
			continue;
		if (rows->pass == 0)
			for_tids(self, block, at->others, look_at_other);
		if (at->rows != at->entries)
		{
			rows->sum = 0;
			for_tids(self, block, at->visible, look_at_row);
			at->rows = rows->sum;
		}
		at->differs = at->rows != at->entries;
		if (!at->differs)
			continue;
		at->entries = 0;
		n++;
		if (rows->pass == CHECK_SURE - 1)
			for_tids(self, block, at->visible, suspect_row);
	}
	return n;
}

static void
check_unit(CheckIndex *self, Snapshot snapshot)
{
	GinRows    *rows = get_rows(self);
	bool		is_last = rows->end >= self->heap_blocks;

	rows->pass = 0;
	read_rows(self, snapshot);
	do
	{
		walk(self, (uint64) rows->first << 16,
			 is_last ? PG_UINT64_MAX : ((uint64) rows->end << 16) - 1,
			 count_entries);
	} while (compare_sums(self) > 0 && ++rows->pass < CHECK_SURE);
}

Size
checkginrows_shared_size(BlockNumber nblocks)
{
	return sizeof(pg_atomic_uint32);	/* first block that no unit has */
}

static void
begin_rows(CheckIndex *self)
{
	GinRows    *rows = palloc0(sizeof(GinRows));

	rows->data = checkread_new_page(self->nkeys);
	rows->nalloc = MaxIndexTuplesPerPage;
	rows->keys = palloc(rows->nalloc * sizeof(RowKey));
	get_check(self)->rows = rows;
}

void
checkginrows_put(CheckIndex *self, Team *team)
{
	pg_atomic_uint32 *next = self->shared;
	BlockNumber size = self->heap_blocks / self->processes + 1;
	BlockNumber block;
	GinRows    *rows;

	if (self->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return;
	begin_rows(self);
	rows = get_rows(self);
	size = Min(size, Max(self->budget / sizeof(BlockRows), 1));
	while ((block = pg_atomic_fetch_add_u32(next, size)) < self->heap_blocks)
	{
		rows->first = block;
		rows->end = Min(self->heap_blocks - block, size) + block;
		rows->blocks =
			palloc_extended(mul_size(rows->end - block, sizeof(BlockRows)),
							MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		check_unit(self, GetActiveSnapshot());
		pfree(rows->blocks);
	}
}

/*
 * Suspects
 */

/* True if the row with this TID has a key, or if the snapshot does not see it. */
static bool
row_has_key(CheckIndex *self, uint64 tid, GinKey key)
{
	GinRows    *rows = get_rows(self);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort check of a row",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	bool		excluded = false;
	bool		found = checkrows_form(self, tid, &excluded) == NULL &&
		!excluded;

	for (int i = 0; !found && !excluded && i < rows->nkeys; i++)
		found = checkgin_compare(self, rows->keys[i].key, key) == 0;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return found;
}

/* True if an entry is there before and after its row is not. */
static bool
has_no_row(CheckIndex *self, uint64 tid, GinKey key)
{
	GinRows    *rows = get_rows(self);
	int			n = 0;

	while (n < CHECK_SURE && !checkrows_has_row(self, tid))
	{
		rows->tid = tid;
		rows->nkeys = 1;
		rows->keys[0] = (RowKey)
		{
			key
		};
		if (find_keys(self) > 0)
			return false;
		n++;
	}
	return n == CHECK_SURE;
}

/* EntryStep: look for suspects. */
static void
seek_suspects(CheckIndex *self, GinEntry *entry, const uint64 *tids, int n)
{
	for (int i = 0; i < n; i++)
	{
		CheckSuspect key = {.tid = tids[i]};
		CheckSuspect *found = bsearch(&key, self->sought, self->nsought,
									  sizeof(CheckSuspect), checkfind_by_tid);
		const char *fault = NULL;

		if (found == NULL)
			continue;
		if (!found->has_other_row)
			fault = has_no_row(self, tids[i], entry->key) ?
				"the entry points to no row" : NULL;
		else if (!row_has_key(self, tids[i], entry->key))
			fault = "the row does not have this key, or does not satisfy the predicate";
		if (fault != NULL)
			check_found(self, CHECK_NO_ROW, entry->block, entry->offset, "%s",
						fault);
	}
}

void
checkginrows_end(CheckIndex *self)
{
	if (self->nsought == 0)
		return;
	if (get_rows(self) == NULL)
		begin_rows(self);		/* other participants took all units */
	qsort(self->sought, self->nsought, sizeof(CheckSuspect), checkfind_by_tid);
	walk(self, self->sought[0].tid, self->sought[self->nsought - 1].tid,
		 seek_suspects);
}
