/*-------------------------------------------------------------------------
 *
 * engines.c
 *	  The server's tuplesort, as the executor's Sort node uses it, and ptsort's
 *	  sort through ptsort.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/tuplesort.h"

#include "ptsort.h"
#include "sortcompare.h"

static void *
server_begin(const Job *job, const Rows *rows)
{
	Job		   *keys = unconstify(Job *, job);

	return tuplesort_begin_heap(rows->desc, job->nkeys, keys->columns,
								keys->operators, keys->collations,
								keys->nulls_first, (int) (job->budget / 1024),
								NULL, TUPLESORT_NONE);
}

static void
server_put(void *sort, Rows *rows, int64 first, int64 end)
{
	for (int64 i = first; i < end; i++)
		tuplesort_puttupleslot(sort, rows_slot(rows, i));
}

static void
server_perform(void *sort)
{
	tuplesort_performsort(sort);
}

static bool
server_read(void *sort, Reader *reader, int64 n)
{
	for (int64 i = 0; i < n; i++)
	{
		if (!tuplesort_gettupleslot(sort, true, false, reader->slot, NULL))
			return false;
		reader_slot(reader);
	}
	return true;
}

static void
server_end(void *sort, Said *said)
{
	TuplesortInstrumentation stats;

	tuplesort_get_stats(sort, &stats);
	said->temp = stats.spaceType == SORT_SPACE_TYPE_DISK ?
		stats.spaceUsed * 1024 : 0;
	said->comparisons = -1;
	tuplesort_end(sort);
}

const Engine server_engine = {
	.name = "server",
	.begin = server_begin,
	.put = server_put,
	.perform = server_perform,
	.read = server_read,
	.end = server_end
};

static void *
our_begin(const Job *job, const Rows *rows)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = job->budget,
		.expected_tuples = rows->n
	};

	return ptsort_begin_tuple(rows->desc, job->nkeys, job->columns,
							  job->operators, job->collations,
							  job->nulls_first, &options);
}

static void
our_put(void *sort, Rows *rows, int64 first, int64 end)
{
	for (int64 i = first; i < end; i++)
		ptsort_put_slot(sort, rows_slot(rows, i));
}

static void
our_perform(void *sort)
{
	ptsort_perform(sort);
}

static bool
our_read(void *sort, Reader *reader, int64 n)
{
	for (int64 i = 0; i < n; i++)
	{
		if (!ptsort_get_slot(sort, true, reader->slot))
			return false;
		reader_slot(reader);
	}
	return true;
}

static void
our_end(void *sort, Said *said)
{
	PtSortStats stats;

	ptsort_stats(sort, &stats);
	said->temp = stats.temp_bytes;
	said->comparisons = stats.comparisons;
	ptsort_end(sort);
}

const Engine our_engine = {
	.name = "ptsort",
	.begin = our_begin,
	.put = our_put,
	.perform = our_perform,
	.read = our_read,
	.end = our_end
};
