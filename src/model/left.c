/*-------------------------------------------------------------------------
 *
 * left.c
 *	  How long a build or copy will still take; see work.h.
 *
 * The time of each phase is its cost (cost.h) times a factor that the scan
 * shows: its time without reading blocks, divided by its cost.  The factor
 * contains the speed of this machine, what is special about the keys, and how
 * much other processes slow this work down.
 *
 * In each phase, the time left follows from the part that is done: in the scan
 * the blocks, in passes of merges the bytes, and in the last phase the rows,
 * whose time gradually replaces what the costs say.
 *
 * Pauses for limits are not part of these times.  A phase takes at least the
 * bytes to come divided by the rate that limits them.  The speed of a replica
 * is unknown: if its lag is limited, the forecast assumes that the pauses of
 * the last phase go on.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "model/work.h"

/* Memory of an entry without its tuple */
static const double entry_bytes = 20;

/* Part of a phase from which it forecasts its own rest */
static const double trusted = 0.15;

/* A phase that takes longer than expected still needs this part of its time. */
static const double overtime = 0.1;

/* Model: the state, and what follows from it */
typedef struct Model
{
	const WorkState *state;
	LeftLimits	limits;
	double		scanned;		/* part of the blocks */
	double		written;		/* part of the rows, in the last phase */
	Job			job;			/* as far as the work shows it */
	bool		is_known;		/* the scan shows job.factor */
} Model;

static double
ratio(double part, double whole)
{
	return whole > 0 ? Min(part / whole, 1.0) : 1.0;
}

/* Returns the seconds of a phase so far, or until it ended. */
static double
wall_time(const WorkState *state, WorkPhase phase)
{
	const WorkMoment *begin = &state->begins[phase];

	return phase > state->phase ? 0 :
		(begin[1].time - begin->time) / (double) USECS_PER_SEC;
}

/* Returns this time without the pauses of the average participant. */
static double
work_time(const WorkState *state, WorkPhase phase)
{
	const WorkMoment *begin = &state->begins[phase];

	return phase > state->phase ? 0 :
		Max(wall_time(state, phase) - (begin[1].paused - begin->paused) /
			(double) USECS_PER_SEC / state->participants, 0);
}

/* Returns the time of the scan without that of reading the table. */
static double
processing_time(const WorkState *state)
{
	double		scan = work_time(state, WORK_SCAN);
	double		reading = state->counts[WORK_READING] /
		(double) USECS_PER_SEC / state->participants;

	return Max(scan - reading, scan / 10);
}

/*
 * Returns the number of rows: known, counted so far, or the planner's.  GIN
 * builds sort records instead.
 */
static double
expected_rows(const Model *model)
{
	const WorkState *state = model->state;

	if (state->total > 0 && model->job.key != JOB_EXTRACT)
		return state->total;
	if (model->scanned > 0 && state->counts[WORK_ROWS] > 0)
		return state->counts[WORK_ROWS] / model->scanned;
	return model->job.rows;
}

/* Returns the bytes of all runs that the scan and the sort write. */
static double
expected_runs(const Model *model)
{
	const WorkState *state = model->state;
	const Job  *job = &model->job;
	double		written = state->counts[WORK_TEMP];
	double		memory = entry_bytes;

	if (state->phase > WORK_SCAN && state->counts[WORK_RUNS] > 0)
		return state->counts[WORK_RUNS];
	if (state->phase == WORK_WRITE || job->blocks == 0)
		return written;
	if (job->key != JOB_FIXED || job->copies)
		memory += job->row_bytes;
	if (written == 0 && state->participants == 1 &&
		(state->phase > WORK_SCAN || job->rows * memory < state->about.budget))
		return 0;
	if (model->scanned > trusted && written > 0 && state->phase == WORK_SCAN)
		return written / model->scanned;
	return Max(cost_run_bytes(job), written);
}

static void
make_model(Model *model, const WorkState *state)
{
	const uint64 *counts = state->counts;
	Job		   *job = &model->job;

	memset(model, 0, sizeof(Model));
	model->state = state;
	*job = state->about.job;
	model->scanned = state->phase > WORK_SCAN ? 1.0 :
		ratio(counts[WORK_BLOCKS], job->blocks);
	model->written = state->phase < WORK_WRITE ? 0 :
		ratio(counts[WORK_READ], state->total);
	job->rows = expected_rows(model);
	job->run_bytes = expected_runs(model);
	job->merged_bytes =
		counts[state->phase == WORK_SCAN ? WORK_EXPECTED : WORK_TO_MERGE];
	job->participants = state->participants;
	if (job->blocks > 0 && model->scanned > 0)
	{
		job->factor = processing_time(state) / model->scanned /
			Max(cost_scan(job), 1e-9);
		model->is_known = true;
	}
}


