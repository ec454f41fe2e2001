/*-------------------------------------------------------------------------
 *
 * heapcolumns.h
 *	  Take the columns of an index from a heap tuple.
 *
 * heap_deform_tuple() takes all columns of a table, a slot takes all up to the
 * last one that is wanted.  Here only the wanted ones are taken, most often
 * from offsets that are known beforehand; other columns are stepped over, and
 * only if a wanted one follows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPCOLUMNS_H
#define PTSORT_HEAPCOLUMNS_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "nodes/execnodes.h"

/* A value of the index that is a column of the table at a known offset. */
typedef struct FixedValue
{
	int16		value;			/* which value of the index */
	int16		len;
	bool		byval;
	uint32		offset;			/* from t_hoff, in a tuple without NULLs */
} FixedValue;

/* A column of the table, as needed to step over it. */
typedef struct WalkColumn
{
	int16		value;			/* which value of the index, or -1 */
	int16		len;
	bool		byval;
	char		align;
} WalkColumn;

/*
 * How to take an index's values from a tuple.  The first nfixed columns are of
 * fixed length, so in a tuple without NULLs they are at known offsets and
 * the walk starts after them.  Columns after the last wanted one are not
 * looked at.
 */
typedef struct HeapColumns
{
	TupleDesc	desc;
	int			ncolumns;
	WalkColumn *columns;
	int			nfixed;
	uint32		fixed_end;		/* offset of the end of the last of these */
	int			nfixed_values;
	FixedValue	fixed_values[INDEX_MAX_KEYS];

	/* distance from a tuple's header to the values, roughly: to prefetch */
	uint32		reach;

	/* values that are the same column as an earlier one */
	int			nrepeats;
	int16		repeat_to[INDEX_MAX_KEYS];
	int16		repeat_from[INDEX_MAX_KEYS];
} HeapColumns;

/*
 * heapcolumns_plan fills in how to take the columns of an index that has no
 * expressions from tuples of the table that 'desc' describes.  The plan keeps
 * the pointer to it.  plan->columns is palloc'd, for the caller to free; all
 * else is in *plan, which must be zero.
 */
extern void heapcolumns_plan(HeapColumns *plan, TupleDesc desc,
							 const IndexInfo *index_info);

/*
 * heapcolumns_walk takes the values of column 'from' and those after it.
 * 'offset' is where that column, or padding before it, begins in the data.
 */
extern void heapcolumns_walk(const HeapColumns *plan, HeapTupleHeader tuple,
							 int from, uint32 offset,
							 Datum *values, bool *isnull);

/*
 * heapcolumns_take takes an index's values from a tuple.  Those passed by
 * reference point into the tuple, or into the descriptor for columns that were
 * added to the table after the tuple.
 */
static inline void
heapcolumns_take(const HeapColumns *plan, HeapTupleHeader tuple,
				 Datum *values, bool *isnull)
{
	int			from = 0;
	uint32		offset = 0;

	if ((tuple->t_infomask & HEAP_HASNULL) == 0 &&
		HeapTupleHeaderGetNatts(tuple) >= plan->nfixed)
	{
		char	   *data = (char *) tuple + tuple->t_hoff;

		for (int i = 0; i < plan->nfixed_values; i++)
		{
			const FixedValue *fixed = &plan->fixed_values[i];

			values[fixed->value] = fetch_att(data + fixed->offset,
											 fixed->byval, fixed->len);
			isnull[fixed->value] = false;
		}
		from = plan->nfixed;
		offset = plan->fixed_end;
	}
	if (from < plan->ncolumns)
		heapcolumns_walk(plan, tuple, from, offset, values, isnull);
	for (int i = 0; i < plan->nrepeats; i++)
	{
		values[plan->repeat_to[i]] = values[plan->repeat_from[i]];
		isnull[plan->repeat_to[i]] = isnull[plan->repeat_from[i]];
	}
}

#endif							/* PTSORT_HEAPCOLUMNS_H */
