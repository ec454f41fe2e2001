/*-------------------------------------------------------------------------
 *
 * btbuild.c
 *	  ptsort's btree build: combines the scan, the sort and the load.
 *
 * A build is a kind of team (team.h).  Its processes scan the table, sort index
 * tuples, and load slices of the merged stream with btload.c.  A build without
 * workers loads a single slice, and serves no siblings.  A build that loads
 * waiting runs does not scan the table.
 *
 * If a collation contradicts its tables (text_rank.h), the sort fails.  Then
 * the leader empties the index and starts over without these tables.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btbuild.h"
#include "catalog/storage.h"
#include "debug.h"
#include "text/text_rank.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"
#include "write/buildreport.h"

/* Sibling: another index that the scan of this build serves. */
typedef struct Sibling
{
	Relation	index;
	IndexInfo  *index_info;
	dsm_segment *segment;		/* segment of the sibling's sort */
	PtSort	   *sort;
} Sibling;

/* SiblingInfo: what the workers must know about a sibling. */
typedef struct SiblingInfo
{
	Oid			index_id;
	dsm_handle	segment;
} SiblingInfo;

/* BtBuildInfo: what the workers must know about the build. */
typedef struct BtBuildInfo
{
	BuildInfo	base;			/* must be first */
	dsm_handle	stored;			/* segment of the runs to load, if any */
	bool		check_unique;	/* BtBuildRequest.check_unique */
	int			nsiblings;
	SiblingInfo siblings[MAX_SIBLINGS];
} BtBuildInfo;

/* BtBuild: a build, in one of its processes. */
typedef struct BtBuild
{
	Build		base;			/* must be first */
	int			nsiblings;
	Sibling		siblings[MAX_SIBLINGS];
	dsm_segment *stored;		/* in a worker: segment of BtBuildInfo.stored */

	/* Leader */
	BtBuildInfo info;
	const BtBuildRequest *request;
	WaitingRuns described;		/* set by siblings_describe before the scan */
} BtBuild;

/* Make an index a sibling.  'segment', already attached, is for its sort. */
static void
add_sibling(BtBuild *self, Relation index, bool check_unique,
			dsm_segment *segment)
{
	Sibling    *sibling = &self->siblings[self->nsiblings++];

	sibling->index = index;
	sibling->index_info = BuildIndexInfo(index);
	sibling->index_info->ii_Unique &= check_unique;
	sibling->segment = segment;
	self->base.team.sorts = 1 + self->nsiblings;
}

/*
 * Turn candidates into siblings until the server has no segment for the next
 * one's runs, or the budget no room for its sort.  Without workers, drop them.
 */
static void
btbuild_prepare(Team *team, int processes)
{
	BtBuild    *self = (BtBuild *) team;
	const BtBuildRequest *request = self->request;
	BtBuildInfo *info = &self->info;
	int64		most = team->budget / team->participants / PTSORT_MIN_BUDGET;

	for (int i = 0; i < self->nsiblings && processes == 1; i++)
		dsm_detach(self->siblings[i].segment);
	self->nsiblings = team->sorts = 0;
	for (int i = 0; i < request->ncandidates && i + 2 <= most && processes > 1;
		 i++)
	{
		Relation	index = request->candidates[i];
		dsm_segment *segment = siblings_create(processes);

		if (segment == NULL)
			break;
		info->siblings[i].index_id = RelationGetRelid(index);
		info->siblings[i].segment = dsm_segment_handle(segment);
		add_sibling(self, index, request->check_unique, segment);
	}
	info->nsiblings = self->nsiblings;
}

static void
btbuild_perform_siblings(Team *team)
{
	BtBuild    *self = (BtBuild *) team;

	for (int i = 0; i < self->nsiblings; i++)
	{
		fault_point("build: sort of sibling");
		/* sort_perform announces a failure, which siblings_keep detects */
		sort_perform(self->siblings[i].sort);
		sort_end(self->siblings[i].sort);
	}
}

/* Keep the siblings' complete runs until the siblings' builds load them. */
static void
keep_siblings(const BtBuild *self)
{
	WaitingRuns runs = self->described;

	runs.participants = self->base.team.participants;
	runs.workers = self->request->workers;
	runs.rows = self->base.heap_tuples;
	runs.broken_hot_chain = self->base.index_info->ii_BrokenHotChain;
	namestrcpy(&runs.scanned_for, RelationGetRelationName(self->base.index));
	for (int i = 0; i < self->nsiblings; i++)
	{
		const Sibling *sibling = &self->siblings[i];

		runs.index_id = RelationGetRelid(sibling->index);
		runs.is_unique = sibling->index_info->ii_Unique;
		runs.segment = sibling->segment;
		siblings_keep(&runs);
	}
}


