/*-------------------------------------------------------------------------
 *
 * limit.c
 *	  Use the server's tuplestore, which does what every sort must do: it copies
 *	  each row once and, if the rows do not fit in memory, writes them to a file
 *	  and reads them once.  The rows keep their order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "sortcompare.h"

static void *
limit_begin(const Job *job, const Rows *rows)
{
	if (job->datum || job->bound > 0 || job->group_rows > 0 ||
		job->random_access)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the engine \"limit\" reads all rows once, forward")));
	return tuplestore_begin_heap(false, false, job->budget / 1024);
}

static void
limit_put(void *sort, const Job *job, Rows *rows, int64 first, int64 end)
{
	CHECK_FOR_INTERRUPTS();
	for (int64 i = first; i < end; i++)
		tuplestore_puttupleslot(sort, rows_slot(rows, i));
}

static void
limit_perform(void *sort)
{
	tuplestore_rescan(sort);
}

static bool
limit_read(void *sort, Reader *reader, bool forward, int64 n)
{
	CHECK_FOR_INTERRUPTS();
	for (int64 i = 0; i < n; i++)
	{
		if (!tuplestore_gettupleslot(sort, forward, false, reader->slot))
			return false;
		reader_slot(reader);
	}
	return true;
}

static void
limit_say(void *sort, Said *said)
{
	said->memory = -1;
	said->temp = -1;
	said->runs = -1;
	said->comparisons = -1;
}

static void
limit_end(void *sort)
{
	tuplestore_end(sort);
}

const Engine limit_engine = {
	.name = "limit",
	.begin = limit_begin,
	.put = limit_put,
	.perform = limit_perform,
	.read = limit_read,
	.say = limit_say,
	.end = limit_end
};
