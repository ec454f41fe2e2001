/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Validates an index that CONCURRENTLY built; see validate.h.
 *
 * The participants first read the table, and mark the pages that changed
 * (MARK_COMPARE).  They wait for each other, because only then it is known
 * which entries to compare, and then read the index.  If no page changed, they
 * do not read it.  The leader reads the sorted records and inserts the missing
 * rows, after the workers' end, because it must not write rows beside them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "access/gist_private.h"
#include "access/visibilitymap.h"
#include "catalog/pg_am_d.h"
#include "debug.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"
#include "storage/barrier.h"
#include "team/heapjudge.h"
#include "throttle/throttle.h"
#include "util.h"
#include "utils/memutils.h"
#include "validate/validate.h"

/* The word of a record: the TID, and 1 for a row or 0 for an entry */
#define IS_ROW			UINT64CONST(1)

/* Number of records between two points at which the leader may pause */
#define POINT			256

/* ValidateShared: what the participants share, beside Team.marks */
typedef struct ValidateShared
{
	Barrier		table_read;
	pg_atomic_uint32 changed;	/* true if any page must be compared */
	pg_atomic_uint32 next;		/* next part of the index to read */
	LeafParts	parts;			/* of a btree index */
} ValidateShared;

/* Validator: one process's part of a validation. */
typedef struct Validator
{
	Build		base;			/* must be first */

	/* Leader */
	BuildInfo	info;
	const ValidateRequest *request;
	ValidateResult *result;
} Validator;


/*
 * The plan
 */

/* Number of the table's blocks that a page of the visibility map describes */
#define MAP_BLOCKS \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BITS_PER_BYTE / \
	 BITS_PER_HEAPBLOCK)

/*
 * True if no bit of a page of the visibility map was set since the build's
 * scan.  The lock makes sure that a process that set a bit also set the LSN.
 */
static bool
map_is_older(Buffer map, const Marks *marks)
{
	bool		result;

	if (!PT_READS_SET_VISIBILITY || !BufferIsValid(map))
		return true;
	LockBuffer(map, BUFFER_LOCK_SHARE);
	result = PageGetLSN(BufferGetPage(map)) <= marks->begin;
	LockBuffer(map, BUFFER_LOCK_UNLOCK);
	return result;
}

/* Plan for the blocks that one page of the visibility map describes. */
static void
plan_blocks(ValidatePlan *plan, Relation heap, const Marks *marks,
			BlockNumber from, BlockNumber end)
{
	Buffer		map = InvalidBuffer;
	bool		trusts_map = !PT_READS_SET_VISIBILITY || RelationNeedsWAL(heap);

	for (BlockNumber block = from; block < end && trusts_map; block++)
		if (!marks_has(marks, block, MARK_VISIBLE) ||
			!VM_ALL_VISIBLE(heap, block, &map))
			marks_set(plan->pages, block, MARK_READ);
	trusts_map &= map_is_older(map, marks);
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	for (BlockNumber block = from; block < end; block++)
	{
		if (!trusts_map)
			marks_set(plan->pages, block, MARK_READ);
		if (!marks_has(plan->pages, block, MARK_READ))
			continue;
		plan->nread++;
		/* only WAL moves a page's LSN */
		if (RelationNeedsWAL(heap) && marks_has(marks, block, MARK_INDEXED))
			continue;
		marks_set(plan->pages, block, MARK_COMPARE);
		plan->ncompared++;
	}
}

void
validate_plan(ValidatePlan *plan, Relation heap, const Marks *marks)
{
	memset(plan, 0, sizeof(ValidatePlan));
	plan->pages = marks_create(heap, SIZE_MAX);
	plan->pages->begin = marks->begin;
	for (BlockNumber from = 0; from < plan->pages->nblocks; from += MAP_BLOCKS)
	{
		CHECK_FOR_INTERRUPTS();
		plan_blocks(plan, heap, marks, from,
					Min(plan->pages->nblocks - from, MAP_BLOCKS) + from);
	}
}


/*
 * The records
 */

static const SortVariant record_variant = {
	.base = {.name = "place of a row or an entry",.inline_image = true}
};

static PtSort *
validate_begin(Team *team, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort places",
												  ALLOCSET_DEFAULT_SIZES);

	return sort_begin_own(&record_variant, NULL, NULL, 1, context, options);
}

