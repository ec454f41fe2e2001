/*-------------------------------------------------------------------------
 *
 * checkrows.c
 *	  Compares the entries of an index with the rows of its table.
 *
 * A record of the sort by TID (see src/README) holds the TID and a hash of the
 * values of all columns or, in a GIN index, of one key, so that equal values
 * have equal hashes.  In the sorted stream, an entry is beside its row.
 *
 * A row without an entry: an index has entries for all rows that a snapshot
 * sees, from the time when the snapshot was made.  But a split may move the
 * entry away from the pages that the check reads later.  So the check descends
 * to the row's place in the tree before it reports the row (checkfind.c).
 *
 * An entry without a row that the snapshot sees: its row may be dead or too
 * new.  Then the table at least has a line pointer at this place, because
 * vacuum deletes entries before their line pointers.  Entries whose line
 * pointer is missing, that differ from the visible row at their TID, whose
 * visible row does not satisfy the index's predicate, or that the stream has
 * twice, are suspects.  The leader looks for them again (checkfind.c), because
 * vacuum may have removed them meanwhile, or a split may have moved them to a
 * page that the check read later.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "check/check.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "sort/tuplesort.h"
#include "team/heapscan.h"

/* The lowest bit of a record's image: 1 for a row, 0 for an entry */
#define IS_ROW			UINT64CONST(1)

/* RowGroup: the records with one TID, in the order of their hashes. */
typedef struct RowGroup
{
	uint64		tid;
	int			n;
	int			room;
	uint64	   *images;
} RowGroup;

/* HashRun: the records of a group with the same hash. */
typedef struct HashRun
{
	uint64		hash;
	int			entries;
	int			rows;
} HashRun;

/* The records of a TID must be in the same slice. */
static bool
same_slice(const uint64 *a, const uint64 *b, void *state)
{
	return true;
}

static const SortVariant record_variant = {
	.base = {.name = "index entry or row",.inline_image = true},
	.same_slice = same_slice
};

PtSort *
checkrows_begin(Team *team, const PtSortOptions *options)
{
	return sort_begin_records(&record_variant, options);
}

void
checkrows_put(CheckIndex *self, uint64 tid, uint64 hash, bool is_row)
{
	uint64		entry[] = {tid, (hash & ~IS_ROW) | (is_row ? IS_ROW : 0)};

	sort_put_entry(self->sort, entry);
}

/* Returns the hash of a value that is passed by reference, and not null. */
static uint64
hash_bytes_of(const CheckColumn *column, Datum value, uint64 seed)
{
	const char *bytes = DatumGetPointer(value);
	Size		size = column->length;

	if (column->length == -2)
		size = strlen(bytes);
	else if (column->length == -1)
	{
		/* an index may hold a value compressed, and the table not */
		struct varlena *plain =
			pg_detoast_datum_packed((struct varlena *) bytes);

		bytes = VARDATA_ANY(plain);
		size = VARSIZE_ANY_EXHDR(plain);
	}
	return hash_bytes_extended((const unsigned char *) bytes, size, seed);
}

uint64
checkrows_hash_value(const CheckColumn *column, Datum datum, bool isnull,
					 uint64 hash)
{
	uint64		value = PG_UINT64_MAX - 1;

	if (!isnull && !column->byval)
		return hash_bytes_of(column, datum, hash);
	if (!isnull)
		value = (uint64) datum << (64 - column->length * BITS_PER_BYTE);
	hash = hash_combine64(hash, value);
	/* the finalizer of MurmurHash3, by Austin Appleby */
	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xff51afd7ed558ccd);
	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xc4ceb9fe1a85ec53);
	return hash ^ (hash >> 33);
}

static uint64
hash_columns(CheckIndex *self, const Datum *values, const bool *isnull)
{
	uint64		hash = 0;

	for (int i = 0; i < self->ncolumns; i++)
		hash = checkrows_hash_value(&self->columns[i], values[i], isnull[i],
									hash);
	return hash & ~IS_ROW;
}

uint64
checkrows_hash(CheckIndex *self, IndexTuple tuple)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	uint64		hash;

	self->catching = true;
	index_deform_tuple(tuple, self->desc, values, isnull);
	hash = hash_columns(self, values, isnull);
	self->catching = false;
	return hash;
}

