/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Makes heap tuples with headers like those of a table's rows.
 *
 * A flat copy of a tuple has everything that a sort must preserve: its TID,
 * its table, and every byte of the tuple.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "ptsort_test.h"

/* Header bits of tuples that are dead, locked or new. */
static const uint16 infomasks[] = {
	HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID,
	HEAP_XMIN_COMMITTED | HEAP_XMAX_COMMITTED | HEAP_UPDATED,
	HEAP_XMIN_INVALID,
	HEAP_XMIN_FROZEN | HEAP_XMAX_IS_MULTI | HEAP_XMAX_LOCK_ONLY,
	HEAP_COMBOCID,
	HEAP_XMAX_INVALID | HEAP_XMAX_KEYSHR_LOCK,
};

/*
 * test_form_row makes the heap tuple of a row, in the current context, with a
 * header that depends on the row.
 */
HeapTuple
test_form_row(TestShape *shape, int64 row, ItemPointer tid)
{
	HeapTuple	tuple = heap_form_tuple(shape->desc, shape->values,
										shape->isnull);
	HeapTupleHeader header = tuple->t_data;
	uint64		dice = test_mix(row, 11);

	tuple->t_self = *tid;
	tuple->t_tableOid = FirstNormalObjectId + dice % 3;
	header->t_choice.t_heap.t_xmin = FirstNormalTransactionId + dice % 1000;
	header->t_choice.t_heap.t_xmax = dice / 1000 % 1000;
	header->t_choice.t_heap.t_field3.t_cid = dice / 1000000 % 1000;
	ItemPointerSet(&header->t_ctid, dice % 77, 1 + dice % 99);
	header->t_infomask |= infomasks[dice % lengthof(infomasks)];
	if (dice % 2 == 0)
		header->t_infomask2 |= HEAP_HOT_UPDATED;
	if (dice % 3 == 0)
		header->t_infomask2 |= HEAP_ONLY_TUPLE | HEAP_KEYS_UPDATED;
	return tuple;
}

/* test_copy_row returns a palloc'd flat copy of a tuple. */
TestRow *
test_copy_row(HeapTuple tuple)
{
	TestRow    *copy = palloc_extended(offsetof(TestRow, data) + tuple->t_len,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	copy->length = tuple->t_len;
	copy->self = tuple->t_self;
	copy->table = tuple->t_tableOid;
	memcpy(copy->data, tuple->t_data, tuple->t_len);
	return copy;
}

/* Evaluates an expression of the index. */
static Datum
evaluate(TestShape *shape, HeapTuple tuple, int column, bool *isnull)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(shape->index),
										  column);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	Datum		result;

	ExecStoreHeapTuple(tuple, shape->heap_slot, false);
	GetPerTupleExprContext(shape->estate)->ecxt_scantuple = shape->heap_slot;
	FormIndexDatum(shape->info, shape->heap_slot, shape->estate, values, nulls);
	ExecClearTuple(shape->heap_slot);
	*isnull = nulls[column];
	result = *isnull ? (Datum) 0 :
		datumCopy(values[column], att->attbyval, att->attlen);
	ResetPerTupleExprContext(shape->estate);
	return result;
}

/* test_row_value returns the value of a flat copy's key column. */
Datum
test_row_value(TestShape *shape, const TestRow *row, int column, bool *isnull)
{
	AttrNumber	attno = shape->keys[column].heap_attno;
	HeapTupleData tuple;

	tuple.t_len = row->length;
	tuple.t_self = row->self;
	tuple.t_tableOid = row->table;
	tuple.t_data = (HeapTupleHeader) unconstify(char *, &row->data[0]);
	if (attno == 0)
		return evaluate(shape, &tuple, column, isnull);
	return heap_getattr(&tuple, attno, shape->desc, isnull);
}
