/*-------------------------------------------------------------------------
 *
 * shape.c
 *	  The tuples of a test, with functions to put, get and compare them.
 *
 * The index's operator class defines the order: test_compare_values directly
 * calls the class's comparison function, so the test shares no code with
 * ptsort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "ptsort_test.h"

/* Number of rows per page, for heap TIDs that ascend with the row number. */
#define ROWS_PER_PAGE	100

/* test_key_of_index describes a key column of a btree index. */
void
test_key_of_index(Relation index, int column, TestKey *key)
{
	int16		option = index->rd_indoption[column];
	Oid			opfamily = index->rd_opfamily[column];
	Oid			opcintype = index->rd_opcintype[column];

	key->heap_attno = index->rd_index->indkey.values[column];
	key->type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;
	key->collation = index->rd_indcollation[column];
	key->descending = (option & INDOPTION_DESC) != 0;
	key->nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	key->operator = get_opfamily_member(opfamily, opcintype, opcintype,
										key->descending ?
										BTGreaterStrategyNumber :
										BTLessStrategyNumber);
	fmgr_info(get_opfamily_proc(opfamily, opcintype, opcintype, BTORDER_PROC),
			  &key->comparison);
}

/* test_shape_open opens the specification's table and index, in any process. */
TestShape *
test_shape_open(const TestSpec *spec)
{
	TestShape  *shape = palloc0(sizeof(TestShape));

	shape->spec = spec;
	shape->heap = table_open(spec->heap, AccessShareLock);
	shape->index = index_open(spec->index, AccessShareLock);
	if (shape->index->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a btree index",
						RelationGetRelationName(shape->index))));

	shape->desc = RelationGetDescr(shape->heap);
	shape->nkeys = IndexRelationGetNumberOfKeyAttributes(shape->index);
	shape->keys = palloc0(shape->nkeys * sizeof(TestKey));
	for (int i = 0; i < shape->nkeys; i++)
		test_key_of_index(shape->index, i, &shape->keys[i]);
	get_typlenbyval(shape->keys[0].type, &shape->typlen, &shape->typbyval);

	shape->values = palloc(shape->desc->natts * sizeof(Datum));
	shape->isnull = palloc(shape->desc->natts * sizeof(bool));
	shape->slot = MakeSingleTupleTableSlot(shape->desc, &TTSOpsVirtual);
	shape->heap_slot = MakeSingleTupleTableSlot(shape->desc, &TTSOpsHeapTuple);
	shape->minimal_slot = MakeSingleTupleTableSlot(shape->desc,
												   &TTSOpsMinimalTuple);
	shape->info = BuildIndexInfo(shape->index);
	shape->estate = CreateExecutorState();
	shape->row_context = AllocSetContextCreate(CurrentMemoryContext,
											   "ptsort_test row",
											   ALLOCSET_DEFAULT_SIZES);
	return shape;
}

/* test_shape_close closes a shape after success. */
void
test_shape_close(TestShape *shape)
{
	ExecDropSingleTupleTableSlot(shape->slot);
	ExecDropSingleTupleTableSlot(shape->heap_slot);
	ExecDropSingleTupleTableSlot(shape->minimal_slot);
	FreeExecutorState(shape->estate);
	MemoryContextDelete(shape->row_context);
	index_close(shape->index, NoLock);
	table_close(shape->heap, NoLock);
}

/* Begins a sort of tuples; passes the keys as arrays. */
static PtSort *
begin_tuple(TestShape *shape, const PtSortOptions *options)
{
	AttrNumber *attnums = palloc(shape->nkeys * sizeof(AttrNumber));
	Oid		   *operators = palloc(shape->nkeys * sizeof(Oid));
	Oid		   *collations = palloc(shape->nkeys * sizeof(Oid));
	bool	   *nulls_first = palloc(shape->nkeys * sizeof(bool));

	for (int i = 0; i < shape->nkeys; i++)
	{
		attnums[i] = shape->keys[i].heap_attno;
		operators[i] = shape->keys[i].operator;
		collations[i] = shape->keys[i].collation;
		nulls_first[i] = shape->keys[i].nulls_first;
	}
	return ptsort_begin_tuple(shape->desc, shape->nkeys, attnums, operators,
							  collations, nulls_first, options);
}

