/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Validates an index that CONCURRENTLY built; see validate.h.
 *
 * The participants first read the table, and mark the pages that changed
 * (MARK_COMPARE).  They wait for each other, because only then it is known
 * which entries to compare, and then read the index, if any page changed.  The
 * leader reads the sorted records and inserts the missing rows, after the
 * workers' end, because it must not write rows beside them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/amapi.h"
#include "access/nbtree.h"
#include "access/visibilitymap.h"
#include "catalog/pg_am_d.h"
#include "debug.h"
#include "executor/executor.h"
#include "sort/tuplesort.h"
#include "storage/barrier.h"
#include "team/heapjudge.h"
#include "team/pageread.h"
#include "utils/memutils.h"
#include "validate/validate.h"

/* The lowest bit of a record: 1 for a row, 0 for an entry */
#define IS_ROW			UINT64CONST(1)

/* Number of records between two points at which the leader may pause */
#define POINT			256

/* ValidateShared: what the participants share, beside Team.marks */
typedef struct ValidateShared
{
	Barrier		barrier;		/* phases: the table, the index, the rest */
	pg_atomic_uint32 changed;	/* true if any page must be compared */
	pg_atomic_uint32 next;		/* next page of the index to read */
	BlockNumber nblocks;		/* of the index, before the launch */
} ValidateShared;

/* Validator: one process's part of a validation. */
typedef struct Validator
{
	Build		base;			/* must be first */

	/* Leader */
	Validation *validation;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	IndexFetchTableData *fetch;
} Validator;


/*
 * The plan
 */

ambulkdelete_function
validate_bulkdelete(Relation index)
{
	/* rd_indam may be redirect.c's */
	return GetIndexAmRoutine(index->rd_amhandler)->ambulkdelete;
}

/* Number of the table's blocks that a page of the visibility map describes */
#define MAP_BLOCKS \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BITS_PER_BYTE / \
	 BITS_PER_HEAPBLOCK)

/*
 * Plan for the blocks that one page of the visibility map describes.  A process
 * that sets a bit locks the page until it also set the LSN.
 */
static void
plan_blocks(Validation *self, Marks *marks, BlockNumber from, BlockNumber end)
{
	bool		is_logged = RelationNeedsWAL(self->heap);
	Buffer		map = InvalidBuffer;
	bool		trusts_map;

	(void) VM_ALL_VISIBLE(self->heap, from, &map);
	if (BufferIsValid(map))
		LockBuffer(map, BUFFER_LOCK_SHARE);
	trusts_map = BufferIsValid(map) &&
		(!PT_READS_SET_VISIBILITY ||
		 (is_logged && PageGetLSN(BufferGetPage(map)) <= marks->begin));
	for (BlockNumber block = from; block < end; block++)
	{
		if (trusts_map && marks_has(marks, block, MARK_VISIBLE) &&
			VM_ALL_VISIBLE(self->heap, block, &map))
			continue;
		marks_set(self->pages, block, MARK_READ);
		self->pages_to_read++;
		/* only WAL moves a page's LSN */
		if (is_logged && marks_has(marks, block, MARK_INDEXED))
			continue;
		marks_set(self->pages, block, MARK_COMPARE);
		self->pages_to_compare++;
	}
	if (BufferIsValid(map))
		UnlockReleaseBuffer(map);
}

void
validate_plan(Validation *self, Marks *marks)
{
	size_job(&self->job, false, self->heap, self->index);
	self->pages = marks_create(self->heap, INFINITY);
	self->pages->begin = marks->begin;
	self->table_pages = self->pages->nblocks;
	for (int64 block = 0; block < self->table_pages; block += MAP_BLOCKS)
	{
		CHECK_FOR_INTERRUPTS();
		plan_blocks(self, marks, block,
					Min(self->table_pages, block + MAP_BLOCKS));
	}
	/* two records of a word for each row; GIN has more */
	self->job.validates = true;
	self->job.key = JOB_FIXED;
	self->job.row_entries = 0;
	self->job.rows *= 2.0 * self->pages_to_compare / Max(self->table_pages, 1);
	self->job.row_bytes = self->job.long_bytes = 0;
	self->job.blocks = self->pages_to_read;
	if (self->pages_to_compare > 0)
		self->job.blocks += RelationGetNumberOfBlocks(self->index);
}


