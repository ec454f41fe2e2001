/*-------------------------------------------------------------------------
 *
 * work.h
 *	  Progress of a team, for other sessions.
 *
 * The leader describes the work before other sessions can find it.  Each
 * participant counts in its own memory, and work_publish() adds what is new to
 * the counts that all share.  throttle_point() calls it, about once for each
 * batch of pages or write of a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_WORK_H
#define PTSORT_WORK_H

#include "compat.h"

#include "model/cost.h"

typedef enum WorkPhase
{
	WORK_SCAN,
	WORK_SORT,
	WORK_WRITE,					/* load an index, or write a table */
	NUM_WORK_PHASES
} WorkPhase;

/* WorkCount: what participants count; all but one only grow. */
typedef enum WorkCount
{
	WORK_BLOCKS,				/* blocks of the table read by the scan */
	WORK_ROWS,					/* rows that the scan found there */
	WORK_READING,				/* microseconds of reading these blocks */
	WORK_READ,					/* tuples read in the last phase */
	WORK_RUNS,					/* WORK_TEMP before passes of merges */
	WORK_EXPECTED,				/* bytes that these passes will write, as the
								 * scan expects; may shrink */
	WORK_TO_MERGE,				/* the same, when the runs are there */
	WORK_WAL,					/* bytes of WAL */
	WORK_TEMP,					/* bytes written to temporary files */
	WORK_IO,					/* bytes that ptsort.max_io_rate limits */
	WORK_PAUSED,				/* microseconds of pauses for limits */
	NUM_WORK_COUNTS
} WorkCount;

/* Two quoted names and a dot */
#define WORK_NAME_SIZE		(2 * (2 * NAMEDATALEN + 2) + 2)

/* WorkAbout: what the leader knows before the work begins. */
typedef struct WorkAbout
{
	Job			job;			/* as far as statistics tell */
	char		relation[WORK_NAME_SIZE];	/* index or, in a copy, table */
	char		table[WORK_NAME_SIZE];
	int64		budget;			/* bytes, for all participants together */
} WorkAbout;

/* WorkMoment: when a phase began, and WORK_PAUSED then. */
typedef struct WorkMoment
{
	uint64		time;			/* work_now(); 0: not yet */
	uint64		paused;
} WorkMoment;

/*
 * WorkShared: the work, in shared memory.  'about' is immutable.  The leader
 * writes the beginning of a phase once, before it enters the phase.
 */
typedef struct WorkShared
{
	WorkAbout	about;
	WorkMoment	begins[NUM_WORK_PHASES];
	pg_atomic_uint32 phase;
	pg_atomic_uint32 participants;
	pg_atomic_uint64 total;		/* tuples put, when all are; until then 0 */
	pg_atomic_uint32 warnings;	/* participants that expect too little space */
	pg_atomic_uint64 counts[NUM_WORK_COUNTS];
} WorkShared;

/* WorkState: a copy of a WorkShared. */
typedef struct WorkState
{
	WorkAbout	about;
	WorkMoment	begins[NUM_WORK_PHASES + 1];	/* the present phase ends now */
	WorkPhase	phase;
	int			participants;
	uint64		total;
	uint64		counts[NUM_WORK_COUNTS];
} WorkState;

/* Work: this process's part of the work. */
typedef struct Work
{
	WorkShared *shared;			/* NULL: no other session can see it */
	uint64		counts[NUM_WORK_COUNTS];
	uint64		published[NUM_WORK_COUNTS]; /* parts of 'counts' that are in
											 * the shared counts */
	uint64		temp_before;	/* counts[WORK_TEMP] at the begin */
} Work;
extern Work ptsort_work;

static inline void
work_count(WorkCount what, uint64 n)
{
	ptsort_work.counts[what] += n;
}

/* work_now returns the time, in microseconds of a clock of all processes. */
extern uint64 work_now(void);

/*
 * work_describe fills in *about for a build of an index or for a copy
 * (size_job).
 */
extern void work_describe(WorkAbout *about, bool copies, Relation table,
						  Relation index, int64 budget);

/*
 * work_init prepares the shared memory.  work_follow begins this process's
 * counts, and work_forget ends them.
 */
extern void work_init(WorkShared *shared, const WorkAbout *about);
extern void work_follow(WorkShared *shared);
extern void work_forget(void);

extern void work_publish(void);

/* work_scanned returns which part of the table is scanned; 0: unknown. */
extern double work_scanned(void);

/*
 * work_count_merges counts passes of merges that will write 'bytes' bytes.
 * 'own' says that they read the runs that this process wrote so far.
 */
extern void work_count_merges(bool own, uint64 bytes);

/*
 * WorkRuns: the temporary files, and a forecast of the rest, as the scan's runs
 * show it.
 */
typedef struct WorkRuns
{
	double		scanned;		/* part of the table's blocks */
	double		written;		/* bytes, by all participants */
	double		to_come;		/* bytes; low, because rows in memory count as
								 * not yet scanned; 0: unknown */
} WorkRuns;

extern void work_forecast_runs(WorkRuns *runs);

/* Leader: work_enter begins a phase, unless it is the present one. */
extern void work_enter(WorkPhase phase);

/* Any session: work_read copies the state. */
extern void work_read(WorkShared *shared, WorkState *state);


/*
 * left.c: how long the work will still take
 */

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

#endif							/* PTSORT_WORK_H */
