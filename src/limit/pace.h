/*-------------------------------------------------------------------------
 *
 * pace.h
 *	  The pace of a build or copy: limits of its WAL, reads and temporary files,
 *	  and of the replicas' lag.
 *
 * The leader of a paced team creates a small shared memory segment, and workers
 * attach it.  The segment has the limits, which another session may change, the
 * time until which the work so far should have taken, and what the team did so
 * far (work.h).  Participants call pace_point() where they hold no lock and no
 * pin.  There they pause while the work is ahead of a limit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PACE_H
#define PTSORT_PACE_H

#include "compat.h"

#include "model/work.h"
#include "stamp.h"
#include "storage/dsm.h"
#include "storage/spin.h"

/* PaceReason: why a participant pauses. */
typedef enum PaceReason
{
	PACE_WAL,
	PACE_IO,
	PACE_REPLICAS,
	NUM_PACE_REASONS
} PaceReason;

/* Names of the limits, as arguments of ptsort_set_limits() */
extern const char *const pace_names[NUM_PACE_REASONS];

/* Size of a text that says which replica is behind */
#define REPLICA_LAG_SIZE	(NAMEDATALEN + 50)

/* PaceShared: what the participants of a team and other sessions share. */
typedef struct PaceShared
{
	BuildStamp	stamp;			/* must be first */
	int			pid;			/* leader; immutable, as the next two */
	Oid			role;			/* session user of the leader */
	dsm_handle	handle;			/* of this segment */
	/* bytes per second of all participants, or bytes of lag; 0: no limit */
	pg_atomic_uint64 limits[NUM_PACE_REASONS];
	/* when the work so far is allowed, and changes of the limit: see pace.c */
	pg_atomic_uint64 due[NUM_PACE_REASONS];
	pg_atomic_uint32 pausing[NUM_PACE_REASONS]; /* participants that pause */
	pg_atomic_uint32 warned;	/* a participant warned of a long pause */
	slock_t		mutex;			/* protects 'lag' */
	char		lag[REPLICA_LAG_SIZE];	/* for which participants pause */
	WorkShared	work;
} PaceShared;

/* GUCs */
extern int	ptsort_max_wal_rate;	/* kB per second; 0: no limit */
extern int	ptsort_max_io_rate; /* kB per second; 0: no limit */
extern int	ptsort_max_replica_lag; /* kB; 0: no limit */
extern char *ptsort_lag_replicas;	/* names, or "" for all */

/*
 * Leader: pace_begin creates the segment, with the limits of the settings.
 * Returns NULL, and the team has no limits of its own, if 'about' is NULL, if
 * the server has no room for a segment, or during another team's work.  Worker:
 * pace_join attaches the leader's segment.  The pace ends when the process
 * detaches the segment.
 */
extern dsm_segment *pace_begin(const WorkAbout *about);
extern dsm_segment *pace_join(dsm_handle handle);

/*
 * The leader publishes the segment's handle in a parameter of its progress
 * report that the server does not use.  The mark is in the upper 32 bits.
 */
#define PACE_PARAM		(PGSTAT_NUM_PROGRESS_PARAM - 1)
#define PACE_MARK		UINT64CONST(0x7054736f)

/* pace_change_limit sets a limit in any session. */
extern void pace_change_limit(PaceShared *shared, PaceReason reason,
							  uint64 limit);

static inline uint64
pace_limit(PaceShared *shared, PaceReason reason)
{
	return pg_atomic_read_u64(&shared->limits[reason]);
}

/*
 * pace_hold(true) says that this process has pins, so that pace_point() must
 * not pause until pace_hold(false).
 */
typedef struct Pace
{
	PaceShared *shared;			/* NULL: no pace */
	bool		held;
} Pace;
extern Pace ptsort_pace;

static inline void
pace_hold(bool hold)
{
	ptsort_pace.held = hold;
}

/*
 * Only scans have pins.  So work that begins while a process has pins is nested
 * in a scan: a function of an index's expression does it.  It counts nothing.
 */
static inline bool
pace_is_nested(void)
{
	return ptsort_pace.held;
}

/* True if this process's work has any limit now. */
extern bool pace_is_limited(void);

extern void pace_pause(void);

/*
 * pace_point publishes this process's counts (work.h), and pauses if the team
 * is ahead of its limits; see above.
 */
static inline void
pace_point(void)
{
	if (unlikely(ptsort_pace.shared != NULL))
		pace_pause();
}

#endif							/* PTSORT_PACE_H */
