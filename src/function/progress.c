/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  ptsort_progress() and ptsort_set_limits(): the builds and copies that run
 *	  on the server.
 *
 * The status of a leader in shared memory has the handle of its segment
 * (throttle.h).  The segment may disappear at any time, unless a session could
 * attach it.  A handle may be old, and another segment may have the same one.
 * So the stamp, the size and the process ID must be right, too.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "throttle/throttle.h"
#include "miscadmin.h"
#include "util.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

extern PGDLLEXPORT Datum ptsort_progress(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_set_limits(PG_FUNCTION_ARGS);

/*
 * Work of other sessions
 */

/* Visit: a function that must not attach or detach the leader's segment. */
typedef void (*Visit) (const PgBackendStatus *leader, ThrottleShared *shared,
					   void *arg);

/* Call a function for each process that leads visible work now. */
static void
visit_all(Visit visit, void *arg)
{
	pgstat_clear_backend_activity_snapshot();
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const PgBackendStatus *status =
			&pt_local_backend_status(i)->backendStatus;
		uint64		param = (uint64) status->st_progress_param[THROTTLE_PARAM];
		dsm_segment *own;
		dsm_segment *segment;
		ThrottleShared *shared;

		if (status->st_procpid <= 0 || param >> 32 != THROTTLE_MARK ||
			(dsm_handle) param == DSM_HANDLE_INVALID)
			continue;
		/* a process can attach a segment only once; it may be the leader */
		own = dsm_find_mapping((dsm_handle) param);
		segment = own != NULL ? own : dsm_attach((dsm_handle) param);
		if (segment == NULL)
			continue;
		shared = dsm_segment_address(segment);
		if (dsm_segment_map_length(segment) >= sizeof(ThrottleShared) &&
			stamp_matches(&shared->stamp) && shared->pid == status->st_procpid)
			visit(status, shared, arg);
		if (own == NULL)
			dsm_detach(segment);
	}
}


/*
 * ptsort_progress()
 */

#define NUM_COLUMNS		17

/* Row: a row of the result, column by column. */
typedef struct Row
{
	int			n;
	Datum		values[NUM_COLUMNS];
	bool		isnull[NUM_COLUMNS];
} Row;

/* Add a value; null unless it is known. */
static void
add(Row *row, Datum value, bool known)
{
	row->values[row->n] = value;
	row->isnull[row->n++] = !known;
}

/* Add a text; null if it is NULL. */
static void
add_text(Row *row, const char *text)
{
	add(row, text == NULL ? (Datum) 0 : CStringGetTextDatum(text),
		text != NULL);
}

/* Add a number; null if it is negative. */
static void
add_float(Row *row, double value)
{
	add(row, Float8GetDatum(pt_round(value)), value >= 0);
}

static void
add_bytes(Row *row, double bytes)
{
	add(row, Int64GetDatum((int64) Min(Max(bytes, 0), 1e18)), true);
}

/* Returns what the view of the server's progress does. */
static bool
may_see(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), role);
}

static const char *
phase_name(const WorkState *state)
{
	if (state->phase == WORK_SCAN)
		return "scan";
	if (state->phase == WORK_SORT)
		return "sort";
	return state->about.job.copies ? "write" :
		state->about.job.validates ? "insert" : "load";
}

/*
 * Returns the limit for which a participant pauses now, with the replica, or
 * NULL.
 */
static const char *
waiting_for(ThrottleShared *shared)
{
	for (int i = 0; i < NUM_THROTTLE_REASONS; i++)
	{
		char		lag[REPLICA_LAG_SIZE];

		if (pg_atomic_read_u32(&shared->pausing[i]) == 0)
			continue;
		if (i != THROTTLE_REPLICAS)
			return throttle_names[i];
		SpinLockAcquire(&shared->mutex);
		strlcpy(lag, shared->lag, REPLICA_LAG_SIZE);
		SpinLockRelease(&shared->mutex);
		return psprintf("%s: %s", throttle_names[i], lag);
	}
	return NULL;
}

