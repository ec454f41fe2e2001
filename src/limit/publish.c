/*-------------------------------------------------------------------------
 *
 * publish.c
 *	  How other sessions find the work of paced teams; see publish.h.
 *
 * The leader's status in shared memory has the handle of the segment.  The
 * segment may disappear at any time, unless a session could attach it.  A
 * handle may be old, and another segment may have the same one.  So the stamp,
 * the size and the process ID must be right, too.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "limit/publish.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/backend_status.h"

/* True if the memory of a segment is that of the process's work. */
static bool
is_pace_of(dsm_segment *segment, int pid)
{
	const PaceShared *shared = dsm_segment_address(segment);

	return dsm_segment_map_length(segment) >= sizeof(PaceShared) &&
		stamp_matches(&shared->stamp) && shared->pid == pid;
}

/* Call 'visit' for a process if it leads work. */
static void
visit_process(const PgBackendStatus *status, PublishVisit visit, void *arg)
{
	uint64		param = (uint64) status->st_progress_param[PACE_PARAM];
	dsm_handle	handle = (dsm_handle) param;
	dsm_segment *own;
	dsm_segment *segment;

	if (status->st_procpid <= 0 || param >> 32 != PACE_MARK ||
		handle == DSM_HANDLE_INVALID)
		return;
	/* a segment can be attached once only; this process may be the leader */
	own = dsm_find_mapping(handle);
	segment = own != NULL ? own : dsm_attach(handle);
	if (segment == NULL)
		return;
	if (is_pace_of(segment, status->st_procpid))
		visit(status, dsm_segment_address(segment), arg);
	if (own == NULL)
		dsm_detach(segment);
}

void
publish_visit(PublishVisit visit, void *arg)
{
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= n; i++)
	{
		const LocalPgBackendStatus *local = pt_local_backend_status(i);

		if (local != NULL)
			visit_process(&local->backendStatus, visit, arg);
	}
}


/*
 * Changes of limits
 */

/* Change: the argument of change_limits. */
typedef struct Change
{
	int			pid;
	const PaceLimits *limits;
	bool		found;
} Change;

/* PublishVisit */
static void
change_limits(const PgBackendStatus *status, PaceShared *shared, void *arg)
{
	Change	   *change = arg;

	if (status->st_procpid != change->pid ||
		!has_privs_of_role(GetUserId(), shared->role))
		return;
	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		if (change->limits->each[i] < 0)
			continue;
		pg_atomic_write_u64(&shared->limits[i], change->limits->each[i]);
		pg_atomic_write_u64(&shared->due[i], 0);
	}
	pg_atomic_fetch_add_u32(&shared->changes, 1);
	change->found = true;
}

bool
publish_change_limits(int pid, const PaceLimits *limits)
{
	Change		change = {.pid = pid,.limits = limits};

	publish_visit(change_limits, &change);
	return change.found;
}
