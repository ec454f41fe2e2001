/*-------------------------------------------------------------------------
 *
 * heapcolumns.c
 *	  Extract the columns of an index from a heap tuple.
 *
 * This does the work of heap_deform_tuple() for some of the columns.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "team/heapcolumns.h"

/* Compute the offsets of the columns that have known ones. */
static void
plan_fixed_part(HeapColumns *plan)
{
	uint32		offset = 0;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		const WalkColumn *column = &plan->columns[i];

		if (column->len <= 0)
			break;
		offset = att_align_nominal(offset, column->align);
		if (column->value >= 0)
		{
			FixedValue *fixed = &plan->fixed_values[plan->nfixed_values++];

			fixed->value = column->value;
			fixed->len = column->len;
			fixed->byval = column->byval;
			fixed->offset = offset;
		}
		offset += column->len;
		plan->nfixed = i + 1;
		plan->fixed_end = offset;
	}
	plan->reach = MAXALIGN(SizeofHeapTupleHeader) + offset;
}

bool
heapcolumns_plan(HeapColumns *plan, TupleDesc desc,
				 const IndexInfo *index_info)
{
	if (index_info->ii_Expressions != NIL)
		return false;
	plan->desc = desc;
	for (int i = 0; i < index_info->ii_NumIndexAttrs; i++)
		plan->ncolumns = Max(plan->ncolumns,
							 index_info->ii_IndexAttrNumbers[i]);
	plan->columns = palloc(plan->ncolumns * sizeof(WalkColumn));
	for (int i = 0; i < plan->ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		plan->columns[i].value = -1;
		plan->columns[i].len = att->attlen;
		plan->columns[i].byval = att->attbyval;
		plan->columns[i].align = att->attalign;
	}
	for (int i = 0; i < index_info->ii_NumIndexAttrs; i++)
	{
		WalkColumn *column =
			&plan->columns[index_info->ii_IndexAttrNumbers[i] - 1];

		if (column->value >= 0)
			return false;
		column->value = i;
	}
	plan_fixed_part(plan);
	return true;
}

void
heapcolumns_walk(const HeapColumns *plan, HeapTupleHeader tuple, int from,
				 uint32 offset, Datum *values, bool *isnull)
{
	char	   *data = (char *) tuple + tuple->t_hoff;
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			natts = Min(HeapTupleHeaderGetNatts(tuple), plan->ncolumns);
	int			i;

	for (i = from; i < natts; i++)
	{
		const WalkColumn *column = &plan->columns[i];

		if (has_nulls && att_isnull(i, tuple->t_bits))
		{
			if (column->value >= 0)
			{
				values[column->value] = (Datum) 0;
				isnull[column->value] = true;
			}
			continue;
		}
		offset = att_align_pointer(offset, column->align, column->len,
								   data + offset);
		if (column->value >= 0)
		{
			values[column->value] = fetch_att(data + offset, column->byval,
											  column->len);
			isnull[column->value] = false;
		}
		offset = att_addlength_pointer(offset, column->len, data + offset);
	}

	/* columns that were added to the table later than the tuple */
	for (; i < plan->ncolumns; i++)
	{
		int			value = plan->columns[i].value;

		if (value >= 0)
			values[value] = getmissingattr(plan->desc, i + 1, &isnull[value]);
	}
}
