/*-------------------------------------------------------------------------
 *
 * checkginrows.c
 *	  Compares the entries of a GIN index with the rows of its table.
 *
 * An entry is a key and a TID.  Classes may have equal keys with unequal bytes
 * (numeric 1.0 and 1.00), of which the index has one, and cleanup of the
 * pending list moves entries.  So if the entries of a row differ from its keys,
 * the check looks up each key, by the class's comparison.
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

#include "check/checkgin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

/* RowKey: a key of the row that is looked at. */
typedef struct RowKey
{
	GinKey		key;
	bool		found;
} RowKey;

/* GinRow: a row that the check looks at. */
typedef struct GinRow
{
	uint64		tid;
	int			nkeys;
	int			room;
	RowKey	   *keys;
	CheckPage  *data;			/* of lookups */
	GinTids		list;
} GinRow;

static inline GinRow *
get_row(CheckIndex *self)
{
	return ((GinCheck *) self->state)->row;
}

void
checkginrows_begin(CheckIndex *self)
{
	GinRow	   *row = palloc0(sizeof(GinRow));

	row->data = checkread_new_page(0);
	row->room = PAGEREAD_MOST;
	row->keys = palloc(row->room * sizeof(RowKey));
	((GinCheck *) self->state)->row = row;
}

/* The hash's lowest bit is 0. */
static uint64
hash_key(CheckIndex *self, GinKey key)
{
	uint64		seed = key.column * INDEX_MAX_KEYS + key.category;

	return checkrows_hash_value(&self->columns[key.column - 1], key.value,
								key.category != GIN_CAT_NORM_KEY, seed) << 1;
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
		while (i < page->last &&
			   pt_tid_word(&checkgin_item(page, i)->key) < tid)
			i++;
		block = checkgin_child(page, i);
	}
	return false;
}

/* The participant that checks a page reports the faults of its lists. */
static void
visit_posting_tree(CheckIndex *self, GinEntry *entry, BlockNumber root,
				   GinListStep step)
{
	CheckPage  *page = self->there;
	GinTids    *list = &((GinCheck *) self->state)->list;
	bool		goes_on = find_data(self, root, 0, page);

	entry->offset = 0;
	for (BlockNumber n = 0; goes_on && checkread_has_block(self, n); n++)
	{
		entry->block = page->block;
		checkgin_leaf_tids(self, page, list);
		if (list->fault == NULL)
			step(self, entry, list);
		goes_on = checkgin_right(page) != InvalidBlockNumber &&
			read_data(self, checkgin_right(page), page) && page->is_leaf;
	}
}

void
checkginrows_visit(CheckIndex *self, bool with_trees, GinListStep step)
{
	CheckPage  *page = self->here;
	GinTids    *list = &((GinCheck *) self->state)->list;

	for (int i = 1; i <= page->last; i++)
	{
		IndexTuple	tuple = page->tuples[i];
		GinEntry	entry = {.block = page->block,.offset = i};

		if (tuple == NULL)
			continue;
		if (with_trees)
			entry.key = checkgin_key(self, page, i);
		if (!checkgin_is_tree(page, i))
		{
			checkgin_entry_tids(self, page, tuple, list);
			step(self, &entry, list);
		}
		else if (with_trees)
			visit_posting_tree(self, &entry, GinGetPostingTree(tuple), step);
	}
}

/* GinListStep */
void
checkginrows_put_list(CheckIndex *self, const GinEntry *entry,
					  const GinTids *list)
{
	uint64		hash = hash_found(self, entry->key);

	for (int i = 0; i < list->n; i++)
		checkrows_put(self, list->tids[i], hash, false);
}

/*
 * Rows
 */

static void
extract_keys(CheckIndex *self, Datum *values, bool *isnull)
{
	GinCheck   *check = self->state;
	GinRow	   *row = check->row;

	row->nkeys = 0;
	for (int column = 1; column <= self->ncolumns; column++)
	{
		GinNullCategory *categories;
		int32		n;
		Datum	   *keys = ginExtractEntries(&check->gin, column,
											 values[column - 1],
											 isnull[column - 1], &n,
											 &categories);

		if (row->nkeys + n > row->room)
		{
			row->room = (row->nkeys + n) * 2;
			row->keys = repalloc_huge(row->keys,
									  mul_size(row->room, sizeof(RowKey)));
		}
		for (int i = 0; i < n; i++)
			row->keys[row->nkeys++] = (RowKey)
		{
			{
				column, categories[i], keys[i]
			}
		};
	}
}

/* CheckMethod.put_row */
void
checkginrows_put_row(CheckIndex *self, uint64 tid, Datum *values,
					 bool *isnull)
{
	const GinRow *row = get_row(self);

	extract_keys(self, values, isnull);
	for (int i = 0; i < row->nkeys; i++)
		checkrows_put(self, tid, hash_key(self, row->keys[i].key), true);
}

