/*-------------------------------------------------------------------------
 *
 * tablecopy.c
 *	  Copies a table, for CLUSTER, VACUUM FULL and REPACK.
 *
 * In a sorted copy, the processes of a team (team.h) scan the old table and
 * sort the table's row versions, including their headers (copyscan.c).  In most
 * cases, each process then reads slices of the result and writes their pages
 * (copywrite.c).
 *
 * Without an index, or if the rows seem to be in its order already, each
 * process reads slices of the old table and writes their row versions, while
 * the team is in the phase of the scan.  The team's sort remains empty, but may
 * prove the order of the rows.
 *
 * The server's own functions (rewriteheap.c or, for REPACK (CONCURRENTLY),
 * heap_insert) must write row versions that need TOAST or must keep links to
 * each other (copyscan.c), and those of a table that logical decoding reads as
 * a catalog.  The functions work in one process only.  So in a sorted copy, the
 * leader reads all slices, and the workers read none.  In another copy, the
 * leader copies the rest of the table after the other processes ended.
 *
 * The workers judge row versions as the leader does: they have the leader's
 * horizon and cutoffs, and parallel mode gives them the leader's transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/rewriteheap.h"
#include "catalog/catalog.h"
#include "catalog/storage.h"
#include "copy/copy.h"
#include "debug.h"
#include "throttle/throttle.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"
#include "write/buildreport.h"

/* 1/PAGES_PART of a sort's budget is for pages whose place is not known yet. */
#define PAGES_PART		2

/* CopyInfo: what the workers of a copy must know. */
typedef struct CopyInfo
{
	Oid			old_id;
	Oid			new_id;
	Oid			index_id;		/* or InvalidOid */
	bool		sorts;
	CopyRules	rules;			/* copy_open replaces the relations */
} CopyInfo;

/* Copier: the state of one process of a copy. */
typedef struct Copier
{
	Team		team;			/* must be first */
	CopyRules	rules;
	Relation	index;			/* its order, or NULL: any */
	const BtBuildRequest *request;	/* set in the leader only */
	bool		started;		/* leader: true if it logged the start line */
	int			unreported;		/* row versions to add to CopyShared.written */
	uint64		rows;			/* without a sort: that this process copied */
	CopyWriter *writer;			/* leader: kept until all slices are written;
								 * NULL if the server's functions write them */
} Copier;

/* ServerWriter: the server's functions that write row versions. */
typedef struct ServerWriter
{
	const CopyRules *rules;
	BulkInsertState inserts;	/* for new rows */
	RewriteState rewrite;		/* for others */
	uint64		guarded;		/* bytes of WAL for which there was space */
	BlockNumber before;			/* blocks that other functions wrote */
} ServerWriter;

static Size
copy_shared_size(Team *team, int processes, int slices)
{
	return sizeof(CopyShared);
}

/*
 * Divide the blocks of the old table into slices: several for each process, of
 * many blocks, because the last page of a slice is half full on average.
 */
static void
divide_blocks(CopyShared *shared, Relation old_heap, int processes)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(old_heap);
	BlockNumber share = nblocks / (processes * SLICES_EACH);
	BlockNumber each = processes == 1 ? nblocks :
		Min(Max(share, PAGEWRITE_BATCH), COPY_SLICE_BLOCKS);

	shared->nblocks = shared->rest = nblocks;
	shared->slice_blocks = each;
	shared->nslices = nblocks / each + (nblocks % each > 0 ? 1 : 0);
}

static void
copy_shared_init(Team *team, int processes, int slices)
{
	CopyShared *shared = team->shared;
	Copier	   *self = (Copier *) team;
	const CopyRules *rules = &self->rules;
	bool		is_catalog =
		RelationIsAccessibleInLogicalDecoding(rules->old_heap);

	pagewrite_init_shared(&shared->file, rules->new_heap, processes, 0);
	pg_atomic_init_u64(&shared->copied, 0);
	pg_atomic_init_u64(&shared->dead, 0);
	pg_atomic_init_u64(&shared->recently_dead, 0);
	pg_atomic_init_u32(&shared->linked, is_catalog ? 1 : 0);
	pg_atomic_init_u64(&shared->written, 0);
	shared->nslices = slices;
	pg_atomic_init_u32(&shared->disorder, 0);
	if (!self->team.slices)
		divide_blocks(shared, rules->old_heap, processes);
	pg_atomic_init_u64(&shared->filled, 0);
	pg_atomic_init_u32(&shared->next_slice, 0);
	pg_atomic_init_u32(&shared->last_slice, shared->nslices);
}


