/*-------------------------------------------------------------------------
 *
 * checkexclusion.c
 *	  Looks for rows that violate the exclusion constraint of an index.
 *
 * For each row that the snapshot sees, the server searches the index for rows
 * that conflict with it, as for a new row, but with the snapshot.  Both scans
 * return the version of a row that the snapshot sees, and so the same TID.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "check/check.h"
#include "executor/executor.h"

/* Exclusion: one participant's search. */
typedef struct Exclusion
{
	CheckIndex *check;
	bool		is_heap;		/* the table's access method is heap */
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *row;
	TupleTableSlot *other;		/* a row that may conflict */
	IndexScanDesc scan;
	int			nkeys;
	ScanKeyData keys[INDEX_MAX_KEYS];
} Exclusion;

static void
begin(Exclusion *self, CheckIndex *check, Snapshot snapshot)
{
	Relation	index = check->index;
	Oid		   *operators;
	Oid		   *functions;
	uint16	   *strategies;

	self->predicate = ExecPrepareQual(check->index_info->ii_Predicate,
									  self->estate);
	self->row = table_slot_create(check->heap, NULL);
	self->other = table_slot_create(check->heap, NULL);
	self->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	RelationGetExclusionInfo(index, &operators, &functions, &strategies);
	for (int i = 0; i < self->nkeys; i++)
		ScanKeyEntryInitialize(&self->keys[i], 0, i + 1, strategies[i],
							   InvalidOid, index->rd_indcollation[i],
							   functions[i], (Datum) 0);
	self->scan = pt_index_beginscan(check->heap, index, snapshot, self->nkeys);
	/* do not mark entries as dead: the leader looks at those without a row */
	self->scan->xactStartedInRecovery = true;
}

/*
 * True unless the server checks the row later, because the constraint is
 * deferrable.  Rows of other table access methods may have no xmin.
 */
static bool
is_final(const Exclusion *self, TupleTableSlot *row)
{
	Datum		xmin;
	bool		isnull;

	if (self->check->index->rd_index->indimmediate || !self->is_heap)
		return true;
	xmin = slot_getsysattr(row, MinTransactionIdAttributeNumber, &isnull);
	return !TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

/* Returns false if the row conflicts with no other, as if a key is null. */
static bool
get_values(Exclusion *self, TupleTableSlot *row, Datum *values)
{
	ExprContext *context = GetPerTupleExprContext(self->estate);
	bool		isnull[INDEX_MAX_KEYS];

	context->ecxt_scantuple = row;
	if (!ExecQual(self->predicate, context))
		return false;
	FormIndexDatum(self->check->index_info, row, self->estate, values, isnull);
	for (int i = 0; i < self->nkeys; i++)
		if (isnull[i])
			return false;
	return true;
}

/* The scan also returns the row itself and, if it is lossy, other rows. */
static bool
conflicts(Exclusion *self)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		result =
		!ItemPointerEquals(&self->row->tts_tid, &self->other->tts_tid) &&
		get_values(self, self->other, values);

	for (ScanKey key = self->keys; key < self->keys + self->nkeys; key++)
		result = result &&
			DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										   values[key->sk_attno - 1],
										   key->sk_argument));
	return result;
}

/* The index scan's memory outlasts the row. */
static bool
has_conflict(Exclusion *self)
{
	MemoryContext per_row = GetPerTupleMemoryContext(self->estate);
	MemoryContext old = MemoryContextSwitchTo(per_row);
	Datum		values[INDEX_MAX_KEYS];
	bool		found = false;
	bool		counts = is_final(self, self->row) &&
		get_values(self, self->row, values);

	MemoryContextSwitchTo(old);
	if (!counts)
		return false;
	for (int i = 0; i < self->nkeys; i++)
		self->keys[i].sk_argument = values[i];
	index_rescan(self->scan, self->keys, self->nkeys, NULL, 0);
	while (!found &&
		   index_getnext_slot(self->scan, ForwardScanDirection, self->other))
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(per_row);
		found = is_final(self, self->other) && conflicts(self);
		MemoryContextSwitchTo(old);
	}
	return found;
}

void
checkexclusion_rows(CheckIndex *check, pg_atomic_uint32 *next)
{
	bool		is_heap = check->heap->rd_rel->relam == HEAP_TABLE_AM_OID;
	Exclusion	self = {check, is_heap, CreateExecutorState()};
	Snapshot	snapshot = GetActiveSnapshot();
	BlockNumber end = RelationGetNumberOfBlocks(check->heap);
	BlockNumber block;

	begin(&self, check, snapshot);
	/* one participant scans all rows of another table access method */
	while ((block = pg_atomic_fetch_add_u32(next, PAGEREAD_MOST)) < end &&
		   (is_heap || block == 0))
	{
		TableScanDesc scan = table_beginscan_strat(check->heap, snapshot, 0,
												   NULL, true, false);

		if (is_heap)
			heap_setscanlimits(scan, block, Min(end - block, PAGEREAD_MOST));
		while (table_scan_getnextslot(scan, ForwardScanDirection, self.row))
		{
			CHECK_FOR_INTERRUPTS();
			if (has_conflict(&self))
				check_found(check, CHECK_DUPLICATE,
							ItemPointerGetBlockNumber(&self.row->tts_tid),
							ItemPointerGetOffsetNumber(&self.row->tts_tid),
							"the row at this place of the table conflicts with another row");
			ResetPerTupleExprContext(self.estate);
		}
		table_endscan(scan);
	}
	index_endscan(self.scan);
	ExecDropSingleTupleTableSlot(self.row);
	ExecDropSingleTupleTableSlot(self.other);
	FreeExecutorState(self.estate);
	check->index_info->ii_ExpressionsState = NIL;	/* it was the estate's */
}
