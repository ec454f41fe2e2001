/*-------------------------------------------------------------------------
 *
 * pace.c
 *	  Limits of a build's or copy's WAL, reads and temporary files; see pace.h.
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

#include "limit/pace.h"
#include "limit/replicas.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/backend_progress.h"
#include "utils/wait_event.h"

/* microseconds */
#define BURST			(USECS_PER_SEC / 10)

/* Longest sleep, milliseconds: then a process looks for changed limits. */
#define NAP				50

int			ptsort_max_wal_rate = 0;
int			ptsort_max_io_rate = 0;
int			ptsort_max_replica_lag = 0;

Pace		ptsort_pace;

/* What this process counted at its last point */
static uint64 counted[NUM_PACE_REASONS];

/* Returns the published count of what a limit is for, in bytes. */
static uint64
count(PaceReason reason)
{
	return ptsort_work.counts[reason == PACE_IO ? WORK_IO : WORK_WAL];
}

bool
pace_is_limited(void)
{
	PaceShared *shared = ptsort_pace.shared;

	for (int i = 0; shared != NULL && i < NUM_PACE_REASONS; i++)
	{
		if (pace_limit(shared, i) != 0)
			return true;
	}
	return false;
}

/* on_dsm_detach callback */
static void
forget(dsm_segment *segment, Datum arg)
{
	if (ptsort_pace.shared == (PaceShared *) DatumGetPointer(arg))
	{
		ptsort_pace.shared = NULL;
		ptsort_pace.held = false;
		work_forget();
	}
}

/* Follow the pace of a segment until this process detaches it. */
static void
follow(dsm_segment *segment)
{
	PaceShared *shared = dsm_segment_address(segment);

	on_dsm_detach(segment, forget, PointerGetDatum(shared));
	ptsort_pace.shared = shared;
	ptsort_pace.held = false;
	work_follow(&shared->work);
	for (int i = 0; i < NUM_PACE_REASONS; i++)
		counted[i] = count(i);
}

dsm_segment *
pace_begin(const WorkAbout *about)
{
	const int	settings[NUM_PACE_REASONS] = {
		[PACE_WAL] = ptsort_max_wal_rate,
		[PACE_IO] = ptsort_max_io_rate,
		[PACE_REPLICAS] = ptsort_max_replica_lag
	};
	dsm_segment *segment;
	PaceShared *shared;

	if (about == NULL || !IsUnderPostmaster || ptsort_pace.shared != NULL)
		return NULL;
	segment = dsm_create(sizeof(PaceShared), DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		return NULL;
	shared = dsm_segment_address(segment);
	memset(shared, 0, sizeof(PaceShared));
	stamp_set(&shared->stamp);
	shared->pid = MyProcPid;
	shared->role = GetSessionUserId();
	pg_atomic_init_u32(&shared->changes, 0);
	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		pg_atomic_init_u64(&shared->limits[i], (uint64) settings[i] * 1024);
		pg_atomic_init_u64(&shared->due[i], 0);
		pg_atomic_init_u32(&shared->pausing[i], 0);
	}
	work_init(&shared->work, about);
	follow(segment);
	pgstat_progress_update_param(PACE_PARAM,
								 (int64) (PACE_MARK << 32 |
										  dsm_segment_handle(segment)));
	return segment;
}

dsm_segment *
pace_join(dsm_handle handle)
{
	dsm_segment *segment = stamp_attach(handle);

	follow(segment);
	return segment;
}

double
pace_paused_ms(void)
{
	return ptsort_work.counts[WORK_PAUSED] / 1000.0;
}


/*
 * Pauses
 */

/* Sleep, at most until the time 'until', and count the pause. */
static void
nap(uint64 now, uint64 until)
{
	uint64		ms = Min((until - now + 999) / 1000, NAP);

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
 * have taken.  Returns the sum.
 */
static uint64
charge(PaceShared *shared, PaceReason reason, uint64 bytes, uint64 rate)
{
	pg_atomic_uint64 *due = &shared->due[reason];
	uint64		cost = (uint64) ((double) bytes / rate * USECS_PER_SEC);
	uint64		earliest = work_now() - BURST;
	uint64		old = pg_atomic_read_u64(due);
	uint64		new;

	do
		new = Max(old, earliest) + cost;
	while (!pg_atomic_compare_exchange_u64(due, &old, new));
	return new;
}

/* Pause if the team is ahead of its rate. */
static void
keep_rate(PaceShared *shared, PaceReason reason, uint64 bytes, uint64 rate)
{
	uint32		changes = pg_atomic_read_u32(&shared->changes);
	uint64		until = charge(shared, reason, bytes, rate);
	uint64		now;

	while ((now = work_now()) < until &&
		   changes == pg_atomic_read_u32(&shared->changes))
		nap(now, until);
}

/* Pause if a replica is too far behind. */
static void
wait_for_replicas(PaceShared *shared)
{
	uint64		most;

	while ((most = pace_limit(shared, PACE_REPLICAS)) != 0 &&
		   !replicas_are_within(most))
	{
		uint64		now = work_now();

		nap(now, now + NAP * 1000);
	}
}

/*
 * Pause for a limit, if bytes were counted.  If the pause ends by an error, the
 * team ends, too, so 'pausing' does not matter any more.
 */
static void
keep_limit(PaceShared *shared, PaceReason reason, uint64 bytes, uint64 limit)
{
	pg_atomic_fetch_add_u32(&shared->pausing[reason], 1);
	if (reason == PACE_REPLICAS)
		wait_for_replicas(shared);
	else
		keep_rate(shared, reason, bytes, limit);
	pg_atomic_fetch_sub_u32(&shared->pausing[reason], 1);
}

void
pace_pause(void)
{
	PaceShared *shared = ptsort_pace.shared;

	work_publish();
	if (ptsort_pace.held)
		return;
	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		uint64		total = count(i);
		uint64		bytes = total - counted[i];
		uint64		limit = pace_limit(shared, i);

		counted[i] = total;
		if (unlikely(limit != 0 && bytes != 0))
			keep_limit(shared, i, bytes, limit);
	}
}
