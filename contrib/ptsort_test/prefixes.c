/*-------------------------------------------------------------------------
 *
 * prefixes.c
 *	  Compares strings by functions that may skip a shared prefix, and by the
 *	  type's own function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_prefixes);

static int
sign(int cmp)
{
	return (cmp > 0) - (cmp < 0);
}

static void
texts_of(ArrayType *array, Datum **values, int *n)
{
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, values, NULL, n);
}

/*
 * Compares all pairs of texts by the functions of 'key' and 'support'; returns
 * the number of pairs for which the results differ.
 */
static int64
compare_pairs(TestKey *key, SortSupport support, Datum *texts, int n)
{
	int64		different = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < i; j++)
		{
			int			truth = test_compare_values(key, texts[i], false,
													texts[j], false);
			int			cmp = ApplySortComparator(texts[i], false,
												  texts[j], false, support);

			different += sign(truth) != sign(cmp);
		}
	}
	return different;
}

/* ptsort_test_prefixes(index, prefixes, rests): see the SQL script. */
Datum
ptsort_test_prefixes(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	struct PtSortKey *prefix_key = test_internals()->key_index(index);
	SortSupport support = test_internals()->key_facts(prefix_key).support;
	SortSupportData plain = {
		.ssup_cxt = CurrentMemoryContext,
		.ssup_collation = index->rd_indcollation[0],
		.ssup_attno = 1
	};
	TestKey		key;
	Datum	   *prefixes;
	Datum	   *rests;
	int			nprefixes;
	int			nrests;
	int64		different = 0;
	TupleDesc	desc;
	Datum		values[3];
	bool		isnull[3] = {false};

	/* make ptsort read ICU's data, as it does when the key begins to learn */
	if (test_internals()->key_facts(prefix_key).learning)
		(void) test_internals()->key_begin_learning(prefix_key);
	test_key_of_index(index, 0, &key);
	PrepareSortSupportFromOrderingOp(key.operator, &plain);
	texts_of(PG_GETARG_ARRAYTYPE_P(1), &prefixes, &nprefixes);
	texts_of(PG_GETARG_ARRAYTYPE_P(2), &rests, &nrests);
	for (int i = 0; i < nprefixes; i++)
	{
		char	   *prefix = TextDatumGetCString(prefixes[i]);
		Datum	   *texts = palloc(nrests * sizeof(Datum));

		for (int j = 0; j < nrests; j++)
		{
			char	   *rest = TextDatumGetCString(rests[j]);

			texts[j] = CStringGetTextDatum(psprintf("%s%s", prefix, rest));
		}
		different += compare_pairs(&key, support, texts, nrests);
	}

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = BoolGetDatum(support->comparator != plain.comparator);
	values[1] = Int64GetDatum((int64) nprefixes * nrests * (nrests - 1) / 2);
	values[2] = Int64GetDatum(different);
	index_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
