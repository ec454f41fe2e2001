/*-------------------------------------------------------------------------
 *
 * module.c
 *	  The module as the server sees it: _PG_init, GUCs and SQL functions.
 *
 * The variables of the GUCs belong to the files that use them;
 * contrib/ptsort_test registers those of debug.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <limits.h>

#include "btree/btreport.h"
#include "btree/siblings.h"
#include "fmgr.h"
#include "funcapi.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "query/sortnode.h"
#include "query/sortreport.h"
#include "text/text_rank.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT Datum ptsort_last_build(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_last_copy(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_last_sort(PG_FUNCTION_ARGS);

static const struct config_enum_entry sorts[] = {
	{"off", TAKE_NO_SORTS, false},
	{"text", TAKE_TEXT, false},
	{"on", TAKE_SORTS, false},
	{NULL, 0, false}
};

static void
define_bool(const char *name, bool *variable, GucContext context,
			const char *short_desc, const char *long_desc)
{
	DefineCustomBoolVariable(name, short_desc, long_desc, variable, *variable,
							 context, 0, NULL, NULL, NULL);
}

static void
define_int(const char *name, int *variable, int min, int max, int flags,
		   const char *short_desc, const char *long_desc)
{
	DefineCustomIntVariable(name, short_desc, long_desc, variable, *variable,
							min, max, PGC_USERSET, flags, NULL, NULL, NULL);
}

/*
 * All users may change what decides how indexes are built and rows sorted.
 * Only superusers may change what writes to the server's log, as with
 * log_statement.
 */
