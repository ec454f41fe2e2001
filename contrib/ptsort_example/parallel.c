/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Sort in parallel: the median of a column of a table.
 *
 * ptsort_parallel() starts workers and hands out the table's blocks.  Each
 * process puts the column's values from its blocks into a sort of its own, and
 * the leader reads the runs of all processes as one stream.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ptsort_parallel.h"

PG_FUNCTION_INFO_V1(table_median);
extern PGDLLEXPORT const PtParallelOps *table_median_ops(void);

/* Argument of the callbacks.  Every worker gets a copy. */
typedef struct Job
{
	AttrNumber	column;
} Job;

static PtSort *
begin_sort(PtParallel *parallel, const PtSortOptions *options)
{
	return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
							  options);
}

static void
put_row(PtParallel *parallel, PtSort *sort, TupleTableSlot *slot)
{
	const Job  *job = parallel->arg;
	bool		isnull;
	Datum		value = slot_getattr(slot, job->column, &isnull);

	if (!isnull)
		ptsort_put_datum(sort, value, false);
}

/* Workers find this function by its name. */
const PtParallelOps *
table_median_ops(void)
{
	static const PtParallelOps ops = {.begin = begin_sort,.put = put_row};

	return &ops;
}

/* Finds the median of all values; returns false if there are no values. */
static bool
read_median(PtSort *stream, Datum *median)
{
	PtSortStats stats;
	bool		isnull;
	bool		found = false;

	ptsort_stats(stream, &stats);
	for (int64 i = 0; i <= stats.tuples / 2; i++)
		found = ptsort_get_datum(stream, true, median, &isnull);
	return found;
}

Datum
table_median(PG_FUNCTION_ARGS)
{
	Relation	table = table_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	Job			job = {get_attnum(RelationGetRelid(table), column)};
	PtParallelRequest request = {
		.library = "$libdir/ptsort_example",
		.ops_function = "table_median_ops",
		.arg = &job,
		.arg_size = sizeof(Job),
		.table = table,
		.workers = PG_GETARG_INT32(2),
		.budget = (int64) work_mem * 1024
	};
	PtParallel *parallel;
	PtParallelResult *result;
	Datum		median;
	bool		found;

	if (!RELKIND_HAS_TABLE_AM(table->rd_rel->relkind) || job.column <= 0 ||
		get_atttype(RelationGetRelid(table), job.column) != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with a bigint column \"%s\"",
						RelationGetRelationName(table), column)));
	parallel = ptsort_parallel(&request);
	found = read_median(parallel->stream, &median);
	result = ptsort_parallel_end(parallel);
	elog(DEBUG1, "table_median: " INT64_FORMAT " values, %d workers",
		 result->tuples, result->workers_launched);
	table_close(table, AccessShareLock);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(median);
}
