/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  How long a build or copy will still take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ESTIMATE_H
#define PTSORT_ESTIMATE_H

#include "limit/pace.h"
#include "limit/work.h"

/* WorkEstimate: negative numbers mean unknown. */
typedef struct WorkEstimate
{
	double		elapsed;		/* seconds, pauses included */
	double		seconds_left;
	double		percent;		/* part of the elapsed time in all time */
	double		rows_per_second;	/* in the present phase, if it has rows */
	double		temp_bytes;		/* in all, so far and to come */
	double		wal_bytes;
} WorkEstimate;

/* estimate_work fills in *estimate for work under the given limits. */
extern void estimate_work(const WorkState *state, const PaceLimits *limits,
						  WorkEstimate *estimate);

/*
 * estimate_write returns the seconds for the last phase of a build or copy that
 * writes 'rows' rows as described, if the processors are as fast as those of
 * the model.
 */
extern double estimate_write(const WorkAbout *about, double rows,
							 int participants);

/* estimate_runs returns the seconds for writing runs, by one such processor. */
extern double estimate_runs(double bytes);

/*
 * estimate_learn remembers how long this process's work took after its scan
 * (work_factor).  The leader calls it before it detaches the segment.
 */
extern void estimate_learn(void);

#endif							/* PTSORT_ESTIMATE_H */
