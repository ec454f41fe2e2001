/*-------------------------------------------------------------------------
 *
 * server.c
 *	  Use the server's tuplesort as the executor's Sort node does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/tuplesort.h"

#include "sortcompare.h"

/*
 * In server versions that define TuplesortstateGetPublic, tuplesort_getdatum()
 * need not copy a value.  In earlier versions, it always copies the value.
 */
#ifdef TuplesortstateGetPublic
#define get_datum(state, forward, value, isnull) \
	tuplesort_getdatum(state, forward, false, value, isnull, NULL)
#define DATUM_IS_COPIED false
#else
#define get_datum(state, forward, value, isnull) \
	tuplesort_getdatum(state, forward, value, isnull, NULL)
#define DATUM_IS_COPIED true
#endif

static void *
server_begin(const Job *job, const Rows *rows)
{
	Job		   *keys = unconstify(Job *, job);
	int			kilobytes = job->budget / 1024;
	int			options = TUPLESORT_NONE;
	Tuplesortstate *sort;

	if (job->random_access)
		options |= TUPLESORT_RANDOMACCESS;
	if (job->bound > 0)
		options |= TUPLESORT_ALLOWBOUNDED;
	if (job->datum)
		sort = tuplesort_begin_datum(job->types[0], job->operators[0],
									 job->collations[0], job->nulls_first[0],
									 kilobytes, NULL, options);
	else
		sort = tuplesort_begin_heap(rows->desc, job->nkeys,
									keys->columns,
									keys->operators,
									keys->collations,
									keys->nulls_first,
									kilobytes, NULL, options);
	if (job->bound > 0)
		tuplesort_set_bound(sort, job->bound);
	return sort;
}

static void
server_put(void *sort, const Job *job, Rows *rows, int64 first, int64 end)
{
	CHECK_FOR_INTERRUPTS();
	if (job->datum)
	{
		for (int64 i = first; i < end; i++)
			tuplesort_putdatum(sort, rows->values[i], rows->isnull[i]);
	}
	else
	{
		for (int64 i = first; i < end; i++)
			tuplesort_puttupleslot(sort, rows_slot(rows, i));
	}
}

static void
server_perform(void *sort)
{
	tuplesort_performsort(sort);
}

static bool
server_read(void *sort, Reader *reader, bool forward, int64 n)
{
	CHECK_FOR_INTERRUPTS();
	if (reader->slot != NULL)
	{
		for (int64 i = 0; i < n; i++)
		{
			if (!tuplesort_gettupleslot(sort, forward, false, reader->slot,
										NULL))
				return false;
			reader_slot(reader);
		}
	}
	else
	{
		for (int64 i = 0; i < n; i++)
		{
			Datum		value;
			bool		isnull;

			if (!get_datum(sort, forward, &value, &isnull))
				return false;
			reader_datum(reader, value, isnull);
			if (DATUM_IS_COPIED && !reader->typbyval && !isnull)
				pfree(DatumGetPointer(value));
		}
	}
	return true;
}

static void
server_rescan(void *sort)
{
	tuplesort_rescan(sort);
}

static void
server_reset(void *sort, const Job *job)
{
	tuplesort_reset(sort);
	if (job->bound > 0)
		tuplesort_set_bound(sort, job->bound);
}

static void
server_say(void *sort, Said *said)
{
	TuplesortInstrumentation stats;
	bool		on_disk;

	tuplesort_get_stats(sort, &stats);
	on_disk = stats.spaceType == SORT_SPACE_TYPE_DISK;
	said->memory = on_disk ? -1 : stats.spaceUsed * 1024;
	said->temp = on_disk ? stats.spaceUsed * 1024 : 0;
	said->runs = -1;
	said->comparisons = -1;
}

static void
server_end(void *sort)
{
	tuplesort_end(sort);
}

const Engine server_engine = {
	.name = "server",
	.begin = server_begin,
	.put = server_put,
	.perform = server_perform,
	.read = server_read,
	.rescan = server_rescan,
	.reset = server_reset,
	.say = server_say,
	.end = server_end
};
