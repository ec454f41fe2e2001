/*-------------------------------------------------------------------------
 *
 * validation.c
 *	  Makes ptsort validate the indexes that it built CONCURRENTLY.
 *
 * The server's validate_index() calls the index's ambulkdelete, which collects
 * the TIDs of all entries, and then the table's index_validate_scan.  redirect.c
 * makes it call validation_bulk_delete().  If ptsort built the index in this
 * statement, this function plans the validation instead, and redirects the
 * second call, which does the work.  Between the two calls the server only
 * sorts the TIDs, of which there are none: no invalidation can arrive there,
 * so that the second call surely reaches ptsort.
 *
 * A relcache entry may keep the redirected ambulkdelete.  Then VACUUM calls it,
 * and it calls the server's function.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gist_private.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "hook/hook.h"
#include "model/cost.h"
#include "util.h"
#include "validate/validate.h"
#include "write/buildreport.h"

/* Bytes of two records, of an entry and a row, in runs or in memory */
static const double pair_bytes = 64;

/* The index whose validation is planned, and the plan, in its transaction */
static Oid	planned = InvalidOid;
static ValidatePlan plan;
static instr_time start;

/* Returns the most rows that the validation compares. */
static double
rows_to_compare(Relation heap)
{
	double		rows = Max(heap->rd_rel->reltuples, 0);

	return rows * plan.nread / Max(plan.pages->nblocks, 1);
}

/* Returns the reason to leave the validation to the server, or NULL. */
static const char *
why_not(Relation heap)
{
	const char *reason = ambuild_why_not(heap);
	double		bytes;

	if (reason != NULL)
		return reason;
	/* the server's scan checks visible rows for conflicts */
	if (IsolationIsSerializable())
		return "serializable transaction";
	bytes = rows_to_compare(heap) * pair_bytes;
	if (bytes > maintenance_work_mem * 1024.0 &&
		(temp_file_limit >= 0 || !planworkers_runs_fit(heap, bytes)))
		return "too little space for temporary files";
	return NULL;
}

/* Plan the validation, and redirect its second call.  False if it is not ours. */
static bool
prepare(Relation heap, Relation index)
{
	const Marks *marks = marks_find(RelationGetRelid(index), heap);
	const char *reason;

	if (marks == NULL)
		return false;
	INSTR_TIME_SET_CURRENT(start);
	validate_plan(&plan, heap, marks);
	marks_drop(RelationGetRelid(index));
	reason = why_not(heap);
	if (reason == NULL && !tableam_redirect(heap))
		reason = "another table access method";
	if (reason != NULL)
		ereport(buildreport_log_level(),
				(errmsg("ptsort: leaving validation of index \"%s\" to the server: %s",
						RelationGetRelationName(index), reason)));
	return reason == NULL;
}

IndexBulkDeleteResult *
validation_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *state)
{
	Relation	index = info->index;
	bool		ours = false;

	planned = InvalidOid;
	if (stats == NULL && utility_kind() != UTILITY_NONE)
	{
		/* validate_index() holds this entry open */
		Relation	heap = RelationIdGetRelation(index->rd_index->indrelid);

		redirect_found(RelationGetRelid(index));
		ours = RelationIsValid(heap) && prepare(heap, index);
		if (RelationIsValid(heap))
			RelationClose(heap);
	}
	if (!ours)
		return index->rd_rel->relam == GIST_AM_OID ?
			gistbulkdelete(info, stats, callback, state) :
			btbulkdelete(info, stats, callback, state);
	planned = RelationGetRelid(index);
	return palloc0(sizeof(IndexBulkDeleteResult));
}

static int
choose_workers(Relation heap, Relation index)
{
	BtBuildRequest request =
		planworkers_request(heap, index, utility_workers(index),
							planworkers_by_cost(heap, index));
	double		rows = plan.ncompared == 0 ? 0 : rows_to_compare(heap);

	/* workers write runs, also if memory would suffice */
	if (temp_file_limit >= 0)
		return 0;
	planworkers_validation(&request, plan.nread, rows, plan.ncompared == 0 ?
						   0 : RelationGetNumberOfBlocks(index));
	return request.workers;
}

/* The index_validate_scan of a redirected relcache entry */
void
validation_scan(Relation heap, Relation index, IndexInfo *index_info,
				Snapshot snapshot, ValidateIndexState *state)
{
	ValidateRequest request = {heap, index, index_info, snapshot, &plan};
	ValidateResult result;

	tableam_restore(heap);
	if (planned != RelationGetRelid(index))
	{
		table_index_validate_scan(heap, index, index_info, snapshot, state);
		return;
	}
	planned = InvalidOid;
	request.workers = choose_workers(heap, index);
	validate_run(&request, &result);
	state->htups = result.rows;
	state->itups = result.entries;
	state->tups_inserted = result.inserted;
	buildreport_validated(index, &result, plan.pages->nblocks,
						  pt_ms_since(start));
}