static void
define_settings(void)
{
	define_bool("ptsort.enable", &ptsort_enable, PGC_USERSET,
				"Builds btree indexes with ptsort.",
				"When off, the server builds them.");
	define_bool("ptsort.use_collation_tables", &ptsort_use_collation_tables,
				PGC_USERSET,
				"Compares strings by the tables of their collation where these prove the order.",
				"When off, the C library or ICU compares them.");
	define_bool("ptsort.log_build", &ptsort_log_build, PGC_SUSET,
				"Logs index builds, and why the server does a build.",
				"When on, clients do not receive these messages; when off, their level is DEBUG1.");
	define_bool("ptsort.log_sort", &ptsort_log_sort, PGC_SUSET,
				"Logs each query sort performed by ptsort.",
				"When on, clients do not receive these messages; when off, their level is DEBUG1.");
	define_int("ptsort.parallel_workers", &ptsort_parallel_workers,
			   -1, MAX_PARALLEL_WORKER_LIMIT, 0,
			   "Sets the most parallel workers, unless a statement specifies their number.",
			   "-1 leaves it to the table's parallel_workers or the server's cost model.");
	define_int("ptsort.min_table_size", &ptsort_min_table_size,
			   0, INT_MAX, GUC_UNIT_KB,
			   "Sets the minimum size of tables whose indexes are built with ptsort.",
			   "0 means all tables that are not empty.");
	define_int("ptsort.indexes_per_scan", &ptsort_indexes_per_scan,
			   1, MAX_INDEXES_PER_SCAN, 0,
			   "Sets the maximum number of indexes built from one table scan.",
			   "1 means that each index has a scan of its own.");
	define_int("ptsort.min_sort_rows", &ptsort_min_sort_rows, 0, INT_MAX, 0,
			   "Sets the minimum number of rows of a query sort performed by ptsort.",
			   "The planner's estimate counts.");
	DefineCustomEnumVariable("ptsort.sort",
							 "Sorts rows of queries with ptsort.",
							 "\"text\" means only by text in collations other than \"C\".",
							 &ptsort_sort, TAKE_NO_SORTS, sorts,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("ptsort");
}

void
_PG_init(void)
{
	define_settings();
	utility_init();
	ambuild_init();
	cluster_init();
	siblings_init();
	sortnode_init();
}


/*
 * ptsort_last_build() and ptsort_last_copy()
 */

/* Add a row to the result; a negative participant means the total. */
static void
put_last_build_row(ReturnSetInfo *rsinfo, const BtBuildReport *report,
				   int participant, const BtBuildStats *stats)
{
	const PtParallelStats *build = &stats->build;
	const PtSortStats *sort = &build->sort;
	const char *role = participant < 0 ? "total" :
		participant == 0 ? "leader" : "worker";
	Datum		values[] = {
		CStringGetTextDatum(NameStr(report->index_name)),
		Int32GetDatum(participant),
		CStringGetTextDatum(role),
		Int64GetDatum(sort->tuples),
		Int64GetDatum(sort->runs),
		Int64GetDatum(sort->run_bytes),
		Float8GetDatum(build->fill_ms),
		Float8GetDatum(sort->sort_ms),
		Float8GetDatum(sort->run_ms),
		Float8GetDatum(build->read_ms),
		Int64GetDatum(sort->comparisons),
		Int64GetDatum(stats->pages),
		Int64GetDatum(build->wal_bytes),
		Int64GetDatum(sort->peak_memory),
		Int64GetDatum(sort->temp_bytes)
	};
	bool		nulls[lengthof(values)] = {
		[1] = participant < 0,
		[6] = report->scanned_before	/* scan_ms */
	};

	Assert(rsinfo->setDesc->natts == lengthof(values));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Add a participant to the total.  Participants work at the same time, so the
 * total of a time is the longest one; everything else adds up.
 */
static void
add_to_total(BtBuildStats *total, const BtBuildStats *stats)
{
	PtParallelStats *build = &total->build;
	PtSortStats *sort = &build->sort;

	sort->tuples += stats->build.sort.tuples;
	sort->runs += stats->build.sort.runs;
	sort->run_bytes += stats->build.sort.run_bytes;
	build->fill_ms = Max(build->fill_ms, stats->build.fill_ms);
	sort->sort_ms = Max(sort->sort_ms, stats->build.sort.sort_ms);
	sort->run_ms = Max(sort->run_ms, stats->build.sort.run_ms);
	build->read_ms = Max(build->read_ms, stats->build.read_ms);
	sort->comparisons += stats->build.sort.comparisons;
	total->pages += stats->pages;
	build->wal_bytes += stats->build.wal_bytes;
	sort->peak_memory += stats->build.sort.peak_memory;
	sort->temp_bytes += stats->build.sort.temp_bytes;
}

/* Report the last build or copy: a row for each participant, and the total. */
static void
put_last_report(FunctionCallInfo fcinfo, BtReportKind kind)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const BtBuildReport *report = btreport_last(kind);
	BtBuildStats total = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (report == NULL)
		return;

	for (int i = 0; i < report->nparticipants; i++)
	{
		put_last_build_row(rsinfo, report, i, &report->participants[i]);
		add_to_total(&total, &report->participants[i]);
	}
	put_last_build_row(rsinfo, report, -1, &total);
}

/* Reports this session's last index build. */
PG_FUNCTION_INFO_V1(ptsort_last_build);
Datum
ptsort_last_build(PG_FUNCTION_ARGS)
{
	put_last_report(fcinfo, BT_REPORT_BUILD);
	return (Datum) 0;
}

/* Reports this session's last copy of a table. */
PG_FUNCTION_INFO_V1(ptsort_last_copy);
Datum
ptsort_last_copy(PG_FUNCTION_ARGS)
{
	put_last_report(fcinfo, BT_REPORT_COPY);
	return (Datum) 0;
}


/*
 * ptsort_last_sort()
 */

/* Reports the session's last Sort node by ptsort; no row if there was none. */
PG_FUNCTION_INFO_V1(ptsort_last_sort);
Datum
ptsort_last_sort(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const SortReport *report = sortreport_last();

	InitMaterializedSRF(fcinfo, 0);
	if (report != NULL)
	{
		const PtSortStats *stats = &report->stats;
		Datum		values[] = {
			Int64GetDatum(report->sorts),
			Int32GetDatum(report->keys),
			Int64GetDatum(stats->tuples),
			CStringGetTextDatum(ptsort_method_name(stats->method)),
			Int64GetDatum(stats->runs),
			Int64GetDatum(stats->comparisons),
			Float8GetDatum(stats->sort_ms),
			Float8GetDatum(stats->run_ms),
			Int64GetDatum(stats->peak_memory),
			Int64GetDatum(stats->temp_bytes)
		};
		bool		nulls[lengthof(values)] = {false};

		Assert(rsinfo->setDesc->natts == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
