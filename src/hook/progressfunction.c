/*-------------------------------------------------------------------------
 *
 * progressfunction.c
 *	  ptsort_progress(): the builds and copies that run on the server.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "commands/progress.h"
#include "fmgr.h"
#include "funcapi.h"
#include "limit/estimate.h"
#include "limit/publish.h"
#include "miscadmin.h"
#include "util.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

extern PGDLLEXPORT Datum ptsort_progress(PG_FUNCTION_ARGS);

#define NUM_COLUMNS		17

/* Row: a row of the result, column by column. */
typedef struct Row
{
	int			n;
	Datum		values[NUM_COLUMNS];
	bool		isnull[NUM_COLUMNS];
} Row;

static void
add(Row *row, Datum value)
{
	row->values[row->n++] = value;
}

static void
add_null(Row *row)
{
	row->isnull[row->n++] = true;
}

/* Add a text; null if it is NULL. */
static void
add_text(Row *row, const char *text)
{
	if (text == NULL)
		add_null(row);
	else
		add(row, CStringGetTextDatum(text));
}

/* Add an estimate; null if it is unknown. */
static void
add_float(Row *row, double value)
{
	if (value < 0)
		add_null(row);
	else
		add(row, Float8GetDatum(pt_round(value)));
}

static void
add_bytes(Row *row, double bytes)
{
	add(row, Int64GetDatum((int64) Min(Max(bytes, 0), 1e18)));
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
	return state->about.kind == WORK_INDEX ? "load" : "write";
}

/* Returns the limit for which a participant pauses now, or NULL. */
static const char *
waiting_for(PaceShared *shared)
{
	static const char *const names[NUM_PACE_REASONS] = {
		[PACE_WAL] = "max_wal_rate",
		[PACE_IO] = "max_io_rate",
		[PACE_REPLICAS] = "max_replica_lag"
	};

	for (int i = 0; i < NUM_PACE_REASONS; i++)
	{
		if (pg_atomic_read_u32(&shared->pausing[i]) > 0)
			return names[i];
	}
	return NULL;
}

/*
 * While the server's own functions scan the table, ptsort counts no blocks, but
 * the server reports them.
 */
static void
add_reported_blocks(WorkState *state, const PgBackendStatus *leader)
{
	int64		done = leader->st_progress_param[PROGRESS_SCAN_BLOCKS_DONE];

	if (leader->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX &&
		done > (int64) state->counts[WORK_BLOCKS])
		state->counts[WORK_BLOCKS] = Min(done, (int64) state->about.blocks);
}

static void
add_details(Row *row, const PgBackendStatus *leader, PaceShared *shared)
{
	WorkState	state;
	PaceLimits	limits;
	WorkEstimate estimate;

	for (int i = 0; i < NUM_PACE_REASONS; i++)
		limits.each[i] = pace_limit(shared, i);
	work_read(&shared->work, &state);
	add_reported_blocks(&state, leader);
	estimate_work(&state, &limits, &estimate);

	add_text(row, state.about.relation);
	add_text(row, state.about.table);
	add_text(row, state.about.kind == WORK_INDEX ? "index" : "copy");
	add_text(row, phase_name(&state));
	add_float(row, estimate.percent);
	add_float(row, estimate.rows_per_second);
	add_float(row, estimate.seconds_left);
	add_float(row, estimate.elapsed * 1000);
	add_bytes(row, state.counts[WORK_TEMP]);
	add_bytes(row, estimate.temp_bytes);
	add_bytes(row, state.counts[WORK_WAL]);
	add_bytes(row, estimate.wal_bytes);
	add(row, Int32GetDatum(state.participants));
	add_float(row, state.counts[WORK_PAUSED] / 1000.0);
	add_text(row, waiting_for(shared));
}

/* PublishVisit: add a row for a build or copy. */
static void
add_row(const PgBackendStatus *leader, PaceShared *shared, void *arg)
{
	ReturnSetInfo *result = arg;
	Row			row = {0};
	char	   *database = get_database_name(leader->st_databaseid);

	add(&row, Int32GetDatum(leader->st_procpid));
	if (database == NULL)
		add_null(&row);
	else
		add(&row, DirectFunctionCall1(namein, CStringGetDatum(database)));
	if (may_see(leader->st_userid))
		add_details(&row, leader, shared);
	while (row.n < NUM_COLUMNS)
		add_null(&row);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values,
						 row.isnull);
}

PG_FUNCTION_INFO_V1(ptsort_progress);
Datum
ptsort_progress(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	publish_visit(add_row, fcinfo->resultinfo);
	return (Datum) 0;
}
