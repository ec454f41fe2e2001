/*-------------------------------------------------------------------------
 *
 * btbuild.c
 *	  ptsort's btree build: the sort, the driver and the loader put together.
 *
 * The driver (ptsort_build.h) calls back in every participant to begin a sort
 * of index tuples, to put them, and to load slices of the merged stream with
 * btload; a build without workers loads one slice that has everything.  The
 * sort checks uniqueness, the loader the size of tuples, so errors are raised
 * there.
 *
 * This file also logs what happens and keeps it for ptsort_last_build().
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btbuild.h"
#include "btree/btload.h"
#include "catalog/storage.h"
#include "commands/progress.h"
#include "key/key.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "sort/sortread.h"
#include "sort/tuplesort.h"
#include "storage/bufmgr.h"
#include "team/build.h"
#include "util.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "variant/variants.h"

/* The load reports progress and can be cancelled after this many tuples. */
#define LOAD_STEP	1024

/*
 * BtBuildArg: what the leader's callbacks need.  It is the argument of the
 * build, with size 0, so that workers get no copy.
 */
typedef struct BtBuildArg
{
	const BtBuildRequest *request;
	const BuildScan *scan;
	int64		budget;
	bool	   *started;		/* true after the start line was logged */
	int64	   *pages;			/* output: pages written by each participant
								 * except the leader */
} BtBuildArg;

extern PGDLLEXPORT void ptsort_btbuild_worker_main(dsm_segment *segment,
												   shm_toc *toc);

static void say_start(Relation index, const BtBuildArg *arg, int participants);
static void say_end(Relation index, const PtBuildResult *result,
					double elapsed_ms);
static void publish_result(Relation index, const PtBuildResult *result,
						   const int64 *pages, bool scanned_before);

bool		ptsort_log_build = false;

/* the session's last reports, by BtReportKind, in TopMemoryContext */
static BtBuildReport *last_reports[BT_REPORT_COPY + 1];


/*
 * The callbacks
 */

/*
 * The number of participants is known when the leader begins its first sort,
 * so the start line is logged then.
 */
static PtSort *
begin_sort(PtBuild *build, const PtSortOptions *options)
{
	const BtBuildArg *arg = build->arg;

	if (build->is_leader && !*arg->started)
	{
		say_start(build->index, arg, build->participants);
		*arg->started = true;
	}
	return variant_begin_index_with(build->heap, build->index,
									build->index_info->ii_Unique,
									build->index_info->ii_NullsNotDistinct,
									(const SortOptions *) options);
}

static void
put_tuple(PtBuild *build, PtSort *sort, ItemPointer tid, Datum *values,
		  bool *isnull, bool alive)
{
	variant_put_index(sort, tid, values, isnull, alive);
}

/* Count this participant's tuples; the leader reports the sum as progress. */
static void
report_tuples(PtBuild *build, BtLoad *load)
{
	int64		done = btload_report(load);

	CHECK_FOR_INTERRUPTS();
	if (build->is_leader)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
}

/* Add the sort's current slice to the index's slice, tuple by tuple. */
static void
load_tuples(PtBuild *build, PtSort *sort, BtLoad *load)
{
	IndexTuple	itup;
	int			unreported = 0;

	while ((itup = variant_get_index(sort, true)) != NULL)
	{
		btload_add(load, itup);
		if (++unreported == LOAD_STEP)
		{
			report_tuples(build, load);
			unreported = 0;
		}
	}
	report_tuples(build, load);
}

/* load_tuples for exact keys: many entries at a time, without index tuples. */
static void
load_entries(PtBuild *build, PtSort *sort, BtLoad *load, const KeyForm *form)
{
	const uint64 *entries;
	int			n;

	while ((entries = variant_get_index_entries(sort, &n)) != NULL)
	{
		btload_add_entries(load, form, entries, n);
		report_tuples(build, load);
	}
}

/* Load one slice of the index: the sort's current slice. */
static void
load_slice(PtBuild *build, PtSort *sort, BtLoad *load, int number)
{
	const PtSortKey *key = variant_index_exact_key(sort);

	btload_begin_slice(load, number);
	if (key)
		load_entries(build, sort, load, key_form(key));
	else
		load_tuples(build, sort, load);
	btload_end_slice(load);
}

