/*-------------------------------------------------------------------------
 *
 * duplicatesfunction.c
 *	  The SQL function ptsort_duplicates().
 *
 * A broken unique index may have entries with equal keys anywhere.  So the
 * function sorts the rows that the statement's snapshot sees, and returns
 * neighbours whose keys are equal.  It runs as the owner of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "check/checkone.h"
#include "fmgr.h"
#include "funcapi.h"
#include "key/key.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"
#include "team/heapscan.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "variant/variants.h"

extern PGDLLEXPORT Datum ptsort_duplicates(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_duplicates);

/* Search: the state of the search in the sorted rows. */
typedef struct Search
{
	ReturnSetInfo *result;
	const CheckTarget *target;
	PtSortKey  *key;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;		/* for 'fetch' */
	MemoryContext scratch;		/* reset after each row of the result */
	bool		shows_keys;		/* the caller may read the table */
	IndexTuple	last;			/* a copy of the last row's tuple, or NULL */
	bool		in_group;		/* the last row's keys equal those before it */
	int64		groups;			/* with equal keys, so far */
} Search;

/* IndexBuildCallback */
static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *sort)
{
	variant_put_index(sort, tid, values, isnull, true);
}

/* Returns a sort of the index tuples of all visible rows. */
static PtSort *
sort_rows(const CheckTarget *target)
{
	PtSortOptions options = {.budget = (int64) maintenance_work_mem * 1024};
	PtSort	   *sort = variant_begin_index(target->heap, target->index, false,
										   false, &options);
	HeapScanTarget rows = {
		.index = target->index,
		.index_info = pt_build_index_info(target->index),
		.callback = put_row,
		.state = sort
	};
	Snapshot	snapshot = RegisterSnapshot(GetActiveSnapshot());

	rows.index_info->ii_Concurrent = true;	/* use the snapshot */
	(void) heapscan_build(target->heap, &rows, 1, NULL, 0, snapshot, false);
	UnregisterSnapshot(snapshot);
	sort_perform(sort);
	return sort;
}

/*
 * Add a row of the current group to the result.  The tuple's TID is that of the
 * first version in the row's HOT chain.
 */
static void
put_duplicate(const Search *self, IndexTuple tuple)
{
	MemoryContext old = MemoryContextSwitchTo(self->scratch);
	ItemPointerData tid = tuple->t_tid;
	bool		again = false;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *keys = NULL;

	if (table_index_fetch_tuple(self->fetch, &tid, GetActiveSnapshot(),
								self->slot, &again, NULL))
		tid = self->slot->tts_tid;
	if (self->shows_keys)
	{
		index_deform_tuple(tuple, RelationGetDescr(self->target->index), values,
						   isnull);
		keys = BuildIndexValueDescription(self->target->index, values, isnull);
	}
	values[0] = ObjectIdGetDatum(RelationGetRelid(self->target->heap));
	values[1] = PointerGetDatum(&tid);
	values[2] = Int64GetDatum(self->groups);
	values[3] = keys == NULL ? (Datum) 0 : CStringGetTextDatum(keys);
	memset(isnull, false, sizeof(isnull));
	isnull[3] = keys == NULL;
	tuplestore_putvalues(self->result->setResult, self->result->setDesc,
						 values, isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(self->scratch);
}

/* True if a tuple's keys equal those of the last tuple. */
static bool
equals_last(const Search *self, IndexTuple tuple)
{
	bool		equal_nulls;

	return self->last != NULL &&
		variant_compare_columns(RelationGetDescr(self->target->index),
								self->key->support, self->key->ncolumns,
								self->last, tuple, &equal_nulls) == 0 &&
		(!equal_nulls || self->target->index->rd_index->indnullsnotdistinct);
}

/* Look at the next tuple in the order of the keys. */
static void
next_tuple(Search *self, IndexTuple tuple)
{
	bool		equal = equals_last(self, tuple);

	CHECK_FOR_INTERRUPTS();
	if (equal && !self->in_group)
	{
		self->groups++;
		put_duplicate(self, self->last);
	}
	if (equal)
		put_duplicate(self, tuple);
	self->in_group = equal;
	if (self->last != NULL)
		pfree(self->last);
	self->last = CopyIndexTuple(tuple);
}

static void
find_duplicates(const CheckTarget *target, ReturnSetInfo *result)
{
	Oid			table = RelationGetRelid(target->heap);
	Search		self = {
		.result = result,
		.target = target,
		.key = key_index(target->index),
		.fetch = pt_index_fetch_begin(target->heap),
		.slot = table_slot_create(target->heap, NULL),
		.scratch = AllocSetContextCreate(CurrentMemoryContext,
										 "ptsort row with equal keys",
										 ALLOCSET_DEFAULT_SIZES),
		.shows_keys =
		pg_class_aclcheck(table, target->caller.user,
						  ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(table, target->caller.user, true) != RLS_ENABLED
	};
	PtSort	   *sort = sort_rows(target);
	IndexTuple	tuple;

	self.key->failure.full = true;	/* compare text with the provider */
	while ((tuple = variant_get_index(sort, true)) != NULL)
		next_tuple(&self, tuple);
	sort_end(sort);
	table_index_fetch_end(self.fetch);
	ExecDropSingleTupleTableSlot(self.slot);
}

Datum
ptsort_duplicates(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	CheckTarget target;
	CheckState	state;

	InitMaterializedSRF(fcinfo, 0);
	state = checkone_open(index_id, CHECK_USES_TABLE, &target);
	if (state == CHECK_IS_GONE)
		return (Datum) 0;		/* dropped meanwhile */
	if (state != CHECK_RUNS)
		checkone_refuse(index_id, state);
	if (!target.index->rd_index->indisunique)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not unique",
						RelationGetRelationName(target.index))));
	find_duplicates(&target, (ReturnSetInfo *) fcinfo->resultinfo);
	checkone_close(&target);
	return (Datum) 0;
}