/* test_variant returns the variant with the given name. */
TestVariant
test_variant(const char *name)
{
	static const char *const names[] = {
		[TEST_DATUM] = "datum",
		[TEST_TUPLE] = "tuple",
		[TEST_INDEX] = "index",
		[TEST_HEAP] = "heap",
		[TEST_RECORD] = "record",
	};

	for (int i = 0; i < lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return (TestVariant) i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown variant \"%s\"", name)));
}

/* test_begin begins a sort of this shape. */
PtSort *
test_begin(TestShape *shape, const PtSortOptions *options)
{
	const TestSpec *spec = shape->spec;
	TestKey    *key = &shape->keys[0];

	switch (spec->variant)
	{
		case TEST_DATUM:
			return ptsort_begin_datum(key->type, key->operator,
									  key->collation, key->nulls_first,
									  options);
		case TEST_TUPLE:
			return begin_tuple(shape, options);
		case TEST_INDEX:
			return ptsort_begin_index(shape->heap, shape->index,
									  spec->is_unique,
									  spec->nulls_not_distinct, options);
		case TEST_HEAP:
			return ptsort_begin_heap(shape->desc, shape->index, options);
		case TEST_RECORD:
			return test_begin_record(options);
	}
	pg_unreachable();
}

/* Fills shape->values and the slot with a row of the sort_number'th sort. */
static void
make_row(TestShape *shape, int64 row, int sort_number)
{
	TestData	data = shape->spec->data;

	data.seed += sort_number;
	test_row(&data, row, shape->desc, shape->values, shape->isnull);

	ExecClearTuple(shape->slot);
	memcpy(shape->slot->tts_values, shape->values,
		   shape->desc->natts * sizeof(Datum));
	memcpy(shape->slot->tts_isnull, shape->isnull,
		   shape->desc->natts * sizeof(bool));
	ExecStoreVirtualTuple(shape->slot);
}

/* Computes the columns of an index tuple from shape->values. */
static void
index_values(TestShape *shape, Datum *values, bool *isnull)
{
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(shape->index); i++)
	{
		int			attno = shape->index->rd_index->indkey.values[i];

		if (attno <= 0)
			elog(ERROR, "only indexes on plain columns can be tested");
		values[i] = shape->values[attno - 1];
		isnull[i] = shape->isnull[attno - 1];
	}
}

static void
make_tid(int64 row, ItemPointer tid)
{
	ItemPointerSet(tid, row / ROWS_PER_PAGE, 1 + row % ROWS_PER_PAGE);
}

/*
 * Puts the row as a tuple, by ptsort_put_slot or ptsort_put_tuple.  Half of
 * the tuples have a header like that of a table's row; the header must not
 * affect the sort.
 */
static void
put_tuple(TestShape *shape, PtSort *sort, int64 row)
{
	TupleTableSlot *slot = shape->slot;

	if (row / 2 % 2 == 0)
	{
		HeapTuple	tuple = heap_form_tuple(shape->desc, shape->values,
											shape->isnull);

		make_tid(row, &tuple->t_data->t_ctid);
		tuple->t_data->t_infomask |= HEAP_XMIN_COMMITTED | HEAP_UPDATED;
		tuple->t_data->t_infomask2 |= HEAP_ONLY_TUPLE;
		slot = shape->heap_slot;
		ExecStoreHeapTuple(tuple, slot, false);
	}
	if (row % 2 == 0)
		ptsort_put_slot(sort, slot);
	else
		ptsort_put_tuple(sort, ExecCopySlotMinimalTuple(slot));
	ExecClearTuple(slot);
}

/*
 * Makes a record from the row's columns.  The record's name is a suffix of the
 * second column's value.  Both 32-bit halves of the records' numbers vary.
 */
static void
make_record(TestShape *shape, int64 row, TestRecord *record)
{
	text	   *name = DatumGetTextPP(shape->values[1]);
	int			length = VARSIZE_ANY_EXHDR(name);
	int			skip = Max(0, length - (int) sizeof(record->name));

	memset(record, 0, sizeof(*record));
	record->group = DatumGetInt32(shape->values[0]);
	memcpy(record->name, VARDATA_ANY(name) + skip, length - skip);
	record->number = DatumGetInt64(shape->values[2]);
	record->number += record->number % 3 * (INT64CONST(1) << 40);
	snprintf(record->payload, sizeof(record->payload),
			 "row " INT64_FORMAT " of %d", row, record->group);
}

