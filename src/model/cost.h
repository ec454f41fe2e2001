/*-------------------------------------------------------------------------
 *
 * cost.h
 *	  How long builds and copies take: one table of measured costs.
 *
 * The number of workers (planworkers.c), forecasts (forecast.c) and the
 * time left (left.c) all come from these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COST_H
#define PTSORT_COST_H

#include "compat.h"

/* JobKey: what sort keys are made of; it decides what a row costs. */
typedef enum JobKey
{
	JOB_FIXED,					/* first column of fixed length */
	JOB_BYTES,					/* strings, ordered by their bytes */
	JOB_COLLATED,				/* all others */
	JOB_SPLIT,					/* GiST, whose classes split pages */
	JOB_EXTRACT,				/* GIN, whose classes extract many keys */
	JOB_NONE					/* a copy without an index, which does all its
								 * work during the scan */
} JobKey;

/* Job: a build of an index or a copy of a table. */
typedef struct Job
{
	bool		copies;			/* a table, not an index */
	bool		validates;		/* an index; it does not build it */
	JobKey		key;
	bool		logged;			/* the new relation needs WAL */
	double		blocks;			/* of the table; 0: there is no scan */
	double		rows;			/* at first, the planner's estimate */
	double		row_entries;	/* GIN: entries of a row; 0: one */
	double		row_bytes;		/* of a row of the new relation */
	double		long_bytes;		/* of a row's long values, to compress */
	double		run_bytes;		/* of all runs; 0: the sort is in memory */
	double		merged_bytes;	/* that passes of merges write */
	int			participants;	/* that processors serve at the same time */
	double		factor;			/* how much longer than in the table the scan
								 * takes with this machine and these keys */
} Job;

/*
 * Seconds of a phase.  cost_scan does not contain reading the blocks, and
 * cost_sort no passes of merges.
 */
extern double cost_scan(const Job *job);
extern double cost_sort(const Job *job);
extern double cost_merge(const Job *job);
extern double cost_write(const Job *job);

static inline double
cost_after_scan(const Job *job)
{
	return cost_sort(job) + cost_merge(job) + cost_write(job);
}

/* cost_workers returns the seconds for starting and ending workers. */
extern double cost_workers(int workers);

/* cost_run_bytes returns the size of all runs, if there are runs. */
extern double cost_run_bytes(const Job *job);

/*
 * CostSum: the seconds of jobs, one after the other, each with its own team, as
 * a function of the number of workers.  cost_add adds a job, and cost_fastest
 * returns the number of workers, at most 'most', with which all take the least
 * time.
 */
typedef struct CostSum
{
	double		alone;			/* without workers, and so without runs */
	double		divided;		/* by the number of participants */
	double		undivided;
	int			teams;
} CostSum;

extern void cost_add(CostSum *sum, const Job *job);
extern int	cost_fastest(const CostSum *sum, int most);


/*
 * size.c: how large a new index or table and its sort will be, from statistics.
 * The forecast of a statement samples the table instead (src/forecast).
 */

/* size_key returns what an index's first column costs; NULL: no index. */
extern JobKey size_key(Relation index);

/*
 * size_job describes a build of an index by one participant in memory, or a
 * copy in the order of the index or, if that is NULL, of the table's blocks.
 */
extern void size_job(Job *job, bool copies, Relation table, Relation index);

/* size_of_runs estimates the size of all runs, rather too high. */
extern double size_of_runs(bool copies, Relation table, Relation index);

/* size_of_toast returns the bytes of a table's TOAST table, or 0. */
extern double size_of_toast(Relation table);

#endif							/* PTSORT_COST_H */
