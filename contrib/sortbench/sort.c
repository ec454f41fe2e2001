/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Run a sort, from opening to publishing files.
 *
 * ptsort_parallel() runs the parallel part of a sort.  Every participant claims
 * pieces of the input, one at a time, and puts their records into the sort.
 * Then every participant claims slices of the result, merges each slice, and
 * writes the slice to its place in the output.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort.h"

/*
 * Distance in bytes from the start of a claimed piece to the start of the
 * bytes that the kernel reads ahead.
 */
#define READ_AHEAD		(4 * PIECE_SIZE)

/* Minimum number of pieces for each participant, on average. */
#define PIECES_EACH		8

extern PGDLLEXPORT const PtParallelOps *sortbench_ops(void);

static const Way *
way_of(const Job *job)
{
	return job->pointers ? &pointer_way : &image_way;
}

/* Number of bytes that a participant reads at a time, and its buffer's size. */
static int64
read_size(const Job *job)
{
	return Max(UNIT_SIZE, job->input.size);
}

/* Size of the buffers of all participants, in bytes. */
static int64
buffers(const Job *job, int participants)
{
	int			record_size = job->input.size;

	return participants *
		(writer_memory(&job->output, record_size) + read_size(job));
}

/* sort_least_memory returns the minimum memory limit of a job, in bytes. */
int64
sort_least_memory(const Job *job)
{
	int			participants = job->workers + 1;
	int64		memory = buffers(job, participants) +
		participants * (int64) PTSORT_MIN_BUDGET;

	return memory + (job->pointers ? pointer_memory(&job->input) : 0);
}

/* Number of bytes that buffers and records leave for the sort. */
static int64
sort_budget(const Job *job)
{
	int64		rest = job->memory - buffers(job, job->workers + 1);

	return rest - (job->pointers ? job->input.volume.size : 0);
}

/* Returns this participant's Player.  The first call creates the Player. */
static Player *
player_of(PtParallel *parallel)
{
	Player	   *player = parallel->local;
	const Job  *job = parallel->arg;

	if (player != NULL)
		return player;
	player = palloc0(sizeof(Player));
	player->job = job;
	player->task = parallel->shared;
	player->diary = &player->task->diaries[parallel->participant];
	player->buffer = palloc(read_size(job));
	if (job->arena.size > 0)
		player->arena = arena_map(&job->arena);
	parallel->local = player;
	return player;
}

static PtSort *
begin(PtParallel *parallel, const PtSortOptions *given)
{
	const Job  *job = parallel->arg;
	PtSortOptions options = *given;

	options.expected_tuples = job->input.n / Max(parallel->participants, 1);
	return way_of(job)->begin(job, &options);
}

/* Size of a piece in bytes, small enough that each participant gets pieces. */
static int64
piece_size(const Job *job)
{
	return Min(PIECE_SIZE,
			   job->input.volume.size / (PIECES_EACH * (job->workers + 1)));
}

static void
fill(PtParallel *parallel, PtSort *sort)
{
	Player	   *player = player_of(parallel);
	const Records *records = &player->job->input;
	int64		piece = records_in(records, piece_size(player->job));
	int64		unit = records_in(records, read_size(player->job));
	int64		first;

	if (parallel->is_leader)
		diary_end(&last_report.diaries[0]);
	else
		diary_launched(player->diary, player->job->launched);
	diary_turn(player->diary, PHASE_READ);
	disk_open(&player->input, &records->volume, O_RDONLY);
	while ((first = pg_atomic_fetch_add_u64(&player->task->next_record,
											piece)) < records->n)
	{
		int64		end = Min(first + piece, records->n);

		disk_expect(&player->input,
					first * records->size + READ_AHEAD, PIECE_SIZE);
		if (player->arena != NULL)
			arena_fill(player->arena + first * records->size,
					   (end - first) * records->size);
		for (int64 at = first; at < end; at += unit)
			way_of(player->job)->put(player, sort, at, Min(unit, end - at));
		diary_io(player->diary, 0, (end - first) * records->size);
	}
	diary_io(player->diary, player->input.wait_ms, 0);
	disk_close(&player->input);
	diary_turn(player->diary, PHASE_SORT);
}

