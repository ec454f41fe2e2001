/*-------------------------------------------------------------------------
 *
 * checkginrows.c
 *	  Compares the entries of a GIN index with the rows of its table.
 *
 * An entry is a key and a TID.  A participant takes a unit of the table, as
 * large as its memory allows.  For each block of the unit, it adds up a hash of
 * (key, TID) over the keys of the rows that the snapshot sees, and over the
 * entries in the index: it reads all leaves of the entry tree and pages of the
 * pending list, with the unit's part of each posting tree.  So a table that
 * needs several units costs several reads of the index.
 *
 * Equal sums prove that rows and entries agree.  Sums may differ in a sound
 * index: classes may have equal keys with unequal bytes (numeric 1.0 and 1.00),
 * of which the index has one, and splits and cleanup of the pending list move
 * entries.  So the participant looks up each key of the block's rows, by the
 * class's comparison, adds up the hashes of the keys that it finds, and reads
 * the entries again if the sums still differ.  The leader looks again at the
 * entries of rows of blocks that differ each time.
 *
 * Lookups are safe beside other sessions.  A row that the snapshot sees has
 * all its entries.  VACUUM removes neither these nor pages with them.  Splits
 * move entries to the right, where a lookup follows.  Pages that VACUUM deletes
 * keep their right links, and nothing uses them again while this snapshot
 * exists.  Cleanup adds entries to the tree before it removes pages from the
 * head of the pending list.  So an entry is in the tree, or in the pending
 * list, or in the tree after the look at the pending list, if the head of that
 * list stayed.  On a standby, replay may use a deleted page too early.  So a
 * lookup is repeated before a finding.
 *
 * VACUUM removes a dead row's entries before its line pointer.  So an entry
 * that is there, points to no line pointer, and is there again, has no row.
 * Pages of the pending list that a crash left behind have entries that no
 * lookup finds.
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
	bool		differs;		/* the sums may differ, so entries count */
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

/* GinEntry: the key and the place of a list. */
typedef struct GinEntry
{
	GinKey		key;
	BlockNumber block;
	OffsetNumber offset;
	bool		hashed;
	uint64		hash;
} GinEntry;

typedef void (*ListStep) (CheckIndex *self, GinEntry *entry,
						  const GinTids *list);

/* GinRows: a unit of the table, a row, and the range of TIDs of a walk. */
typedef struct GinRows
{
	BlockNumber first;
	BlockNumber end;
	BlockRows  *blocks;
	int			pass;
	uint64		tid;
	uint64		sum;			/* of those keys of rows that were found */
	int			nkeys;
	int			nalloc;
	RowKey	   *keys;
	uint64		low;
	uint64		high;
	ListStep	step;
	CheckPage  *data;			/* of lookups */
	GinTids		list;
} GinRows;

static inline GinRows *
get_rows(CheckIndex *self)
{
	return ((GinCheck *) self->state)->rows;
}

static uint64
hash_key(CheckIndex *self, GinKey key)
{
	uint64		seed = key.column * INDEX_MAX_KEYS + key.category;

	return checkrows_hash_value(&self->columns[key.column - 1], key.value,
								key.category != GIN_CAT_NORM_KEY, seed);
}