/* test_put makes a row and puts it into the sort_number'th sort. */
void
test_put(TestShape *shape, PtSort *sort, int64 row, int sort_number)
{
	MemoryContext caller = MemoryContextSwitchTo(shape->row_context);
	AttrNumber	attno = shape->keys[0].heap_attno;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	TestRecord	record;

	make_row(shape, row, sort_number);
	make_tid(row, &tid);
	switch (shape->spec->variant)
	{
		case TEST_DATUM:
			ptsort_put_datum(sort, shape->values[attno - 1],
							 shape->isnull[attno - 1]);
			break;
		case TEST_TUPLE:
			put_tuple(shape, sort, row);
			break;
		case TEST_INDEX:
			index_values(shape, values, isnull);
			ptsort_put_index(sort, &tid, values, isnull,
							 row < shape->spec->data.live_rows);
			break;
		case TEST_HEAP:
			ptsort_put_heap(sort, test_form_row(shape, row, &tid));
			break;
		case TEST_RECORD:
			make_record(shape, row, &record);
			test_put_record(sort, &record);
			break;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(shape->row_context);
}

/* Gets a tuple by ptsort_get_tuple or ptsort_get_slot. */
static MinimalTuple
get_tuple(TestShape *shape, PtSort *sort, bool forward)
{
	bool		is_copy;
	MinimalTuple tuple;

	if (shape->reads++ % 2 == 0)
		return ptsort_get_tuple(sort, forward);
	if (!ptsort_get_slot(sort, forward, shape->minimal_slot))
	{
		if (!TTS_EMPTY(shape->minimal_slot))
			elog(ERROR, "the slot is not empty at the end");
		return NULL;
	}
	tuple = ExecFetchSlotMinimalTuple(shape->minimal_slot, &is_copy);
	if (is_copy)
		elog(ERROR, "the slot does not hold a minimal tuple");
	return tuple;
}

/* Gets a heap tuple and returns a flat copy. */
static TestRow *
get_row(TestShape *shape, PtSort *sort, bool forward)
{
	HeapTuple	tuple = ptsort_get_heap(sort, forward);

	if (shape->row)
		pfree(shape->row);
	shape->row = tuple ? test_copy_row(tuple) : NULL;
	return shape->row;
}

/* test_get gets the next tuple; returns false at the end. */
bool
test_get(TestShape *shape, PtSort *sort, bool forward, TestTuple *tuple)
{
	tuple->isnull = false;
	switch (shape->spec->variant)
	{
		case TEST_DATUM:
			return ptsort_get_datum(sort, forward, &tuple->value,
									&tuple->isnull);
		case TEST_TUPLE:
			tuple->value = PointerGetDatum(get_tuple(shape, sort, forward));
			break;
		case TEST_INDEX:
			tuple->value = PointerGetDatum(ptsort_get_index(sort, forward));
			break;
		case TEST_HEAP:
			tuple->value = PointerGetDatum(get_row(shape, sort, forward));
			break;
		case TEST_RECORD:
			tuple->value = PointerGetDatum(test_get_record(sort, forward));
			break;
	}
	return DatumGetPointer(tuple->value) != NULL;
}

/* test_make returns the palloc'd expected tuple for a row. */
TestTuple
test_make(TestShape *shape, int64 row, int sort_number)
{
	MemoryContext caller = MemoryContextSwitchTo(shape->row_context);
	AttrNumber	attno = shape->keys[0].heap_attno;
	TestTuple	result = {0, false};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexTuple	itup;
	ItemPointerData tid;
	TestRecord *record;

	make_row(shape, row, sort_number);
	make_tid(row, &tid);
	MemoryContextSwitchTo(caller);
	switch (shape->spec->variant)
	{
		case TEST_DATUM:
			result.isnull = shape->isnull[attno - 1];
			if (!result.isnull)
				result.value = datumCopy(shape->values[attno - 1],
										 shape->typbyval, shape->typlen);
			break;
		case TEST_TUPLE:
			result.value =
				PointerGetDatum(ExecCopySlotMinimalTuple(shape->slot));
			break;
		case TEST_INDEX:
			index_values(shape, values, isnull);
			itup = index_form_tuple(RelationGetDescr(shape->index), values,
									isnull);
			itup->t_tid = tid;
			result.value = PointerGetDatum(itup);
			break;
		case TEST_HEAP:
			result.value =
				PointerGetDatum(test_copy_row(test_form_row(shape, row, &tid)));
			break;
		case TEST_RECORD:
			record = palloc(sizeof(TestRecord));
			make_record(shape, row, record);
			result.value = PointerGetDatum(record);
			break;
	}
	MemoryContextReset(shape->row_context);
	return result;
}

/* Returns the value of a record's key column. */
static Datum
record_value(const TestRecord *record, int column)
{
	int			length;

	if (column == 0)
		return Int32GetDatum(record->group);
	if (column == 2)
		return Int64GetDatum(record->number);
	length = strnlen(record->name, sizeof(record->name));
	return PointerGetDatum(cstring_to_text_with_len(record->name, length));
}

/* Returns a key column's value in a tuple of any kind. */
static Datum
key_value(TestShape *shape, const TestTuple *tuple, int column, bool *isnull)
{
	MinimalTuple minimal;
	HeapTupleData heap_tuple;

	switch (shape->spec->variant)
	{
		case TEST_DATUM:
			*isnull = tuple->isnull;
			return tuple->value;
		case TEST_TUPLE:
			minimal = (MinimalTuple) DatumGetPointer(tuple->value);
			heap_tuple.t_len = minimal->t_len + MINIMAL_TUPLE_OFFSET;
			heap_tuple.t_data =
				(HeapTupleHeader) ((char *) minimal - MINIMAL_TUPLE_OFFSET);
			return heap_getattr(&heap_tuple, shape->keys[column].heap_attno,
								shape->desc, isnull);
		case TEST_INDEX:
			return index_getattr((IndexTuple) DatumGetPointer(tuple->value),
								 column + 1, RelationGetDescr(shape->index),
								 isnull);
		case TEST_HEAP:
			return test_row_value(shape,
								  (TestRow *) DatumGetPointer(tuple->value),
								  column, isnull);
		case TEST_RECORD:
			*isnull = false;
			return record_value((TestRecord *) DatumGetPointer(tuple->value),
								column);
	}
	pg_unreachable();
}

/* test_compare_values orders two values of a key column. */
int
test_compare_values(TestKey *key, Datum a, bool a_null, Datum b, bool b_null)
{
	int			result;

	if (a_null || b_null)
	{
		if (a_null && b_null)
			return 0;
		return a_null == key->nulls_first ? -1 : 1;
	}
	result = DatumGetInt32(FunctionCall2Coll(&key->comparison, key->collation,
											 a, b));
	return key->descending ? (result < 0) - (result > 0) : result;
}

/* Returns a tuple's TID, or NULL if the tuple has no TID. */
static ItemPointer
tid_of(TestShape *shape, const TestTuple *tuple)
{
	switch (shape->spec->variant)
	{
		case TEST_INDEX:
			return &((IndexTuple) DatumGetPointer(tuple->value))->t_tid;
		case TEST_HEAP:
			return &((TestRow *) DatumGetPointer(tuple->value))->self;
		default:
			return NULL;
	}
}

/* test_compare orders two tuples by their keys, and by their TIDs, if any. */
int
test_compare(TestShape *shape, const TestTuple *a, const TestTuple *b)
{
	TestVariant variant = shape->spec->variant;

	for (int i = 0; i < (variant == TEST_DATUM ? 1 : shape->nkeys); i++)
	{
		bool		a_null;
		bool		b_null;
		Datum		a_value = key_value(shape, a, i, &a_null);
		Datum		b_value = key_value(shape, b, i, &b_null);
		int			result;

		result = test_compare_values(&shape->keys[i], a_value, a_null,
									 b_value, b_null);
		if (result != 0)
			return result;
	}
	if (tid_of(shape, a) == NULL)
		return 0;
	return ItemPointerCompare(tid_of(shape, a), tid_of(shape, b));
}

/* test_bytes returns those bytes of a tuple that a sort must preserve. */
const char *
test_bytes(TestShape *shape, const TestTuple *tuple, Size *size)
{
	*size = 0;
	switch (shape->spec->variant)
	{
		case TEST_DATUM:
			if (tuple->isnull)
				return "";
			*size = sizeof(Datum);
			if (shape->typbyval)
				return (const char *) &tuple->value;
			*size = datumGetSize(tuple->value, false, shape->typlen);
			break;
		case TEST_TUPLE:
			*size = ((MinimalTuple) DatumGetPointer(tuple->value))->t_len;
			break;
		case TEST_INDEX:
			*size = IndexTupleSize((IndexTuple) DatumGetPointer(tuple->value));
			break;
		case TEST_HEAP:
			*size = offsetof(TestRow, data) +
				((TestRow *) DatumGetPointer(tuple->value))->length;
			break;
		case TEST_RECORD:
			*size = sizeof(TestRecord);
			break;
	}
	return DatumGetPointer(tuple->value);
}
