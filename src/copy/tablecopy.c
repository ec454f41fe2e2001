/*-------------------------------------------------------------------------
 *
 * tablecopy.c
 *	  Copies a table in the order of one of its indexes, for CLUSTER.
 *
 * A copy is the work of a team (team.h).  Its processes scan the old table and
 * sort its row versions, headers and all (copyscan.h).  Then, in most cases,
 * each of them reads slices of the result and writes their pages (copywrite.h).
 *
 * The leader instead reads all slices alone, and the server's own functions
 * write them (rewriteheap.c), if the scan found row versions that must keep
 * their links to each other or that need TOAST, or if logical decoding reads
 * the table as a catalog.  These functions work in one process only, so the
 * workers end.  Dead row versions need no further treatment: a sort of the
 * server, too, has seen them all before it writes the first row version.
 *
 * The workers judge row versions as the leader does: they have its horizon and
 * cutoffs, and parallel mode gives them its transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/rewriteheap.h"
#include "access/table.h"
#include "access/xact.h"
#include "btree/btwrite.h"
#include "catalog/catalog.h"
#include "commands/progress.h"
#include "copy/copywrite.h"
#include "copy/tablecopy.h"
#include "fault.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "sort/sortread.h"
#include "storage/bufmgr.h"
#include "team/build.h"
#include "team/team.h"
#include "util.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "variant/variants.h"

#define COPY_WORKER_MAIN "ptsort_copy_worker_main"

/* 1/PAGES_PART of the budget is for pages that wait for their place. */
#define PAGES_PART		2

/* Number of tuples after which a participant reports progress. */
#define WRITE_STEP		1024

/* CopyInfo: what the workers of a copy need besides what every team does. */
typedef struct CopyInfo
{
	Oid			old_id;
	Oid			new_id;
	Oid			index_id;
	TransactionId oldest_xmin;
	TransactionId freeze_xid;
	MultiXactId cutoff_multi;
} CopyInfo;

/*
 * CopyShared: what all processes share.  The scan's counts are complete when
 * all have announced their runs.
 */
typedef struct CopyShared
{
	int			processes;
	CopyCounts	counts;
	pg_atomic_uint64 written;	/* row versions, for the progress view */
	int64		pages[FLEXIBLE_ARRAY_MEMBER];	/* pages written, set when the
												 * participant ends; a
												 * CopyFile follows */
} CopyShared;

/* Copier: one process of a copy. */
typedef struct Copier
{
	Team		team;			/* must be first */
	CopyInfo	info;			/* leader: passed to the team */
	CopyRules	rules;
	Relation	index;
	const BtBuildRequest *request;	/* leader */
	bool		started;		/* leader: the start line was logged */
	CopyWriter *writer;			/* leader: until all participants have
								 * written; NULL if the server's functions
								 * write */
} Copier;


/*
 * The shared block
 */

static Size
file_offset(int processes)
{
	return MAXALIGN(add_size(offsetof(CopyShared, pages),
							 mul_size(processes, sizeof(int64))));
}

static CopyFile *
shared_file(CopyShared *shared)
{
	return (CopyFile *) ((char *) shared + file_offset(shared->processes));
}

static Size
shared_size(Team *team, int processes, int slices)
{
	return add_size(file_offset(processes), copywrite_estimate(slices));
}

static void
shared_init(Team *team, int processes, int slices)
{
	CopyShared *shared = team->shared;
	Relation	new_heap = ((Copier *) team)->rules.new_heap;

	shared->processes = processes;
	pg_atomic_init_u64(&shared->counts.copied, 0);
	pg_atomic_init_u64(&shared->counts.dead, 0);
	pg_atomic_init_u64(&shared->counts.recently_dead, 0);
	pg_atomic_init_u32(&shared->counts.linked, 0);
	pg_atomic_init_u64(&shared->written, 0);
	copywrite_init_shared(shared_file(shared), new_heap, processes, slices);
}


/*
 * A copy's log lines
 */

static void
say_start(const Copier *self)
{
	int			participants = self->team.participants;

	if (!message_level_is_interesting(btbuild_log_level()))
		return;
	ereport(btbuild_log_level(),
			(errmsg_plural("ptsort: copying table \"%s\" in the order of index \"%s\": %d participant, %s, %s, %lld kB",
						   "ptsort: copying table \"%s\" in the order of index \"%s\": %d participants, %s, %s, %lld kB",
						   participants,
						   RelationGetRelationName(self->rules.old_heap),
						   RelationGetRelationName(self->index),
						   participants, self->request->source,
						   btbuild_describe_key(self->index),
						   btbuild_memory_kb(self->team.budget,
											 participants))));
}

