/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Sort with ptsort and workers.
 *
 * Every process loads its share of the rows, and waits until all processes
 * loaded their shares.  Then each process puts its rows into a sort, and
 * performs the sort.  Finally the leader reads the merged rows, or every
 * process reads slices of these rows.  The result's get_ms includes waiting
 * for other processes; the result's get_cpu does not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/barrier.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "ptsort.h"
#include "sortcompare.h"

/* Keys of the segment's table of contents. */
#define KEY_TEAM	1
#define KEY_SORT	2

/* The checksum of one slice. */
typedef struct Slice
{
	int64		n;
	uint64		checksum;
} Slice;

typedef struct Team
{
	Job			job;
	bool		slices;
	int			processes;
	Barrier		barrier;
	Share		shares[MAX_WORKERS + 1];
	Slice		read[FLEXIBLE_ARRAY_MEMBER];
} Team;

extern PGDLLEXPORT void sortcompare_worker(dsm_segment *segment, shm_toc *toc);

/* Adds a sort's statistics to the results of its process. */
static void
add_said(Share *share, PtSort *sort)
{
	Said		said;

	our_engine.say(sort, &said);
	share->temp += said.temp;
	share->comparisons += said.comparisons;
}

/* Sorts this process's share of the rows, and leaves a run. */
static void
leave_run(Team *team, PtSortShared *shared, Rows *rows, int number)
{
	Share	   *share = &team->shares[number];
	PtSortOptions options = {
		.role = PTSORT_WORKER,
		.budget = team->job.budget / team->processes,
		.shared = shared,
		.participant = number,
		.expected_tuples = team->job.told ? rows->n : 0
	};
	PtSort	   *sort;

	clock_start(&share->parts.put);
	sort = our_begin(&team->job, rows, &options);
	put_all(&our_engine, sort, &team->job, rows, &share->parts);
	clock_stop(&share->parts.put);

	clock_start(&share->parts.perform);
	ptsort_perform(sort);
	clock_stop(&share->parts.perform);
	add_said(share, sort);

	clock_start(&share->parts.end);
	ptsort_end(sort);
	clock_stop(&share->parts.end);
}

/* Claims and reads slices until none is left. */
static void
read_slices(Team *team, PtSort *sort, Reader *reader, Parts *parts)
{
	int			slice;

	while (ptsort_next_slice(sort, &slice))
	{
		reader->n = 0;
		reader->checksum = 0;
		read_all(&our_engine, sort, &team->job, reader, parts);
		team->read[slice].n = reader->n;
		team->read[slice].checksum = reader->checksum;
	}
}

/* Merges runs and reads rows, in the leader or in all processes. */
static void
read_runs(Team *team, const PtSortOptions *options, Rows *rows, int number,
		  Reader *reader)
{
	Share	   *share = &team->shares[number];
	PtSort	   *sort;

	clock_start(&share->parts.get);
	sort = our_begin(&team->job, rows, options);
	ptsort_perform(sort);
	if (team->slices)
		read_slices(team, sort, reader, &share->parts);
	else
		read_all(&our_engine, sort, &team->job, reader, &share->parts);
	clock_stop(&share->parts.get);
	add_said(share, sort);

	clock_start(&share->parts.end);
	ptsort_end(sort);
	clock_stop(&share->parts.end);
}

/* Does the work of one process, in a separate memory context. */
static void
take_part(Team *team, PtSortShared *shared, int number,
		  ParallelContext *workers, Reader *reader)
{
	Rows	   *rows = rows_load(&team->job, number, team->processes);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortcompare sort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	PtSortOptions options = {
		.role = number > 0 ? PTSORT_SLICE :
		team->slices ? PTSORT_SLICE_LEADER : PTSORT_LEADER,
		.budget = team->slices ? team->job.budget / team->processes :
		team->job.budget,
		.shared = shared,
		.participants = number == 0 ? team->processes : 0,
		.workers = workers
	};

	reader_open(reader, &team->job, rows);
	BarrierArriveAndWait(&team->barrier, PG_WAIT_EXTENSION);
	leave_run(team, shared, rows, number);
	if (number == 0 || team->slices)
		read_runs(team, &options, rows, number, reader);
	reader_close(reader);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	rows_unload(rows);
}

/*
 * sortcompare_worker is the workers' entry point.  The server looks up this
 * function by name.
 */
void
sortcompare_worker(dsm_segment *segment, shm_toc *toc)
{
	Team	   *team = shm_toc_lookup(toc, KEY_TEAM, false);
	PtSortShared *shared = shm_toc_lookup(toc, KEY_SORT, false);
	Reader		reader;

	ptsort_shared_attach(shared, segment);
	take_part(team, shared, ParallelWorkerNumber + 1, NULL, &reader);
}

static void *
add_piece(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *piece = shm_toc_allocate(pcxt->toc, size);

	shm_toc_insert(pcxt->toc, key, piece);
	return piece;
}

/* Size of a Team with room for all slices. */
static Size
team_size(int processes)
{
	return add_size(offsetof(Team, read),
					mul_size(ptsort_shared_slices(processes), sizeof(Slice)));
}

/* Joins the checksums of all slices. */
static void
join_slices(Team *team, Reader *reader)
{
	reader->n = 0;
	reader->checksum = 0;
	for (int i = 0; i < ptsort_shared_slices(team->processes); i++)
		reader_join(reader, team->read[i].checksum, team->read[i].n);
}

/*
 * sort_in_parallel sorts the job's table with the given number of workers.  It
 * stores each process's results in shares[] (shares[0] is the leader's), and
 * the checksum of all rows in *reader.
 */
void
sort_in_parallel(const Job *job, int workers, bool slices, Share *shares,
				 Reader *reader)
{
	int			processes = workers + 1;
	Size		sort_size = ptsort_shared_estimate(processes);
	ParallelContext *pcxt;
	PtSortShared *shared;
	Team	   *team;

	EnterParallelMode();
	pcxt = CreateParallelContext("sortcompare", "sortcompare_worker", workers);
	shm_toc_estimate_chunk(&pcxt->estimator, team_size(processes));
	shm_toc_estimate_chunk(&pcxt->estimator, sort_size);
	shm_toc_estimate_keys(&pcxt->estimator, 2);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
		elog(ERROR, "could not get a segment of shared memory");

	team = add_piece(pcxt, KEY_TEAM, team_size(processes));
	memset(team, 0, team_size(processes));
	team->job = *job;
	team->slices = slices;
	team->processes = processes;
	BarrierInit(&team->barrier, processes);
	shared = add_piece(pcxt, KEY_SORT, sort_size);
	ptsort_shared_init(shared, processes, pcxt->seg);

	LaunchParallelWorkers(pcxt);
	if (pcxt->nworkers_launched < workers)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("only %d of %d workers could be started",
						pcxt->nworkers_launched, workers)));
	take_part(team, shared, 0, pcxt, reader);
	WaitForParallelWorkersToFinish(pcxt);
	if (slices)
		join_slices(team, reader);
	memcpy(shares, team->shares, processes * sizeof(Share));
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}
