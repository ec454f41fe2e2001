/*-------------------------------------------------------------------------
 *
 * ranks.c
 *	  Compares strings by a collation's tables and by the collation
 *	  itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_ranks);
PG_FUNCTION_INFO_V1(ptsort_test_trust_collations);

typedef struct Counts
{
	int64		compared;
	int64		decided;
	int64		different;
} Counts;

/* Compares two strings by the tables and by the collation. */
static void
compare_texts(Oid collation, text * x, text * y, Counts *counts)
{
	const char *a = VARDATA_ANY(x);
	const char *b = VARDATA_ANY(y);
	int			a_length = VARSIZE_ANY_EXHDR(x);
	int			b_length = VARSIZE_ANY_EXHDR(y);
	int			truth = varstr_cmp(a, a_length, b, b_length, collation);
	int			cmp;

	counts->compared++;
	if (!test_internals()->compare_ranks(collation, a, a_length, b, b_length,
										 &cmp))
		return;
	counts->decided++;
	counts->different += (truth < 0) != (cmp < 0) || (truth > 0) != (cmp > 0);
}

/* ptsort_test_ranks(collation, strings): see the SQL script. */
Datum
ptsort_test_ranks(PG_FUNCTION_ARGS)
{
	Oid			collation = PG_GETARG_OID(0);
	Counts		counts = {0};
	Datum	   *texts;
	int			n;
	TupleDesc	desc;
	Datum		values[3];
	bool		isnull[3] = {false};

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false,
					  TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < n; j++)
			compare_texts(collation, DatumGetTextPP(texts[i]),
						  DatumGetTextPP(texts[j]), &counts);
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(counts.compared);
	values[1] = Int64GetDatum(counts.decided);
	values[2] = Int64GetDatum(counts.different);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}

/* ptsort_test_trust_collations(): see the SQL script. */
Datum
ptsort_test_trust_collations(PG_FUNCTION_ARGS)
{
	test_internals()->trust_collations();
	PG_RETURN_VOID();
}