static void
say_start(const Copier *self)
{
	const char *order = self->index == NULL ? "its blocks" :
		psprintf("index \"%s\"%s", RelationGetRelationName(self->index),
				 self->team.slices ? "" : ", as its blocks are");

	if (message_level_is_interesting(buildreport_log_level()))
		ereport(buildreport_log_level(),
				(errmsg("ptsort: copying table \"%s\" in the order of %s: %s",
						RelationGetRelationName(self->rules.old_heap), order,
						buildreport_describe(&self->team, self->request->source,
											 self->index))));
}

/* Returns which functions wrote the copy. */
static const char *
describe_writers(const Copier *self)
{
	const CopyShared *shared = self->team.shared;

	if (self->writer == NULL || (!self->team.slices && shared->rest == 0))
		return "the server's functions";
	if (!self->team.slices && shared->rest < shared->nblocks)
		return psprintf("all of them, from block %u the server's functions",
						shared->rest);
	return "all of them";
}

static void
say_end(const Copier *self, double copied, double elapsed_ms)
{
	ereport(buildreport_log_level(),
			(errmsg("ptsort: copied table \"%s\": %s, %.0f rows, %.1f ms, written by %s",
					RelationGetRelationName(self->rules.old_heap),
					buildreport_count(self->team.participants), copied,
					elapsed_ms, describe_writers(self))));
}


/* A sort without rows, for a copy without an index */
static const SortVariant no_rows = {
	.base = {.name = "nothing",.inline_image = true}
};

/* If the sort will read slices, reserve a part of its budget for pages. */
static PtSort *
copy_begin(Team *team, const PtSortOptions *options)
{
	Copier	   *self = (Copier *) team;
	PtSortOptions own = *options;

	if (team->is_leader && !self->started)
	{
		say_start(self);
		self->started = true;
	}
	if (self->index == NULL)
		return sort_begin_records(&no_rows, options);
	if (own.role == PTSORT_SLICE || own.role == PTSORT_SLICE_LEADER)
		own.budget -= own.budget / PAGES_PART;
	return variant_begin_heap(RelationGetDescr(self->rules.old_heap),
							  self->index, &own);
}

static void
put_sort(void *sort, HeapTuple tuple)
{
	variant_put_heap(sort, tuple);
}

static void
copy_fill(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyWriter *writer;

	if (self->team.slices)
	{
		(void) copyscan(&self->rules, team, put_sort, team->sort);
		return;
	}
	/* a slice may grow, as rows get values of added columns */
	writer = copywrite_begin(&self->rules, team,
							 Min(team->budget / team->processes,
								 2 * COPY_SLICE_BLOCKS * BLCKSZ));
	self->rows = copyscan_blocks(&self->rules, team, writer,
								 self->index != NULL);
	if (team->is_leader)
		self->writer = writer;
	else
		team->slot->pages = copywrite_end(writer);
}

/*
 * Returns the next row version of a slice, or NULL.  Counts row versions in
 * CopyShared.written, PAGEWRITE_STEP at a time; the leader reports the count
 * as progress.
 */
static inline HeapTuple
next_row(Copier *self)
{
	HeapTuple	tuple = variant_get_heap(self->team.sort, true);

	if (tuple == NULL || ++self->unreported == PAGEWRITE_STEP)
	{
		CopyShared *shared = self->team.shared;
		uint64		written = pg_atomic_add_fetch_u64(&shared->written,
													  self->unreported);

		work_count(WORK_READ, self->unreported);
		self->unreported = 0;
		CHECK_FOR_INTERRUPTS();
		/* the server's functions have no points at which they pause */
		throttle_point();
		if (self->team.is_leader)
			pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_INSERTED,
										 written);
	}
	return tuple;
}