/* Returns text about the scan if it serves several indexes; otherwise "". */
static const char *
describe_scan(const BtBuild *self)
{
	if (self->request->runs != NULL)
		return psprintf(", from the scan for \"%s\"",
						NameStr(self->request->runs->scanned_for));
	if (self->nsiblings > 0)
		return psprintf(", one scan for %d indexes", self->nsiblings + 1);
	return "";
}


static void
btbuild_open(Team *team)
{
	BtBuild    *self = (BtBuild *) team;
	const BtBuildInfo *info = team->info;

	indexbuild_open(team);
	if (info->stored != DSM_HANDLE_INVALID)
	{
		self->stored = siblings_attach(info->stored);
		team->stored = siblings_sorts(self->stored);
	}
	for (int i = 0; i < info->nsiblings; i++)
	{
		const SiblingInfo *sibling = &info->siblings[i];
		dsm_segment *segment = siblings_attach(sibling->segment);

		add_sibling(self, index_open(sibling->index_id, AccessShareLock),
					info->check_unique, segment);
	}
}

static void
btbuild_close(Team *team)
{
	BtBuild    *self = (BtBuild *) team;

	for (int i = 0; i < self->nsiblings; i++)
	{
		dsm_detach(self->siblings[i].segment);
		index_close(self->siblings[i].index, AccessShareLock);
	}
	if (self->stored != NULL)
		dsm_detach(self->stored);
	build_close(team);
}

/* Begin an index's sort; it fails if a collation contradicts its tables. */
static PtSort *
begin_sort(const BtBuild *self, Relation index, const IndexInfo *index_info,
		   const PtSortOptions *options)
{
	PtSort	   *sort = variant_begin_index(self->base.heap, index,
										   index_info->ii_Unique,
										   index_info->ii_NullsNotDistinct,
										   options);

	sort_make_restartable(sort);
	return sort;
}

static PtSort *
btbuild_begin(Team *team, const PtSortOptions *options)
{
	BtBuild    *self = (BtBuild *) team;

	if (team->is_leader)
		indexbuild_start(&self->base, describe_scan(self));
	return begin_sort(self, self->base.index, self->base.index_info, options);
}

static PtSort *
begin_sibling(const BtBuild *self, const Sibling *sibling)
{
	PtSortOptions options = team_options(&self->base.team, PTSORT_WORKER,
										 siblings_sorts(sibling->segment));
	PtSort	   *sort = begin_sort(self, sibling->index, sibling->index_info,
								  &options);

	variant_postpone_errors(sort);
	return sort;
}

/* IndexBuildCallback */
static void
btbuild_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			bool alive, void *sort)
{
	variant_put_index(sort, tid, values, isnull, alive);
}

static void
btbuild_fill(Team *team)
{
	BtBuild    *self = (BtBuild *) team;
	int			ntargets = 1 + self->nsiblings;
	HeapScanTarget *targets = palloc0(ntargets * sizeof(HeapScanTarget));

	targets[0].index = self->base.index;
	targets[0].index_info = self->base.index_info;
	targets[0].state = team->sort;
	for (int i = 0; i < self->nsiblings; i++)
	{
		Sibling    *sibling = &self->siblings[i];

		sibling->sort = begin_sibling(self, sibling);
		targets[1 + i].index = sibling->index;
		targets[1 + i].index_info = sibling->index_info;
		targets[1 + i].state = sibling->sort;
	}
	for (int i = 0; i < ntargets; i++)
		targets[i].callback = btbuild_put;

	build_scan(&self->base, targets, ntargets);
	for (int i = 0; i < self->nsiblings; i++)
	{
		PtSortStats stats;

		sort_stats(self->siblings[i].sort, &stats);
		team->others_ms += stats.sort_ms + stats.run_ms;
	}
	pfree(targets);
}

static const IndexBuildKind btbuild_kind = {
	.team = {
		.worker_main = "ptsort_btbuild_worker_main",
		.open = btbuild_open,
		.close = btbuild_close,
		.prepare = btbuild_prepare,
		.begin = btbuild_begin,
		.fill = btbuild_fill,
		.perform_others = btbuild_perform_siblings,
		.read = indexbuild_read,
		.shared_size = indexbuild_shared_size,
		.shared_init = btload_shared_init,
		.enter_phase = build_enter_phase
	},
	.load = &btload
};

