/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  Inserts missing rows into an index during validation; see validate.h.
 *
 * The rules are those of the server's heapam_index_validate_scan().  The check
 * of uniqueness is required even for a row that is dead by now: it stands for
 * the whole chain of versions, whose live version has no entry of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "validate/validate.h"

struct Inserter
{
	const ValidateRequest *request;
	EState	   *estate;
	TupleTableSlot *slot;
	ExprState  *predicate;
	IndexFetchTableData *fetch;
};

Inserter *
insert_begin(const ValidateRequest *request)
{
	Inserter   *self = palloc(sizeof(Inserter));

	self->request = request;
	self->estate = CreateExecutorState();
	self->slot = table_slot_create(request->heap, NULL);
	self->predicate = ExecPrepareQual(request->index_info->ii_Predicate,
									  self->estate);
	self->fetch = pt_index_fetch_begin(request->heap);
	GetPerTupleExprContext(self->estate)->ecxt_scantuple = self->slot;
	return self;
}

/*
 * Fetch the version of a row that the snapshot sees.  The slot gets a copy, so
 * that no pin remains while index_insert() waits for another transaction.
 */
static void
fetch_row(Inserter *self, const ItemPointerData *root)
{
	Relation	heap = self->request->heap;
	ItemPointerData tid = *root;
	bool		again = false;

	if (!table_index_fetch_tuple(self->fetch, &tid, self->request->snapshot,
								 self->slot, &again, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("could not find the visible version of the row at (%u,%u) in table \"%s\"",
								 ItemPointerGetBlockNumber(root),
								 ItemPointerGetOffsetNumber(root),
								 RelationGetRelationName(heap))));
	ExecMaterializeSlot(self->slot);
	table_index_fetch_reset(self->fetch);
}

bool
insert_row(Inserter *self, const ItemPointerData *root)
{
	const ValidateRequest *request = self->request;
	IndexInfo  *info = request->index_info;
	ExprContext *context = GetPerTupleExprContext(self->estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid = *root;
	bool		included;

	MemoryContextReset(context->ecxt_per_tuple_memory);
	fetch_row(self, root);
	included = self->predicate == NULL || ExecQual(self->predicate, context);
	if (included)
	{
		FormIndexDatum(info, self->slot, self->estate, values, isnull);
		(void) index_insert(request->index, values, isnull, &tid,
							request->heap, info->ii_Unique ?
							UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
	}
	ExecClearTuple(self->slot);
	return included;
}

void
insert_end(Inserter *self)
{
	IndexInfo  *info = self->request->index_info;

	table_index_fetch_end(self->fetch);
	ExecDropSingleTupleTableSlot(self->slot);
	FreeExecutorState(self->estate);
	/* these states pointed into the freed executor state */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
	pfree(self);
}