static Size
shared_size(PtBuild *build, int processes, int slices)
{
	return btload_estimate(processes, slices);
}

static void
shared_init(PtBuild *build, int processes, int slices)
{
	btload_init_shared(build->shared, build->index, processes, slices);
}

/* The leader keeps its load for finish_load. */
static void
load_slices(PtBuild *build, PtSort *sort)
{
	BtLoad	   *load;
	PtSortStats stats;
	SortOutcome outcome = {0};
	int			slice;

	sort_stats(sort, &stats);
	load = btload_begin(build->shared, build->participant, build->heap,
						build->index, build->fileset, stats.tuples);
	while (!outcome.failed && sort_next_slice(sort, &slice))
	{
		load_slice(build, sort, load, slice);
		sort_outcome(sort, &outcome);
	}
	if (build->is_leader)
		build->local = load;
	else
		btload_end(load);
}

static void
finish_load(PtBuild *build)
{
	const BtBuildArg *arg = build->arg;

	/* The others counted tuples after the leader's last report. */
	report_tuples(build, build->local);
	btload_finish(build->local, arg->pages);
}

/*
 * Begin again with an empty file because a collation contradicts its tables;
 * like RelationTruncateIndexes (heap.c).
 */
static void
start_over(PtBuild *build)
{
	btload_end(build->local);
	RelationTruncate(build->index, 0);
	ereport(btbuild_log_level(),
			(errmsg("ptsort: restarting build of index \"%s\": its collation contradicts itself",
					RelationGetRelationName(build->index))));
}

static const BuildOps btbuild_ops = {
	.base.begin = begin_sort,
	.base.put = put_tuple,
	.base.shared_size = shared_size,
	.base.shared_init = shared_init,
	.base.load_slices = load_slices,
	.base.finish = finish_load,
	.worker_main = "ptsort_btbuild_worker_main",
	.start_over = start_over
};

void
ptsort_btbuild_worker_main(dsm_segment *segment, shm_toc *toc)
{
	participant_serve(segment, toc, &btbuild_ops.base);
}


/*
 * The build
 */

IndexBuildResult *
btbuild_build(Relation heap, Relation index, IndexInfo *indexInfo,
			  const BtBuildRequest *request)
{
	bool		started = false;
	BuildScan	scan = {
		.runs = request->runs,
		.ncandidates = request->ncandidates,
		.candidates = request->candidates
	};
	BtBuildArg	arg = {
		.request = request,
		.scan = &scan,
		.budget = (int64) maintenance_work_mem * 1024,
		.started = &started,
		.pages = palloc0(mul_size(request->workers + 1, sizeof(int64)))
	};
	PtBuildRequest build = {
		.heap = heap,
		.index = index,
		.index_info = indexInfo,
		.workers = request->workers,
		.budget = arg.budget,
		.arg = &arg,
		.progress = true
	};
	PtBuildResult *built;
	IndexBuildResult *result;
	instr_time	start;
	double		elapsed_ms;

	/* as in the server's btbuild() */
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	INSTR_TIME_SET_CURRENT(start);
	built = build_own(&build, &btbuild_ops, &scan);
	elapsed_ms = pt_ms_since(start);

	publish_result(index, built, arg.pages, request->runs != NULL);
	say_end(index, built, elapsed_ms);

	result = palloc(sizeof(IndexBuildResult));
	result->heap_tuples = built->heap_tuples;
	result->index_tuples = built->index_tuples;
	pfree(built);
	return result;
}


/*
 * A build's log lines and its report
 */

int
btbuild_log_level(void)
{
	return ptsort_log_build ? LOG_SERVER_ONLY : DEBUG1;
}

const char *
btbuild_describe_key(Relation index)
{
	PtSortKey  *key = key_index(index);
	int			nwords = key_nwords(key);

	if (nwords == 0)
		return "keys compared";
	return psprintf("keys %s, %d %s",
					key_is_exact(key) ? "exact" : "prefix",
					nwords, nwords == 1 ? "word" : "words");
}

