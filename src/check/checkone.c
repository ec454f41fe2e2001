/*-------------------------------------------------------------------------
 *
 * checkone.c
 *	  Opens and checks one index for a user.
 *
 * Roles that may rebuild an index may check it: the table's owner, a role
 * with the privilege MAINTAIN (17 and later), and superusers.  The functions
 * that compare keys, and those in expressions, run as the table's owner and
 * with restrictions, as in a rebuild, because they may be users' functions.
 * A parallel worker has the user and the snapshot of its leader.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/relation.h"
#include "catalog/pg_am.h"
#include "check/check.h"

/*
 * True if the snapshot is older than the index, which may then lack entries of
 * rows that the snapshot sees (README.HOT).  A standby does not know whether it
 * does.
 */
static bool
is_too_new(Relation index)
{
	HeapTupleHeader created = index->rd_indextuple->t_data;
	TransactionId xid = HeapTupleHeaderGetXmin(created);

	if (!index->rd_index->indcheckxmin && !RecoveryInProgress())
		return false;
	return TransactionIdIsCurrentTransactionId(xid) ?
		IsolationUsesXactSnapshot() :
		XidInMVCCSnapshot(xid, GetActiveSnapshot());
}

static CheckState
judge(const CheckTarget *target, CheckUse use)
{
	Relation	heap = target->heap;
	Relation	index = target->index;

	if (use == CHECK_USES_TABLE && index->rd_rel->relam != BTREE_AM_OID)
		return CHECK_IS_NO_BTREE;
	if (check_method(index->rd_rel->relam) == NULL ||
		(index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX &&
		 use != CHECK_USES_TABLE))
		return CHECK_IS_OTHER_METHOD;
	if (!pt_may_maintain(RelationGetRelid(heap), target->caller.user))
		return CHECK_IS_FORBIDDEN;
	if (RELATION_IS_OTHER_TEMP(index))
		return CHECK_IS_OTHER_TEMP;
	if (pt_is_elsewhere(index) || pt_is_elsewhere(heap))
		return CHECK_IS_ELSEWHERE;
	if (use != CHECK_USES_TABLE && !index->rd_index->indisvalid)
		return CHECK_IS_INVALID;
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		return CHECK_IS_EMPTIED;
	if (use != CHECK_USES_TABLE &&
		(use == CHECK_USES_BOTH || index->rd_index->indisunique) &&
		is_too_new(index))
		return CHECK_IS_TOO_NEW;
	return CHECK_RUNS;
}

CheckState
checkone_open(Oid index_id, CheckUse use, CheckTarget *target)
{
	Oid			heap_id = IndexGetRelation(index_id, true);
	CheckState	state = CHECK_IS_GONE;

	if (!OidIsValid(heap_id))
		return get_rel_relkind(index_id) == '\0' ? CHECK_IS_GONE :
			use == CHECK_USES_TABLE ? CHECK_IS_NO_BTREE : CHECK_IS_OTHER_METHOD;
	/* lock the table first, as all statements do */
	target->heap = try_relation_open(heap_id, AccessShareLock);
	if (target->heap == NULL)
		return CHECK_IS_GONE;
	owner_enter(&target->caller, target->heap);
	target->index = try_relation_open(index_id, AccessShareLock);
	if (target->index != NULL && IndexGetRelation(index_id, true) == heap_id)
		state = judge(target, use);
	if (state != CHECK_RUNS)
		checkone_close(target);
	return state;
}

void
checkone_close(CheckTarget *target)
{
	if (target->index != NULL)
		relation_close(target->index, AccessShareLock);
	owner_leave(&target->caller);
	relation_close(target->heap, AccessShareLock);
}

const char *
checkone_reason(CheckState state, int *sqlstate)
{
	static const struct
	{
		int			sqlstate;
		const char *reason;
	}			reasons[] = {
		[CHECK_IS_GONE] = {
			ERRCODE_UNDEFINED_OBJECT, "the index does not exist any more"
		},
		[CHECK_IS_FORBIDDEN] = {
			ERRCODE_INSUFFICIENT_PRIVILEGE, "you may not maintain its table"
		},
		[CHECK_IS_NO_BTREE] = {
			ERRCODE_WRONG_OBJECT_TYPE, "it is not a btree index"
		},
		[CHECK_IS_OTHER_METHOD] = {
			ERRCODE_WRONG_OBJECT_TYPE, "it is not a btree, GiST or GIN index"
		},
		[CHECK_IS_OTHER_TEMP] = {
			ERRCODE_FEATURE_NOT_SUPPORTED,
			"it belongs to a temporary table of another session"
		},
		[CHECK_IS_ELSEWHERE] = {
			ERRCODE_FEATURE_NOT_SUPPORTED,
			"another storage manager than the server's stores it"
		},
		[CHECK_IS_INVALID] = {
			ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "the index is not valid"
		},
		[CHECK_IS_EMPTIED] = {
			ERRCODE_READ_ONLY_SQL_TRANSACTION,
			"an unlogged index has no contents during recovery"
		},
		[CHECK_IS_TOO_NEW] = {
			ERRCODE_T_R_SERIALIZATION_FAILURE,
			"the index is newer than the transaction's snapshot"
		}
	};

	Assert(state > CHECK_FAILED && state < lengthof(reasons));
	*sqlstate = reasons[state].sqlstate;
	return reasons[state].reason;
}

bool
checkone_exists(Oid index_id, CheckState state)
{
	char	   *name;
	int			sqlstate;
	const char *reason;

	if (state <= CHECK_IS_GONE)
		return state != CHECK_IS_GONE;
	name = get_rel_name(index_id);
	reason = checkone_reason(state, &sqlstate);
	if (state == CHECK_IS_FORBIDDEN)
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("cannot check \"%s\": %s", name == NULL ? "" : name,
					reason)));
	return false;				/* not reached */
}

/*
 * Raise the current error again.  If the check could not read a page of the
 * table or of its TOAST table, the message names the table, too.
 */
static void
name_table(const CheckTarget *target, MemoryContext context)
{
	char		path[MAXPGPATH];
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	pt_relation_path(target->index, path);
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED ||
		strstr(error->message, path) != NULL)
		PG_RE_THROW();
	FlushErrorState();
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not read table \"%s\": %s",
					RelationGetRelationName(target->heap), error->message)));
}

void
checkone_run(const CheckTarget *target, const CheckRequest *request,
			 CheckReport *report)
{
	MemoryContext context = CurrentMemoryContext;

	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX,
								  RelationGetRelid(target->heap));
	pgstat_progress_update_param(PROGRESS_CREATEIDX_INDEX_OID,
								 RelationGetRelid(target->index));
	pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE,
								 PROGRESS_CREATEIDX_PHASE_VALIDATE_IDXSCAN);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
								 RelationGetNumberOfBlocks(target->index));
	PG_TRY();
	{
		checkindex_run(target->heap, target->index, request, report);
	}
	PG_CATCH();
	{
		name_table(target, context);
	}
	PG_END_TRY();
	pgstat_progress_end_command();
}
