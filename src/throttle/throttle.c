/*-------------------------------------------------------------------------
 *
 * throttle.c
 *	  Limits of a build's or copy's WAL, reads and temporary files, and of the
 *	  replicas' lag; see throttle.h.
 *
 * The server counts what a process writes to the WAL, reads from files, and
 * reads and writes in temporary files.  At each point where a process may
 * pause, it adds what was counted since its last point: with a limit of r bytes
 * per second, n bytes move the time that all participants share (due) by n / r
 * seconds.  The process pauses until this time.  While the work is slower than
 * the limit, 'due' stays at most BURST behind the clock: a process that paused
 * longer than it had to, or then had to compute, may make up for that.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "debug.h"
#include "throttle/throttle.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/latch.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/varlena.h"
#include "utils/wait_event.h"

/* microseconds */
#define BURST			(USECS_PER_SEC / 10)

/* Longest sleep, milliseconds: then a process looks for changed limits. */
#define NAP				50

int			ptsort_max_wal_rate = 0;
int			ptsort_max_io_rate = 0;
int			ptsort_max_replica_lag = 0;
char	   *ptsort_lag_replicas = NULL;

const char *const throttle_names[NUM_THROTTLE_REASONS] = {
	[THROTTLE_WAL] = "max_wal_rate",
	[THROTTLE_IO] = "max_io_rate",
	[THROTTLE_REPLICAS] = "max_replica_lag"
};

Throttle	ptsort_throttle;

/* What this process counted at its last point */
static uint64 counted[NUM_THROTTLE_REASONS];


/*
 * Replicas
 */

/*
 * Returns true if the server streams to a replica that reported its place, and
 * sets *place, the process that streams, and whether the replica is physical.
 * The place is the end of what a replica replayed.  A program that only
 * receives WAL, such as pg_receivewal, replays nothing: its place is the end of
 * what it flushed or, if it flushes nothing, of what it wrote.
 */
static bool
find_place(WalSnd *sender, XLogRecPtr *place, int *pid, bool *physical)
{
	bool		streams;

	SpinLockAcquire(&sender->mutex);
	*pid = sender->pid;
	*physical = pt_sends_to_replica(sender);
	streams = sender->pid != 0 &&
		(sender->state == WALSNDSTATE_CATCHUP ||
		 sender->state == WALSNDSTATE_STREAMING);
	*place = sender->apply;
	if (XLogRecPtrIsInvalid(*place))
		*place = sender->flush;
	if (XLogRecPtrIsInvalid(*place))
		*place = sender->write;
	SpinLockRelease(&sender->mutex);
	/* a replica that just connected reports its place a moment later */
	return streams && !XLogRecPtrIsInvalid(*place);
}

/* Returns the name of the application that a process serves, or "". */
static const char *
name_of(int pid)
{
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const LocalPgBackendStatus *local = pt_local_backend_status(i);

		if (local != NULL && local->backendStatus.st_procpid == pid)
			return local->backendStatus.st_appname;
	}
	return "";
}

/* True if a replica has one of the names; removes the name from *missing. */
static bool
is_named(List *names, List **missing, int pid)
{
	const char *name = name_of(pid);
	bool		result = false;
	ListCell   *cell;

	foreach(cell, names)
	{
		if (pg_strcasecmp(lfirst(cell), name) != 0)
			continue;
		*missing = list_delete_ptr(*missing, lfirst(cell));
		result = true;
	}
	return result;
}

/*
 * True if no replica that counts is more than 'most' bytes behind the end of
 * the WAL.  With ptsort.lag_replicas, the replicas of these names count,
 * physical and logical ones, and a replica that is not connected is too far
 * behind; otherwise all connected physical replicas count.  If the result is
 * false, 'lag' says which replica is behind.
 */
static bool
replicas_are_within(uint64 most, char *lag)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();
	char	   *copy = pstrdup(ptsort_lag_replicas);
	uint64		longest = most;
	List	   *names = NIL;
	List	   *missing;
	bool		result;

	/* the check hook accepted the list */
	(void) SplitIdentifierString(copy, ',', &names);
	missing = list_copy(names);
	pgstat_clear_backend_activity_snapshot();
	for (int i = 0; i < max_wal_senders; i++)
	{
		XLogRecPtr	place;
		int			pid;
		bool		physical;

		if (!find_place(&WalSndCtl->walsnds[i], &place, &pid, &physical) ||
			(names == NIL ? !physical : !is_named(names, &missing, pid)) ||
			place >= end || end - place <= longest)
			continue;
		longest = end - place;
		snprintf(lag, REPLICA_LAG_SIZE,
				 "replica \"%s\" is " UINT64_FORMAT " kB behind",
				 name_of(pid), longest / 1024);
	}
	if (missing != NIL)
		snprintf(lag, REPLICA_LAG_SIZE, "replica \"%s\" is not connected",
				 (char *) linitial(missing));
	result = longest == most && missing == NIL;
	list_free(missing);
	list_free(names);
	pfree(copy);
	return result;
}


