/*-------------------------------------------------------------------------
 *
 * serial.c
 *	  Sort in one process, and measure the parts of a sort.
 *
 * The times are elapsed time, and CPU time of the process.  Memory is the
 * memory allocated in the current context and its children.  Sampling this
 * memory is cheap, so the functions below sample it many times within put and
 * get, and at the end of perform.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sortcompare.h"

/* Number of memory samples in put_all() */
#define LOOKS		64

static double
read_clock(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) != 0)
		elog(ERROR, "could not read a clock: %m");
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* clock_start starts the clocks of a part. */
void
clock_start(Part *part)
{
	part->ms -= read_clock(CLOCK_MONOTONIC);
	part->cpu -= read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* clock_stop stops a part's clocks.  clock_start can start them again. */
void
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

/* put_all puts all rows into the sort. */
void
put_all(const Engine *engine, void *sort, const Job *job, Rows *rows,
		Parts *parts)
{
	int64		step = rows->n / LOOKS + 1;

	for (int64 first = 0; first < rows->n; first += step)
	{
		engine->put(sort, job, rows, first, Min(first + step, rows->n));
		look_at_memory(parts);
	}
}

/* read_all reads all tuples, or the first job->bound tuples. */
void
read_all(const Engine *engine, void *sort, const Job *job, Reader *reader,
		 Parts *parts)
{
	int64		wanted = job->bound > 0 ? job->bound : PG_INT64_MAX;

	while (wanted > 0)
	{
		int64		step = Min(wanted, 32768);

		if (!engine->read(sort, reader, true, step))
			break;
		look_at_memory(parts);
		wanted -= step;
	}
}

/*
 * Reads all tuples backward.  Then rescans the sort, and reads all tuples
 * forward again.
 */
static void
read_again(const Engine *engine, void *sort, const Job *job, Reader *reader,
		   Parts *parts)
{
	while (engine->read(sort, reader, false, 32768))
		look_at_memory(parts);
	engine->rescan(sort);
	read_all(engine, sort, job, reader, parts);
}

/*
 * sort_rows sorts all rows once, in the current memory context.  The measured
 * memory does not include earlier allocations in this context.
 */
void
sort_rows(const Engine *engine, const Job *job, Rows *rows, Reader *reader,
		  Parts *parts, Said *said)
{
	int64		before = MemoryContextMemAllocated(CurrentMemoryContext, true);
	void	   *sort;

	memset(parts, 0, sizeof(*parts));
	clock_start(&parts->put);
	sort = engine->begin(job, rows);
	put_all(engine, sort, job, rows, parts);
	clock_stop(&parts->put);

	clock_start(&parts->perform);
	engine->perform(sort);
	clock_stop(&parts->perform);
	look_at_memory(parts);

	clock_start(&parts->get);
	read_all(engine, sort, job, reader, parts);
	if (job->random_access)
		read_again(engine, sort, job, reader, parts);
	clock_stop(&parts->get);
	engine->say(sort, said);

	clock_start(&parts->end);
	engine->end(sort);
	clock_stop(&parts->end);
	parts->memory -= before;
}

/*
 * sort_groups sorts groups of rows, one after the other.  It resets one sort
 * object between the groups, as an incremental sort does.  If job->anew is
 * true, it begins a new sort for each group instead.  Reading clocks between
 * the parts of small sorts would cost more than the sorts, so put_ms includes
 * the time of all parts.
 */
void
sort_groups(const Engine *engine, const Job *job, Rows *rows, Reader *reader,
			Parts *parts, Said *said)
{
	int64		before = MemoryContextMemAllocated(CurrentMemoryContext, true);
	void	   *sort;

	memset(parts, 0, sizeof(*parts));
	clock_start(&parts->put);
	sort = engine->begin(job, rows);
	for (int64 first = 0; first < rows->n; first += job->group_rows)
	{
		if (first > 0 && job->anew)
		{
			engine->end(sort);
			sort = engine->begin(job, rows);
		}
		else if (first > 0)
			engine->reset(sort, job);
		engine->put(sort, job, rows, first,
					Min(first + job->group_rows, rows->n));
		engine->perform(sort);
		(void) engine->read(sort, reader, true, job->group_rows);
	}
	look_at_memory(parts);
	engine->say(sort, said);
	engine->end(sort);
	clock_stop(&parts->put);
	parts->memory -= before;
}
