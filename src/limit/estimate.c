/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  How long a build or copy will still take; see estimate.h.
 *
 * The model.  The time of each phase is what a cost in ns of one machine says,
 * times a factor that the scan shows: what processors spend on it, without
 * reading blocks, divided by its cost.  It contains the speed of this machine,
 * and what is special about the keys.  The time without reading, divided by
 * that of the processors, is how much other processes slow this work down.
 *
 *		scan	blocks and rows; with runs, also sorting and writing them
 *		sort	without runs, sorting all rows; with runs, only the last run of
 *				each participant
 *		write	rows, and bytes of the new relation
 *
 * Participants divide the costs of the scan and the sort, but not those of the
 * bytes, because all write the same WAL and the same file.  Keys that make the
 * scan slow do not make bytes slow, so their factor has limits.  In each phase,
 * the time left follows from the part that is done: in the scan the blocks, in
 * passes of merges the bytes, and in the last phase the rows.  In the last
 * phase, the first rows gradually replace what the model says.
 *
 * The leader's about.factor says how long the phases after the scan took in
 * earlier work (work_factor).
 *
 * Pauses for limits are not part of these times.  A phase takes at least the
 * bytes to come divided by the rate that limits them.  The speed of a replica
 * is unknown: if its lag is limited, the estimate assumes that the pauses of
 * the last phase go on.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "limit/estimate.h"

/*
 * Costs in ns, measured on one machine for int8, md5 in "C", md5 in en_US
 * and points.  A faster or slower machine has other costs, but nearly the same
 * ratios.
 */
static const double cost_put[] = {
	[WORK_FIXED] = 35,
	[WORK_BYTES] = 65,
	[WORK_COLLATED] = 125,
	[WORK_SPLIT] = 130
};
static const double cost_sort[] = {
	[WORK_FIXED] = 27,
	[WORK_BYTES] = 36,
	[WORK_COLLATED] = 34,
	[WORK_SPLIT] = 36
};
static const double cost_read[] = {
	[WORK_FIXED] = 16,
	[WORK_BYTES] = 68,
	[WORK_COLLATED] = 68,
	[WORK_SPLIT] = 1300
};
static const double cost_block = 400;	/* without reading it */
static const double cost_run_byte = 1.8;
static const double cost_merged_byte = 8;

/* A byte of a new relation, with WAL or without */
static const double cost_logged_byte[] = {
	[WORK_INDEX] = 1.1,
	[WORK_COPY] = 1.75
};
static const double cost_file_byte[] = {
	[WORK_INDEX] = 0.6,
	[WORK_COPY] = 1
};

static const double ns_per_s = 1e9;

/* Limits of the factor for bytes */
static const double least_factor = 0.7;
static const double most_factor = 1.5;

/* Other processes are not believed to slow work down by more than this. */
static const double most_slowdown = 8;

/* Part of a row's bytes that is in a run: a key of fixed length is packed. */
static const double run_part[] = {
	[WORK_FIXED] = 0.4,
	[WORK_BYTES] = 0.8,
	[WORK_COLLATED] = 0.8,
	[WORK_SPLIT] = 0.6
};

/* Memory of an entry, and bytes of a short run of a team with workers */
static const double entry_bytes = 20;
static const double short_run_bytes = 8 * 1024 * 1024;

/* Part of the rows from which the last phase predicts its own time */
static const double trusted = 0.15;

/* A phase that takes longer than expected still needs this part of its time. */
static const double overtime = 0.1;

/* Model: the state, and what follows from it */
typedef struct Model
{
	const WorkState *state;
	const PaceLimits *limits;
	double		rows;
	double		scanned;		/* part of the blocks */
	double		temp_bytes;		/* of all runs, merges not included */
	double		relation_bytes;
	double		factor;			/* processors' seconds for a cost of 1 s;
								 * negative: unknown */
	double		slowdown;		/* at least 1 */
} Model;

static double
ratio(double part, double whole)
{
	return whole > 0 ? Min(part / whole, 1.0) : 1.0;
}

/*
 * Returns a value at the end of a phase: the value at the beginning of the next
 * phase or, if the phase goes on, the value now.
 */
static uint64
at_end(const WorkState *state, WorkPhase phase,
	   const uint64 at_begin[NUM_WORK_PHASES], uint64 now)
{
	for (int i = phase + 1; i < NUM_WORK_PHASES; i++)
	{
		if (state->since[i] != 0)
			return at_begin[i];
	}
	return now;
}

/* Returns the seconds since a phase began, until it ended. */
static double
wall_time(const WorkState *state, WorkPhase phase)
{
	uint64		end = at_end(state, phase, state->since, state->now);

	if (state->since[phase] == 0)
		return 0;
	return end > state->since[phase] ?
		(end - state->since[phase]) / (double) USECS_PER_SEC : 0;
}