static void
write_slices(Copier *self)
{
	Team	   *team = &self->team;
	Size		memory = team->budget / team->processes / PAGES_PART;
	CopyWriter *writer = copywrite_begin(&self->rules, team, memory);
	HeapTuple	tuple;
	int			slice;

	while (sort_next_slice(team->sort, &slice))
	{
		copywrite_begin_slice(writer, slice);
		while ((tuple = next_row(self)) != NULL)
		{
			copywrite_add(writer, tuple);
			copywrite_point(writer);
		}
		(void) copywrite_end_slice(writer);
	}
	if (team->is_leader)
		self->writer = writer;
	else
		team->slot->pages = copywrite_end(writer);
}

/*
 * New rows are in order here.  In the server's own copy they are not quite in
 * order, because it uses the free space map.
 */
static void
begin_server(ServerWriter *writer, const CopyRules *rules)
{
	memset(writer, 0, sizeof(ServerWriter));
	writer->rules = rules;
	writer->guarded = pgWalUsage.wal_bytes;
	writer->before = RelationGetNumberOfBlocks(rules->new_heap);
	if (copy_makes_new_rows(rules))
		writer->inserts = GetBulkInsertState();
	else
		writer->rewrite = begin_heap_rewrite(rules->old_heap, rules->new_heap,
											 rules->oldest_xmin,
											 rules->freeze_xid,
											 rules->cutoff_multi);
}

static void
put_server(void *arg, HeapTuple tuple)
{
	ServerWriter *writer = arg;
	const CopyRules *rules = writer->rules;
	HeapTuple	copy = heap_copytuple(tuple);	/* the server modifies it */

	if (writer->inserts)
		heap_insert(rules->new_heap, copy, rules->command,
					HEAP_INSERT_NO_LOGICAL | HEAP_INSERT_SKIP_FSM,
					writer->inserts);
	else
		rewrite_heap_tuple(writer->rewrite, tuple, copy);
	heap_freetuple(copy);
	if (pgWalUsage.wal_bytes > writer->guarded + PAGEWRITE_WAL)
	{
		writer->guarded = pgWalUsage.wal_bytes;
		space_take_wal(PAGEWRITE_WAL);
	}
}

/* Returns the number of pages written. */
static int64
end_server(ServerWriter *writer)
{
	if (writer->inserts)
		FreeBulkInsertState(writer->inserts);
	else
		end_heap_rewrite(writer->rewrite);
	return RelationGetNumberOfBlocks(writer->rules->new_heap) - writer->before;
}

/* Leader: write all slices of the sort with the server's functions. */
static void
write_by_server(Copier *self)
{
	ServerWriter writer;
	HeapTuple	tuple;
	int			slice;

	begin_server(&writer, &self->rules);
	while (sort_next_slice(self->team.sort, &slice))
	{
		while ((tuple = next_row(self)) != NULL)
			put_server(&writer, tuple);
	}
	self->team.slot->pages = end_server(&writer);
}

/* Leader: after all participants copied slices of the old table, end. */
static void
finish_blocks(Copier *self)
{
	Team	   *team = &self->team;
	CopyShared *shared = team->shared;
	ServerWriter writer;

	/* a leader that rests has no writer yet */
	if (self->writer == NULL)
		self->writer = copywrite_begin(&self->rules, team, 0);
	team->slot->pages = copywrite_finish(self->writer);
	if (shared->rest == shared->nblocks ||
		pg_atomic_read_u32(&shared->disorder) != 0)
		return;
	begin_server(&writer, &self->rules);
	self->rows += copyscan(&self->rules, team, put_server, &writer);
	team->slot->pages += end_server(&writer);
}

static void
copy_write(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyShared *shared = team->shared;

	if (!self->team.slices)
		finish_blocks(self);
	else if (pg_atomic_read_u32(&shared->linked) == 0)
		write_slices(self);
	else if (team->is_leader)
		write_by_server(self);
}

static void
copy_enter_phase(Team *team, TeamPhase phase)
{
	static const int64 phases[] = {
		[TEAM_FILLS] = PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP,
		[TEAM_SORTS] = PROGRESS_REPACK_PHASE_SORT_TUPLES,
		[TEAM_READS] = PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP
	};

	CopyShared *shared = team->shared;
	bool		sorts = team->slices;

	if (!team->is_leader)
		return;
	if (phase == TEAM_READS)
	{
		/* include tuples that workers scanned after the last report */
		int64		copied = pg_atomic_read_u64(&shared->copied);

		pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_SCANNED,
									 copied);
	}
	if (sorts || phase == TEAM_FILLS)
		pgstat_progress_update_param(PROGRESS_REPACK_PHASE, phases[phase]);
}