/*
 * The segment
 */

/* Returns the published count of what a limit is for, in bytes. */
static uint64
count(ThrottleReason reason)
{
	return ptsort_work.counts[reason == THROTTLE_IO ? WORK_IO : WORK_WAL];
}

bool
throttle_is_limited(void)
{
	ThrottleShared *shared = ptsort_throttle.shared;

	for (int i = 0; shared != NULL && i < NUM_THROTTLE_REASONS; i++)
	{
		if (throttle_limit(shared, i) != 0)
			return true;
	}
	return false;
}

/* on_dsm_detach callback */
static void
forget(dsm_segment *segment, Datum arg)
{
	if (ptsort_throttle.shared == (ThrottleShared *) DatumGetPointer(arg))
	{
		ptsort_throttle.shared = NULL;
		ptsort_throttle.held = false;
		work_forget();
	}
}

/* Follow the limits of a segment until this process detaches it. */
static void
follow(dsm_segment *segment)
{
	ThrottleShared *shared = dsm_segment_address(segment);

	on_dsm_detach(segment, forget, PointerGetDatum(shared));
	ptsort_throttle.shared = shared;
	ptsort_throttle.held = false;
	work_follow(&shared->work);
	for (int i = 0; i < NUM_THROTTLE_REASONS; i++)
		counted[i] = count(i);
}

/* Leader: publish the segment, also after nested work reset the report. */
static void
publish(const ThrottleShared *shared)
{
	if (shared->pid == MyProcPid)
		pgstat_progress_update_param(THROTTLE_PARAM, (int64)
									 (THROTTLE_MARK << 32 | shared->handle));
}

/* Warn, once for the work.  The leader also logs a worker's message. */
static void
warn(ThrottleShared *shared, ThrottleReason reason, const char *lag)
{
	bool		pass_on = IsParallelWorker() && client_min_messages <= WARNING;

	if (pg_atomic_exchange_u32(&shared->warned, 1) != 0)
		return;
	ereport(pass_on ? WARNING_CLIENT_ONLY : WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("build or copy of %s waits for limit \"%s\"",
					shared->work.about.relation, throttle_names[reason]),
			 reason == THROTTLE_REPLICAS ? errdetail("The %s.", lag) : 0,
			 errhint("Cancel process %d, or change its limit with ptsort_set_limits() in another session.",
					 shared->pid)));
}

dsm_segment *
throttle_begin(const WorkAbout *about)
{
	const int	settings[NUM_THROTTLE_REASONS] = {
		[THROTTLE_WAL] = ptsort_max_wal_rate,
		[THROTTLE_IO] = ptsort_max_io_rate,
		[THROTTLE_REPLICAS] = ptsort_max_replica_lag
	};
	dsm_segment *segment;
	ThrottleShared *shared;
	char		lag[REPLICA_LAG_SIZE];

	if (about == NULL || !IsUnderPostmaster || ptsort_throttle.shared != NULL)
		return NULL;
	segment = dsm_create(sizeof(ThrottleShared),
						 DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		return NULL;
	shared = dsm_segment_address(segment);
	memset(shared, 0, sizeof(ThrottleShared));
	stamp_set(&shared->stamp);
	shared->pid = MyProcPid;
	shared->handle = dsm_segment_handle(segment);
	shared->role = GetSessionUserId();
	pg_atomic_init_u32(&shared->warned, 0);
	SpinLockInit(&shared->mutex);
	for (int i = 0; i < NUM_THROTTLE_REASONS; i++)
	{
		pg_atomic_init_u64(&shared->limits[i], (uint64) settings[i] * 1024);
		pg_atomic_init_u64(&shared->due[i], 0);
		pg_atomic_init_u32(&shared->pausing[i], 0);
	}
	work_init(&shared->work, about);
	follow(segment);
	publish(shared);
	if (settings[THROTTLE_REPLICAS] != 0 &&
		!replicas_are_within(PG_UINT64_MAX, lag))
		warn(shared, THROTTLE_REPLICAS, lag);	/* one is not connected */
	return segment;
}

dsm_segment *
throttle_join(dsm_handle handle)
{
	dsm_segment *segment = stamp_attach(handle);

	follow(segment);
	return segment;
}


/*
 * Pauses
 */

/*
 * The upper bits of 'due' count the changes of the limit, which set its time to
 * 0.  So a participant that read the old limit can neither move the time of the
 * new one, nor go on to wait for its own.
 */
static const int time_bits = 52;
#define TIME_OF(due)	((due) & ((UINT64CONST(1) << time_bits) - 1))
#define CHANGES_OF(due)	((due) >> time_bits)

void
throttle_change_limit(ThrottleShared *shared, ThrottleReason reason,
					  uint64 limit)
{
	pg_atomic_uint64 *due = &shared->due[reason];
	uint64		old = pg_atomic_read_u64(due);

	pg_atomic_write_u64(&shared->limits[reason], limit);
	/* a full barrier */
	while (!pg_atomic_compare_exchange_u64(due, &old, (CHANGES_OF(old) + 1)
										   << time_bits))
		;
}

/* Sleep, at most until the time 'until', and count the pause. */
static void
nap(uint64 until)
{
	uint64		now = work_now();
	uint64		ms = until > now ? Min((until - now + 999) / 1000, NAP) : 0;

	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) ms, pt_wait_event_pause());
	ResetLatch(MyLatch);
	work_count(WORK_PAUSED, work_now() - now);
	work_publish();
	CHECK_FOR_INTERRUPTS();
}