/* CheckMethod.form: keep the keys of a row.  The result has no values. */
IndexTuple
checkginrows_form(CheckIndex *self, Datum *values, bool *isnull)
{
	const GinRow *row = get_row(self);

	extract_keys(self, values, isnull);
	for (int i = 0; i < row->nkeys; i++)
	{
		GinKey	   *key = &row->keys[i].key;
		Form_pg_attribute att = TupleDescAttr(self->desc, key->column - 1);

		/* the value may point into the row */
		if (key->category == GIN_CAT_NORM_KEY)
			key->value = datumCopy(key->value, att->attbyval, att->attlen);
	}
	self->equal = palloc(mul_size(row->nkeys, sizeof(uint64)));
	return palloc0(sizeof(IndexTupleData));
}

/* Look for the row's TID in the entry at an offset of a leaf. */
static bool
has_tid(CheckIndex *self, const CheckPage *page, OffsetNumber offset)
{
	GinRow	   *row = get_row(self);
	GinTids    *list = &row->list;

	if (!checkgin_is_tree(page, offset))
		checkgin_entry_tids(self, page, page->tuples[offset], list);
	else if (find_data(self, GinGetPostingTree(page->tuples[offset]), row->tid,
					   row->data))
		checkgin_leaf_tids(self, row->data, list);
	else
		return false;
	for (int i = 0; i < list->n; i++)
		if (list->tids[i] == row->tid)
			return true;
	return false;
}

/* A key is found: note its hash. */
static void
note_found(CheckIndex *self, RowKey *sought, GinKey found)
{
	sought->found = true;
	self->equal[self->nequal++] = hash_found(self, found);
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
			if (equal && has_tid(self, page, low))
				note_found(self, sought, checkgin_key(self, page, low));
			return;
		}
	}
}

/* Look for the row's missing keys on a page of the pending list. */
static void
find_on_list_page(CheckIndex *self, const CheckPage *page)
{
	GinRow	   *row = get_row(self);

	for (int i = 1; i <= page->last; i++)
	{
		GinKey		key;

		if (page->tuples[i] == NULL ||
			pt_tid_word(&page->tuples[i]->t_tid) != row->tid)
			continue;
		key = checkgin_key(self, page, i);
		for (int j = 0; j < row->nkeys; j++)
			if (!row->keys[j].found &&
				checkgin_compare(self, row->keys[j].key, key) == 0)
				note_found(self, &row->keys[j], key);
	}
}

/* Returns the number of the row's keys that are not in the index. */
static int
count_missing(CheckIndex *self)
{
	GinRow	   *row = get_row(self);
	GinMetaPageData list;
	bool		stayed = false;

	for (int look = 0; look <= CHECK_PATIENCE; look++)
	{
		int			missing = 0;

		for (int i = 0; i < row->nkeys; i++)
		{
			if (!row->keys[i].found)
				find_in_tree(self, &row->keys[i]);
			missing += !row->keys[i].found;
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

/* CheckMethod.find: look for the keys of the row that was formed last. */
bool
checkginrows_find(CheckIndex *self, IndexTuple tuple)
{
	get_row(self)->tid = pt_tid_word(&tuple->t_tid);
	return count_missing(self) == 0;
}

/*
 * Suspects
 */

/* True if an entry is there before and after a look at its missing row. */
static bool
is_fault(CheckIndex *self, const CheckSuspect *suspect, GinKey key)
{
	GinRow	   *row = get_row(self);
	uint64		equal;

	for (int i = 0; i < CHECK_SURE; i++)
	{
		if (!suspect->has_other_row && checkrows_has_row(self, suspect->tid))
			return false;
		row->tid = suspect->tid;
		row->nkeys = 1;
		row->keys[0] = (RowKey)
		{
			key
		};
		self->equal = &equal;
		self->nequal = 0;
		if (count_missing(self) > 0)
			return false;
	}
	return true;
}

/* GinListStep: look for suspects. */
static void
seek_suspects(CheckIndex *self, const GinEntry *entry, const GinTids *list)
{
	CheckSuspect *end = self->sought + self->nsought;
	uint64		hash = hash_found(self, entry->key);

	for (int i = 0; i < list->n; i++)
	{
		CheckSuspect *found = checkfind_first(self, list->tids[i]);

		for (; found != NULL && found < end && found->tid == list->tids[i];
			 found++)
		{
			if (found->hash != hash || found->reported ||
				!is_fault(self, found, entry->key))
				continue;
			found->reported = true;
			check_found(self, CHECK_NO_ROW, entry->block, entry->offset, "%s",
						found->has_other_row ?
						"the row does not have this key, or does not satisfy the predicate" :
						"the entry points to no row");
		}
	}
}

/* CheckStep */
static void
look_at_page(CheckIndex *self)
{
	((GinCheck *) self->state)->list.counts = false;
	if (!checkgin_has_flag(self->here, GIN_DATA) &&
		checkgin_has_flag(self->here, GIN_LEAF | GIN_LIST))
		checkginrows_visit(self, true, seek_suspects);
}

/* CheckMethod.end */
void
checkginrows_end(CheckIndex *self)
{
	checkfind_pages(self, look_at_page);
}