static void
copy_open(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyRules  *rules = &self->rules;
	const CopyInfo *info = team->info;

	team->slices = info->sorts;
	*rules = info->rules;

	/*
	 * The leader's locks protect the relations from other transactions, so
	 * the workers need only the locks that opening a relation requires.
	 */
	rules->old_heap = table_open(info->old_id, AccessShareLock);
	rules->new_heap = table_open(info->new_id, RowExclusiveLock);
	if (OidIsValid(info->index_id))
		self->index = index_open(info->index_id, AccessShareLock);
}

/* If the copy did not sort the rows, the sort's own statistics are empty. */
static void
count_rows(Copier *self)
{
	PtSortStats *stats = &self->team.slot->stats.sort;

	if (self->team.slices)
		return;
	stats->tuples = self->rows;
	stats->peak_memory = MemoryContextMemAllocated(CurrentMemoryContext, true);
}

static void
copy_close(Team *team)
{
	Copier	   *self = (Copier *) team;

	count_rows(self);
	if (self->index != NULL)
		index_close(self->index, AccessShareLock);
	table_close(self->rules.new_heap, RowExclusiveLock);
	table_close(self->rules.old_heap, AccessShareLock);
}

static const TeamKind copy_kind = {
	.worker_main = "ptsort_copy_worker_main",
	.open = copy_open,
	.close = copy_close,
	.begin = copy_begin,
	.fill = copy_fill,
	.read = copy_write,
	.shared_size = copy_shared_size,
	.shared_init = copy_shared_init,
	.enter_phase = copy_enter_phase
};

/* Leader, at the end: add up, log and publish what the copy did. */
static void
report(const Copier *self, CopyCounts *counts, double elapsed_ms)
{
	CopyShared *shared = self->team.shared;

	counts->copied = pg_atomic_read_u64(&shared->copied);
	counts->dead = pg_atomic_read_u64(&shared->dead);
	counts->recently_dead = pg_atomic_read_u64(&shared->recently_dead);
	pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_INSERTED,
								 counts->copied);
	buildreport_publish(BUILD_REPORT_COPY, self->index, &self->team, false);
	say_end(self, counts->copied, elapsed_ms);
}

bool
tablecopy_run(const CopyRules *rules, Relation index, bool sorts,
			  const BtBuildRequest *request, CopyCounts *counts)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort table copy",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CopyInfo	info = {
		.old_id = RelationGetRelid(rules->old_heap),
		.new_id = RelationGetRelid(rules->new_heap),
		.index_id = index == NULL ? InvalidOid : RelationGetRelid(index),
		.sorts = sorts,
		.rules = *rules
	};
	WorkAbout	about;
	Copier		self = {
		.team = {
			.kind = &copy_kind,
			.slices = sorts,
			.info = &info,
			.info_size = sizeof(info),
			.budget = (int64) maintenance_work_mem * 1024,
			.is_leader = true,
			.table = rules->old_heap,
			.about = &about,
			.snapshot = rules->snapshot != NULL ? rules->snapshot : SnapshotAny
		},
		.rules = *rules,
		.index = index,
		.request = request
	};
	Team	   *team = &self.team;
	CopyShared *shared;
	bool		in_order;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	work_describe(&about, true, rules->old_heap, sorts ? index : NULL,
				  team->budget);
	team_sort(team, request->workers);
	team_read(team);
	team_wait(team);
	team_check_read(team, "copy_write");
	shared = team->shared;
	if (self.writer != NULL && sorts)
		team->slot->pages = copywrite_finish(self.writer);
	count_rows(&self);
	team_finish(team);
	fault_point("tablecopy: written");

	in_order = pg_atomic_read_u32(&shared->disorder) == 0;
	if (in_order)
		report(&self, counts, pt_ms_since(start));
	team_leave(team);
	if (!in_order)
		RelationTruncate(rules->new_heap, 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return in_order;
}


TEAM_WORKER_MAIN(ptsort_copy_worker_main, Copier, copy_kind);
