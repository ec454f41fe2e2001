/*-------------------------------------------------------------------------
 *
 * checkfunction.c
 *	  The SQL function ptsort_check().
 *
 * Roles that may rebuild an index may check it: the table's owner, a role
 * with the privilege MAINTAIN (17 and later), and superusers.  The functions
 * that compare keys run as the table's owner and with restrictions, as in a
 * rebuild, because they may be users' functions.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <limits.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "check/checkindex.h"
#include "commands/progress.h"
#include "fmgr.h"
#include "funcapi.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "postmaster/bgworker_internals.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "util.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

extern PGDLLEXPORT Datum ptsort_check(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_check);

/* Names of the kinds of faults, as in the columns of the result */
static const char *const kind_names[NUM_CHECK_KINDS] = {
	[CHECK_BAD_PAGE] = "bad page",
	[CHECK_OUT_OF_ORDER] = "out of order",
	[CHECK_BROKEN_LINK] = "broken link",
	[CHECK_DUPLICATE] = "duplicate",
	[CHECK_NO_ROW] = "entry without row",
	[CHECK_NO_ENTRY] = "row without entry"
};

/* Raise an error unless the user may check the index, and ptsort can. */
static void
check_is_possible(Relation heap, Relation index)
{
	const char *name = RelationGetRelationName(index);

	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot check \"%s\"", name),
				 errdetail("It is not a btree index.")));
	if (!pt_may_maintain(RelationGetRelid(heap), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot check index \"%s\"", name),
				 errdetail("It belongs to a temporary table of another session.")));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot check index \"%s\"", name),
				 errdetail("The index is not valid.")));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot check unlogged index \"%s\" during recovery",
						name)));
}

/*
 * Raise an error if the snapshot is older than the index, which may then lack
 * entries of rows that the snapshot sees (README.HOT).  A standby does not know
 * whether it does.
 */
static void
check_snapshot(Relation index)
{
	HeapTupleHeader created = index->rd_indextuple->t_data;
	TransactionId xid = HeapTupleHeaderGetXmin(created);

	if (!index->rd_index->indcheckxmin && !RecoveryInProgress())
		return;
	if (TransactionIdIsCurrentTransactionId(xid) ?
		IsolationUsesXactSnapshot() :
		XidInMVCCSnapshot(xid, GetActiveSnapshot()))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("cannot compare index \"%s\" with its table in this transaction",
						RelationGetRelationName(index)),
				 errdetail("The index is newer than the transaction's snapshot.")));
}

/*
 * Returns the number of workers to request: the given number, or as for a build
 * of the index.
 */
static int
choose_workers(Relation heap, Relation index, bool with_rows, bool is_given,
			   int given)
{
	BtBuildRequest request = {
		.workers = max_parallel_maintenance_workers,
		.source = ""
	};

	if (planworkers_obstacle(heap, with_rows ? index : NULL) != NULL)
		return 0;
	if (!is_given)
	{
		planworkers_limit(&request, heap, index);
		return request.workers;
	}
	if (given < 0 || given > MAX_PARALLEL_WORKER_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of workers must be between 0 and %d",
						MAX_PARALLEL_WORKER_LIMIT)));
	return given;
}

/* Check the index with the rights of the table's owner. */
static void
run_check(Relation heap, Relation index, const CheckRequest *request,
		  CheckReport *report, int *participants)
{
	Oid			user;
	int			context;
	int			level = NewGUCNestLevel();

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   context | SECURITY_RESTRICTED_OPERATION);
	pt_restrict_search_path();
	checkindex_run(heap, index, request, report, participants);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
}

/* Returns an array of texts, one for the first fault of each kind. */
static Datum
describe_faults(const CheckReport *report)
{
	Datum		texts[NUM_CHECK_KINDS];
	int			n = 0;

	for (int i = 0; i < NUM_CHECK_KINDS; i++)
	{
		const CheckFinding *finding = &report->findings[i];

		if (finding->count > 0)
			texts[n++] = CStringGetTextDatum(psprintf("%s at (%u,%u): %s",
													  kind_names[i],
													  finding->block,
													  finding->offset,
													  finding->message));
	}
	return PointerGetDatum(construct_array(texts, n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

static Datum
make_row(FunctionCallInfo fcinfo, const char *name, const CheckReport *report,
		 int participants, double ms)
{
	TupleDesc	desc;
	Datum		values[7 + NUM_CHECK_KINDS];
	bool		isnull[lengthof(values)] = {0};
	int64		problems = 0;
	int			n = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < NUM_CHECK_KINDS; i++)
		problems += report->findings[i].count;
	values[n++] = CStringGetTextDatum(name);
	values[n++] = Int64GetDatum(report->pages);
	values[n++] = Int64GetDatum(report->tuples);
	values[n++] = Int64GetDatum(problems);
	for (int i = 0; i < NUM_CHECK_KINDS; i++)
		values[n++] = Int64GetDatum(report->findings[i].count);
	values[n++] = describe_faults(report);
	values[n++] = Int32GetDatum(participants);
	values[n++] = Float8GetDatum(ms);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 isnull));
}

Datum
ptsort_check(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	CheckRequest request;
	CheckReport report;
	Relation	heap;
	Relation	index;
	Oid			heap_id;
	int			participants;
	instr_time	start;
	char	   *name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	INSTR_TIME_SET_CURRENT(start);
	/* lock the table first, as all statements do */
	heap_id = IndexGetRelation(index_id, true);
	if (!OidIsValid(heap_id) && get_rel_relkind(index_id) == '\0')
		PG_RETURN_NULL();		/* dropped meanwhile */
	heap = OidIsValid(heap_id) ? table_open(heap_id, AccessShareLock) : NULL;
	index = index_open(index_id, AccessShareLock);
	if (heap == NULL || heap_id != IndexGetRelation(index_id, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open the table of index \"%s\"",
						RelationGetRelationName(index))));
	check_is_possible(heap, index);
	request.with_rows = PG_GETARG_BOOL(1);
	request.full = PG_GETARG_BOOL(3);
	if (request.with_rows || index->rd_index->indisunique)
		check_snapshot(index);
	request.workers = choose_workers(heap, index, request.with_rows,
									 !PG_ARGISNULL(2),
									 PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2));
	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, heap_id);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_INDEX_OID, index_id);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE,
								 PROGRESS_CREATEIDX_PHASE_VALIDATE_IDXSCAN);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
								 RelationGetNumberOfBlocks(index));
	run_check(heap, index, &request, &report, &participants);
	pgstat_progress_end_command();
	name = pstrdup(RelationGetRelationName(index));
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	return make_row(fcinfo, name, &report, participants, pt_ms_since(start));
}