static void
say_end(const Copier *self, const CopyResult *result, double elapsed_ms)
{
	int			participants = self->team.participants;

	ereport(btbuild_log_level(),
			(errmsg_plural("ptsort: copied table \"%s\": %d participant, %.0f rows, %.1f ms, written by %s",
						   "ptsort: copied table \"%s\": %d participants, %.0f rows, %.1f ms, written by %s",
						   participants,
						   RelationGetRelationName(self->rules.old_heap),
						   participants, result->copied, elapsed_ms,
						   self->writer == NULL ? "the server's functions" :
						   "all of them")));
}


/*
 * The phases: TeamKind
 */

/*
 * A sort that reads slices leaves a part of its budget for pages.
 */
static PtSort *
begin(Team *team, const SortOptions *options)
{
	Copier	   *self = (Copier *) team;
	SortOptions own = *options;

	if (team->is_leader && !self->started)
	{
		say_start(self);
		self->started = true;
	}
	if (own.options.role == PTSORT_SLICE ||
		own.options.role == PTSORT_SLICE_LEADER)
		own.options.budget -= own.options.budget / PAGES_PART;
	return variant_begin_heap(RelationGetDescr(self->rules.old_heap),
							  self->index, &own.options);
}

static void
scan(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyShared *shared = team->shared;

	copyscan(&self->rules, team->scan, team->is_leader, team->sort,
			 &shared->counts);
}

/* Count n row versions as written; the leader reports the sum as progress. */
static void
report_written(Copier *self, int n)
{
	CopyShared *shared = self->team.shared;
	uint64		written = pg_atomic_add_fetch_u64(&shared->written, n);

	CHECK_FOR_INTERRUPTS();
	if (self->team.is_leader)
		pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN,
									 written);
}

/* Call 'pass' for all row versions of a slice. */
static void
read_slice(Copier *self, void (*pass) (void *arg, HeapTuple tuple), void *arg)
{
	HeapTuple	tuple;
	int			unreported = 0;

	while ((tuple = variant_get_heap(self->team.sort, true)) != NULL)
	{
		pass(arg, tuple);
		if (++unreported == WRITE_STEP)
		{
			report_written(self, unreported);
			unreported = 0;
		}
	}
	report_written(self, unreported);
}

static void
add_to_file(void *arg, HeapTuple tuple)
{
	copywrite_add((CopyWriter *) arg, tuple);
}

/* Write slices together with the others. */
static void
write_slices(Copier *self)
{
	Team	   *team = &self->team;
	CopyShared *shared = team->shared;
	Size		memory = team->budget / team->processes / PAGES_PART;
	CopyWriter *writer = copywrite_begin(shared_file(shared), &self->rules,
										 memory, team->sort_shared,
										 team->pcxt);
	int			slice;

	while (sort_next_slice(team->sort, &slice))
	{
		copywrite_begin_slice(writer, slice);
		read_slice(self, add_to_file, writer);
		copywrite_end_slice(writer);
	}
	if (team->is_leader)
		self->writer = writer;
	else
		shared->pages[team->participant] = copywrite_end(writer);
}

/* ServerCopy: state of write_by_server(). */
typedef struct ServerCopy
{
	RewriteState state;
	HeapTuple	copy;
	Size		room;			/* bytes of 'copy' for the tuple's data */
} ServerCopy;

/* Pass a copy of the tuple as well, which the server modifies. */
static void
add_by_server(void *arg, HeapTuple tuple)
{
	ServerCopy *server = arg;

	if (server->room < tuple->t_len)
	{
		server->room = Max(2 * server->room, MAXALIGN(tuple->t_len));
		if (server->copy != NULL)
			pfree(server->copy);
		server->copy = palloc(HEAPTUPLESIZE + server->room);
	}
	*server->copy = *tuple;
	server->copy->t_data = (HeapTupleHeader)
		((char *) server->copy + HEAPTUPLESIZE);
	memcpy(server->copy->t_data, tuple->t_data, tuple->t_len);
	rewrite_heap_tuple(server->state, tuple, server->copy);
}

/* Leader: read all slices, and write them by the server's functions. */
static void
write_by_server(Copier *self)
{
	CopyShared *shared = self->team.shared;
	const CopyRules *rules = &self->rules;
	ServerCopy	server = {0};
	int			slice;

	server.state = begin_heap_rewrite(rules->old_heap, rules->new_heap,
									  rules->oldest_xmin, rules->freeze_xid,
									  rules->cutoff_multi);
	while (sort_next_slice(self->team.sort, &slice))
		read_slice(self, add_by_server, &server);
	end_heap_rewrite(server.state);
	if (server.copy != NULL)
		pfree(server.copy);
	shared->pages[0] = RelationGetNumberOfBlocks(rules->new_heap);
}

static void
write_rows(Team *team)
{
	Copier	   *self = (Copier *) team;
	CopyShared *shared = team->shared;

	if (pg_atomic_read_u32(&shared->counts.linked) == 0)
		write_slices(self);
	else if (team->is_leader)
		write_by_server(self);
	else
		team->leaves_slices = true;
}

/* Report tuples that others scanned after the leader's last report. */
static void
report_scanned(CopyShared *shared)
{
	pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED,
								 pg_atomic_read_u64(&shared->counts.copied));
}

