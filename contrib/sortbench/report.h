/*-------------------------------------------------------------------------
 *
 * report.h
 *	  Record the phases and I/O times of a running sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_REPORT_H
#define SORTBENCH_REPORT_H

#include "sortbench.h"

/* The phases of a participant, in order. */
typedef enum Phase
{
	PHASE_OPEN,					/* leader: create files, allocate memory */
	PHASE_LAUNCH,				/* time until the participant begins to read */
	PHASE_READ,					/* read records, put them into the sort */
	PHASE_SORT,					/* sort, write runs, wait for other processes */
	PHASE_WRITE,				/* merge, write records */
	PHASE_END,					/* leader: wait until the workers end */
	PHASE_CLOSE,				/* leader: sync and name files */
	PHASES
} Phase;

/*
 * One phase.  Times are in ms.  start, end and io are measured by clock_ms();
 * user and system are the participant's CPU times.
 */
typedef struct Span
{
	bool		happened;
	double		start;
	double		end;
	double		user;
	double		system;
	double		io;				/* time in calls that read or write files */
	int64		bytes;			/* number of bytes read or written */
} Span;

/* The phases of one participant. */
typedef struct Diary
{
	bool		begun;
	Phase		phase;
	Span		spans[PHASES];
} Diary;

/* Data about a completed sort. */
typedef struct Report
{
	double		start;			/* by clock_ms() */
	double		end;
	int64		records;
	int64		bytes;
	int			passes;
	int			participants;
	int64		memory_used;
	int64		memory_allowed;
	int64		temp_bytes;
	int			ndiaries;
	Diary		diaries[MAX_WORKERS + 1];
} Report;

extern Report last_report;

extern void diary_launched(Diary *diary, double since);
extern void diary_turn(Diary *diary, Phase phase);
extern void diary_io(Diary *diary, double ms, int64 bytes);
extern void diary_end(Diary *diary);

#endif							/* SORTBENCH_REPORT_H */