static void
read_slices(PtParallel *parallel, PtSort *sort)
{
	Player	   *player = player_of(parallel);
	const Job  *job = player->job;
	int			slice;

	diary_turn(player->diary, PHASE_WRITE);
	disk_open(&player->output, &job->output, O_WRONLY);
	writer_init(&player->writer, &player->output, job->input.size);
	while (ptsort_next_slice(sort, &slice))
	{
		writer_seek(&player->writer,
					ptsort_slice_start(sort) * job->input.size);
		way_of(job)->write(player, sort);
	}
	writer_finish(&player->writer);
	diary_io(player->diary, player->output.wait_ms, player->writer.written);
	disk_close(&player->output);
	diary_end(player->diary);
	if (parallel->is_leader)
		diary_turn(&last_report.diaries[0], PHASE_END);
}

static Size
shared_size(PtParallel *parallel, int processes, int slices)
{
	return add_size(offsetof(Task, diaries),
					mul_size(processes, sizeof(Diary)));
}

static void
shared_init(PtParallel *parallel, int processes, int slices)
{
	Task	   *task = parallel->shared;

	pg_atomic_init_u64(&task->next_record, 0);
}

/* sortbench_ops returns the callbacks; workers find this function by name. */
const PtParallelOps *
sortbench_ops(void)
{
	static const PtParallelOps ops = {
		.begin = begin,
		.fill = fill,
		.read_slices = read_slices,
		.shared_size = shared_size,
		.shared_init = shared_init
	};

	return &ops;
}

/* Enters the sort's result into the report. */
static void
note_result(const Job *job, const PtParallelResult *result)
{
	Report	   *report = &last_report;

	report->records = job->input.n;
	report->bytes = job->input.volume.size;
	report->participants = result->participants;
	report->memory_allowed = job->memory;
	report->memory_used = buffers(job, result->participants);
	if (job->pointers)
		report->memory_used += job->input.volume.size;
	report->ndiaries = result->workers_launched + 1;
	for (int i = 0; i < report->ndiaries; i++)
	{
		report->memory_used += result->stats[i].sort.peak_memory;
		report->temp_bytes += result->stats[i].sort.temp_bytes;
	}
	report->passes = job->pointers || report->temp_bytes == 0 ? 1 : 2;
}

/* Copies the phases that happened, and leaves the rest of "into" unchanged. */
static void
note_diary(Diary *into, const Diary *from)
{
	for (int phase = 0; phase < PHASES; phase++)
	{
		if (from->spans[phase].happened)
			into->spans[phase] = from->spans[phase];
	}
}

/* Sorts the records, and fills in the report. */
static void
run_sort(Job *job)
{
	PtParallelRequest request = {
		.library = "$libdir/sortbench",
		.ops_function = "sortbench_ops",
		.arg = job,
		.arg_size = sizeof(Job),
		.workers = job->workers,
		.budget = sort_budget(job)
	};
	PtParallel *parallel = ptsort_parallel(&request);
	const Task *task = parallel->shared;
	PtParallelResult *result;

	for (int i = 0; i <= job->workers; i++)
		note_diary(&last_report.diaries[i], &task->diaries[i]);
	result = ptsort_parallel_end(parallel);
	note_result(job, result);
}

/*
 * sort_files runs a job, and leaves a report in last_report.  The caller must
 * check the job's files first.
 */
void
sort_files(Job *job, Output *output)
{
	Diary	   *diary = &last_report.diaries[0];

	memset(&last_report, 0, sizeof(Report));
	last_report.start = clock_ms();
	diary_turn(diary, PHASE_OPEN);
	output_create(output);
	if (job->pointers && job->input.n > 0)
		arena_create(&job->arena, job->input.volume.size);
	diary_turn(diary, PHASE_LAUNCH);
	job->launched = clock_ms();
	run_sort(job);
	if (job->arena.size > 0)
		arena_close(&job->arena);
	diary_turn(diary, PHASE_CLOSE);
	output_publish(output);
	diary_end(diary);
	last_report.end = clock_ms();
}
