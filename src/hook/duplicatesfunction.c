/*-------------------------------------------------------------------------
 *
 * duplicatesfunction.c
 *	  The SQL function ptsort_duplicates().
 *
 * A broken unique index may have entries with equal keys anywhere.  So the
 * function does not read the index: it sorts the rows that the statement's
 * snapshot sees by the key of the index, and returns neighbours whose keys are
 * equal.  All of this runs as the owner of the table, as a check does.  So
 * nobody has to run a query that contains the owner's expressions.
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

/* Search: the rows of a group with equal keys, so far. */
typedef struct Search
{
	ReturnSetInfo *result;
	Relation	heap;
	Relation	index;
	PtSortKey  *key;
	bool		shows_keys;		/* the caller may read the table */
	IndexTuple	first;			/* a copy */
	ItemPointerData *tids;
	int64		n;
	int64		room;
}			Search;

/* IndexBuildCallback */
static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *sort)
{
	variant_put_index(sort, tid, values, isnull, true);
}

/* Returns a sort of the index tuples of all visible rows. */
static PtSort *
sort_rows(const CheckTarget * target)
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

/* Returns the description of a tuple's key columns, or NULL. */
static char *
describe_keys(const Search * self)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (!self->shows_keys)
		return NULL;
	index_deform_tuple(self->first, RelationGetDescr(self->index), values,
					   isnull);
	return BuildIndexValueDescription(self->index, values, isnull);
}

/* End a group: add its rows to the result, unless there is only one. */
static void
end_group(Search * self)
{
	char	   *keys = self->n > 1 ? describe_keys(self) : NULL;
	bool		nulls[] = {false, false, false, keys == NULL};

	for (int64 i = 0; i < self->n && self->n > 1; i++)
	{
		Datum		values[] = {
			ObjectIdGetDatum(RelationGetRelid(self->heap)),
			PointerGetDatum(&self->tids[i]),
			Int64GetDatum(self->n),
			keys == NULL ? (Datum) 0 : CStringGetTextDatum(keys)
		};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(self->result->setResult, self->result->setDesc,
							 values, nulls);
	}
	self->n = 0;
}

/* True if a tuple's keys equal those of the group. */
static bool
belongs(const Search * self, IndexTuple tuple)
{
	bool		equal_nulls;

	return self->n > 0 &&
		variant_compare_columns(RelationGetDescr(self->index),
								self->key->support, self->key->ncolumns,
								self->first, tuple, &equal_nulls) == 0 &&
		(!equal_nulls || self->index->rd_index->indnullsnotdistinct);
}

static void
add_tuple(Search * self, IndexTuple tuple)
{
	if (!belongs(self, tuple))
	{
		end_group(self);
		if (self->first != NULL)
			pfree(self->first);
		self->first = CopyIndexTuple(tuple);
	}
	if (self->n == self->room)
	{
		self->room *= 2;
		self->tids = repalloc_huge(self->tids,
								   self->room * sizeof(ItemPointerData));
	}
	self->tids[self->n++] = tuple->t_tid;
}

static void
find_duplicates(const CheckTarget * target, ReturnSetInfo *result)
{
	Oid			table = RelationGetRelid(target->heap);
	Oid			caller = target->caller.user;
	Search		self = {
		.result = result,
		.heap = target->heap,
		.index = target->index,
		.key = key_index(target->index),
		.shows_keys =
		pg_class_aclcheck(table, caller, ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(table, caller, true) != RLS_ENABLED,
		.room = 1024
	};
	PtSort	   *sort = sort_rows(target);
	IndexTuple	tuple;

	self.key->failure.full = true;	/* compare text with the provider */
	self.tids = palloc(self.room * sizeof(ItemPointerData));
	while ((tuple = variant_get_index(sort, true)) != NULL)
		add_tuple(&self, tuple);
	end_group(&self);
	sort_end(sort);
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
