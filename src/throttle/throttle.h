/*-------------------------------------------------------------------------
 *
 * throttle.h
 *	  Limits of the WAL, the reads and the temporary files of a build or copy,
 *	  and of the replicas' lag.
 *
 * The leader creates a small shared memory segment, and workers attach it.  The
 * segment has the limits, which another session may change, the time until
 * which the work so far should have taken, and what the team did so far
 * (work.h).  Participants call throttle_point() where they hold no lock and no
 * pin.  There they pause while the work is ahead of a limit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_THROTTLE_H
#define PTSORT_THROTTLE_H

#include "compat.h"

#include "model/work.h"
#include "stamp.h"
#include "storage/dsm.h"
#include "storage/spin.h"

/* ThrottleReason: why a participant pauses. */
typedef enum ThrottleReason
{
	THROTTLE_WAL,
	THROTTLE_IO,
	THROTTLE_REPLICAS,
	NUM_THROTTLE_REASONS
} ThrottleReason;

/* Names of the limits, as arguments of ptsort_set_limits() */
extern const char *const throttle_names[NUM_THROTTLE_REASONS];

/* Size of a text that says which replica is behind */
#define REPLICA_LAG_SIZE	(NAMEDATALEN + 50)

/* ThrottleShared: what the participants of a team and other sessions share. */
typedef struct ThrottleShared
{
	BuildStamp	stamp;			/* must be first */
	int			pid;			/* leader; immutable, as the next two */
	Oid			role;			/* session user of the leader */
	dsm_handle	handle;			/* of this segment */
	/* bytes per second of all participants, or bytes of lag; 0: no limit */
	pg_atomic_uint64 limits[NUM_THROTTLE_REASONS];

	/*
	 * when the work so far is allowed, and changes of the limit: see
	 * throttle.c
	 */
	pg_atomic_uint64 due[NUM_THROTTLE_REASONS];
	/* participants that pause */
	pg_atomic_uint32 pausing[NUM_THROTTLE_REASONS];
	pg_atomic_uint32 warned;	/* a participant warned of a long pause */
	slock_t		mutex;			/* protects 'lag' */
	char		lag[REPLICA_LAG_SIZE];	/* for which participants pause */
	WorkShared	work;
} ThrottleShared;

/* GUCs */
extern int	ptsort_max_wal_rate;	/* kB per second; 0: no limit */
extern int	ptsort_max_io_rate; /* kB per second; 0: no limit */
extern int	ptsort_max_replica_lag; /* kB; 0: no limit */
extern char *ptsort_lag_replicas;	/* names, or "" for all */

/*
 * Leader: throttle_begin creates the segment, with the limits of the settings.
 * Returns NULL, and the team has no limits of its own, if 'about' is NULL, if
 * the server has no room for a segment, or during another team's work.  Worker:
 * throttle_join attaches the leader's segment.  The limits hold until the
 * process detaches the segment.
 */
extern dsm_segment *throttle_begin(const WorkAbout *about);
extern dsm_segment *throttle_join(dsm_handle handle);

/*
 * The leader publishes the segment's handle in a parameter of its progress
 * report that the server does not use.  The mark is in the upper 32 bits.
 */
#define THROTTLE_PARAM		(PGSTAT_NUM_PROGRESS_PARAM - 1)
#define THROTTLE_MARK		UINT64CONST(0x7054736f)

/* throttle_change_limit sets a limit in any session. */
extern void throttle_change_limit(ThrottleShared *shared, ThrottleReason reason,
								  uint64 limit);

static inline uint64
throttle_limit(ThrottleShared *shared, ThrottleReason reason)
{
	return pg_atomic_read_u64(&shared->limits[reason]);
}

/*
 * throttle_hold(true) says that this process has pins, so that throttle_point()
 * must not pause until throttle_hold(false).
 */
typedef struct Throttle
{
	ThrottleShared *shared;		/* NULL: no limits */
	bool		held;
} Throttle;
extern Throttle ptsort_throttle;

static inline void
throttle_hold(bool hold)
{
	ptsort_throttle.held = hold;
}

/*
 * Only scans have pins.  So work that begins while a process has pins is nested
 * in a scan: a function of an index's expression does it.  It counts nothing.
 */
static inline bool
throttle_is_nested(void)
{
	return ptsort_throttle.held;
}

/* True if this process's work has any limit now. */
extern bool throttle_is_limited(void);

extern void throttle_pause(void);

/*
 * throttle_point publishes this process's counts (work.h), and pauses if the
 * team is ahead of its limits; see above.
 */
static inline void
throttle_point(void)
{
	if (unlikely(ptsort_throttle.shared != NULL))
		throttle_pause();
}

#endif							/* PTSORT_THROTTLE_H */
