/*-------------------------------------------------------------------------
 *
 * heapcolumns.h
 *	  Extract the columns of an index from a heap tuple.
 *
 * heap_deform_tuple() extracts all columns of a table, a slot those up to the
 * last one needed.  The functions here extract only the columns of the index,
 * most often from offsets that are known beforehand.  They step over another
 * column only if a needed one follows.
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

/* A column of the table, with what is needed to step over it. */
typedef struct WalkColumn
{
	int16		value;			/* which value of the index, or -1 */
	int16		len;
	bool		byval;
	char		align;
} WalkColumn;

/*
 * A plan to extract an index's values from a tuple.  The first nfixed columns
 * have a fixed length, so that in a tuple without NULLs they are at known
 * offsets and the walk starts after them.  'columns' ends with the last column
 * that the index needs.
 */
typedef struct HeapColumns
{
	TupleDesc	desc;
	int			ncolumns;
	WalkColumn *columns;
	int			nfixed;
	uint32		fixed_end;		/* end of the nfixed-th column, from t_hoff */
	int			nfixed_values;
	FixedValue	fixed_values[INDEX_MAX_KEYS];

	/* rough distance of the values from the tuple's start, for prefetching */
	uint32		reach;
} HeapColumns;

/*
 * heapcolumns_plan fills in the plan for an index and for tuples that 'desc'
 * describes.  Returns false if that is not possible: the index has expressions,
 * or a column several times.  The plan keeps the pointer to 'desc'.  *plan must
 * be zeroed; the caller frees plan->columns, which is palloc'd or NULL.
 */
extern bool heapcolumns_plan(HeapColumns *plan, TupleDesc desc,
							 const IndexInfo *index_info);

/*
 * heapcolumns_walk extracts the values of column 'from', counted from 0, and of
 * all later ones.  'offset' is where that column, or the padding before it,
 * begins in the data.
 */
extern void heapcolumns_walk(const HeapColumns *plan, HeapTupleHeader tuple,
							 int from, uint32 offset,
							 Datum *values, bool *isnull);

/*
 * heapcolumns_take extracts an index's values from a tuple.  Values passed by
 * reference point into the tuple, or into the descriptor if the column was
 * added to the table later than the tuple.
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
}

#endif							/* PTSORT_HEAPCOLUMNS_H */