/*
 * The records
 */

/* TeamKind.begin */
static PtSort *
validate_begin(Team *team, const PtSortOptions *options)
{
	static const SortVariant variant = {
		.base = {.name = "place of a row or an entry",.inline_image = true}
	};

	return sort_begin_records(&variant, options);
}

static inline void
put_record(Team *team, const ItemPointerData *tid, uint64 kind)
{
	uint64		entry[] = {pt_tid_word(tid) << 1 | kind, 0};

	sort_put_entry(team->sort, entry);
}

/* True if the page did not change since the build's scan; else marks it. */
static bool
is_unchanged(Team *team, const HeapPage *page)
{
	ValidateShared *shared = team->shared;
	XLogRecPtr	lsn = BufferIsValid(page->buffer) ?
		BufferGetLSNAtomic(page->buffer) : PageGetLSN(page->page);

	if (!marks_has(team->marks, page->block, MARK_COMPARE) &&
		lsn <= team->marks->begin)
		return true;
	marks_set(team->marks, page->block, MARK_COMPARE);
	pg_atomic_write_u32(&shared->changed, true);
	return false;
}

/*
 * Put the rows of this process's part of the table.  No process may leave a
 * share of a small table to a worker that starts late: that worker reads none.
 */
static void
put_rows(Team *team)
{
	HeapJudge	judge = {
		.heap = ((Build *) team)->heap,
		.progress = team->is_leader,
		.total_param = PROGRESS_SCAN_BLOCKS_TOTAL,
		.done_param = PROGRESS_SCAN_BLOCKS_DONE,
		.find_roots = true,
		.wanted = team->marks
	};
	bool		judged;

	heapjudge_begin(&judge, team->scan, team->snapshot);
	while (heapjudge_next(&judge, &judged))
	{
		if (is_unchanged(team, &judge.here))
			continue;
		for (int i = 0; i < judge.nitems; i++)
		{
			OffsetNumber offset = judge.offsets[i];
			ItemPointerData tid;

			if (HeapTupleHeaderIsHeapOnly(heapjudge_header(&judge, offset)))
				offset = judge.roots[offset - 1];
			ItemPointerSet(&tid, judge.here.block, offset);
			put_record(team, &tid, IS_ROW);
			pgstat_count_heap_getnext(judge.heap);
		}
		team->slot->rows += judge.nitems;
	}
	heapjudge_end(&judge);
	team->slot->blocks = judge.pages;
}

/* IndexBulkDeleteCallback that deletes nothing: put an entry. */
static bool
put_entry(ItemPointer tid, void *team)
{
	if (marks_has(((Team *) team)->marks, ItemPointerGetBlockNumber(tid),
				  MARK_COMPARE))
		put_record(team, tid, 0);
	return false;
}

/* Put the entries of a btree page, without a lock or a pin. */
static void
put_leaf(Team *team, BlockNumber block, BufferAccessStrategy strategy)
{
	PGAlignedBlock copy;
	Page		page = (Page) copy.data;

	CHECK_FOR_INTERRUPTS();
	pageread_buffer(copy.data, block, ((Build *) team)->index, strategy);
	work_count(WORK_BLOCKS, 1);
	if (PageIsNew(page) || !P_ISLEAF(BTPageGetOpaque(page)) ||
		P_IGNORE(BTPageGetOpaque(page)))
		return;
	for (OffsetNumber offset = P_FIRSTDATAKEY(BTPageGetOpaque(page));
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		IndexTuple	tuple = (IndexTuple)
			PageGetItem(page, PageGetItemId(page, offset));
		int			n = BTreeTupleIsPosting(tuple) ?
			BTreeTupleGetNPosting(tuple) : 1;

		for (int i = 0; i < n; i++)
			(void) put_entry(BTreeTupleGetHeapTID(tuple) + i, team);
	}
}