static inline void
put_record(Team *team, const ItemPointerData *tid, uint64 kind)
{
	uint64		entry[] = {pt_tid_word(tid) << 1 | kind, 0};

	sort_put_entry(team->sort, entry);
}

/* HeapBlockFilter */
static bool
wants(BlockNumber block, void *team)
{
	return marks_has(((Team *) team)->marks, block, MARK_READ);
}

/* HeapJudge.ignores: true if the page did not change since the build's scan */
static bool
is_unchanged(const HeapPage *page, void *arg)
{
	Team	   *team = arg;
	ValidateShared *shared = team->shared;

	if (!marks_has(team->marks, page->block, MARK_COMPARE) &&
		(BufferIsValid(page->buffer) ? BufferGetLSNAtomic(page->buffer) :
		 PageGetLSN(page->page)) <= team->marks->begin)
		return true;
	marks_set(team->marks, page->block, MARK_COMPARE);
	pg_atomic_write_u32(&shared->changed, true);
	return false;
}

/* Put the rows of this process's part of the table. */
static void
put_rows(Team *team)
{
	TeamSlot   *slot = team->slot;
	HeapJudge	judge = {
		.heap = ((Validator *) team)->base.heap,
		.progress = team->is_leader,
		.total_param = PROGRESS_SCAN_BLOCKS_TOTAL,
		.done_param = PROGRESS_SCAN_BLOCKS_DONE,
		.find_roots = true,
		.shares = team_shares(team),
		.wants = wants,
		.ignores = is_unchanged,
		.arg = team
	};
	bool		judged;

	heapjudge_begin(&judge, team->scan, team->snapshot);
	while (heapjudge_next(&judge, &judged))
	{
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
		slot->rows += judge.nitems;
	}
	heapjudge_end(&judge);
	slot->blocks = judge.pages;
}

/* LeafReader */
static void
put_entries(const ItemPointerData *tids, int n, void *team)
{
	const Marks *marks = ((Team *) team)->marks;

	for (int i = 0; i < n; i++)
		if (marks_has(marks, ItemPointerGetBlockNumberNoCheck(&tids[i]),
					  MARK_COMPARE))
			put_record(team, &tids[i], 0);
}

/* IndexBulkDeleteCallback that deletes nothing */
static bool
put_gist_entry(ItemPointer tid, void *team)
{
	put_entries(tid, 1, team);
	return false;
}

/* The server's code knows how to follow the splits of GiST pages. */
static void
read_gist(Team *team)
{
	Build	   *build = (Build *) team;
	IndexVacuumInfo info = pt_validation_info(build->heap, build->index);

	throttle_hold(true);
	(void) gistbulkdelete(&info, NULL, put_gist_entry, team);
	throttle_hold(false);
}

/* Put this process's part of the entries that point to compared pages. */
static void
read_index(Team *team)
{
	Relation	index = ((Build *) team)->index;
	ValidateShared *shared = team->shared;
	bool		is_gist = index->rd_rel->relam == GIST_AM_OID;
	int			nparts = is_gist ? 1 : shared->parts.n;
	int			part;

	if (team->is_leader)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE,
									 PROGRESS_CREATEIDX_PHASE_VALIDATE_IDXSCAN);
	while ((part = pg_atomic_fetch_add_u32(&shared->next, 1)) < nparts)
	{
		fault_point("validate: part of the index");
		if (is_gist)
			read_gist(team);
		else
			leaves_read(index, &shared->parts, part, put_entries, team);
	}
}

