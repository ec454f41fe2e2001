/*-------------------------------------------------------------------------
 *
 * inorder.c
 *	  Sort rows: copy a table in the order of one of its indexes.
 *
 * The sort takes whole heap tuples and evaluates the columns or expressions of
 * the index.  The sort returns each tuple unchanged.  A tuple may thus have
 * fewer columns than the table (if a later command added columns), and may
 * point to the source table's toast table.  The caller reads the values with
 * the source table's descriptor and inserts the values as new rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "ptsort.h"

PG_FUNCTION_INFO_V1(copy_in_order);

/* Puts into the sort the rows that the active snapshot sees. */
static void
put_rows(PtSort *sort, Relation source)
{
	TupleTableSlot *slot = table_slot_create(source, NULL);
	TableScanDesc scan = table_beginscan_strat(source, GetActiveSnapshot(), 0,
											   NULL, true, true);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		is_copy;
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, &is_copy);

		CHECK_FOR_INTERRUPTS();
		ptsort_put_heap(sort, tuple);
		if (is_copy)
			heap_freetuple(tuple);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Inserts the sorted rows at the end of the target table, even if earlier pages
 * have room; returns the number of rows.
 */
static int64
insert_rows(PtSort *sort, TupleDesc desc, Relation target)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(target),
													&TTSOpsVirtual);
	BulkInsertState bulk = GetBulkInsertState();
	CommandId	command = GetCurrentCommandId(true);
	HeapTuple	tuple;
	int64		n = 0;

	while ((tuple = ptsort_get_heap(sort, true)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ExecClearTuple(slot);
		heap_deform_tuple(tuple, desc, slot->tts_values, slot->tts_isnull);
		ExecStoreVirtualTuple(slot);
		table_tuple_insert(target, slot, command, TABLE_INSERT_SKIP_FSM, bulk);
		n++;
	}
	FreeBulkInsertState(bulk);
	table_finish_bulk_insert(target, TABLE_INSERT_SKIP_FSM);
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

static bool
columns_are_equal(TupleDesc a, TupleDesc b)
{
	if (a->natts != b->natts)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		if (TupleDescAttr(a, i)->atttypid != TupleDescAttr(b, i)->atttypid ||
			TupleDescAttr(a, i)->atttypmod != TupleDescAttr(b, i)->atttypmod)
			return false;
	}
	return true;
}

/* True if the server computes a column's values. */
static bool
has_generated_column(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attgenerated != '\0')
			return true;
	}
	return false;
}

/* Raises an error if the user lacks a privilege on the table. */
static void
check_privilege(Relation rel, AclMode mode)
{
	AclResult	result = pg_class_aclcheck(RelationGetRelid(rel), GetUserId(),
										   mode);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/*
 * table_tuple_insert() stores only the values.  So the target table must not
 * need any check or other action of an INSERT.
 */
static void
check_target(Relation source, Relation target)
{
	if (target->rd_rel->relkind != RELKIND_RELATION ||
		IsCatalogRelation(target) ||
		target->rd_rel->relispartition ||
		target->rd_rel->relrowsecurity || source->rd_rel->relrowsecurity ||
		target->rd_rel->relhasindex || target->rd_rel->relhastriggers ||
		has_generated_column(RelationGetDescr(target)) ||
		(target->rd_att->constr && (target->rd_att->constr->num_check > 0 ||
									target->rd_att->constr->has_not_null)) ||
		!columns_are_equal(RelationGetDescr(source), RelationGetDescr(target)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table that rows of \"%s\" can be copied to",
						RelationGetRelationName(target),
						RelationGetRelationName(source)),
				 errdetail("The target table must have the same columns, and no index, constraint, trigger, generated column or partition bound; neither table may have row security.")));
}

Datum
copy_in_order(PG_FUNCTION_ARGS)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = (int64) maintenance_work_mem * 1024
	};
	Oid			source_oid = IndexGetRelation(PG_GETARG_OID(0), true);
	Relation	source;
	Relation	index;
	Relation	target;
	PtSort	   *sort;
	int64		n;

	if (!OidIsValid(source_oid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation with OID %u is not an index",
						PG_GETARG_OID(0))));
	PreventCommandIfReadOnly("copy_in_order()");
	PreventCommandIfParallelMode("copy_in_order()");
	source = table_open(source_oid, AccessShareLock);
	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	target = table_open(PG_GETARG_OID(1), RowExclusiveLock);
	check_privilege(source, ACL_SELECT);
	check_privilege(target, ACL_INSERT);
	check_target(source, target);
	sort = ptsort_begin_heap(RelationGetDescr(source), index, &options);
	put_rows(sort, source);
	ptsort_perform(sort);
	n = insert_rows(sort, RelationGetDescr(source), target);
	ptsort_end(sort);
	table_close(target, NoLock);
	index_close(index, NoLock);
	table_close(source, NoLock);
	PG_RETURN_INT64(n);
}
