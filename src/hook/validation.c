/*-------------------------------------------------------------------------
 *
 * validation.c
 *	  Makes ptsort validate the indexes that it built CONCURRENTLY.
 *
 * The server's validate_index() calls the index's ambulkdelete, which collects
 * the TIDs of all entries, and then the table's index_validate_scan.
 * redirect.c makes it call validation_begin().  If ptsort built the index in
 * this statement, this function only plans the validation, and points
 * rd_tableam of the table at a copy of heap's routine, so that the second call
 * reaches validation_scan(), which does the work.  Between the calls, unless
 * trace_sort is on, no error and no invalidation can arrive.
 *
 * A relcache entry may keep the redirected ambulkdelete.  Then VACUUM calls it,
 * and it calls the server's function.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "debug.h"
#include "hook/hook.h"
#include "util.h"
#include "write/buildreport.h"

/* Bytes of the records of a row and its entry, in runs or in memory */
static const double pair_bytes = 64;

/* heap's routine with validation_scan(); filled in at each redirection */
static TableAmRoutine heap_routine;

/* The validation between the two calls, in the memory of their transaction */
static Validation validation;
static instr_time start;

static int
choose_workers(Relation heap, Relation index)
{
	CostSum		sum = {0};
	BtBuildRequest request;

	/* workers write runs, also if memory would suffice */
	if (temp_file_limit >= 0)
		return 0;
	request = planworkers_request(heap, index, utility_workers(index),
								  planworkers_by_cost(heap, index));
	cost_add(&sum, &validation.job);
	return request.is_order ? request.workers :
		cost_fastest(&sum, request.workers);
}

/* The index_validate_scan of a redirected relcache entry */
static void
validation_scan(Relation heap, Relation index, IndexInfo *index_info,
				Snapshot snapshot, ValidateIndexState *state)
{
	heap->rd_tableam = GetHeapamTableAmRoutine();
	validation.index_info = index_info;
	validation.snapshot = snapshot;
	if (validation.pages_to_read > 0)
		validate_run(&validation, choose_workers(heap, index));
	state->htups = validation.rows;
	state->itups = validation.entries;
	state->tups_inserted = validation.inserted;
	validation.ms = pt_ms_since(start);
	buildreport_validated(&validation);
}

/* Returns the reason to leave the planned validation to the server, or NULL. */
static const char *
why_not(Relation heap)
{
	double		bytes = Max(heap->rd_rel->reltuples, 0) * pair_bytes *
		validation.job.blocks / Max(validation.table_pages, 1);

	if (trace_sort)
		return "trace_sort is on";
	/* the server's scan checks visible rows for conflicts */
	if (IsolationIsSerializable())
		return "serializable transaction";
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return "another table access method";
	if (bytes > maintenance_work_mem * 1024.0 &&
		(temp_file_limit >= 0 || !planworkers_runs_fit(heap, bytes)))
		return "too little space for temporary files";
	return NULL;
}

/* Plan the validation and redirect the second call.  False: not ptsort's. */
static bool
prepare(Relation heap, const IndexVacuumInfo *info)
{
	Relation	index = info->index;
	Marks	   *marks = marks_take(RelationGetRelid(index));
	const char *reason;

	if (marks == NULL)
		return false;
	INSTR_TIME_SET_CURRENT(start);
	validation = (Validation)
	{
		.heap = heap,.index = index,.request = *info,.participants = 1
	};
	validate_plan(&validation, marks);
	pfree(marks);
	reason = why_not(heap);
	if (reason != NULL)
	{
		ereport(buildreport_log_level(),
				(errmsg("ptsort: leaving validation of index \"%s\" to the server: %s",
						RelationGetRelationName(index), reason)));
		return false;
	}
	fault_point("validation: planned");
	heap_routine = *heap->rd_tableam;
	heap_routine.index_validate_scan = validation_scan;
	heap->rd_tableam = &heap_routine;
	return true;
}

IndexBulkDeleteResult *
validation_begin(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *state)
{
	Relation	index = info->index;

	if (utility_kind() != UTILITY_NONE)
	{
		/* validate_index() and VACUUM hold this entry open */
		Relation	heap = RelationIdGetRelation(index->rd_index->indrelid);
		bool		ours;

		redirect_found(RelationGetRelid(index));
		ours = prepare(heap, info);
		RelationClose(heap);
		if (ours)
			return palloc0(sizeof(IndexBulkDeleteResult));
	}
	return validate_bulkdelete(index) (info, stats, callback, state);
}