/*
 * Time left
 */

/* Returns the seconds that bytes need at a rate; 0 if it has no limit. */
static double
limited(double bytes, double rate)
{
	return rate > 0 ? bytes / rate : 0;
}

/* Mix what was expected of a phase with what its part so far shows. */
static double
mix(double expected, double so_far, double done)
{
	double		trust = ratio(done, trusted);

	return done > 0 ? (1 - trust) * expected + trust * so_far / done : expected;
}

/* Returns the seconds left of a phase, of which a part is done. */
static double
phase_left(const Model *model, WorkPhase phase, double expected, double done)
{
	double		spent = work_time(model->state, phase);

	if (phase < model->state->phase)
		return 0;
	expected = done > 0 ? mix(expected, spent, done) * (1 - done) :
		expected - spent;
	return Max(expected, spent * overtime);
}

/* Returns the WAL of all work; the last phase shows what it really is. */
static double
expected_wal(const Model *model)
{
	double		wal = model->state->counts[WORK_WAL];
	double		expected = model->job.rows * model->job.row_bytes;
	double		written = model->job.key == JOB_NONE ? model->scanned :
		model->written;

	if (!model->job.logged)
		return wal;
	return mix(written > 0 ? Max(expected, wal) : wal + expected, wal,
			   written);
}

static double
scan_left(const Model *model)
{
	const WorkState *state = model->state;
	double		expected = work_time(state, WORK_SCAN) / model->scanned;
	double		reads = state->counts[WORK_IO] *
		(1 - model->scanned) / model->scanned;

	if (state->phase > WORK_SCAN)
		return 0;
	return Max(phase_left(model, WORK_SCAN, expected, model->scanned),
			   limited(reads, model->limits.io));
}

static double
sort_left(const Model *model)
{
	const Job  *job = &model->job;
	double		merged = model->state->counts[WORK_TEMP] - job->run_bytes;

	/* participants may begin to merge before the leader enters the phase */
	if (model->state->phase == WORK_SORT && job->merged_bytes > 0)
		return phase_left(model, WORK_SORT, cost_merge(job),
						  ratio(Max(merged, 0), job->merged_bytes));
	return phase_left(model, WORK_SORT, cost_sort(job) + cost_merge(job), 0);
}

static double
write_left(const Model *model, double wal)
{
	const WorkState *state = model->state;
	const LeftLimits *limits = &model->limits;
	double		spent = work_time(state, WORK_WRITE);
	double		to_come = 1 - model->written;
	double		left;

	left = phase_left(model, WORK_WRITE, model->is_known ?
					  cost_write(&model->job) : spent / model->written,
					  model->written);
	left = Max(left, limited(wal - state->counts[WORK_WAL], limits->wal));
	left = Max(left, limited(model->job.run_bytes * to_come, limits->io));
	if (limits->replicas && model->written > 0)
		left = Max(left, wall_time(state, WORK_WRITE) * to_come /
				   model->written);
	return left;
}

static double
rows_per_second(const Model *model)
{
	const WorkState *state = model->state;
	double		seconds = wall_time(state, state->phase);

	if (state->phase == WORK_SORT || seconds == 0)
		return -1;
	return (state->phase == WORK_SCAN ? model->job.rows * model->scanned :
			state->counts[WORK_READ]) / seconds;
}

void
left_forecast(const WorkState *state, const LeftLimits *limits,
			  LeftForecast *forecast)
{
	Model		model;
	uint64		now = state->begins[state->phase + 1].time;

	make_model(&model, state);
	model.limits = *limits;
	forecast->elapsed = (now - state->begins[WORK_SCAN].time) /
		(double) USECS_PER_SEC;
	forecast->rows_per_second = rows_per_second(&model);
	forecast->temp_bytes = state->counts[WORK_TEMP];
	if (state->phase < WORK_WRITE)
		forecast->temp_bytes = Max(forecast->temp_bytes, model.job.run_bytes +
								   model.job.merged_bytes);
	forecast->wal_bytes = expected_wal(&model);
	forecast->seconds_left = -1;
	forecast->percent = 0;
	if (!model.is_known && model.written == 0)
		return;
	forecast->seconds_left = scan_left(&model) + sort_left(&model) +
		write_left(&model, forecast->wal_bytes);
	forecast->percent = 100 * ratio(forecast->elapsed, forecast->elapsed +
									forecast->seconds_left);
}