/* Returns this time without the pauses of the average participant. */
static double
work_time(const WorkState *state, WorkPhase phase)
{
	uint64		paused = at_end(state, phase, state->paused,
								state->counts[WORK_PAUSED]);

	if (state->since[phase] == 0)
		return 0;
	return Max(wall_time(state, phase) - (paused - state->paused[phase]) /
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

/* Returns the processors' time of the scan, of the average participant. */
static double
processors_time(const WorkState *state)
{
	return at_end(state, WORK_SCAN, state->cpu, state->counts[WORK_CPU]) /
		(double) USECS_PER_SEC / state->participants;
}


/*
 * Costs
 */

static bool
has_runs(const Model *model)
{
	return model->temp_bytes > 0 || model->state->about.blocks == 0;
}

/* Returns the number of rows: known, counted so far, or the planner's. */
static double
expected_rows(const Model *model)
{
	const WorkState *state = model->state;

	if (state->total > 0)
		return state->total;
	if (model->scanned > 0 && state->counts[WORK_ROWS] > 0)
		return state->counts[WORK_ROWS] / model->scanned;
	return state->about.rows;
}

/* Returns the bytes of all runs that the scan and the sort write. */
static double
expected_runs(const Model *model)
{
	const WorkState *state = model->state;
	const WorkAbout *about = &state->about;
	double		written = state->counts[WORK_TEMP];
	double		row_bytes = about->row_bytes * run_part[about->order];
	double		memory = entry_bytes;

	if (state->phase > WORK_SCAN && state->counts[WORK_RUNS] > 0)
		return state->counts[WORK_RUNS];
	if (state->phase == WORK_WRITE || about->blocks == 0)
		return written;
	if (about->order != WORK_FIXED || about->kind == WORK_COPY)
		memory += about->row_bytes;
	if (about->kind == WORK_COPY)
		row_bytes = about->row_bytes;
	if (written == 0 && state->participants == 1 &&
		(state->phase > WORK_SCAN || model->rows * memory < about->budget))
		return 0;
	/* from the first runs on, they show how long a row is */
	if (model->scanned > 0.3 && written > 0 && state->phase == WORK_SCAN)
		return written / model->scanned;
	return Max(model->rows * row_bytes, written);
}

static double
scan_cost(const Model *model)
{
	const WorkAbout *about = &model->state->about;
	double		cost = about->blocks * cost_block +
		model->rows * cost_put[about->order];

	if (has_runs(model))
		cost += model->rows * cost_sort[about->order] +
			model->temp_bytes * cost_run_byte;
	return cost / model->state->participants;
}

/* Returns the bytes that passes of merges write, expected or known. */
static double
bytes_to_merge(const WorkState *state)
{
	return state->counts[state->phase == WORK_SCAN ?
						 WORK_EXPECTED : WORK_TO_MERGE];
}

static double
merge_cost(const Model *model)
{
	return bytes_to_merge(model->state) * cost_merged_byte /
		model->state->participants;
}

static double
sort_cost(const Model *model)
{
	const WorkAbout *about = &model->state->about;
	int			participants = model->state->participants;
	double		cost = model->rows * cost_sort[about->order] / participants;

	if (about->blocks == 0)
		return 0;
	if (has_runs(model))
		cost *= ratio(short_run_bytes, model->temp_bytes / participants);
	return cost;
}

static double
ns_of_write(const WorkAbout *about, double rows, int participants,
			double factor)
{
	return rows * cost_read[about->order] * factor / participants +
		rows * about->row_bytes *
		(about->logged ? cost_logged_byte : cost_file_byte)[about->kind] *
		Min(Max(factor, least_factor), most_factor);
}

double
estimate_write(const WorkAbout *about, double rows, int participants)
{
	return ns_of_write(about, rows, participants, 1) / ns_per_s;
}

double
estimate_runs(double bytes)
{
	return bytes * cost_run_byte / ns_per_s;
}

/* Unlike the other costs, this is the processors' time on this machine. */
static double
write_cost(const Model *model)
{
	const WorkAbout *about = &model->state->about;

	return ns_of_write(about, model->rows, model->state->participants,
					   model->factor);
}

static void
make_model(Model *model, const WorkState *state, const PaceLimits *limits)
{
	const WorkAbout *about = &state->about;

	model->state = state;
	model->limits = limits;
	model->scanned = state->phase > WORK_SCAN ? 1.0 :
		ratio(state->counts[WORK_BLOCKS], about->blocks);
	model->rows = expected_rows(model);
	model->temp_bytes = expected_runs(model);
	model->relation_bytes = model->rows * about->row_bytes;
	model->factor = -1;
	model->slowdown = 1;
	if (about->blocks > 0 && model->scanned > 0)
	{
		double		time = processing_time(state);

		model->slowdown = Min(Max(time / Max(processors_time(state), 1e-6), 1),
							  most_slowdown);
		model->factor = time / model->slowdown / model->scanned * ns_per_s /
			Max(scan_cost(model), 1);
	}
}


/*
 * Time left
 */

/* Returns the seconds that bytes need at a rate; 0 if it has no limit. */
static double
limited(const Model *model, PaceReason reason, double bytes)
{
	int64		rate = model->limits->each[reason];

	return rate > 0 ? bytes / rate : 0;
}

/* Returns what is left of an expected time, of which some is over. */
static double
left_of(double expected, double spent)
{
	return Max(expected - spent, spent * overtime);
}

/* Returns the seconds that work after the scan takes, given its ns. */
static double
seconds(const Model *model, double ns)
{
	return ns / ns_per_s * model->slowdown * model->state->about.factor;
}

static double
scan_left(const Model *model)
{
	const WorkState *state = model->state;
	double		to_come = (1 - model->scanned) / model->scanned;

	if (state->phase > WORK_SCAN)
		return 0;
	return Max(work_time(state, WORK_SCAN) * to_come,
			   limited(model, PACE_IO, state->counts[WORK_IO] * to_come));
}

static double
sort_left(const Model *model)
{
	const WorkState *state = model->state;
	double		spent = work_time(state, WORK_SORT);
	double		merges = state->counts[WORK_TO_MERGE];
	double		merged = state->counts[WORK_TEMP] - model->temp_bytes;
	double		expected = merge_cost(model);
	double		done;

	if (state->phase > WORK_SORT)
		return 0;
	if (state->phase == WORK_SCAN || merges == 0)
		return left_of(seconds(model, model->factor *
							   (sort_cost(model) + expected)), spent);
	/* participants may begin to merge before the leader enters the phase */
	done = ratio(Max(merged, 0), merges);
	expected = seconds(model, model->factor * expected);
	if (done > 0)
		expected = Max(expected, spent / done);
	return Max(expected * (1 - done), spent * overtime);
}

/* Returns the WAL of all work; the last phase shows what it really is. */
static double
expected_wal(const Model *model, double done)
{
	const WorkState *state = model->state;
	double		trust = ratio(done, trusted);
	double		wal = state->counts[WORK_WAL];

	if (!state->about.logged)
		return wal;
	if (done > 0)
		return (1 - trust) * Max(model->relation_bytes, wal) +
			trust * wal / done;
	return wal + model->relation_bytes;
}

static double
write_left(const Model *model, double done, double wal)
{
	const WorkState *state = model->state;
	double		spent = work_time(state, WORK_WRITE);
	double		trust = ratio(done, trusted);
	double		expected = seconds(model, write_cost(model));
	double		left;

	if (model->factor < 0 && done > 0)
		expected = spent / done;
	if (state->phase < WORK_WRITE)
		left = expected;
	else if (done > 0)
		left = ((1 - trust) * expected + trust * spent / done) * (1 - done);
	else
		left = left_of(expected, spent);
	left = Max(left, limited(model, PACE_WAL, wal - state->counts[WORK_WAL]));
	left = Max(left, limited(model, PACE_IO, model->temp_bytes * (1 - done)));
	if (model->limits->each[PACE_REPLICAS] > 0 && done > 0)
		left = Max(left, wall_time(state, WORK_WRITE) * (1 - done) / done);
	return left;
}

static double
rows_per_second(const Model *model)
{
	const WorkState *state = model->state;
	double		seconds = wall_time(state, state->phase);

	if (state->phase == WORK_SORT || seconds == 0)
		return -1;
	return (state->phase == WORK_SCAN ? model->rows * model->scanned :
			state->counts[WORK_READ]) / seconds;
}

void
estimate_work(const WorkState *state, const PaceLimits *limits,
			  WorkEstimate *estimate)
{
	Model		model;
	double		done;

	make_model(&model, state, limits);
	done = state->phase == WORK_WRITE ?
		ratio(state->counts[WORK_READ], state->total) : 0;
	estimate->elapsed = state->now > state->since[WORK_SCAN] ?
		(state->now - state->since[WORK_SCAN]) / (double) USECS_PER_SEC : 0;
	estimate->rows_per_second = rows_per_second(&model);
	estimate->temp_bytes = Max(model.temp_bytes + bytes_to_merge(state),
							   state->counts[WORK_TEMP]);
	if (state->phase == WORK_WRITE)
		estimate->temp_bytes = state->counts[WORK_TEMP];
	estimate->wal_bytes = expected_wal(&model, done);
	estimate->seconds_left = -1;
	estimate->percent = 0;
	if (model.factor < 0 && done == 0)
		return;
	estimate->seconds_left = scan_left(&model) + sort_left(&model) +
		write_left(&model, done, estimate->wal_bytes);
	estimate->percent = 100 * ratio(estimate->elapsed, estimate->elapsed +
									estimate->seconds_left);
}

void
estimate_learn(void)
{
	const PaceLimits limits = {0};
	WorkState	state;
	Model		model;
	double		spent;
	double		expected;

	if (ptsort_pace.shared == NULL)
		return;
	work_read(&ptsort_pace.shared->work, &state);
	if (state.about.blocks == 0 || state.phase != WORK_WRITE ||
		state.counts[WORK_PAUSED] > 0)
		return;
	state.about.factor = 1;
	make_model(&model, &state, &limits);
	spent = wall_time(&state, WORK_SORT) + wall_time(&state, WORK_WRITE);
	expected = seconds(&model, model.factor *
					   (sort_cost(&model) + merge_cost(&model)) +
					   write_cost(&model));
	if (model.factor > 0 && expected > 0)
		work_remember_factor(model.relation_bytes, spent / expected);
}