/* Report the server's phases as progress. */
static void
report_phase(Team *team, TeamPhase phase)
{
	static const int64 phases[] = {
		[TEAM_FILLS] = PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP,
		[TEAM_SORTS] = PROGRESS_CLUSTER_PHASE_SORT_TUPLES,
		[TEAM_READS] = PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP
	};

	if (!team->is_leader)
		return;
	if (phase == TEAM_READS)
		report_scanned(team->shared);
	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE, phases[phase]);
}

static const TeamKind copy_kind = {
	.slices_name = "write_rows",
	.begin = begin,
	.fill = scan,
	.read = write_rows,
	.shared_size = shared_size,
	.shared_init = shared_init,
	.enter_phase = report_phase
};


/*
 * Leader
 */

static void
leader_init(Copier *self, const CopyRules *rules, Relation index,
			const BtBuildRequest *request)
{
	Team	   *team = &self->team;

	memset(self, 0, sizeof(Copier));
	self->rules = *rules;
	self->index = index;
	self->request = request;
	self->info.old_id = RelationGetRelid(rules->old_heap);
	self->info.new_id = RelationGetRelid(rules->new_heap);
	self->info.index_id = RelationGetRelid(index);
	self->info.oldest_xmin = rules->oldest_xmin;
	self->info.freeze_xid = rules->freeze_xid;
	self->info.cutoff_multi = rules->cutoff_multi;

	team->kind = &copy_kind;
	team->worker_main = COPY_WORKER_MAIN;
	team->slices = true;
	team->info = &self->info;
	team->info_size = sizeof(self->info);
	team->budget = (int64) maintenance_work_mem * 1024;
	team->is_leader = true;
	team->table = rules->old_heap;
	team->snapshot = SnapshotAny;
}

/* Publish the statistics of all participants as the session's last copy. */
static void
publish(const Copier *self)
{
	const Team *team = &self->team;
	const CopyShared *shared = team->shared;
	BtBuildReport *report = btbuild_new_report(self->index,
											   team->launched + 1);

	for (int i = 0; i <= team->launched; i++)
	{
		const PtParallelStats *stats = &team->slots[i].stats;
		BtBuildStats *reported = &report->participants[i];

		reported->build.scan_ms = stats->fill_ms;
		reported->build.load_ms = stats->read_ms;
		reported->build.wal_bytes = stats->wal_bytes;
		reported->build.sort = stats->sort;
		reported->pages = shared->pages[i];
	}
	btbuild_publish(report, BT_REPORT_COPY);
}

/* Copy the shared counts to the result for the server. */
static void
take_counts(const Copier *self, CopyResult *result)
{
	CopyShared *shared = self->team.shared;

	result->copied = pg_atomic_read_u64(&shared->counts.copied);
	result->dead = pg_atomic_read_u64(&shared->counts.dead);
	result->recently_dead = pg_atomic_read_u64(&shared->counts.recently_dead);
}

void
tablecopy_run(const CopyRules *rules, Relation index,
			  const BtBuildRequest *request, CopyResult *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort table copy",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Copier		self;
	Team	   *team = &self.team;
	CopyShared *shared;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	leader_init(&self, rules, index, request);
	team_start(team, request->workers);
	shared = team->shared;
	if (RelationIsAccessibleInLogicalDecoding(rules->old_heap))
		pg_atomic_write_u32(&shared->counts.linked, 1);
	team_work(team);
	team_collect(team);
	team_read(team);
	team_wait(team);
	team_check_read(team, "write_rows");
	if (self.writer != NULL)
		shared->pages[0] = copywrite_finish(self.writer);
	team_finish(team);
	fault_point("tablecopy: written");

	take_counts(&self, result);
	publish(&self);
	say_end(&self, result, pt_ms_since(start));
	team_leave(team);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}


/*
 * Worker
 */

void
ptsort_copy_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Copier		self = {.team.kind = &copy_kind};
	Team	   *team = &self.team;
	CopyRules  *rules = &self.rules;
	const CopyInfo *info;
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "ptsort table copy",
												  ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(context);
	team_join(team, segment, toc);
	team->slices = true;
	info = team->info;
	rules->oldest_xmin = info->oldest_xmin;
	rules->freeze_xid = info->freeze_xid;
	rules->cutoff_multi = info->cutoff_multi;

	/*
	 * The leader holds locks that exclude other transactions.  The workers
	 * need only the locks required for opening a relation.
	 */
	rules->old_heap = table_open(info->old_id, AccessShareLock);
	rules->new_heap = table_open(info->new_id, RowExclusiveLock);
	self.index = index_open(info->index_id, AccessShareLock);
	team_serve(team);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	index_close(self.index, AccessShareLock);
	table_close(rules->new_heap, RowExclusiveLock);
	table_close(rules->old_heap, AccessShareLock);
	fault_point("build: worker end");
}
