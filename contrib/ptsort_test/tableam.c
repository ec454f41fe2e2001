/*-------------------------------------------------------------------------
 *
 * tableam.c
 *	  Like Citus's columnar method, this table access method cannot scan in
 *	  parallel.
 *
 * The method has heap's functions, except for those in this file.  The
 * method's function for the size of a parallel scan raises an error, and a
 * planner hook forbids parallel scans of the method's tables.  Code that obeys
 * the hook never causes the error.
 * (heap's scan for index builds refuses tables of other access methods.  So
 * this file has a scan of its own, which reads the rows that a snapshot sees.)
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_serial_am);

static TableAmRoutine serial_am;
static pt_table_hook_type prev_table_hook = NULL;

static Size
serial_parallelscan_estimate(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("parallel scans are not implemented")));
	return 0;
}

static double
serial_index_build_range_scan(Relation heap, Relation index,
							  IndexInfo *index_info, bool allow_sync,
							  bool anyvisible, bool progress,
							  BlockNumber start_block, BlockNumber nblocks,
							  IndexBuildCallback callback, void *state,
							  TableScanDesc scan)
{
	EState	   *estate = CreateExecutorState();
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	Snapshot	snapshot = NULL;	/* registered by this function */
	double		ntuples = 0;

	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	if (scan == NULL)
	{
		snapshot = RegisterSnapshot(GetLatestSnapshot());
		scan = table_beginscan_strat(heap, snapshot, 0, NULL, true, true);
	}
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		FormIndexDatum(index_info, slot, estate, values, isnull);
		callback(index, &slot->tts_tid, values, isnull, true, state);
		ntuples++;
	}
	table_endscan(scan);
	if (snapshot != NULL)
		UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return ntuples;
}

static Oid
serial_relation_toast_am(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

/* ptsort_test_serial_am(internal): see the SQL script. */
Datum
ptsort_test_serial_am(PG_FUNCTION_ARGS)
{
	serial_am = *GetHeapamTableAmRoutine();
	serial_am.parallelscan_estimate = serial_parallelscan_estimate;
	serial_am.index_build_range_scan = serial_index_build_range_scan;
	serial_am.relation_toast_am = serial_relation_toast_am;
	PG_RETURN_POINTER(&serial_am);
}

static void
serial_table_hook(PT_TABLE_HOOK_ARGUMENTS)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
	Relation	relation;

	if (prev_table_hook)
		prev_table_hook(PT_PASS_TABLE_HOOK_ARGUMENTS);
	if (entry->rtekind != RTE_RELATION)
		return;
	relation = relation_open(entry->relid, NoLock);
	if (relation->rd_tableam == &serial_am)
		rel->rel_parallel_workers = 0;
	relation_close(relation, NoLock);
}

/* test_tableam_init, called once per process, installs the hook. */
void
test_tableam_init(void)
{
	prev_table_hook = pt_table_hook;
	pt_table_hook = serial_table_hook;
}
