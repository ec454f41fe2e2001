/*-------------------------------------------------------------------------
 *
 * ours.c
 *	  Use ptsort's sort through ptsort.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "ptsort.h"
#include "sortcompare.h"

/* our_begin begins a sort by ptsort, in any role. */
PtSort *
our_begin(const Job *job, const Rows *rows, const PtSortOptions *options)
{
	if (job->datum)
		return ptsort_begin_datum(job->types[0], job->operators[0],
								  job->collations[0], job->nulls_first[0],
								  options);
	return ptsort_begin_tuple(rows->desc, job->nkeys, job->columns,
							  job->operators, job->collations,
							  job->nulls_first, options);
}

static void *
begin_serial(const Job *job, const Rows *rows)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = job->budget,
		.bound = job->bound,
		.random_access = job->random_access,
		.stable = job->stable
	};

	if (job->told)
		options.expected_tuples = job->group_rows > 0 ?
			job->group_rows : rows->n;
	return our_begin(job, rows, &options);
}

static void
our_put(void *sort, const Job *job, Rows *rows, int64 first, int64 end)
{
	CHECK_FOR_INTERRUPTS();
	if (job->datum)
	{
		for (int64 i = first; i < end; i++)
			ptsort_put_datum(sort, rows->values[i], rows->isnull[i]);
	}
	else
	{
		for (int64 i = first; i < end; i++)
			ptsort_put_slot(sort, rows_slot(rows, i));
	}
}

static void
our_perform(void *sort)
{
	ptsort_perform(sort);
}

static bool
our_read(void *sort, Reader *reader, bool forward, int64 n)
{
	CHECK_FOR_INTERRUPTS();
	if (reader->slot != NULL)
	{
		for (int64 i = 0; i < n; i++)
		{
			if (!ptsort_get_slot(sort, forward, reader->slot))
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

			if (!ptsort_get_datum(sort, forward, &value, &isnull))
				return false;
			reader_datum(reader, value, isnull);
		}
	}
	return true;
}

static void
our_rescan(void *sort)
{
	ptsort_rescan(sort);
}

static void
our_reset(void *sort, const Job *job)
{
	ptsort_reset(sort);
}

static void
our_say(void *sort, Said *said)
{
	PtSortStats stats;

	ptsort_stats(sort, &stats);
	said->memory = stats.peak_memory;
	said->temp = stats.temp_bytes;
	said->runs = stats.runs;
	said->comparisons = stats.comparisons;
}

static void
our_end(void *sort)
{
	ptsort_end(sort);
}

const Engine our_engine = {
	.name = "ptsort",
	.begin = begin_serial,
	.put = our_put,
	.perform = our_perform,
	.read = our_read,
	.rescan = our_rescan,
	.reset = our_reset,
	.say = our_say,
	.end = our_end
};
