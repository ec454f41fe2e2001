/*-------------------------------------------------------------------------
 *
 * ptsort_example.c
 *	  The smallest extension that uses ptsort's sort.
 *
 * Sorts datums serially.  parallel.c sorts with workers, and inorder.c sorts
 * rows in the order of an index.  The extension ptsort_am builds an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "ptsort.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sorted_median);

Datum
sorted_median(PG_FUNCTION_ARGS)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = (int64) work_mem * 1024
	};
	PtSort	   *sort = ptsort_begin_datum(INT8OID, Int8LessOperator,
										  InvalidOid, false, &options);
	Datum	   *values;
	Datum		value = (Datum) 0;
	int64		median;
	bool	   *nulls;
	bool		isnull = true;
	int			n;
	int			known = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, 8, FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			continue;
		ptsort_put_datum(sort, values[i], false);
		known++;
	}
	ptsort_perform(sort);
	for (int i = 0; i <= known / 2; i++)
	{
		if (!ptsort_get_datum(sort, true, &value, &isnull))
			break;
	}
	/* an int8 passed by reference is in memory that ptsort_end() frees */
	median = isnull ? 0 : DatumGetInt64(value);
	ptsort_end(sort);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_INT64(median);
}
