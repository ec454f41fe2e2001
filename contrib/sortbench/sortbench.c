/*-------------------------------------------------------------------------
 *
 * sortbench.c
 *	  The SQL function that sorts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "sort.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sortbench_sort);

/* Positions of the arguments of sortbench_sort */
enum
{
	ARG_INPUTS,
	ARG_OUTPUTS,
	ARG_WORKERS,
	ARG_MEMORY,
	ARG_RECORD_SIZE,
	ARG_KEY_OFFSET,
	ARG_KEY_LENGTH,
	ARG_PASSES,
	ARG_OVERWRITE,
	ARG_SYNC,
	ARG_DIRECT_OUTPUT
};

/* Parses a memory size like "64MB"; null means maintenance_work_mem. */
static int64
memory_argument(FunctionCallInfo fcinfo, int i)
{
	const char *hint = NULL;
	int			kilobytes = maintenance_work_mem;

	if (!PG_ARGISNULL(i) &&
		!parse_int(text_to_cstring(PG_GETARG_TEXT_PP(i)), &kilobytes,
				   GUC_UNIT_KB, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value of \"memory\""),
				 hint != NULL ? errhint("%s", _(hint)) : 0));
	return kilobytes * INT64CONST(1024);
}

static void
require_memory(const Job *job)
{
	int64		least = sort_least_memory(job);

	if (job->memory < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"memory\" is too small"),
				 errdetail("It is " INT64_FORMAT " kB; %s with %d workers needs at least " INT64_FORMAT " kB.",
						   job->memory / 1024,
						   job->pointers ? "one pass" : "a sort",
						   job->workers, least / 1024 + 1)));
}

/* Chooses one or two passes, depending on argument "passes" and the memory. */
static void
choose_way(Job *job, int passes)
{
	bool		packed = key_packed_words(&job->input.key) > 0;

	if (passes < 0 || passes > 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"passes\" must be 0, 1 or 2")));
	if (passes == 1 && !packed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a key of %d bytes is too long for one pass",
						job->input.key.length)));
	job->pointers = false;
	require_memory(job);
	job->pointers = packed && passes != 2;
	if (passes == 1)
		require_memory(job);
	else if (job->memory < sort_least_memory(job))
		job->pointers = false;
}

static Datum
sort_answer(FunctionCallInfo fcinfo)
{
	const Report *report = &last_report;
	double		ms = report->end - report->start;
	bool		isnull[9] = {false};
	Datum		values[9] = {
		Int64GetDatum(report->records),
		Int64GetDatum(report->bytes),
		Int32GetDatum(report->passes),
		Int32GetDatum(report->participants),
		Float8GetDatum(ms),
		Float8GetDatum(ms > 0 ? report->bytes / 1000.0 / ms : 0),
		Int64GetDatum(report->memory_used),
		Int64GetDatum(report->memory_allowed),
		Int64GetDatum(report->temp_bytes)
	};

	return answer_row(fcinfo, values, isnull);
}

/* sortbench_sort: see the SQL script. */
Datum
sortbench_sort(PG_FUNCTION_ARGS)
{
	Job		   *job = palloc0(sizeof(Job));
	Output		output = {.volume = &job->output};
	int			ninputs;
	int			noutputs;
	char	  **inputs;
	char	  **outputs;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i) && i != ARG_MEMORY)
			PG_RETURN_NULL();
	}
	inputs = texts_argument(fcinfo, ARG_INPUTS, "inputs", &ninputs);
	outputs = texts_argument(fcinfo, ARG_OUTPUTS, "outputs", &noutputs);
	job->workers = workers_argument(fcinfo, ARG_WORKERS);
	job->memory = memory_argument(fcinfo, ARG_MEMORY);
	record_arguments(fcinfo, ARG_RECORD_SIZE, &job->input);
	output.overwrite = PG_GETARG_BOOL(ARG_OVERWRITE);

	input_volume(&job->input, inputs, ninputs);
	output_volume(&job->output, outputs, noutputs, output.overwrite,
				  &job->input);
	job->output.size = job->input.volume.size;
	job->output.sync = PG_GETARG_BOOL(ARG_SYNC);
	job->output.direct = PG_GETARG_BOOL(ARG_DIRECT_OUTPUT);
	volume_layout(&job->output, job->input.size);
	choose_way(job, PG_GETARG_INT32(ARG_PASSES));
	sort_files(job, &output);
	return sort_answer(fcinfo);
}