static void
add_details(Row *row, ThrottleShared *shared)
{
	WorkState	state;
	LeftForecast forecast;
	LeftLimits	limits = {
		.wal = throttle_limit(shared, THROTTLE_WAL),
		.io = throttle_limit(shared, THROTTLE_IO),
		.replicas = throttle_limit(shared, THROTTLE_REPLICAS) > 0
	};

	work_read(&shared->work, &state);
	left_forecast(&state, &limits, &forecast);

	add_text(row, state.about.relation);
	add_text(row, state.about.table);
	add_text(row, state.about.job.copies ? "copy" :
			 state.about.job.validates ? "validation" : "index");
	add_text(row, phase_name(&state));
	add_float(row, forecast.percent);
	add_float(row, forecast.rows_per_second);
	add_float(row, forecast.seconds_left);
	add_float(row, forecast.elapsed * 1000);
	add_bytes(row, state.counts[WORK_TEMP]);
	add_bytes(row, forecast.temp_bytes);
	add_bytes(row, state.counts[WORK_WAL]);
	add_bytes(row, forecast.wal_bytes);
	add(row, Int32GetDatum(state.participants), true);
	add_float(row, state.counts[WORK_PAUSED] / 1000.0);
	add_text(row, waiting_for(shared));
}

/* Visit: add a row for a build or copy. */
static void
add_row(const PgBackendStatus *leader, ThrottleShared *shared, void *arg)
{
	ReturnSetInfo *result = arg;
	Row			row = {0};
	char	   *database = get_database_name(leader->st_databaseid);

	add(&row, Int32GetDatum(leader->st_procpid), true);
	add(&row, database == NULL ? (Datum) 0 :
		DirectFunctionCall1(namein, CStringGetDatum(database)),
		database != NULL);
	if (may_see(leader->st_userid))
		add_details(&row, shared);
	while (row.n < NUM_COLUMNS)
		add(&row, (Datum) 0, false);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values,
						 row.isnull);
}

PG_FUNCTION_INFO_V1(ptsort_progress);
Datum
ptsort_progress(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	visit_all(add_row, fcinfo->resultinfo);
	return (Datum) 0;
}


/*
 * ptsort_set_limits()
 */

/* Change: the argument of change_limits; negative limits stay as they are. */
typedef struct Change
{
	int			pid;
	int64		limits[NUM_THROTTLE_REASONS];
	bool		found;
} Change;

/* Visit: change limits if the role has the rights of the leader's. */
static void
change_limits(const PgBackendStatus *status, ThrottleShared *shared, void *arg)
{
	Change	   *change = arg;

	if (status->st_procpid != change->pid ||
		!has_privs_of_role(GetUserId(), shared->role))
		return;
	for (int i = 0; i < NUM_THROTTLE_REASONS; i++)
	{
		if (change->limits[i] >= 0)
			throttle_change_limit(shared, i, change->limits[i]);
	}
	change->found = true;
}

/* Returns an argument, a number of kB as in a setting, in bytes; -1 if null. */
static int64
get_limit(FunctionCallInfo fcinfo, int n, ThrottleReason reason)
{
	const char *name = throttle_names[reason];
	const char *hint = NULL;
	char	   *value;
	int			result;

	if (PG_ARGISNULL(n))
		return -1;
	value = text_to_cstring(PG_GETARG_TEXT_PP(n));
	if (!parse_int(value, &result, GUC_UNIT_KB, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": \"%s\"", name,
						value),
				 hint == NULL ? 0 : errhint("%s", hint)));
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d kB is outside the valid range for parameter \"%s\" (0 kB .. %d kB)",
						result, name, INT_MAX)));
	return (int64) result * 1024;
}

PG_FUNCTION_INFO_V1(ptsort_set_limits);
Datum
ptsort_set_limits(PG_FUNCTION_ARGS)
{
	Change		change = {.limits = {
			[THROTTLE_WAL] = get_limit(fcinfo, 1, THROTTLE_WAL),
			[THROTTLE_IO] = get_limit(fcinfo, 3, THROTTLE_IO),
			[THROTTLE_REPLICAS] = get_limit(fcinfo, 2, THROTTLE_REPLICAS)
	}};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	change.pid = PG_GETARG_INT32(0);
	visit_all(change_limits, &change);
	PG_RETURN_BOOL(change.found);
}