/*
 * Put the entries of this process's part of a btree index.  A split moves
 * entries to a new page, which is always behind the end of the file: only
 * VACUUM makes pages reusable, and it conflicts with the statement's lock.  So
 * after the participants read all pages that were there before, one process
 * reads the new ones, until it sees the end of the file.
 */
static void
put_leaves(Team *team)
{
	ValidateShared *shared = team->shared;
	Relation	index = ((Build *) team)->index;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber end = shared->nblocks;
	BlockNumber block;

	while ((block = pg_atomic_fetch_add_u32(&shared->next,
											PAGEREAD_MOST)) < end)
	{
		for (int i = 0; i < PAGEREAD_MOST && block < end; i++)
			put_leaf(team, block++, strategy);
		throttle_point();
	}
	if (BarrierArriveAndWait(&shared->barrier,
							 WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN))
		for (block = end; block < RelationGetNumberOfBlocks(index); block++)
			put_leaf(team, block, strategy);
	FreeAccessStrategy(strategy);
}

/* TeamKind.fill.  A worker may start after the others finished a phase. */
static void
validate_fill(Team *team)
{
	ValidateShared *shared = team->shared;
	int			phase = BarrierAttach(&shared->barrier);

	if (phase == 0)
	{
		put_rows(team);
		fault_point("validate: table read");
		(void) BarrierArriveAndWait(&shared->barrier,
									WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	if (phase > 1 || !pg_atomic_read_u32(&shared->changed))
		return;
	if (team->is_leader)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE,
									 PROGRESS_CREATEIDX_PHASE_VALIDATE_IDXSCAN);
	fault_point("validate: index");
	if (((Build *) team)->index->rd_rel->relam == BTREE_AM_OID)
		put_leaves(team);
	else if (team->is_leader)
	{
		/* the server's code follows splits, and empties GIN's pending list */
		throttle_hold(true);
		(void) validate_bulkdelete(((Build *) team)->index)
			(&((Validator *) team)->validation->request, NULL, put_entry,
			 team);
		throttle_hold(false);
	}
}


/*
 * The missing rows
 */

/*
 * Insert the row whose version chain begins at this place, by the rules of the
 * server's heapam_index_validate_scan().  Even a row that is dead by now needs
 * the check of uniqueness: it stands for its chain, whose live version has no
 * entry of its own.  The slot gets a copy, so that no pin remains while
 * index_insert() waits for another transaction.
 */
static void
insert_row(Validator *self, ItemPointer root)
{
	Validation *validation = self->validation;
	IndexInfo  *info = validation->index_info;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid = *root;
	bool		again = false;

	ResetPerTupleExprContext(self->estate);
	if (!table_index_fetch_tuple(self->fetch, &tid, validation->snapshot,
								 self->slot, &again, NULL))
		elog(ERROR, "found no visible version of the row at (%u,%u)",
			 ItemPointerGetBlockNumber(root), ItemPointerGetOffsetNumber(root));
	ExecMaterializeSlot(self->slot);
	table_index_fetch_reset(self->fetch);
	if (!ExecQual(self->predicate, GetPerTupleExprContext(self->estate)))
		return;
	FormIndexDatum(info, self->slot, self->estate, values, isnull);
	(void) index_insert(validation->index, values, isnull, root,
						validation->heap, info->ii_Unique ?
						UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
	validation->inserted++;
	fault_point("validate: row inserted");
}

/* TeamKind.read: insert the rows whose records follow no entry's. */
static void
validate_read(Team *team)
{
	Validator  *self = (Validator *) team;
	IndexInfo  *info = self->validation->index_info;
	uint64		previous = PG_UINT64_MAX;
	uint64		count = 0;
	const uint64 *record;

	self->estate = CreateExecutorState();
	self->slot = table_slot_create(self->validation->heap, NULL);
	self->predicate = ExecPrepareQual(info->ii_Predicate, self->estate);
	self->fetch = pt_index_fetch_begin(self->validation->heap);
	GetPerTupleExprContext(self->estate)->ecxt_scantuple = self->slot;
	while ((record = sort_next_entry(team->sort, true)) != NULL)
	{
		uint64		tid = record[0] >> 1;
		ItemPointerData root;

		ItemPointerSet(&root, (BlockNumber) (tid >> 16), (OffsetNumber) tid);
		if ((record[0] & IS_ROW) != 0 && previous != tid)
			insert_row(self, &root);
		previous = tid;
		if (++count % POINT == 0)
		{
			CHECK_FOR_INTERRUPTS();
			work_count(WORK_READ, POINT);
			throttle_point();
		}
	}
	table_index_fetch_end(self->fetch);
	ExecDropSingleTupleTableSlot(self->slot);
	FreeExecutorState(self->estate);
	/* these states pointed into the freed executor state */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
}


/*
 * The team
 */

static Size
validate_shared_size(Team *team, int processes, int slices)
{
	return sizeof(ValidateShared);
}

static void
validate_shared_init(Team *team, int processes, int slices)
{
	ValidateShared *shared = team->shared;

	BarrierInit(&shared->barrier, 0);
	pg_atomic_init_u32(&shared->changed, false);
	pg_atomic_init_u32(&shared->next, BTREE_METAPAGE + 1);
	shared->nblocks = RelationGetNumberOfBlocks(((Build *) team)->index);
}

static void
validate_enter_phase(Team *team, TeamPhase phase)
{
	int64		value = phase == TEAM_SORTS ?
		PROGRESS_CREATEIDX_PHASE_VALIDATE_SORT :
		PROGRESS_CREATEIDX_PHASE_VALIDATE_TABLESCAN;

	if (team->is_leader)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE, value);
}

static const TeamKind validate_kind = {
	.worker_main = "ptsort_validate_worker_main",
	.open = build_open,
	.close = build_close,
	.begin = validate_begin,
	.fill = validate_fill,
	.read = validate_read,
	.shared_size = validate_shared_size,
	.shared_init = validate_shared_init,
	.enter_phase = validate_enter_phase
};

TEAM_WORKER_MAIN(ptsort_validate_worker_main, Validator, validate_kind);

void
validate_run(Validation *validation, int workers)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort validation",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Validator  *self = palloc0(sizeof(Validator));
	Team	   *team = &self->base.team;
	PtParallelRequest request = {
		.table = validation->heap,
		.index = validation->index,
		.index_info = validation->index_info,
		.snapshot = validation->snapshot,
		.budget = (int64) maintenance_work_mem * 1024
	};

	self->validation = validation;
	fault_point("validate: begin");
	build_init(&self->base, &validate_kind, &request);
	self->base.about.job = validation->job;
	team->expected = validation->job.rows;
	team->marks = validation->pages;
	team->budget -= Min(2 * marks_size(team->marks->nblocks), team->budget);
	/* a leader that rests would not read a GiST index */
	team_sort(team, ptsort_debug.leader_participates ? workers : 0);
	team_wait(team);
	team_end_parallel(team);
	validation->participants = team->participants;
	for (int i = 0; i <= team->launched; i++)
	{
		validation->pages_read += team->slots[i].blocks;
		validation->rows += team->slots[i].rows;
		validation->entries += team->slots[i].put - team->slots[i].rows;
	}
	if (validation->pages_read != validation->pages_to_read)
		elog(ERROR, "validation read " INT64_FORMAT " of " INT64_FORMAT " pages",
			 validation->pages_read, validation->pages_to_read);
	team_read(team);
	team_finish(team);
	team_leave(team);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
