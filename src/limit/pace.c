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
 * Another session finds the segment by its handle, which the leader publishes
 * in a parameter of its progress report that the server does not use.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "executor/instrument.h"
#include "limit/pace.h"
#include "limit/replicas.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/wait_event.h"

/* microseconds */
#define BURST			(USECS_PER_SEC / 10)

/* Longest sleep, milliseconds: then a process looks for changed limits. */
#define NAP				50

/* Parameter of the leader's progress report, and what it begins with. */
#define PROGRESS_PARAM	(PGSTAT_NUM_PROGRESS_PARAM - 1)
#define PROGRESS_MARK	UINT64CONST(0x7054736f) /* the upper 32 bits */

int			ptsort_max_wal_rate = 0;
int			ptsort_max_io_rate = 0;
int			ptsort_max_replica_lag = 0;

Pace		ptsort_pace;

/* What this process counted at its last point, and how long it paused */
static uint64 counted[NUM_PACE_REASONS];
static uint64 paused;

static uint64
now_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* Returns what the server counted in this process so far, in bytes. */
static uint64
count(PaceReason reason)
{
	const BufferUsage *usage = &pgBufferUsage;

	if (reason == PACE_IO)
		return (uint64) (usage->shared_blks_read + usage->temp_blks_read +
						 usage->temp_blks_written) * BLCKSZ;
	return pgWalUsage.wal_bytes;
}

static uint64
limit_of(const PaceShared *shared, PaceReason reason)
{
	return pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
										 &shared->limits[reason]));
}

bool
pace_is_limited(void)
{
	const PaceShared *shared = ptsort_pace.shared;

	for (int i = 0; shared != NULL && i < NUM_PACE_REASONS; i++)
	{
		if (limit_of(shared, i) != 0)
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
	for (int i = 0; i < NUM_PACE_REASONS; i++)
		counted[i] = count(i);
	paused = 0;
}

dsm_segment *
pace_begin(void)
{
	const int	settings[NUM_PACE_REASONS] = {
		[PACE_WAL] = ptsort_max_wal_rate,
		[PACE_IO] = ptsort_max_io_rate,
		[PACE_REPLICAS] = ptsort_max_replica_lag
	};
	dsm_segment *segment;
	PaceShared *shared;

	if (!IsUnderPostmaster || ptsort_pace.shared != NULL)
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
	}
	follow(segment);
	pgstat_progress_update_param(PROGRESS_PARAM,
								 (int64) (PROGRESS_MARK << 32 |
										  dsm_segment_handle(segment)));
	return segment;
}

dsm_segment *
pace_join(dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	stamp_check(dsm_segment_address(segment));
	follow(segment);
	return segment;
}

double
pace_paused_ms(void)
{
	return paused / 1000.0;
}


/*
 * Pauses
 */

/* Sleep, at most until the time 'until'. */
static void
nap(uint64 now, uint64 until)
{
	uint64		ms = Min((until - now + 999) / 1000, NAP);

	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) ms, pt_wait_event_pause());
	ResetLatch(MyLatch);
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
	uint64		earliest = now_us() - BURST;
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

	while ((now = now_us()) < until &&
		   changes == pg_atomic_read_u32(&shared->changes))
		nap(now, until);
}

/* Pause if a replica is too far behind. */
static void
wait_for_replicas(PaceShared *shared)
{
	uint64		most;

	while ((most = limit_of(shared, PACE_REPLICAS)) != 0 &&
		   !replicas_are_within(most))
	{
		uint64		now = now_us();

		nap(now, now + NAP * 1000);
	}
}

void
pace_pause(void)
{
	PaceShared *shared = ptsort_pace.shared;
	uint64		start = 0;

	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		uint64		total = count(i);
		uint64		bytes = total - counted[i];
		uint64		limit = limit_of(shared, i);

		counted[i] = total;
		if (likely(limit == 0 || bytes == 0))
			continue;
		if (start == 0)
			start = now_us();
		if (i == PACE_REPLICAS)
			wait_for_replicas(shared);
		else
			keep_rate(shared, i, bytes, limit);
	}
	if (start != 0)
		paused += now_us() - start;
}


/*
 * Changes by other sessions
 */

/* Returns the handle that a process published, or DSM_HANDLE_INVALID. */
static dsm_handle
published_handle(int pid)
{
	pgstat_clear_backend_activity_snapshot();
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const LocalPgBackendStatus *local = pt_local_backend_status(i);
		uint64		param;

		if (local == NULL || local->backendStatus.st_procpid != pid)
			continue;
		param = (uint64)
			local->backendStatus.st_progress_param[PROGRESS_PARAM];
		if (param >> 32 == PROGRESS_MARK)
			return (dsm_handle) param;
	}
	return DSM_HANDLE_INVALID;
}

/* True if the memory of a segment is that of the process's work. */
static bool
is_pace_of(dsm_segment *segment, int pid)
{
	const PaceShared *shared = dsm_segment_address(segment);
	BuildStamp	stamp;

	if (dsm_segment_map_length(segment) < sizeof(PaceShared))
		return false;
	memset(&stamp, 0, sizeof(stamp));
	stamp_set(&stamp);
	return memcmp(&shared->stamp, &stamp, sizeof(stamp)) == 0 &&
		shared->pid == pid;
}

static bool
is_permitted(dsm_segment *segment)
{
	const PaceShared *shared = dsm_segment_address(segment);

	return has_privs_of_role(GetUserId(), shared->role);
}

static void
set_limits(PaceShared *shared, const PaceLimits *limits)
{
	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		if (limits->each[i] < 0)
			continue;
		pg_atomic_write_u64(&shared->limits[i], limits->each[i]);
		pg_atomic_write_u64(&shared->due[i], 0);
	}
	pg_atomic_fetch_add_u32(&shared->changes, 1);
}

bool
pace_change(int pid, const PaceLimits *limits)
{
	dsm_handle	handle = published_handle(pid);
	dsm_segment *segment;
	bool		may_change;

	/* this process's own work, whose expressions call this function */
	if (handle == DSM_HANDLE_INVALID || dsm_find_mapping(handle) != NULL)
		return false;
	segment = dsm_attach(handle);
	if (segment == NULL)
		return false;
	may_change = is_pace_of(segment, pid) && is_permitted(segment);
	if (may_change)
		set_limits(dsm_segment_address(segment), limits);
	dsm_detach(segment);
	return may_change;
}
