/*-------------------------------------------------------------------------
 *
 * sortcompare.c
 *	  The SQL functions: their arguments and results.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "sortcompare.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sortcompare);
PG_FUNCTION_INFO_V1(sortcompare_parallel);

/* Maximum number of columns in a result. */
#define MAX_COLUMNS 17

/* A row of a function's result. */
typedef struct Answer
{
	Datum		values[MAX_COLUMNS];
	bool		isnull[MAX_COLUMNS];
	int			n;
} Answer;

static void
bad_argument(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value of argument \"%s\"", what)));
}

/* Reads the elements of an array argument; no element may be null. */
static int
read_array(FunctionCallInfo fcinfo, int argument, Oid type, const char *what,
		   Datum **values)
{
	int16		length;
	bool		by_value;
	char		align;
	bool	   *isnull;
	int			n;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument), type, length, by_value,
					  align, values, &isnull, &n);
	for (int i = 0; i < n; i++)
	{
		if (isnull[i])
			bad_argument(what);
	}
	return n;
}

/* Reads the keys from argument 1 (columns) and argument "collations". */
static void
read_keys(FunctionCallInfo fcinfo, Job *job, int collations)
{
	Datum	   *names;
	Datum	   *oids = NULL;
	int			noids = 0;

	job->nkeys = read_array(fcinfo, 1, NAMEOID, "columns", &names);
	if (job->nkeys < 1 || job->nkeys > MAX_KEYS)
		bad_argument("columns");
	if (!PG_ARGISNULL(collations))
		noids = read_array(fcinfo, collations, REGCOLLATIONOID, "collations",
						   &oids);
	for (int i = 0; i < job->nkeys; i++)
	{
		char	   *name = NameStr(*DatumGetName(names[i]));
		int32		typmod;

		job->columns[i] = get_attnum(job->table, name);
		if (job->columns[i] <= 0)
			bad_argument("columns");
		get_atttypetypmodcoll(job->table, job->columns[i], &job->types[i],
							  &typmod, &job->collations[i]);
		job->operators[i] = lookup_type_cache(job->types[i],
											  TYPECACHE_LT_OPR)->lt_opr;
		if (!OidIsValid(job->operators[i]))
			bad_argument("columns");
		if (i < noids && OidIsValid(DatumGetObjectId(oids[i])))
			job->collations[i] = DatumGetObjectId(oids[i]);
	}
}

/*
 * Reads the arguments that sortcompare and sortcompare_parallel have in common.
 * "collations" is the position of the argument "collations"; the arguments
 * "kind" and "budget_kb" must follow it.
 */
static void
read_job(FunctionCallInfo fcinfo, Job *job, int collations)
{
	char	   *kind;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i) && i != collations)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument %d must not be null", i + 1)));
	}
	memset(job, 0, sizeof(*job));
	job->table = PG_GETARG_OID(0);
	read_keys(fcinfo, job, collations);
	kind = text_to_cstring(PG_GETARG_TEXT_PP(collations + 1));
	job->datum = strcmp(kind, "datum") == 0;
	if ((job->datum ? job->nkeys != 1 : strcmp(kind, "tuple") != 0))
		bad_argument("kind");
	job->budget = (int64) PG_GETARG_INT32(collations + 2) * 1024;
	if (job->budget < 64 * 1024)
		bad_argument("budget_kb");
}

static const Engine *
engine_by_name(const char *name)
{
	if (strcmp(name, server_engine.name) == 0)
		return &server_engine;
	if (strcmp(name, our_engine.name) == 0)
		return &our_engine;
	if (strcmp(name, limit_engine.name) == 0)
		return &limit_engine;
	bad_argument("engines");
	return NULL;
}

/* Creates the tuplestore for a function's result. */
static Tuplestorestate *
open_answer(FunctionCallInfo fcinfo, TupleDesc *desc)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;

	if (info == NULL || !IsA(info, ReturnSetInfo) ||
		(info->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	caller = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, desc) != TYPEFUNC_COMPOSITE ||
		(*desc)->natts > MAX_COLUMNS)
		elog(ERROR, "return type must be a row type");
	info->returnMode = SFRM_Materialize;
	info->setResult = tuplestore_begin_heap(true, false, work_mem);
	info->setDesc = *desc;
	MemoryContextSwitchTo(caller);
	return info->setResult;
}

static void
answer_number(Answer *answer, int64 value, bool known)
{
	answer->values[answer->n] = Int64GetDatum(value);
	answer->isnull[answer->n] = !known;
	answer->n++;
}

/* Appends to the answer the elapsed times of all parts, then the CPU times. */
static void
answer_parts(Answer *answer, const Parts *parts)
{
	const Part *all[] = {
		&parts->put, &parts->perform, &parts->get, &parts->end
	};

	for (int i = 0; i < lengthof(all); i++)
	{
		answer->values[answer->n + i] = Float8GetDatum(all[i]->ms);
		answer->values[answer->n + lengthof(all) + i] =
			Float8GetDatum(all[i]->cpu);
	}
	answer->n += 2 * lengthof(all);
}

