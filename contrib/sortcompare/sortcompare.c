/*-------------------------------------------------------------------------
 *
 * sortcompare.c
 *	  The SQL function: its arguments, the measured sorts, and its result.
 *
 * The times are elapsed time, and CPU time of the process.  Memory is the
 * memory allocated in the sort's memory context and its children.  Sampling
 * this memory is cheap, so it is sampled many times within put and get, and at
 * the end of perform.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "sortcompare.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sortcompare);

/* Number of columns in the result */
#define COLUMNS			12

/* Number of rows that a sort puts or reads between samples of its memory */
#define STEP			32768

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

/* Reads the keys from the arguments "columns" and "collations". */
static void
read_keys(FunctionCallInfo fcinfo, Job *job)
{
	Datum	   *names;
	Datum	   *oids;
	int			noids = read_array(fcinfo, 3, REGCOLLATIONOID, "collations",
								   &oids);

	job->nkeys = read_array(fcinfo, 1, NAMEOID, "columns", &names);
	if (job->nkeys < 1 || job->nkeys > MAX_KEYS)
		bad_argument("columns");
	for (int i = 0; i < job->nkeys; i++)
	{
		int32		typmod;

		job->columns[i] = get_attnum(job->table,
									 NameStr(*DatumGetName(names[i])));
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

static const Engine *
engine_by_name(const char *name)
{
	if (strcmp(name, server_engine.name) == 0)
		return &server_engine;
	if (strcmp(name, our_engine.name) != 0)
		bad_argument("engines");
	return &our_engine;
}

static double
read_clock(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) != 0)
		elog(ERROR, "could not read a clock: %m");
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void
clock_start(Part *part)
{
	part->ms = -read_clock(CLOCK_MONOTONIC);
	part->cpu = -read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static void
clock_stop(Part *part)
{
	part->cpu += read_clock(CLOCK_PROCESS_CPUTIME_ID);
	part->ms += read_clock(CLOCK_MONOTONIC);
}

static void
look_at_memory(Parts *parts)
{
	int64		now = MemoryContextMemAllocated(CurrentMemoryContext, true);

	parts->memory = Max(parts->memory, now);
}

/* Sorts all rows once, in the current memory context. */
static void
sort_rows(const Engine *engine, const Job *job, Rows *rows, Reader *reader,
		  Parts *parts, Said *said)
{
	void	   *sort;

	clock_start(&parts->put);
	sort = engine->begin(job, rows);
	for (int64 first = 0; first < rows->n; first += STEP)
	{
		CHECK_FOR_INTERRUPTS();
		engine->put(sort, rows, first, Min(first + STEP, rows->n));
		look_at_memory(parts);
	}
	clock_stop(&parts->put);

	clock_start(&parts->perform);
	engine->perform(sort);
	clock_stop(&parts->perform);
	look_at_memory(parts);

	clock_start(&parts->get);
	while (engine->read(sort, reader, STEP))
	{
		CHECK_FOR_INTERRUPTS();
		look_at_memory(parts);
	}
	clock_stop(&parts->get);
	engine->end(sort, said);
}

/* Sorts the rows in a separate memory context, and adds a row to the result. */
static void
run_engine(const Engine *engine, const Job *job, Rows *rows,
		   ReturnSetInfo *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortcompare sort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = CurrentMemoryContext;
	Reader		reader = {0};
	Parts		parts = {{0}};
	Said		said;
	bool		isnull[COLUMNS] = {false};
	Datum		values[COLUMNS];
	const Part *all[] = {&parts.put, &parts.perform, &parts.get};

	reader.slot = MakeSingleTupleTableSlot(rows->desc, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(context);
	sort_rows(engine, job, rows, &reader, &parts, &said);
	MemoryContextSwitchTo(caller);
	ExecDropSingleTupleTableSlot(reader.slot);
	MemoryContextDelete(context);

	values[0] = CStringGetTextDatum(engine->name);
	values[1] = Int64GetDatum(reader.n);
	for (int i = 0; i < lengthof(all); i++)
	{
		values[2 + i] = Float8GetDatum(all[i]->ms);
		values[5 + i] = Float8GetDatum(all[i]->cpu);
	}
	values[8] = Int64GetDatum(parts.memory);
	values[9] = Int64GetDatum(said.temp);
	values[10] = Int64GetDatum(said.comparisons);
	isnull[10] = said.comparisons < 0;
	values[11] = Int64GetDatum((int64) reader.checksum);
	tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
}

/* sortcompare: see the SQL script. */
Datum
sortcompare(PG_FUNCTION_ARGS)
{
	Job			job = {.table = PG_GETARG_OID(0)};
	Datum	   *engines;
	int			nengines = read_array(fcinfo, 2, TEXTOID, "engines", &engines);
	Rows	   *rows;

	read_keys(fcinfo, &job);
	job.budget = (int64) PG_GETARG_INT32(4) * 1024;
	if (job.budget < 64 * 1024)
		bad_argument("budget_kb");
	for (int i = 0; i < nengines; i++)
		(void) engine_by_name(TextDatumGetCString(engines[i]));
	InitMaterializedSRF(fcinfo, 0);

	rows = rows_load(&job);
	for (int i = 0; i < nengines; i++)
		run_engine(engine_by_name(TextDatumGetCString(engines[i])), &job,
				   rows, (ReturnSetInfo *) fcinfo->resultinfo);
	rows_unload(rows);
	return (Datum) 0;
}
