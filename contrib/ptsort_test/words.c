/*-------------------------------------------------------------------------
 *
 * words.c
 *	  Checks words against comparisons.
 *
 * The test sorts n values by the operator class's comparison.  If the words of
 * the sorted values do not decrease, and are equal where the comparison returns
 * 0, then no pair of values has words that contradict the comparison.  So a
 * sort of n values checks all n * (n - 1) / 2 pairs.  Exact keys with their
 * tails must order the values exactly as the comparison does, and the test must
 * get the original values back from the keys.
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
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "ptsort_test.h"

const PtSortInternals *
test_internals(void)
{
	PtSortGetInternals get = (PtSortGetInternals)
		load_external_function("$libdir/ptsort", "ptsort_internals", true,
							   NULL);
	const PtSortInternals *internals = get();

	if (internals->size != sizeof(PtSortInternals))
		elog(ERROR, "ptsort_test was compiled for another ptsort");
	return internals;
}

/* A value, its words and its column's order. */
typedef struct Sample
{
	Datum		value;
	bool		isnull;
	uint64		words[TEST_ENTRY_WORDS];
	struct WordsOrder *order;
} Sample;

/* An order that a comparison function or an operator defines. */
typedef struct WordsOrder
{
	TestKey		key;
	bool		by_operator;
	FmgrInfo	less;
} WordsOrder;

PG_FUNCTION_INFO_V1(ptsort_test_words_index);
PG_FUNCTION_INFO_V1(ptsort_test_operator_words);

static int
compare_samples(const Sample *a, const Sample *b)
{
	WordsOrder *order = a->order;

	if (!order->by_operator || a->isnull || b->isnull)
		return test_compare_values(&order->key, a->value, a->isnull,
								   b->value, b->isnull);
	if (DatumGetBool(FunctionCall2Coll(&order->less, order->key.collation,
									   a->value, b->value)))
		return -1;
	return DatumGetBool(FunctionCall2Coll(&order->less, order->key.collation,
										  b->value, a->value)) ? 1 : 0;
}

static int
compare_for_qsort(const void *a, const void *b)
{
	return compare_samples((const Sample *) a, (const Sample *) b);
}

static int
compare_words(const Sample *a, const Sample *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	return 0;
}

/* Computes the words of a value, and the tail if the key has an index. */
static void
make_words(const WordsOrder *order, struct PtSortKey *key, const Datum *value,
		   const bool *isnull, uint64 *words)
{
	test_internals()->key_words(key, value, isnull, words);
}

/* Returns an array's elements with their words. */
static Sample *
make_samples(ArrayType *array, WordsOrder *order, struct PtSortKey *key, int *n)
{
	Datum	   *values;
	bool	   *isnull;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Sample	   *samples;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign,
					  &values, &isnull, n);
	samples = palloc0(Max(*n, 1) * sizeof(Sample));
	if (test_internals()->key_facts(key).learning &&
		test_internals()->key_begin_learning(key))
	{
		/*
		 * Learn from a part of the values, so that some values are new to the
		 * key.
		 */
		for (int i = 0; i < *n; i += 3)
			make_words(order, key, &values[i], &isnull[i], samples[i].words);
		test_internals()->key_learn(key);
	}
	for (int i = 0; i < *n; i++)
	{
		samples[i].value = values[i];
		samples[i].isnull = isnull[i];
		samples[i].order = order;
		make_words(order, key, &values[i], &isnull[i], samples[i].words);
	}
	return samples;
}

/* True if an index's exact key rebuilds a value from the value's words. */
static bool
is_rebuilt(const Sample *a, struct PtSortKey *key, TupleDesc desc, int16 typlen,
		   bool typbyval)
{
	char		buffer[TEST_KEY_TUPLE_SIZE] pg_attribute_aligned(8);
	IndexTuple	tuple = (IndexTuple) buffer;
	Datum		value;
	bool		isnull;

	test_internals()->key_tuple(key, a->words, tuple);
	value = index_getattr(tuple, 1, desc, &isnull);
	if (isnull || a->isnull)
		return isnull == a->isnull;
	return datumIsEqual(value, a->value, typbyval, typlen);
}

/*
 * Sorts the samples and computes the results of the SQL functions.  index_desc
 * is the descriptor of the key's index, or NULL.
 */
static Datum
check_words(FunctionCallInfo fcinfo, WordsOrder *order, struct PtSortKey *key,
			TupleDesc index_desc, ArrayType *array)
{
	int			n;
	Sample	   *samples = make_samples(array, order, key, &n);
	int			nwords = test_internals()->key_facts(key).nwords;
	int64		contradictions = 0;
	int64		decided = 0;
	SortSupport support_of_key = test_internals()->key_facts(key).support;
	bool		exact = test_internals()->key_facts(key).exact;
	int16		typlen;
	bool		typbyval;
	TupleDesc	desc;
	Datum		values[5];
	bool		isnull[5] = {false};

	if (exact && index_desc == NULL)
		elog(ERROR, "only keys of indexes are exact");
	get_typlenbyval(ARR_ELEMTYPE(array), &typlen, &typbyval);
	for (int i = 0; exact && i < n; i++)
		contradictions += !is_rebuilt(&samples[i], key, index_desc, typlen,
									  typbyval);
	qsort(samples, n, sizeof(Sample), compare_for_qsort);
	for (int i = 1; i < n; i++)
	{
		Sample	   *a = &samples[i - 1];
		Sample	   *b = &samples[i];
		int			truth = compare_samples(a, b);
		int			words = compare_words(a, b, nwords + exact);
		int			support = ApplySortComparator(a->value, a->isnull,
												  b->value, b->isnull,
												  support_of_key);

		CHECK_FOR_INTERRUPTS();
		if (words > 0 || (truth == 0 && words != 0) ||
			(exact && truth != 0 && words == 0) ||
			(support < 0) != (truth < 0) || support > 0)
			contradictions++;
		if (words < 0)
			decided++;
	}

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(nwords);
	values[1] = Int64GetDatum((int64) n * (n - 1) / 2);
	values[2] = Int64GetDatum(contradictions);
	values[3] = Int64GetDatum(decided);
	values[4] = BoolGetDatum(exact);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, isnull));
}

/* ptsort_test_words(index, values): see the SQL script. */
Datum
ptsort_test_words_index(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	WordsOrder	order = {0};
	Datum		result;

	test_key_of_index(index, 0, &order.key);
	/* Indexes store names as cstrings. */
	if (order.key.type != ARR_ELEMTYPE(array) && order.key.type != CSTRINGOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("values are of type %s, the index column of type %s",
						format_type_be(ARR_ELEMTYPE(array)),
						format_type_be(order.key.type))));
	result = check_words(fcinfo, &order, test_internals()->key_index(index),
						 RelationGetDescr(index), array);
	index_close(index, AccessShareLock);
	PG_RETURN_DATUM(result);
}

/* ptsort_test_operator_words(operator, values): see the SQL script. */
Datum
ptsort_test_operator_words(PG_FUNCTION_ARGS)
{
	Oid			operator = PG_GETARG_OID(0);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	WordsOrder	order = {.by_operator = true};

	order.key.collation = PG_GET_COLLATION();
	order.key.nulls_first = PG_GETARG_BOOL(2);
	fmgr_info(get_opcode(operator), &order.less);
	return check_words(fcinfo, &order,
					   test_internals()->key_operators(1, &operator,
													   &order.key.collation,
													   &order.key.nulls_first),
					   NULL, array);
}
