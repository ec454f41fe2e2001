/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Sort in parallel: the median of a column of a table.
 *
 * The server's functions for parallel work make the segment of shared memory
 * and start the workers.  In the segment are a description of what to do, the
 * scan that hands out the table's blocks, and the block of the sort.  Each
 * process, the leader's as well, puts its share of the rows into a sort of its
 * own; the leader then merges what they have left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "ptsort.h"

/* What is where in the segment. */
#define KEY_JOB		1
#define KEY_SCAN	2
#define KEY_SORT	3

typedef struct Job
{
	Oid			table;
	AttrNumber	column;
	int64		budget;			/* bytes for each process */
} Job;

PG_FUNCTION_INFO_V1(table_median);
extern PGDLLEXPORT void table_median_worker(dsm_segment *segment, shm_toc *toc);

static PtSort *
begin_sort(const PtSortOptions *options)
{
	return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
							  options);
}

/* In every process: sorts the rows of the blocks that the scan gives it. */
static void
sort_share(Relation table, const Job *job, ParallelTableScanDesc shared_scan,
		   PtSortShared *shared, int participant)
{
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.budget = job->budget,
		.shared = shared,
		.participant = participant
	};
	PtSort	   *sort = begin_sort(&options);
	TableScanDesc scan = table_beginscan_parallel(table, shared_scan);
	TupleTableSlot *slot = table_slot_create(table, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, job->column, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (!isnull)
			ptsort_put_datum(sort, value, false);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	ptsort_perform(sort);
	ptsort_end(sort);
}

/* table_median_worker is what the workers run, found by its name. */
void
table_median_worker(dsm_segment *segment, shm_toc *toc)
{
	Job		   *job = shm_toc_lookup(toc, KEY_JOB, false);
	PtSortShared *shared = shm_toc_lookup(toc, KEY_SORT, false);
	Relation	table = table_open(job->table, AccessShareLock);

	ptsort_shared_attach(shared, segment);
	sort_share(table, job, shm_toc_lookup(toc, KEY_SCAN, false), shared,
			   ParallelWorkerNumber + 1);
	table_close(table, AccessShareLock);
}

static void *
add_piece(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *piece = shm_toc_allocate(pcxt->toc, size);

	shm_toc_insert(pcxt->toc, key, piece);
	return piece;
}

/* In the leader: finds the middle one of all values; false if there is none. */
static bool
read_median(ParallelContext *pcxt, const Job *job, PtSortShared *shared,
			Datum *median)
{
	PtSortOptions options = {
		.role = PTSORT_LEADER,
		.budget = job->budget,
		.shared = shared,
		.participants = pcxt->nworkers_launched + 1,
		.workers = pcxt
	};
	PtSort	   *sort = begin_sort(&options);
	PtSortStats stats;
	bool		isnull;

	ptsort_perform(sort);
	ptsort_stats(sort, &stats);
	for (int64 i = 0; i < stats.tuples / 2; i++)
		(void) ptsort_get_datum(sort, true, median, &isnull);
	if (stats.tuples > 0)
		(void) ptsort_get_datum(sort, true, median, &isnull);
	ptsort_end(sort);
	elog(DEBUG1, "table_median: " INT64_FORMAT " values, %d workers",
		 stats.tuples, pcxt->nworkers_launched);
	return stats.tuples > 0;
}

static bool
parallel_median(Relation table, const Job *job, int workers, Datum *median)
{
	Snapshot	snapshot = GetActiveSnapshot();
	Size		scan_size = table_parallelscan_estimate(table, snapshot);
	Size		sort_size = ptsort_shared_estimate(workers + 1);
	ParallelTableScanDesc scan;
	PtSortShared *shared;
	ParallelContext *pcxt;
	bool		found;

	EnterParallelMode();
	pcxt = CreateParallelContext("ptsort_example", "table_median_worker",
								 workers);
	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(Job));
	shm_toc_estimate_chunk(&pcxt->estimator, scan_size);
	shm_toc_estimate_chunk(&pcxt->estimator, sort_size);
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
		elog(ERROR, "could not get a segment of shared memory");

	*(Job *) add_piece(pcxt, KEY_JOB, sizeof(Job)) = *job;
	scan = add_piece(pcxt, KEY_SCAN, scan_size);
	table_parallelscan_initialize(table, scan, snapshot);
	shared = add_piece(pcxt, KEY_SORT, sort_size);
	ptsort_shared_init(shared, workers + 1, pcxt->seg);

	LaunchParallelWorkers(pcxt);
	sort_share(table, job, scan, shared, 0);
	found = read_median(pcxt, job, shared, median);
	WaitForParallelWorkersToFinish(pcxt);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return found;
}

Datum
table_median(PG_FUNCTION_ARGS)
{
	Relation	table = table_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	int			workers = PG_GETARG_INT32(2);
	Job			job = {
		.table = RelationGetRelid(table),
		.column = get_attnum(RelationGetRelid(table), column),
		.budget = (int64) work_mem * 1024
	};
	Datum		median;
	bool		found;

	if (!RELKIND_HAS_TABLE_AM(table->rd_rel->relkind) || job.column <= 0 ||
		get_atttype(job.table, job.column) != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with a bigint column \"%s\"",
						RelationGetRelationName(table), column)));
	if (RelationUsesLocalBuffers(table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read temporary table \"%s\" in parallel",
						RelationGetRelationName(table))));
	if (workers < 1 || workers > 64)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of workers must be between 1 and 64")));
	found = parallel_median(table, &job, workers, &median);
	table_close(table, AccessShareLock);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(median);
}
