/*-------------------------------------------------------------------------
 *
 * tablecopy.c
 *	  Copies a table in the order of one of its indexes, for CLUSTER and REPACK.
 *
 * The processes of a team (team.h) scan the old table and sort the table's row
 * versions, including their headers (copyscan.c).  In most cases, each process
 * then reads slices of the result and writes their pages (copywrite.c).
 *
 * The server's own functions (rewriteheap.c or, for REPACK (CONCURRENTLY),
 * heap_insert) must write all row versions if logical decoding reads the table
 * as a catalog, or if the scan found row versions that need TOAST or must keep
 * links to each other (copyscan.c).  The functions work in one process only, so
 * the leader reads all slices, and the workers read none.
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
#include "copy/copy.h"
#include "debug.h"
#include "throttle/throttle.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"
#include "write/buildreport.h"

/* 1/PAGES_PART of the budget is for pages whose place is not known yet. */
#define PAGES_PART		2

/* CopyInfo: what the workers of a copy must know. */
typedef struct CopyInfo
{
	Oid			old_id;
	Oid			new_id;
	Oid			index_id;
	CopyRules	rules;			/* copy_open replaces the relations */
} CopyInfo;

/* Copier: the state of one process of a copy. */
typedef struct Copier
{
	Team		team;			/* must be first */
	CopyRules	rules;
	Relation	index;
	const BtBuildRequest *request;	/* set in the leader only */
	bool		started;		/* leader: true if it logged the start line */
	int			unreported;		/* row versions to add to CopyShared.written */
	CopyWriter *writer;			/* leader: kept until all slices are written;
								 * NULL if the server's functions write them */
} Copier;


static Size
copy_shared_size(Team *team, int processes, int slices)
{
	return add_size(offsetof(CopyShared, start),
					mul_size(slices + 1, sizeof(pg_atomic_uint32)));
}

static void
copy_shared_init(Team *team, int processes, int slices)
{
	CopyShared *shared = team->shared;
	const CopyRules *rules = &((Copier *) team)->rules;
	bool		is_catalog =
		RelationIsAccessibleInLogicalDecoding(rules->old_heap);

	pagewrite_init_shared(&shared->file, rules->new_heap, processes, 0);
	pg_atomic_init_u64(&shared->copied, 0);
	pg_atomic_init_u64(&shared->dead, 0);
	pg_atomic_init_u64(&shared->recently_dead, 0);
	pg_atomic_init_u32(&shared->linked, is_catalog ? 1 : 0);
	pg_atomic_init_u64(&shared->written, 0);
	shared->nslices = slices;
	pg_atomic_init_u32(&shared->start[0], 0);
	for (int i = 1; i <= slices; i++)
		pg_atomic_init_u32(&shared->start[i], InvalidBlockNumber);
}


static void
say_start(const Copier *self)
{
	if (message_level_is_interesting(buildreport_log_level()))
		ereport(buildreport_log_level(),
				(errmsg("ptsort: copying table \"%s\" in the order of index \"%s\": %s",
						RelationGetRelationName(self->rules.old_heap),
						RelationGetRelationName(self->index),
						buildreport_describe(&self->team, self->request->source,
											 self->index))));
}

static void
say_end(const Copier *self, double copied, double elapsed_ms)
{
	ereport(buildreport_log_level(),
			(errmsg("ptsort: copied table \"%s\": %s, %.0f rows, %.1f ms, written by %s",
					RelationGetRelationName(self->rules.old_heap),
					buildreport_count(self->team.participants), copied,
					elapsed_ms,
					self->writer == NULL ? "the server's functions" :
					"all of them")));
}


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
	if (own.role == PTSORT_SLICE || own.role == PTSORT_SLICE_LEADER)
		own.budget -= own.budget / PAGES_PART;
	return variant_begin_heap(RelationGetDescr(self->rules.old_heap),
							  self->index, &own);
}

static void
copy_fill(Team *team)
{
	copyscan(&((Copier *) team)->rules, team);
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
			copywrite_add(writer, tuple);
		copywrite_end_slice(writer);
	}
	if (team->is_leader)
		self->writer = writer;
	else
		team->slot->pages = copywrite_end(writer);
}

/*
 * Leader: write the row versions of all slices with the server's functions.
 * New rows are in order here.  In the server's own copy they are not quite in
 * order, because it uses the free space map.
 */
