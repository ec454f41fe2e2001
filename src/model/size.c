/*-------------------------------------------------------------------------
 *
 * size.c
 *	  How large a new index or table and its sort will be; see cost.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heaptoast.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_statistic.h"
#include "model/cost.h"
#include "optimizer/optimizer.h"
#include "utils/syscache.h"

JobKey
size_key(Relation index)
{
	Form_pg_attribute first;

	if (index == NULL)
		return JOB_NONE;
	first = TupleDescAttr(RelationGetDescr(index), 0);
	if (index->rd_rel->relam == GIST_AM_OID)
		return JOB_SPLIT;
	if (index->rd_rel->relam == GIN_AM_OID)
		return JOB_EXTRACT;
	if (first->attlen > 0)
		return JOB_FIXED;
	if (!OidIsValid(index->rd_indcollation[0]) ||
		pt_collate_is_c(index->rd_indcollation[0]))
		return JOB_BYTES;
	return JOB_COLLATED;
}

/* Returns the planner's estimate of the table's rows. */
static double
expected_rows(Relation table)
{
	BlockNumber pages;
	double		tuples;
	double		all_visible;

	table_relation_estimate_size(table, NULL, &pages, &tuples, &all_visible);
	return clamp_row_est(tuples);
}

/*
 * Returns how many rows share an index key, if statistics say so.  The columns
 * of the key count as independent.
 */
static double
rows_per_key(Relation table, Relation index, double rows)
{
	Datum		table_id = ObjectIdGetDatum(RelationGetRelid(table));
	double		keys = 1;

	if (index->rd_rel->relam != BTREE_AM_OID ||
		!BTGetDeduplicateItems(index) || !_bt_allequalimage(index, false))
		return 1;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	column = index->rd_index->indkey.values[i];
		HeapTuple	tuple = SearchSysCache3(STATRELATTINH, table_id,
											Int16GetDatum(column),
											BoolGetDatum(false));
		double		distinct;

		if (!HeapTupleIsValid(tuple))
			return 1;
		distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
		ReleaseSysCache(tuple);
		if (distinct == 0)		/* unknown */
			return 1;
		keys *= distinct > 0 ? distinct : -distinct * rows;
	}
	return Max(rows / Max(keys, 1), 1);
}

/* The part of a page that picksplit fills, on average */
static const double split_fill = 0.67;

/*
 * Returns the estimated size of an index tuple whose key rows share.  Strings
 * without statistics count 'unknown' bytes or, if that is 0, a usual number.
 */
static double
index_row_bytes(Relation table, Relation index, double shared_by, int unknown)
{
	TupleDesc	desc = RelationGetDescr(index);
	Size		width = sizeof(IndexTupleData);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		AttrNumber	column = index->rd_index->indkey.values[i];
		int			known = 0;

		if (att->attlen < 0 && column > 0)
			known = get_attavgwidth(RelationGetRelid(table), column);
		if (att->attlen < 0 && known == 0)
			known = unknown;
		width += known > 0 ? known :
			get_typavgwidth(att->atttypid, att->atttypmod);
	}
	width = MAXALIGN(width) + sizeof(ItemIdData);
	if (index->rd_rel->relam == GIST_AM_OID)
		return width / split_fill;
	return shared_by > 1 ? width / shared_by + sizeof(ItemPointerData) : width;
}

/*
 * Returns the bytes per row of those key columns whose long values are
 * compressed.  Expressions have no statistics of their own here.
 */
static double
long_bytes(Relation table, Relation index)
{
	double		bytes = 0;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	column = index->rd_index->indkey.values[i];
		int32		width = column <= 0 ? 0 :
			get_attavgwidth(RelationGetRelid(table), column);

		if (width > TOAST_INDEX_TARGET)
			bytes += width;
	}
	return bytes;
}

/* GIN: bytes of a row for each entry, of the index for each, and of runs */
static const double key_bytes = 7;
static const double entry_bytes = 6;
static const double runs_part = 3;

/* Estimates how many entries of a GIN index a row has. */
static double
entries_of_row(Relation table, Relation index)
{
	double		bytes = index_row_bytes(table, index, 1, 0);

	return Max((bytes - sizeof(IndexTupleData)) / key_bytes, 1);
}

void
size_job(Job *job, bool copies, Relation table, Relation index)
{
	memset(job, 0, sizeof(Job));
	job->copies = copies;
	job->key = size_key(index);
	job->logged = copies ? RelationNeedsWAL(table) : RelationNeedsWAL(index);
	job->blocks = RelationGetNumberOfBlocks(table);
	job->rows = expected_rows(table);
	if (job->key == JOB_EXTRACT)
		job->row_entries = entries_of_row(table, index);
	job->row_bytes = copies ? job->blocks * BLCKSZ / Max(job->rows, 1) :
		job->key == JOB_EXTRACT ? job->row_entries * entry_bytes :
		index_row_bytes(table, index,
						rows_per_key(table, index, job->rows), 0);
	job->long_bytes = index == NULL ? 0 : long_bytes(table, index);
	job->participants = 1;
	job->factor = 1;
}

double
size_of_toast(Relation table)
{
	Relation	toast;
	double		result;

	if (!OidIsValid(table->rd_rel->reltoastrelid))
		return 0;
	toast = relation_open(table->rd_rel->reltoastrelid, AccessShareLock);
	result = (double) RelationGetNumberOfBlocks(toast) * BLCKSZ;
	relation_close(toast, AccessShareLock);
	return result;
}

double
size_of_runs(bool copies, Relation table, Relation index)
{
	double		rows = expected_rows(table);
	double		bytes = (double) RelationGetNumberOfBlocks(table) * BLCKSZ;

	if (index == NULL)
		return 0;
	if (copies)
		return bytes + rows * (sizeof(HeapTupleData) + 2 * sizeof(uint64));
	bytes = Min(bytes, rows * index_row_bytes(table, index, 1, BLCKSZ));
	if (index->rd_rel->relam == GIN_AM_OID) /* the table may have long values */
		bytes = runs_part *
			Max(bytes, rows * index_row_bytes(table, index, 1, 0));
	return bytes;
}