/* TeamKind.fill */
static void
validate_fill(Team *team)
{
	ValidateShared *shared = team->shared;

	/* a worker may start after the others read the table */
	if (BarrierAttach(&shared->table_read) == 0)
	{
		put_rows(team);
		fault_point("validate: table read");
		(void) BarrierArriveAndWait(&shared->table_read,
									WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	if (pg_atomic_read_u32(&shared->changed))
		read_index(team);
}


/*
 * The missing rows
 */

/* TeamKind.read: insert each row whose record is not after that of an entry. */
static void
validate_insert(Team *team)
{
	Validator  *self = (Validator *) team;
	Inserter   *inserter = insert_begin(self->request);
	uint64		previous = PG_UINT64_MAX;
	uint64		count = 0;
	const uint64 *record;

	while ((record = sort_next_entry(team->sort, true)) != NULL)
	{
		uint64		tid = record[0] >> 1;
		ItemPointerData root;

		if ((record[0] & IS_ROW) != 0 && previous != tid)
		{
			ItemPointerSet(&root, (BlockNumber) (tid >> 16),
						   (OffsetNumber) tid);
			self->result->inserted += insert_row(inserter, &root);
			fault_point("validate: row inserted");
		}
		previous = tid;
		if (++count % POINT == 0)
		{
			CHECK_FOR_INTERRUPTS();
			work_count(WORK_READ, POINT);
			throttle_point();
		}
	}
	insert_end(inserter);
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
	Relation	index = ((Build *) team)->index;

	BarrierInit(&shared->table_read, 0);
	pg_atomic_init_u32(&shared->changed, false);
	pg_atomic_init_u32(&shared->next, 0);
	shared->parts.n = 0;
	if (index->rd_rel->relam == BTREE_AM_OID)
		leaves_divide(index, &shared->parts);
}

static void
validate_enter_phase(Team *team, TeamPhase phase)
{
	static const int64 phases[] = {
		[TEAM_FILLS] = PROGRESS_CREATEIDX_PHASE_VALIDATE_TABLESCAN,
		[TEAM_SORTS] = PROGRESS_CREATEIDX_PHASE_VALIDATE_SORT,
		[TEAM_READS] = PROGRESS_CREATEIDX_PHASE_VALIDATE_TABLESCAN
	};

	if (team->is_leader)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE, phases[phase]);
}

static const TeamKind validate_kind = {
	.open = build_open,
	.close = build_close,
	.begin = validate_begin,
	.fill = validate_fill,
	.read = validate_insert,
	.shared_size = validate_shared_size,
	.shared_init = validate_shared_init,
	.enter_phase = validate_enter_phase
};

TEAM_WORKER_MAIN(ptsort_validate_worker_main, Validator, validate_kind);

/* Describe the work: pages to read, and records of 8 bytes to sort. */
static void
describe(Validator *self, const ValidatePlan *plan)
{
	Team	   *team = &self->base.team;
	Job		   *job = &self->base.about.job;
	double		part = plan->nread / (double) plan->pages->nblocks;

	job->validates = true;
	job->key = JOB_FIXED;
	job->rows *= 2 * part;		/* rows and entries */
	job->row_bytes = 0;			/* most need no insertion */
	job->long_bytes = 0;
	job->blocks = plan->nread;
	if (plan->ncompared > 0)
		job->blocks += RelationGetNumberOfBlocks(self->base.index);
	team->expected = job->rows;
}

static void
run(Validator *self, const ValidateRequest *request)
{
	Team	   *team = &self->base.team;
	PtParallelRequest what = {
		.table = request->heap,
		.index = request->index,
		.index_info = request->index_info,
		.snapshot = request->snapshot,
		.budget = (int64) maintenance_work_mem * 1024
	};

	/* processes share a copy of the plan */
	what.budget -= Min(2 * marks_size(request->plan->pages->nblocks),
					   what.budget);
	build_init(&self->base, &validate_kind, &what, &self->info,
			   sizeof(self->info));
	describe(self, request->plan);
	team->worker_main = "ptsort_validate_worker_main";
	team->marks = request->plan->pages;
	team_sort(team, request->workers);
	team_wait(team);
	team_end_parallel(team);
	team_read(team);
	team_finish(team);
	self->result->participants = team->participants;
	for (int i = 0; i <= team->launched; i++)
	{
		self->result->pages += team->slots[i].blocks;
		self->result->rows += team->slots[i].rows;
		self->result->entries += team->slots[i].put - team->slots[i].rows;
	}
	team_leave(team);
}

void
validate_run(const ValidateRequest *request, ValidateResult *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort validation",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Validator  *self = palloc0(sizeof(Validator));

	memset(result, 0, sizeof(ValidateResult));
	result->participants = 1;
	self->request = request;
	self->result = result;
	fault_point("validate: begin");
	if (request->plan->nread > 0)
		run(self, request);
	fault_point("validate: end");
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