static void
write_by_server(Copier *self)
{
	const CopyRules *rules = &self->rules;
	BulkInsertState inserts = NULL;
	RewriteState rewrite = NULL;
	uint64		guarded = pgWalUsage.wal_bytes;
	HeapTuple	tuple;
	int			slice;

	if (copy_makes_new_rows(rules))
		inserts = GetBulkInsertState();
	else
		rewrite = begin_heap_rewrite(rules->old_heap, rules->new_heap,
									 rules->oldest_xmin, rules->freeze_xid,
									 rules->cutoff_multi);
	while (sort_next_slice(self->team.sort, &slice))
	{
		while ((tuple = next_row(self)) != NULL)
		{
			/* the server modifies this copy */
			HeapTuple	copy = heap_copytuple(tuple);

			if (inserts)
				heap_insert(rules->new_heap, copy, rules->command,
							HEAP_INSERT_NO_LOGICAL | HEAP_INSERT_SKIP_FSM,
							inserts);
			else
				rewrite_heap_tuple(rewrite, tuple, copy);
			heap_freetuple(copy);
			if (pgWalUsage.wal_bytes > guarded + PAGEWRITE_WAL)
			{
				guarded = pgWalUsage.wal_bytes;
				space_take_wal(PAGEWRITE_WAL);
			}
		}
	}
	if (inserts)
		FreeBulkInsertState(inserts);
	else
		end_heap_rewrite(rewrite);
	self->team.slot->pages = RelationGetNumberOfBlocks(rules->new_heap);
}

static void
copy_write(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyShared *shared = team->shared;

	if (pg_atomic_read_u32(&shared->linked) == 0)
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

	if (!team->is_leader)
		return;
	if (phase == TEAM_READS)
	{
		/* include tuples that workers scanned after the last report */
		int64		copied = pg_atomic_read_u64(&shared->copied);

		pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_SCANNED,
									 copied);
	}
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, phases[phase]);
}

static void
copy_open(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyRules  *rules = &self->rules;
	const CopyInfo *info = team->info;

	team->slices = true;
	*rules = info->rules;

	/*
	 * The leader's locks protect the relations from other transactions, so
	 * the workers need only the locks that opening a relation requires.
	 */
	rules->old_heap = table_open(info->old_id, AccessShareLock);
	rules->new_heap = table_open(info->new_id, RowExclusiveLock);
	self->index = index_open(info->index_id, AccessShareLock);
}

static void
copy_close(Team *team)
{
	Copier	   *self = (Copier *) team;

	index_close(self->index, AccessShareLock);
	table_close(self->rules.new_heap, RowExclusiveLock);
	table_close(self->rules.old_heap, AccessShareLock);
}

static const TeamKind copy_kind = {
	.open = copy_open,
	.close = copy_close,
	.begin = copy_begin,
	.fill = copy_fill,
	.read = copy_write,
	.shared_size = copy_shared_size,
	.shared_init = copy_shared_init,
	.enter_phase = copy_enter_phase
};

void
tablecopy_run(const CopyRules *rules, Relation index,
			  const BtBuildRequest *request, double *num_tuples,
			  double *tups_vacuumed, double *tups_recently_dead)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort table copy",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CopyInfo	info = {
		.old_id = RelationGetRelid(rules->old_heap),
		.new_id = RelationGetRelid(rules->new_heap),
		.index_id = RelationGetRelid(index),
		.rules = *rules
	};
	WorkAbout	about;
	Copier		self = {
		.team = {
			.kind = &copy_kind,
			.worker_main = "ptsort_copy_worker_main",
			.slices = true,
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
	double		copied;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	work_describe(&about, true, rules->old_heap, index, team->budget);
	team_sort(team, request->workers);
	team_read(team);
	team_wait(team);
	team_check_read(team, "copy_write");
	shared = team->shared;
	if (self.writer != NULL)
		team->slot->pages = copywrite_finish(self.writer);
	team_finish(team);
	fault_point("tablecopy: written");

	copied = pg_atomic_read_u64(&shared->copied);
	*num_tuples += copied;
	*tups_vacuumed += pg_atomic_read_u64(&shared->dead);
	*tups_recently_dead += pg_atomic_read_u64(&shared->recently_dead);
	buildreport_publish(BUILD_REPORT_COPY, index, team, false);
	say_end(&self, copied, pt_ms_since(start));
	team_leave(team);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}


TEAM_WORKER_MAIN(ptsort_copy_worker_main, Copier, copy_kind);
