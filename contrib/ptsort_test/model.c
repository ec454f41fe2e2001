/*-------------------------------------------------------------------------
 *
 * model.c
 *	  ptsort_test_model(): sorts a query's rows with the server's tuplesort and
 *	  with ptsort, and compares the results.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "faults.h"
#include "model.h"

PG_FUNCTION_INFO_V1(ptsort_test_model);

/* Reads all arguments except the query and the kind of slots. */
static void
read_settings(FunctionCallInfo fcinfo, ModelSettings *settings)
{
	char	   *variant = text_to_cstring(PG_GETARG_TEXT_PP(1));

	memset(settings, 0, sizeof(*settings));
	settings->datum = strcmp(variant, "datum") == 0;
	settings->budget = (int64) PG_GETARG_INT32(3) * 1024;
	settings->participants = test_in_range("participants", PG_GETARG_INT32(4),
										   0, MAX_PARTICIPANTS);
	settings->slices = PG_GETARG_BOOL(5);
	settings->random_access = PG_GETARG_BOOL(6);
	settings->seed = PG_GETARG_INT64(7);
	settings->expected_tuples = PG_GETARG_INT64(8);
	settings->stable = PG_GETARG_BOOL(9);
	settings->rounds = test_in_range("rounds", PG_GETARG_INT32(10), 1,
									 MAX_ROUNDS);
	settings->bound = PG_GETARG_INT64(11);
	if (!settings->datum && strcmp(variant, "tuple") != 0)
		elog(ERROR, "unknown variant \"%s\"", variant);
	if (settings->participants > 0 &&
		(settings->random_access || settings->rounds != 1 ||
		 settings->bound != 0))
		elog(ERROR, "only serial sorts have random access, rounds and a bound");
}

/* ptsort_test_model: see the SQL script. */
Datum
ptsort_test_model(PG_FUNCTION_ARGS)
{
	ModelSettings settings;
	ModelSource *source;
	ModelArray *array;
	PtSortStats stats;
	char	   *method;
	TupleDesc	desc;
	Datum		values[7];
	bool		isnull[7] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	read_settings(fcinfo, &settings);

	source = model_source_open(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							   text_to_cstring(PG_GETARG_TEXT_PP(2)));
	if (settings.datum && source->desc->natts != 1)
		elog(ERROR, "a sort of values has one column");
	array = model_array_make(source, &settings);
	test_point("model: begin");
	model_sort(array, &stats);
	test_point(MODEL_END_POINT);
	values[0] = Int64GetDatum(array->n);
	values[1] = Int64GetDatum(array->groups);
	model_array_free(array);
	model_source_close(source);

	values[2] = Int64GetDatum(stats.runs);
	values[3] = Int64GetDatum(stats.comparisons);
	values[4] = Int64GetDatum(stats.peak_memory);
	values[5] = Int64GetDatum(stats.temp_bytes);
	method = psprintf("%s, %s", ptsort_method_name(stats.method),
					  ptsort_method_space(stats.method));
	values[6] = CStringGetTextDatum(method);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