/*
 * Add the time that n bytes should take to the time that the work so far should
 * have taken.  Returns the new value of 'due', or 0 if there is no rate now, or
 * PG_UINT64_MAX for replicas.
 */
static uint64
charge_bytes(ThrottleShared *shared, ThrottleReason reason, uint64 bytes)
{
	pg_atomic_uint64 *due = &shared->due[reason];
	uint64		old = pg_atomic_read_u64(due);
	uint64		new;

	if (reason == THROTTLE_REPLICAS)
		return PG_UINT64_MAX;
	do
	{
		uint64		rate;

		pg_read_barrier();		/* the limit is not older than 'old' */
		rate = throttle_limit(shared, reason);
		if (rate == 0)
			return 0;
		fault_point("throttle: charge");
		new = Max(TIME_OF(old), work_now() - BURST) +
			(uint64) ((double) bytes / rate * USECS_PER_SEC);
		new = CHANGES_OF(old) << time_bits | TIME_OF(new);
	} while (!pg_atomic_compare_exchange_u64(due, &old, new));
	return new;
}

/* True if this process must pause, after charge_bytes() returned 'due'. */
static bool
is_ahead(ThrottleShared *shared, ThrottleReason reason, uint64 due, char *lag)
{
	uint64		most = throttle_limit(shared, reason);

	if (reason != THROTTLE_REPLICAS)
		return work_now() < TIME_OF(due) && CHANGES_OF(due) ==
			CHANGES_OF(pg_atomic_read_u64(&shared->due[reason]));
	if (most == 0 || replicas_are_within(most, lag))
		return false;
	SpinLockAcquire(&shared->mutex);
	strlcpy(shared->lag, lag, REPLICA_LAG_SIZE);
	SpinLockRelease(&shared->mutex);
	return true;
}

/*
 * Pause for a limit, if bytes were counted.  If the pause ends by an error, the
 * team ends, too, so 'pausing' does not matter any more.
 */
static void
keep_limit(ThrottleShared *shared, ThrottleReason reason, uint64 bytes)
{
	uint64		start = work_now();
	uint64		due = charge_bytes(shared, reason, bytes);
	char		lag[REPLICA_LAG_SIZE];

	if (!is_ahead(shared, reason, due, lag))
		return;
	pg_atomic_fetch_add_u32(&shared->pausing[reason], 1);
	do
	{
		nap(TIME_OF(due));
		if ((work_now() - start) / 1000 >= ptsort_debug.warn_after_ms)
			warn(shared, reason, lag);
	} while (is_ahead(shared, reason, due, lag));
	pg_atomic_fetch_sub_u32(&shared->pausing[reason], 1);
}

void
throttle_pause(void)
{
	ThrottleShared *shared = ptsort_throttle.shared;

	publish(shared);
	work_publish();
	if (ptsort_throttle.held)
		return;
	for (int i = 0; i < NUM_THROTTLE_REASONS; i++)
	{
		uint64		total = count(i);
		uint64		bytes = total - counted[i];

		counted[i] = total;
		if (unlikely(bytes != 0 && throttle_limit(shared, i) != 0))
			keep_limit(shared, i, bytes);
	}
}