/* Hash a key of the index, which may be damaged. */
static uint64
hash_found(CheckIndex *self, GinKey key)
{
	uint64		hash;

	self->catching = true;
	hash = hash_key(self, key);
	self->catching = false;
	return hash;
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
 * Entries
 */

/* Read a page of a posting tree or, if it is deleted, the one to its right. */
static bool
read_data(CheckIndex *self, BlockNumber block, CheckPage *page)
{
	for (BlockNumber n = 0; checkread_has_block(self, n); n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (checkread_page(self, block, page) != NULL ||
			PageIsNew((Page) page->page))
			return false;
		if (!checkgin_has_flag(page, GIN_DELETED))
			return checkgin_has_flag(page, GIN_DATA) &&
				checkgin_tuples(self, page, GIN_ENDS, true);
		block = checkgin_right(page);
	}
	return false;
}

/* Descend to the leaf of a posting tree that has a TID, if any has. */
static bool
find_data(CheckIndex *self, BlockNumber block, uint64 tid, CheckPage *page)
{
	for (BlockNumber n = 0; checkread_has_block(self, n) &&
		 read_data(self, block, page); n++)
	{
		int			i = 1;

		block = checkgin_right(page);
		if (block != InvalidBlockNumber && checkgin_bound(page) < tid)
			continue;
		if (page->is_leaf)
			return true;
		while (i < page->last && pt_tid_word(&checkgin_item(page, i)->key) < tid)
			i++;
		block = checkgin_child(page, i);
	}
	return false;
}

static void
pass_on(CheckIndex *self, GinEntry *entry, const GinTids *list)
{
	const		GinRows *rows = get_rows(self);

	/* the page's check reports faults */
	if (list->fault == NULL && list->n > 0 && list->tids[0] <= rows->high &&
		list->tids[list->n - 1] >= rows->low)
		rows->step(self, entry, list);
}

static void
walk_posting_tree(CheckIndex *self, GinEntry *entry, BlockNumber root)
{
	const		GinRows *rows = get_rows(self);
	CheckPage  *page = self->there;
	GinTids    *list = &((GinCheck *) self->state)->list;
	bool		goes_on = find_data(self, root, rows->low, page);

	entry->offset = 0;
	for (BlockNumber n = 0; goes_on && checkread_has_block(self, n); n++)
	{
		entry->block = page->block;
		checkgin_leaf_tids(self, page, list);
		pass_on(self, entry, list);
		goes_on = checkgin_right(page) != InvalidBlockNumber &&
			checkgin_bound(page) < rows->high &&
			read_data(self, checkgin_right(page), page) && page->is_leaf;
	}
}

/* CheckStep: the entries of self->here, a leaf or a page of the pending list */
static void
walk_page(CheckIndex *self)
{
	CheckPage  *page = self->here;
	GinTids    *list = &((GinCheck *) self->state)->list;

	for (int i = 1; i <= page->last; i++)
	{
		IndexTuple	tuple = page->tuples[i];
		GinEntry	entry = {.block = page->block,.offset = i};

		if (tuple == NULL)
			continue;
		entry.key = checkgin_key(self, page, i);
		if (checkgin_is_tree(page, i))
		{
			walk_posting_tree(self, &entry, GinGetPostingTree(tuple));
			continue;
		}
		checkgin_entry_tids(self, page, tuple, list);
		pass_on(self, &entry, list);
	}
}

/* Call a step for the lists that may have TIDs in the given range. */
static void
walk(CheckIndex *self, uint64 low, uint64 high, ListStep step)
{
	GinRows    *rows = get_rows(self);
	BlockNumber nblocks = RelationGetNumberOfBlocks(self->index);
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	rows->low = low;
	rows->high = high;
	rows->step = step;
	for (BlockNumber block = self->method->first; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (block % PAGEREAD_MOST == self->method->first)
			checkread_ahead(self, block, Min(nblocks - block, PAGEREAD_MOST));
		if (checkread_next(self, block, self->here) != NULL ||
			PageIsNew((Page) self->here->page) ||
			checkgin_has_flag(self->here, GIN_DATA) ||
			!checkgin_has_flag(self->here, GIN_LEAF | GIN_LIST) ||
			!checkgin_tuples(self, self->here, MaxIndexTuplesPerPage, true))
			continue;
		check_guard(self, walk_page);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
}

/* ListStep: add to the sums of blocks, and look at TIDs of other rows. */
static void
count_entries(CheckIndex *self, GinEntry *entry, const GinTids *list)
{
	GinRows    *rows = get_rows(self);

	if (!entry->hashed)
		entry->hash = hash_found(self, entry->key);
	entry->hashed = true;
	for (int i = 0; i < list->n; i++)
	{
		uint64		tid = list->tids[i];
		BlockNumber block = (BlockNumber) (tid >> 16);
		OffsetNumber offset = (OffsetNumber) tid;
		BlockRows  *at;

		if (tid < rows->low || tid > rows->high)
			continue;
		at = block < rows->end ? &rows->blocks[block - rows->first] : NULL;
		if (at != NULL && !at->differs)
			continue;
		if (at != NULL && has_bit(at->visible, offset))
			at->entries += hash_entry(entry->hash, tid);
		else if (rows->pass == 0 &&
				 (at == NULL || !has_bit(at->others, offset)))
		{
			bool		has_row = checkrows_has_row(self, tid);

			if (at != NULL)
				set_bit(at->others, offset);
			if (!has_row || checkrows_is_excluded(self, tid))
				checkrows_suspect(self, tid, 0, false, has_row);
		}
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
		Datum	   *keys = ginExtractEntries(&((GinCheck *) self->state)->gin, column,
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
		{
			GinKey		key = {column, categories[i], keys[i]};

			rows->keys[rows->nkeys].found = false;
			rows->keys[rows->nkeys++].key = key;
		}
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

/* Look for the row's TID in the entry at an offset of a leaf. */
static bool
has_tid(CheckIndex *self, const CheckPage *page, OffsetNumber offset)
{
	GinRows    *rows = get_rows(self);
	GinTids    *list = &rows->list;

	if (!checkgin_is_tree(page, offset))
		checkgin_entry_tids(self, page, page->tuples[offset], list);
	else if (find_data(self, GinGetPostingTree(page->tuples[offset]), rows->tid,
					   rows->data))
		checkgin_leaf_tids(self, rows->data, list);
	else
		return false;
	for (int i = 0; i < list->n; i++)
		if (list->tids[i] == rows->tid)
			return true;
	return false;
}

/* Look for a key of the row in the entry tree, as the server does. */
static void
find_in_tree(CheckIndex *self, RowKey *sought)
{
	CheckPage  *page = self->again;
	BlockNumber block = GIN_ROOT_BLKNO;

	for (BlockNumber n = 0; checkread_has_block(self, n) &&
		 checkread_page(self, block, page) == NULL &&
		 checkgin_tuples(self, page, MaxIndexTuplesPerPage, true) &&
		 !checkgin_has_flag(page, GIN_DATA | GIN_LIST); n++)
	{
		int			low = page->first;
		int			high = checkgin_last_key(page) + 1;
		bool		equal = false;

		CHECK_FOR_INTERRUPTS();
		while (low < high)
		{
			int			middle = (low + high) / 2;
			int			order = page->tuples[middle] == NULL ? 1 :
				checkgin_compare(self, sought->key,
								 checkgin_key(self, page, middle));

			if (order == 0)
				equal = true;
			if (order > 0)
				low = middle + 1;
			else
				high = middle;
		}
		if (low > page->last)
			block = checkgin_right(page);
		else if (!page->is_leaf)
			block = checkgin_child(page, low);
		else
		{
			sought->found = equal && has_tid(self, page, low);
			if (sought->found)
				sought->hash = hash_found(self, checkgin_key(self, page, low));
			return;
		}
	}
}

/* Look for the row's missing keys on a page of the pending list. */
static void
find_on_list_page(CheckIndex *self, const CheckPage *page)
{
	GinRows    *rows = get_rows(self);

	for (int i = 1; i <= page->last; i++)
	{
		if (page->tuples[i] == NULL ||
			pt_tid_word(&page->tuples[i]->t_tid) != rows->tid)
			continue;
		for (int j = 0; j < rows->nkeys; j++)
		{
			GinKey		key = checkgin_key(self, page, i);
			RowKey	   *sought = &rows->keys[j];

			if (sought->found || checkgin_compare(self, sought->key, key) != 0)
				continue;
			sought->hash = hash_found(self, key);
			sought->found = true;
		}
	}
}

/* Returns the number of the row's keys that are not in the index. */
static int
find_keys(CheckIndex *self)
{
	GinRows    *rows = get_rows(self);
	GinMetaPageData list;
	bool		stayed = false;

	for (int look = 0; look <= CHECK_PATIENCE; look++)
	{
		int			missing = 0;

		for (int i = 0; i < rows->nkeys; i++)
		{
			if (!rows->keys[i].found)
				find_in_tree(self, &rows->keys[i]);
			missing += !rows->keys[i].found;
		}
		if (missing == 0 || stayed)
			return missing;
		list.head = checkgin_pending_head(self);
		(void) checkgin_pending(self, self->again, &list, find_on_list_page);
		stayed = checkgin_pending_head(self) == list.head;
	}
	self->report->undecided++;
	return 0;
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

/* Compare the sums of a block.  Returns true if they still differ. */
static bool
compare_sums(CheckIndex *self, BlockNumber block)
{
	GinRows    *rows = get_rows(self);
	BlockRows  *at = &rows->blocks[block - rows->first];
	bool		is_last = rows->pass == CHECK_SURE - 1;
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	rows->sum = 0;
	for (OffsetNumber i = 1; i <= MaxHeapTuplesPerPage; i++)
	{
		if (!has_bit(at->visible, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		rows->tid = (uint64) block << 16 | i;
		check_guard(self, look_at_row);
		MemoryContextReset(self->scratch);
	}
	MemoryContextSwitchTo(caller);
	at->rows = rows->sum;
	at->differs = at->rows != at->entries;
	at->entries = 0;
	for (OffsetNumber i = 1; i <= MaxHeapTuplesPerPage; i++)
		if (at->differs && is_last && has_bit(at->visible, i))
			checkrows_suspect(self, (uint64) block << 16 | i, 0, false, true);
	return at->differs;
}

static void
check_unit(CheckIndex *self)
{
	GinRows    *rows = get_rows(self);
	bool		differs = true;

	read_rows(self, GetActiveSnapshot());
	for (rows->pass = 0; differs && rows->pass < CHECK_SURE; rows->pass++)
	{
		/* the last unit has the entries of new blocks */
		walk(self, (uint64) rows->first << 16,
			 rows->end < self->heap_blocks ?
			 ((uint64) rows->end << 16) - 1 : PG_UINT64_MAX, count_entries);
		differs = false;
		for (BlockNumber block = rows->first; block < rows->end; block++)
		{
			BlockRows  *at = &rows->blocks[block - rows->first];

			at->differs = at->differs && at->rows != at->entries;
			differs |= at->differs && compare_sums(self, block);
		}
	}
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
	((GinCheck *) self->state)->rows = rows;
}

void
checkginrows_put(CheckIndex *self, Team *team)
{
	BlockNumber size = self->heap_blocks / self->processes + 1;
	GinRows    *rows;

	if (self->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return;
	begin_rows(self);
	rows = get_rows(self);
	size = Min(size, Max(self->budget / sizeof(BlockRows), 1));
	while ((rows->first = pg_atomic_fetch_add_u32(self->shared, size)) <
		   self->heap_blocks)
	{
		rows->end = Min(self->heap_blocks - rows->first, size) + rows->first;
		rows->blocks = palloc_extended(mul_size(size, sizeof(BlockRows)),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		check_unit(self);
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
	const		GinRows *rows = get_rows(self);
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

/* True if an entry is there, and its row is not, or has other keys. */
static bool
is_fault(CheckIndex *self, const CheckSuspect *suspect, GinKey key)
{
	GinRows    *rows = get_rows(self);

	if (suspect->has_other_row && row_has_key(self, suspect->tid, key))
		return false;
	for (int i = 0; i < CHECK_SURE; i++)
	{
		if (!suspect->has_other_row && checkrows_has_row(self, suspect->tid))
			return false;
		rows->tid = suspect->tid;
		rows->nkeys = 1;
		rows->keys[0].key = key;
		rows->keys[0].found = false;
		if (find_keys(self) > 0)
			return false;
	}
	return true;
}

/* ListStep: look for suspects. */
static void
seek_suspects(CheckIndex *self, GinEntry *entry, const GinTids *list)
{
	for (int i = 0; i < list->n; i++)
	{
		CheckSuspect sought = {.tid = list->tids[i]};
		CheckSuspect *found = bsearch(&sought, self->sought, self->nsought,
									  sizeof(CheckSuspect), checkfind_by_tid);

		if (found != NULL && is_fault(self, found, entry->key))
			check_found(self, CHECK_NO_ROW, entry->block, entry->offset, "%s",
						found->has_other_row ?
						"the row does not have this key, or does not satisfy the predicate" :
						"the entry points to no row");
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