/* Resets this process's peak memory (VmHWM) to its current memory. */
static void
forget_most_memory(void)
{
	int			fd = open("/proc/self/clear_refs", O_WRONLY);

	if (fd >= 0)
	{
		if (write(fd, "5", 1) != 1)
			elog(DEBUG1, "could not write \"/proc/self/clear_refs\": %m");
		close(fd);
	}
}

/* Returns a field of /proc/self/status in bytes, or -1. */
static int64
process_memory(const char *field)
{
	FILE	   *file = AllocateFile("/proc/self/status", "r");
	char		line[256];
	int64		found = -1;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, field, strlen(field)) == 0)
			found = strtol(line + strlen(field), NULL, 10) * 1024;
	}
	if (file != NULL)
		FreeFile(file);
	return found;
}

/* Sorts the rows in a separate memory context, and forms the result's row. */
static void
run_engine(const Engine *engine, const Job *job, Rows *rows, Answer *answer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortcompare sort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Reader		reader;
	Parts		parts;
	Said		said;
	int64		rss;

	reader_open(&reader, job, rows);
	forget_most_memory();
	rss = process_memory("VmRSS:");
	if (job->group_rows > 0)
		sort_groups(engine, job, rows, &reader, &parts, &said);
	else
		sort_rows(engine, job, rows, &reader, &parts, &said);
	rss = process_memory("VmHWM:") - rss;
	reader_close(&reader);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);

	answer->values[answer->n++] = CStringGetTextDatum(engine->name);
	answer_number(answer, reader.n, true);
	answer_parts(answer, &parts);
	answer_number(answer, parts.memory, true);
	answer_number(answer, said.memory, said.memory >= 0);
	answer_number(answer, rss, true);
	answer_number(answer, said.temp, said.temp >= 0);
	answer_number(answer, said.runs, said.runs >= 0);
	answer_number(answer, said.comparisons, said.comparisons >= 0);
	answer_number(answer, (int64) reader.checksum, true);
}

/* sortcompare: see the SQL script. */
Datum
sortcompare(PG_FUNCTION_ARGS)
{
	Job			job;
	Rows	   *rows;
	Datum	   *engines;
	int			nengines;
	Tuplestorestate *store;
	TupleDesc	desc;

	read_job(fcinfo, &job, 3);
	nengines = read_array(fcinfo, 2, TEXTOID, "engines", &engines);
	job.bound = PG_GETARG_INT64(6);
	job.group_rows = PG_GETARG_INT64(7);
	job.random_access = PG_GETARG_BOOL(8);
	job.told = PG_GETARG_BOOL(9);
	job.stable = PG_GETARG_BOOL(10);
	job.anew = PG_GETARG_BOOL(11);
	if (job.bound < 0 || (job.bound > 0 && job.random_access))
		bad_argument("bound");
	if (job.group_rows < 0 ||
		(job.group_rows > 0 && (job.bound > 0 || job.random_access)))
		bad_argument("group_rows");
	if (job.anew && job.group_rows == 0)
		bad_argument("anew");
	for (int i = 0; i < nengines; i++)
		(void) engine_by_name(TextDatumGetCString(engines[i]));
	store = open_answer(fcinfo, &desc);

	rows = rows_load(&job, 0, 1);
	for (int i = 0; i < nengines; i++)
	{
		Answer		answer = {.n = 0};

		run_engine(engine_by_name(TextDatumGetCString(engines[i])), &job,
				   rows, &answer);
		tuplestore_putvalues(store, desc, answer.values, answer.isnull);
	}
	rows_unload(rows);
	return (Datum) 0;
}

/* sortcompare_parallel: see the SQL script. */
Datum
sortcompare_parallel(PG_FUNCTION_ARGS)
{
	Job			job;
	Share		shares[MAX_WORKERS + 1];
	Reader		reader;
	char	   *reading;
	int			workers;
	bool		slices;
	Tuplestorestate *store;
	TupleDesc	desc;

	read_job(fcinfo, &job, 4);
	workers = PG_GETARG_INT32(2);
	if (workers < 1 || workers > MAX_WORKERS)
		bad_argument("workers");
	job.told = PG_GETARG_BOOL(7);
	reading = text_to_cstring(PG_GETARG_TEXT_PP(3));
	slices = strcmp(reading, "slices") == 0;
	if (!slices && strcmp(reading, "leader") != 0)
		bad_argument("reading");
	store = open_answer(fcinfo, &desc);

	sort_in_parallel(&job, workers, slices, shares, &reader);
	for (int i = 0; i <= workers; i++)
	{
		Answer		answer = {.n = 0};

		answer.values[answer.n++] = Int32GetDatum(i);
		answer_number(&answer, reader.n, i == 0);
		answer_parts(&answer, &shares[i].parts);
		answer_number(&answer, shares[i].parts.memory, true);
		answer_number(&answer, shares[i].temp, true);
		answer_number(&answer, shares[i].comparisons, true);
		answer_number(&answer, (int64) reader.checksum, i == 0);
		tuplestore_putvalues(store, desc, answer.values, answer.isnull);
	}
	return (Datum) 0;
}
