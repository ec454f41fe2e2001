/*-------------------------------------------------------------------------
 *
 * left.h
 *	  How long a build or copy will still take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_LEFT_H
#define PTSORT_LEFT_H

#include "model/work.h"

/* LeftLimits: the limits of a team, in bytes per second; 0: no limit. */
typedef struct LeftLimits
{
	double		wal;
	double		io;
	bool		replicas;		/* the replicas' lag is limited */
} LeftLimits;

/* LeftForecast: negative numbers mean unknown. */
typedef struct LeftForecast
{
	double		elapsed;		/* seconds, pauses included */
	double		seconds_left;
	double		percent;		/* part of the elapsed time in all time */
	double		rows_per_second;	/* in the present phase, if it has rows */
	double		temp_bytes;		/* in all, so far and to come */
	double		wal_bytes;
} LeftForecast;

/* left_forecast fills in *forecast for work under the given limits. */
extern void left_forecast(const WorkState *state, const LeftLimits *limits,
						  LeftForecast *forecast);

/*
 * left_remember remembers how long this process's work took after its scan
 * (cost_write_factor).  The leader calls it before it detaches the segment.
 */
extern void left_remember(void);

#endif							/* PTSORT_LEFT_H */
