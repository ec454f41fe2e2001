/*-------------------------------------------------------------------------
 *
 * work.c
 *	  Progress of a team, for other sessions; see work.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "model/work.h"
#include "utils/builtins.h"

/* Minimum part of the table for a forecast of the rest */
static const double least_scanned = 0.01;

Work		ptsort_work;

uint64
work_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* Store a relation's name with its schema's. */
static void
store_name(char *space, Relation rel)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(rel));

	strlcpy(space,
			quote_qualified_identifier(schema, RelationGetRelationName(rel)),
			WORK_NAME_SIZE);
}

void
work_describe(WorkAbout *about, bool copies, Relation table, Relation index,
			  int64 budget)
{
	memset(about, 0, sizeof(WorkAbout));
	size_job(&about->job, copies, table, index);
	store_name(about->relation, copies ? table : index);
	store_name(about->table, table);
	about->budget = budget;
}


/*
 * Participants
 */

/* Begin a phase; phases before it that did not begin have no time. */
static void
enter(WorkShared *shared, WorkPhase phase)
{
	WorkMoment	now = {
		.time = work_now(),
		.paused = pg_atomic_read_u64(&shared->counts[WORK_PAUSED])
	};

	for (int i = pg_atomic_read_u32(&shared->phase) + 1; i <= (int) phase; i++)
		shared->begins[i] = now;
	pg_write_barrier();
	pg_atomic_write_u32(&shared->phase, phase);
}

void
work_init(WorkShared *shared, const WorkAbout *about)
{
	memset(shared->begins, 0, sizeof(shared->begins));
	shared->about = *about;
	shared->begins[WORK_SCAN].time = work_now();
	pg_atomic_init_u32(&shared->phase, WORK_SCAN);
	pg_atomic_init_u32(&shared->participants, 1);
	pg_atomic_init_u64(&shared->total, 0);
	pg_atomic_init_u32(&shared->warnings, 0);
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
		pg_atomic_init_u64(&shared->counts[i], 0);
	if (about->job.blocks == 0)
		enter(shared, WORK_SORT);
}

/* Take over what the system and the server count in this process. */
static void
take_server_counts(uint64 *counts)
{
	const BufferUsage *usage = &pgBufferUsage;

	counts[WORK_WAL] = pgWalUsage.wal_bytes;
	counts[WORK_TEMP] = (uint64) usage->temp_blks_written * BLCKSZ;
	counts[WORK_IO] = (uint64)
		(usage->shared_blks_read + usage->temp_blks_read +
		 usage->temp_blks_written) * BLCKSZ;
}

void
work_follow(WorkShared *shared)
{
	Work	   *work = &ptsort_work;

	memset(work->counts, 0, sizeof(work->counts));
	take_server_counts(work->counts);
	work->temp_before = work->counts[WORK_TEMP];
	memcpy(work->published, work->counts, sizeof(work->counts));
	work->shared = shared;
}

void
work_forget(void)
{
	work_publish();
	ptsort_work.shared = NULL;
}

void
work_publish(void)
{
	Work	   *work = &ptsort_work;

	if (work->shared == NULL)
		return;
	take_server_counts(work->counts);
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
	{
		uint64		added = work->counts[i] - work->published[i];

		if (added == 0)
			continue;
		pg_atomic_fetch_add_u64(&work->shared->counts[i], added);
		work->published[i] = work->counts[i];
	}
}

double
work_scanned(void)
{
	WorkShared *shared = ptsort_work.shared;

	if (shared == NULL || pg_atomic_read_u32(&shared->phase) != WORK_SCAN)
		return 0;
	work_publish();
	return Min(pg_atomic_read_u64(&shared->counts[WORK_BLOCKS]) /
			   Max(shared->about.job.blocks, 1), 1);
}

void
work_count_merges(bool own, uint64 bytes)
{
	work_publish();
	if (own)
		ptsort_work.counts[WORK_RUNS] = ptsort_work.counts[WORK_TEMP] -
			ptsort_work.temp_before;
	work_count(WORK_TO_MERGE, bytes);
	work_publish();
}

/*
 * The rest of the scan adds runs at the same rate: bytes for each block, or for
 * each row of the planner's estimate if that is less.  So an empty end of a
 * vacuumed table does not make the result too high.
 */
void
work_forecast_runs(WorkRuns *runs)
{
	WorkShared *shared = ptsort_work.shared;
	double		rows;

	memset(runs, 0, sizeof(WorkRuns));
	runs->scanned = work_scanned();
	if (runs->scanned < least_scanned)
		return;
	runs->written = pg_atomic_read_u64(&shared->counts[WORK_TEMP]);
	rows = pg_atomic_read_u64(&shared->counts[WORK_ROWS]);
	runs->to_come = runs->written *
		Min(1 / runs->scanned, shared->about.job.rows / Max(rows, 1)) -
		runs->written;
}

void
work_enter(WorkPhase phase)
{
	if (pg_atomic_read_u32(&ptsort_work.shared->phase) < phase)
		enter(ptsort_work.shared, phase);
}

void
work_read(WorkShared *shared, WorkState *state)
{
	WorkMoment *now;

	memset(state, 0, sizeof(WorkState));
	state->about = shared->about;
	state->phase = pg_atomic_read_u32(&shared->phase);
	pg_read_barrier();
	memcpy(state->begins, shared->begins,
		   (state->phase + 1) * sizeof(WorkMoment));
	state->participants = pg_atomic_read_u32(&shared->participants);
	state->total = pg_atomic_read_u64(&shared->total);
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
		state->counts[i] = pg_atomic_read_u64(&shared->counts[i]);
	now = &state->begins[state->phase + 1];
	now->time = Max(work_now(), now[-1].time);
	now->paused = state->counts[WORK_PAUSED];
}
