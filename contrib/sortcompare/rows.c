/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Load a table's rows into memory.
 *
 * The times of the engines do not include the scan.  Both engines get slots
 * of the kind that a scan returns, each with a tuple that is not deformed.  The
 * tuples lie one after the other in memory, as they do on pages.  The slot pins
 * one page all the time, so that storing a tuple in the slot costs as much as
 * in a scan that stays on one page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "sortcompare.h"

#define CHUNK_SIZE		((Size) 64 << 20)

/* Allocates memory, directly after the last allocation if possible. */
static void *
take_memory(Rows *rows, Size size)
{
	void	   *taken;

	size = MAXALIGN(size);
	if (rows->left < size)
	{
		rows->left = Max(CHUNK_SIZE, size);
		rows->chunk = MemoryContextAllocHuge(rows->context, rows->left);
	}
	taken = rows->chunk;
	rows->chunk += size;
	rows->left -= size;
	return taken;
}

static void
add_row(Rows *rows, HeapTuple tuple)
{
	Row		   *row;

	if (rows->n == rows->allocated)
	{
		rows->allocated *= 2;
		rows->rows = repalloc_huge(rows->rows,
								   rows->allocated * sizeof(Row));
	}
	row = &rows->rows[rows->n++];
	row->data = take_memory(rows, tuple->t_len);
	row->length = tuple->t_len;
	memcpy(row->data, tuple->t_data, tuple->t_len);
}

/* Hashes a key's bytes; in the tested tables, equal keys have equal bytes. */
static uint64
hash_key(Datum value, bool isnull, int16 typlen, bool typbyval)
{
	if (isnull)
		return 1;
	if (typbyval)
		return hash_bytes_extended((unsigned char *) &value, sizeof(value), 0);
	if (typlen == -1)
		return hash_bytes_extended((unsigned char *)
								   VARDATA_ANY(DatumGetPointer(value)),
								   VARSIZE_ANY_EXHDR(DatumGetPointer(value)),
								   0);
	return hash_bytes_extended((unsigned char *) DatumGetPointer(value),
							   typlen, 0);
}

/* Overwrites each row's first column with the hash of the row's keys. */
static void
tag_rows(Rows *rows, const Job *job)
{
	for (int64 i = 0; i < rows->n; i++)
	{
		TupleTableSlot *slot = rows_slot(rows, i);
		uint64		hash = 0;
		int64		tag;

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < job->nkeys; k++)
		{
			Form_pg_attribute att = TupleDescAttr(rows->desc,
												  job->columns[k] - 1);
			bool		isnull;
			Datum		value = slot_getattr(slot, job->columns[k], &isnull);

			hash = hash_combine64(hash, hash_key(value, isnull, att->attlen,
												 att->attbyval));
		}
		if (heap_attisnull(&rows->tuple, 1, rows->desc))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the first column must not be null")));
		tag = (int64) hash;
		memcpy((char *) rows->rows[i].data + rows->rows[i].data->t_hoff, &tag,
			   sizeof(tag));
		ExecClearTuple(slot);
	}
}

static void
check_table(Relation table, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(table);

	if (!TTS_IS_BUFFERTUPLE(slot) || desc->natts < 1 ||
		TupleDescAttr(desc, 0)->atttypid != INT8OID ||
		TupleDescAttr(desc, 0)->attisdropped)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a heap table whose first column is of type bigint",
						RelationGetRelationName(table))));
}

/* rows_load reads the rows of the job's table. */
Rows *
rows_load(const Job *job)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortcompare rows",
												  ALLOCSET_DEFAULT_SIZES);
	Rows	   *rows = MemoryContextAllocZero(context, sizeof(Rows));
	TableScanDesc scan;

	rows->context = context;
	rows->table = table_open(job->table, AccessShareLock);
	rows->desc = RelationGetDescr(rows->table);
	rows->slot = table_slot_create(rows->table, NULL);
	check_table(rows->table, rows->slot);
	rows->allocated = 1024;
	rows->rows = MemoryContextAlloc(context, rows->allocated * sizeof(Row));

	scan = table_beginscan_strat(rows->table, GetActiveSnapshot(), 0, NULL,
								 true, false);
	while (table_scan_getnextslot(scan, ForwardScanDirection, rows->slot))
	{
		HeapTupleTableSlot *slot = (HeapTupleTableSlot *) rows->slot;

		CHECK_FOR_INTERRUPTS();
		add_row(rows, slot->tuple);
	}
	table_endscan(scan);

	ItemPointerSetInvalid(&rows->tuple.t_self);
	rows->tuple.t_tableOid = job->table;
	rows->buffer = InvalidBuffer;
	if (rows->n > 0)
	{
		rows->buffer = ReadBuffer(rows->table, 0);
		tag_rows(rows, job);
	}
	return rows;
}

/* rows_unload frees the rows, and closes the table. */
void
rows_unload(Rows *rows)
{
	ExecDropSingleTupleTableSlot(rows->slot);
	if (BufferIsValid(rows->buffer))
		ReleaseBuffer(rows->buffer);
	table_close(rows->table, AccessShareLock);
	MemoryContextDelete(rows->context);
}