void
checkrows_put_page(CheckIndex *self)
{
	const CheckPage *page = self->here;

	for (int i = page->first; i <= page->last; i++)
	{
		IndexTuple	tuple = page->tuples[i];
		uint64		hash;
		int			n;

		if (tuple == NULL)
			continue;
		n = checkpage_tids(tuple);
		self->report->tuples += n;
		if (self->sort == NULL || checkpage_is_dead(page, i))
			continue;
		hash = checkrows_hash(self, tuple);
		for (int j = 0; j < n; j++)
			checkrows_put(self, pt_tid_word(BTreeTupleGetHeapTID(tuple) + j),
						  hash, false);
	}
}

void
checkrows_put_values(CheckIndex *self, uint64 tid, Datum *values,
					 bool *isnull)
{
	checkrows_put(self, tid, hash_columns(self, values, isnull), true);
}

/* IndexBuildCallback */
static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *arg)
{
	CheckIndex *self = arg;
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);

	self->method->put_row(self, pt_tid_word(tid), values, isnull);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}

void
checkrows_put_table(CheckIndex *self, Team *team)
{
	HeapScanTarget target = {
		.index = self->index,
		.index_info = self->index_info,
		.callback = put_row,
		.damaged = checkread_damaged,
		.state = self
	};

	(void) heapscan_build(self->heap, &target, 1, team->scan,
						  team_shares(team), team->snapshot, false);
}

