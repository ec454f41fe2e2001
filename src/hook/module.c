/*-------------------------------------------------------------------------
 *
 * module.c
 *	  The module as the server sees it: _PG_init and GUCs.
 *
 * The Makefile defines PTSORT_VERSION, the version of ptsort.control.
 * Each GUC's variable is in the file that uses it.  contrib/ptsort_test
 * registers the settings of debug.h as GUCs.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <limits.h>

#include "hook/hook.h"
#include "throttle/throttle.h"
#include "model/space.h"
#include "postmaster/bgworker_internals.h"
#include "query/sortnode.h"
#include "text/text_rank.h"
#include "utils/varlena.h"
#include "write/buildreport.h"

PT_MODULE_MAGIC("ptsort", PTSORT_VERSION);

extern PGDLLEXPORT void _PG_init(void);

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

/* GucStringCheckHook */
static bool
check_names(char **value, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*value);
	List	   *names;
	bool		valid = SplitIdentifierString(copy, ',', &names);

	if (!valid)
		GUC_check_errdetail("List syntax is invalid.");
	list_free(names);
	pfree(copy);
	return valid;
}

static void
define_limits(void)
{
	define_int("ptsort.max_wal_rate", &ptsort_max_wal_rate,
			   0, INT_MAX, GUC_UNIT_KB,
			   "Limits the WAL that a build or copy writes in a second.",
			   "0 means no limit.");
	define_int("ptsort.max_io_rate", &ptsort_max_io_rate,
			   0, INT_MAX, GUC_UNIT_KB,
			   "Limits what a build or copy reads from files and from and to temporary files in a second.",
			   "0 means no limit.");
	define_int("ptsort.max_replica_lag", &ptsort_max_replica_lag,
			   0, INT_MAX, GUC_UNIT_KB,
			   "Sets the lag of a replica at which builds and copies pause.",
			   "0 means that they do not pause.");
	define_int("ptsort.disk_reserve", &ptsort_disk_reserve,
			   -1, INT_MAX, GUC_UNIT_KB,
			   "Stops a sort, build or copy before it leaves less free space in a file system.",
			   "-1 means no reserve except for WAL files; 0 means that ptsort never looks at the free space.");
	DefineCustomStringVariable("ptsort.lag_replicas",
							   "Names the replicas whose lag counts for ptsort.max_replica_lag.",
							   "A replica's name is its application_name. An empty list means all connected physical replicas.",
							   &ptsort_lag_replicas, "", PGC_USERSET,
							   GUC_LIST_INPUT, check_names, NULL, NULL);
}

/* As with log_statement, only superusers may change what ptsort logs. */
static void
define_settings(void)
{
	define_bool("ptsort.enable", &ptsort_enable, PGC_USERSET,
				"Builds btree, GiST and GIN indexes with ptsort.",
				"When off, the server builds them.");
	define_bool("ptsort.use_collation_tables", &ptsort_use_collation_tables,
				PGC_USERSET,
				"Compares strings by tables of their collation where the tables prove the order.",
				"When off, the C library or ICU compares all strings.");
	define_bool("ptsort.log_build", &ptsort_log_build, PGC_SUSET,
				"Logs index builds, and why the server does a build.",
				"When on, clients do not receive these messages; when off, their level is DEBUG1.");
	define_bool("ptsort.log_sort", &ptsort_log_sort, PGC_SUSET,
				"Logs each query sort performed by ptsort.",
				"When on, clients do not receive these messages; when off, their level is DEBUG1.");
	define_int("ptsort.parallel_workers", &ptsort_parallel_workers,
			   -1, MAX_PARALLEL_WORKER_LIMIT, 0,
			   "Sets the maximum number of parallel workers, unless a statement specifies it.",
			   "-1 uses the table's parallel_workers or the server's cost model.");
	define_int("ptsort.min_table_size", &ptsort_min_table_size,
			   0, INT_MAX, GUC_UNIT_KB,
			   "Sets the minimum size of tables whose indexes are built with ptsort.",
			   "0 means all tables that are not empty.");
	define_int("ptsort.indexes_per_scan", &ptsort_indexes_per_scan,
			   1, MAX_INDEXES_PER_SCAN, 0,
			   "Sets the maximum number of indexes built from one table scan.",
			   "1 means one scan for each index.");
	define_int("ptsort.min_sort_rows", &ptsort_min_sort_rows, 0, INT_MAX, 0,
			   "Sets the minimum number of rows of a query sort performed by ptsort.",
			   "ptsort uses the planner's estimate.");
	DefineCustomEnumVariable("ptsort.sort",
							 "Sorts rows of queries with ptsort.",
							 "\"text\" means only sorts by text in collations other than \"C\".",
							 &ptsort_sort, TAKE_NO_SORTS, sorts,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	define_limits();
	MarkGUCPrefixReserved("ptsort");
}

void
_PG_init(void)
{
	define_settings();
	utility_init();
	redirect_init();
	cluster_init();
	siblings_init();
	sortnode_init();
}