long long
btbuild_memory_kb(int64 budget, int participants)
{
	return Max(budget, (int64) participants * PTSORT_MIN_BUDGET) / 1024;
}

/* Describe the source of the tuples, if not a scan for this index alone. */
static const char *
describe_scan(const BuildScan *scan)
{
	if (scan->runs != NULL)
		return psprintf(", from the scan for \"%s\"",
						NameStr(scan->runs->scanned_for));
	if (scan->nsiblings > 0)
		return psprintf(", one scan for %d indexes", scan->nsiblings + 1);
	return "";
}

static void
say_start(Relation index, const BtBuildArg *arg, int participants)
{
	const char *keys;

	if (!message_level_is_interesting(btbuild_log_level()))
		return;

	keys = btbuild_describe_key(index);
	ereport(btbuild_log_level(),
			(errmsg_plural("ptsort: building index \"%s\": %d participant, %s, %s, %lld kB%s",
						   "ptsort: building index \"%s\": %d participants, %s, %s, %lld kB%s",
						   participants,
						   RelationGetRelationName(index), participants,
						   arg->request->source, keys,
						   btbuild_memory_kb(arg->budget, participants),
						   describe_scan(arg->scan))));
}

static void
say_end(Relation index, const PtBuildResult *result, double elapsed_ms)
{
	int64		runs = 0;
	int64		temp_bytes = 0;

	for (int i = 0; i <= result->workers_launched; i++)
	{
		runs += result->stats[i].sort.runs;
		temp_bytes += result->stats[i].sort.temp_bytes;
	}
	ereport(btbuild_log_level(),
			(errmsg_plural("ptsort: built index \"%s\": %d participant, %.0f tuples, %.1f ms, runs: %lld, temporary files: %lld kB",
						   "ptsort: built index \"%s\": %d participants, %.0f tuples, %.1f ms, runs: %lld, temporary files: %lld kB",
						   result->participants,
						   RelationGetRelationName(index),
						   result->participants, result->index_tuples,
						   elapsed_ms, (long long) runs,
						   (long long) (temp_bytes + 1023) / 1024)));
}

BtBuildReport *
btbuild_new_report(Relation index, int nparticipants)
{
	Size		size = add_size(offsetof(BtBuildReport, participants),
								mul_size(nparticipants, sizeof(BtBuildStats)));
	BtBuildReport *report = MemoryContextAllocZero(TopMemoryContext, size);

	/* not GetUserId(): the server runs as the table's owner */
	report->session_user = GetSessionUserId();
	report->role = GetOuterUserId();
	namestrcpy(&report->index_name, RelationGetRelationName(index));
	report->nparticipants = nparticipants;
	return report;
}

static void
forget_report(BtReportKind kind)
{
	if (last_reports[kind] != NULL)
		pfree(last_reports[kind]);
	last_reports[kind] = NULL;
}

void
btbuild_publish(BtBuildReport *report, BtReportKind kind)
{
	forget_report(kind);
	last_reports[kind] = report;
}

/*
 * Make the result the session's last report.  The leader wrote all pages that
 * no worker wrote.
 */
static void
publish_result(Relation index, const PtBuildResult *result, const int64 *pages,
			   bool scanned_before)
{
	int			nparticipants = result->workers_launched + 1;
	BtBuildReport *report = btbuild_new_report(index, nparticipants);

	report->scanned_before = scanned_before;
	for (int i = 0; i < nparticipants; i++)
		report->participants[i].build = result->stats[i];
	report->participants[0].pages = RelationGetNumberOfBlocks(index);
	for (int i = 1; i < nparticipants; i++)
	{
		report->participants[i].pages = pages[i];
		report->participants[0].pages -= pages[i];
	}
	btbuild_publish(report, BT_REPORT_BUILD);
}

const BtBuildReport *
btbuild_last_report(BtReportKind kind)
{
	const BtBuildReport *report = last_reports[kind];

	if (report == NULL ||
		report->session_user != GetSessionUserId() ||
		report->role != GetOuterUserId())
		return NULL;
	return report;
}

void
btbuild_forget_reports(void)
{
	forget_report(BT_REPORT_BUILD);
	forget_report(BT_REPORT_COPY);
}