TEAM_WORKER_MAIN(ptsort_btbuild_worker_main, BtBuild, btbuild_kind.team);


/*
 * Scan, sort and load.  If a sort failed because of a collation, returns the
 * collation; the caller must then undo the load.
 */
static Oid
run_build(BtBuild *self)
{
	Build	   *build = &self->base;
	Team	   *team = &build->team;
	const WaitingRuns *runs = self->request->runs;
	Oid			contradicted;

	siblings_describe(&self->described, build->heap);
	build_run(build, self->request->workers);
	if (runs != NULL)
	{
		build->heap_tuples = runs->rows;
		build->index_info->ii_BrokenHotChain |= runs->broken_hot_chain;
	}
	contradicted = team_contradicted(team);
	if (OidIsValid(contradicted))
		return contradicted;
	build_check(build, "load");
	load_finish(build);
	fault_point("build: after finish");
	return InvalidOid;
}

/*
 * Undo a load after a collation contradicted its tables: empty the index, as
 * RelationTruncateIndexes (heap.c) does, and stop using the tables in this
 * process and its workers.
 */
static void
undo(BtBuild *self, Oid collation)
{
	Relation	index = self->base.index;

	(void) load_end(self->base.load);
	RelationTruncate(index, 0);
	ereport(buildreport_log_level(),
			(errmsg("ptsort: restarting build of index \"%s\": its collation contradicts itself",
					RelationGetRelationName(index))));
	ereport(WARNING,
			(errmsg("collation \"%s\" contradicts its own tables",
					get_collation_name(collation)),
			 errdetail("%s orders two strings differently from the weights of their characters.  ptsort rebuilds index \"%s\" without these weights.",
					   text_rank_provider(collation),
					   RelationGetRelationName(index))));
	(void) text_rank_distrust(collation);
}

/* Reports include the costs of failed builds. */
static void
add_costs(PtParallelStats *sum, const PtParallelStats *stats)
{
	sum->wal_bytes += stats->wal_bytes;
	sum->sort.comparisons += stats->sort.comparisons;
}

/* Begin a team for the request, in the current memory context. */
static BtBuild *
begin_build(const PtParallelRequest *what, const BtBuildRequest *request)
{
	BtBuild    *self = palloc0(sizeof(BtBuild));
	Team	   *team = &self->base.team;
	const WaitingRuns *runs = request->runs;

	indexbuild_init(&self->base, &btbuild_kind, what, request->source);
	self->info.base = self->base.info;
	team->info = &self->info;
	team->info_size = sizeof(self->info);
	self->request = request;
	self->info.check_unique = request->check_unique;
	self->info.stored = DSM_HANDLE_INVALID;
	if (runs != NULL)
	{
		self->info.stored = dsm_segment_handle(runs->segment);
		team->table = NULL;
		self->base.about.job.blocks = 0;
		team->stored = siblings_sorts(runs->segment);
		team->stored_participants = runs->participants;
	}
	return self;
}

IndexBuildResult *
btbuild_build(Relation heap, Relation index, IndexInfo *indexInfo,
			  const BtBuildRequest *request)
{
	PtParallelRequest what = build_request(heap, index, indexInfo);
	BtBuildRequest again = *request;
	IndexBuildResult *result;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "ptsort build",
												  ALLOCSET_DEFAULT_SIZES);
	PtParallelStats failed = {0};
	BtBuild    *self;
	Oid			contradicted;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	MemoryContextSwitchTo(context);
	self = begin_build(&what, request);
	while ((contradicted = run_build(self)) != InvalidOid)
	{
		undo(self, contradicted);
		keep_siblings(self);
		team_finish(&self->base.team);
		for (int i = 0; i <= self->base.team.launched; i++)
			add_costs(&failed, &self->base.team.slots[i].stats);
		team_leave(&self->base.team);

		again.runs = NULL;		/* scan the table for this index only */
		again.ncandidates = 0;
		self = begin_build(&what, &again);
		self->base.started = true;
	}
	keep_siblings(self);
	team_finish(&self->base.team);
	add_costs(&self->base.team.slot->stats, &failed);	/* count as leader's */
	MemoryContextSwitchTo(caller);
	result = buildreport_end(&self->base, self->request->runs != NULL,
							 pt_ms_since(start));
	team_leave(&self->base.team);
	MemoryContextDelete(context);
	return result;
}
