/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  How long builds and copies take; see cost.h.
 *
 *		scan	blocks and rows; with runs, also sorting and writing them
 *		sort	without runs, sorting all rows; with runs, only the last run of
 *				each participant, and passes of merges
 *		write	rows, and bytes of the new relation
 *
 * A copy without an index writes during the scan.
 *
 * Participants divide all costs except those of the bytes, because all write
 * the same WAL and the same file.  Workers need time to start and to end, and
 * their team writes and merges runs; a serial build in memory has no runs.
 * Therefore small builds are faster without workers.  Shared memory, files and
 * waiting cost about as much as two workers.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "model/cost.h"
#include "util.h"

/*
 * The table: nanoseconds, measured with int8, md5 in "C", md5 in en_US, points
 * and, for each entry of GIN, trigrams, lexemes, jsonb and arrays, in memory,
 * on two processors.  A faster or slower machine has other costs, but nearly
 * the same ratios.
 */
static const struct
{
	double		put;			/* a row in the scan */
	double		sort;
	double		read;			/* a sorted row that goes to a page */
	double		run_part;		/* part of a row's bytes that is in a run: a
								 * key of fixed length is packed */
}			row_costs[] = {

	[JOB_FIXED] = {35, 27, 16, 0.4},
	[JOB_BYTES] = {65, 36, 68, 0.8},
	[JOB_COLLATED] = {125, 34, 68, 0.8},
	[JOB_SPLIT] = {130, 36, 1300, 0.6},
	[JOB_EXTRACT] = {110, 18, 18, 1.5},
	[JOB_NONE] = {50, 0, 0, 0}
};

/* A byte of a new index or table, without WAL and with it */
static const double byte_costs[2][2] = {{0.6, 1.1}, {1, 1.75}};

static const double block_cost = 400;	/* without reading it */
static const double run_byte_cost = 1.8;
static const double merged_byte_cost = 8;
static const double long_byte_cost = 10;	/* of a value to compress */
static const double open_cost = 0.4e6;	/* opening an index and its table */
static const double worker_cost = 5e6;	/* starting and ending it */

static const double second = 1e9;

/* A busy machine makes bytes slow, but keys that are slow to compute do not. */
static const double least_byte_factor = 0.7;
static const double most_byte_factor = 3;

/*
 * The system's cache takes about a GB before writing slows down to the speed of
 * the disk: by 1 to 3 on a machine whose disk takes 1 GB in a second.
 */
static const double large_bytes = 1024.0 * 1024 * 1024;
static const double large_factor = 1.7;

/* Bytes of a participant's last run, which it sorts after the scan */
static const double last_run_bytes = 8 * 1024 * 1024;

double
cost_run_bytes(const Job *job)
{
	double		part = row_costs[job->key].run_part;

	if (job->copies && job->key != JOB_NONE)
		part = 1;

	return job->rows * job->row_bytes * part;
}

/* Returns how much longer than in the table everything after the scan takes. */
static double
write_factor(const Job *job)
{
	return job->rows * job->row_bytes < large_bytes ? 1 : large_factor;
}

static double
entries(const Job *job)
{
	return job->rows * (job->row_entries > 0 ? job->row_entries : 1);
}

/* Returns seconds for an average participant's part of nanoseconds. */
static double
divide(const Job *job, double cost)
{
	return cost * job->factor / job->participants / second;
}

/* Returns the part of the rows that is sorted after the scan. */
static double
sorted_later(const Job *job)
{
	double		bytes = job->run_bytes / job->participants;

	return bytes > last_run_bytes ? last_run_bytes / bytes : 1;
}

/* Returns the seconds of writing bytes, which participants do not divide. */
static double
cost_bytes(const Job *job)
{
	return job->rows * job->row_bytes * byte_costs[job->copies][job->logged] *
		Min(Max(job->factor, least_byte_factor), most_byte_factor) *
		write_factor(job) / second;
}

double
cost_scan(const Job *job)
{
	double		cost = job->blocks * block_cost + entries(job) *
		(row_costs[job->key].put + job->long_bytes * long_byte_cost);

	cost += entries(job) * row_costs[job->key].sort * (1 - sorted_later(job)) +
		job->run_bytes * run_byte_cost;
	return divide(job, cost) + (job->key == JOB_NONE ? cost_bytes(job) : 0);
}

double
cost_sort(const Job *job)
{
	double		cost = entries(job) * row_costs[job->key].sort;

	if (job->blocks == 0)
		return 0;
	return divide(job, cost * sorted_later(job)) * write_factor(job);
}

double
cost_merge(const Job *job)
{
	return divide(job, job->merged_bytes * merged_byte_cost) *
		write_factor(job);
}

double
cost_write(const Job *job)
{
	return divide(job, entries(job) * row_costs[job->key].read) *
		write_factor(job) + (job->key == JOB_NONE ? 0 : cost_bytes(job));
}

double
cost_workers(int workers)
{
	return workers == 0 ? 0 : (workers + 2) * worker_cost / second;
}


/*
 * Workers
 */

void
cost_add(CostSum *sum, const Job *job)
{
	Job			with_runs = *job;

	with_runs.run_bytes = cost_run_bytes(job);
	sum->alone += open_cost / second + cost_scan(job) + cost_after_scan(job);
	sum->divided += open_cost / second + cost_scan(&with_runs) +
		cost_after_scan(&with_runs) - cost_bytes(job);
	sum->undivided += cost_bytes(job);
	sum->teams++;
}

/* Participants beyond the number of processors only take time to start. */
int
cost_fastest(const CostSum *sum, int most)
{
	int			processors = pt_processors();
	double		least = sum->alone;
	int			best = 0;

	if (ptsort_debug.all_workers)
		return most;
	for (int w = 1; w <= most; w++)
	{
		double		seconds = sum->divided / Min(w + 1, processors) +
			sum->undivided + sum->teams * cost_workers(w);

		if (seconds < least)
		{
			least = seconds;
			best = w;
		}
	}
	return best;
}