bool
checkrows_has_row(CheckIndex *self, uint64 tid)
{
	BlockNumber block = (BlockNumber) (tid >> 16);
	OffsetNumber offset = (OffsetNumber) tid;
	Buffer		buffer;
	Page		page;
	bool		found = false;

	if (self->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return true;			/* not known */
	if (block >= RelationGetNumberOfBlocks(self->heap))
		return false;
	if (!checkread_table(self, block))
		return true;
	buffer = ReadBufferExtended(self->heap, MAIN_FORKNUM, block, RBM_NORMAL,
								self->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		item = PageGetItemId(page, offset);

		/* index entries point to the first version of a HOT chain */
		found = ItemIdIsUsed(item) &&
			(!ItemIdIsNormal(item) ||
			 !HeapTupleHeaderIsHeapOnly((HeapTupleHeader)
										PageGetItem(page, item)));
	}
	UnlockReleaseBuffer(buffer);
	return found;
}

/*
 * Returns the entry that the index must have for the row with this TID, or NULL
 * if the snapshot does not see the row, or if the predicate of the index
 * excludes the row: then sets *excluded to true.
 */
static IndexTuple
form_entry(CheckIndex *self, uint64 tid, bool *excluded)
{
	TupleTableSlot *slot = table_slot_create(self->heap, NULL);
	EState	   *estate = CreateExecutorState();
	IndexFetchTableData *fetch = pt_index_fetch_begin(self->heap);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		again = false;
	IndexTuple	entry = NULL;
	ItemPointerData target;
	ItemPointerData copy;

	ItemPointerSet(&target, (BlockNumber) (tid >> 16), (OffsetNumber) tid);
	copy = target;
	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	if (table_index_fetch_tuple(fetch, &copy, GetActiveSnapshot(), slot,
								&again, NULL))
		*excluded =
			!ExecQual(ExecPrepareQual(self->index_info->ii_Predicate, estate),
					  GetPerTupleExprContext(estate));
	if (!TTS_EMPTY(slot) && !*excluded)
	{
		FormIndexDatum(self->index_info, slot, estate, values, isnull);
		entry = self->method->form(self, values, isnull);
		entry->t_tid = target;
	}
	table_index_fetch_end(fetch);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	/* these belonged to the freed executor state */
	self->index_info->ii_ExpressionsState = NIL;
	return entry;
}

static void
add_suspect(CheckIndex *self, uint64 hash, bool is_double, bool has_other_row)
{
	CheckSuspects *suspects = self->suspects;

	if (suspects->n == MAX_SUSPECTS)
		suspects->dropped++;
	else
		suspects->each[suspects->n++] = (CheckSuspect)
	{
		self->group->tid, hash, is_double, has_other_row, false,
			InvalidBlockNumber
	};
}

/*
 * True if the snapshot sees the row, but the predicate excludes it.  An update
 * of the predicate's columns is never a HOT update.
 */
static bool
is_excluded(CheckIndex *self, uint64 tid)
{
	bool		excluded = false;

	if (self->index_info->ii_Predicate != NIL &&
		checkread_table(self, (BlockNumber) (tid >> 16)))
		(void) form_entry(self, tid, &excluded);
	return excluded;
}

static void
find_entry(CheckIndex *self, uint64 tid)
{
	bool		excluded = false;
	IndexTuple	entry = form_entry(self, tid, &excluded);
	const CheckFinding *finding = &self->report->findings[CHECK_NO_ENTRY];

	/* only the first rows are worth repetition, as all may lack entries */
	int			looks = finding->count < MAX_SUSPECTS ? CHECK_SURE : 1;

	for (int i = 0; i < looks; i++)
	{
		if (entry == NULL || self->method->find(self, entry))
			return;
		if (i + 1 < looks)
			pg_usleep(1000L);
	}
	check_found(self, CHECK_NO_ENTRY, (BlockNumber) (tid >> 16),
				(OffsetNumber) tid,
				"the index has no entry for the row at this place of the table");
}

/* Returns the next run of a group, and moves *i to its end. */
static HashRun
next_run(const RowGroup *group, int *i)
{
	HashRun		run = {group->images[*i] & ~IS_ROW};

	for (; *i < group->n && (group->images[*i] & ~IS_ROW) == run.hash; (*i)++)
	{
		if (group->images[*i] & IS_ROW)
			run.rows++;
		else
			run.entries++;
	}
	return run;
}

static bool
is_equal_key(const CheckIndex *self, uint64 hash)
{
	for (int i = 0; i < self->nequal; i++)
		if (self->equal[i] == hash)
			return true;
	return false;
}

/* Look at the entries of a group that have no row with the same hash. */
static void
judge_entries(CheckIndex *self, bool has_row)
{
	const RowGroup *group = self->group;
	bool		has_place = has_row || checkrows_has_row(self, group->tid);
	bool		excluded = !has_row && has_place &&
		is_excluded(self, group->tid);

	for (int i = 0; i < group->n;)
	{
		HashRun		run = next_run(group, &i);

		if (run.entries > 1 && !self->method->many)
			add_suspect(self, run.hash, true, false);
		if (run.entries > 0 && run.rows == 0 &&
			(excluded || !has_place || has_row) &&
			!is_equal_key(self, run.hash))
			add_suspect(self, run.hash, false, has_place);
	}
}

/* CheckStep: compare the entries with one TID with its visible row, if any. */
static void
compare_group(CheckIndex *self)
{
	const RowGroup *group = self->group;
	bool		has_row = false;
	bool		differs = false;

	for (int i = 0; i < group->n;)
	{
		HashRun		run = next_run(group, &i);

		has_row |= run.rows > 0;
		differs |= run.rows == 0 || run.entries == 0;
	}
	self->nequal = 0;
	if (has_row && differs)
		find_entry(self, group->tid);
	judge_entries(self, has_row);
}

/* Most groups have pairs of an entry and its row, and need nothing else. */
static inline bool
has_pairs(const RowGroup *group)
{
	for (int i = 0; i < group->n; i += 2)
		if (i + 1 == group->n ||
			group->images[i + 1] != (group->images[i] | IS_ROW) ||
			group->images[i] == group->images[i + 1])
			return false;
	return true;
}

static void
finish_group(CheckIndex *self, const RowGroup *group)
{
	MemoryContext caller;

	if (has_pairs(group))
		return;
	CHECK_FOR_INTERRUPTS();
	caller = MemoryContextSwitchTo(self->scratch);
	self->group = group;
	check_guard(self, compare_group);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}

static void
compare_slice(CheckIndex *self)
{
	RowGroup	group = {.room = PAGEREAD_MOST};
	const uint64 *record;

	group.images = palloc(group.room * sizeof(uint64));
	while ((record = sort_next_entry(self->sort, true)) != NULL)
	{
		if (group.n > 0 && record[0] != group.tid)
		{
			finish_group(self, &group);
			group.n = 0;
		}
		if (group.n == group.room)
		{
			group.room *= 2;
			group.images = repalloc_huge(group.images,
										 mul_size(group.room, sizeof(uint64)));
		}
		group.tid = record[0];
		group.images[group.n++] = record[1];
	}
	finish_group(self, &group);
	pfree(group.images);
}

void
checkrows_compare(CheckIndex *self, Team *team)
{
	int			slice;

	self->sort = team->sort;
	while (sort_next_slice(team->sort, &slice))
		compare_slice(self);
}
