/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  Communication between the participants of one parallel sort.
 *
 * Only this file uses a spinlock or a condition variable.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "sort/shared.h"
#include "stamp.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "text/text_rank.h"
#include "utils/wait_event.h"

/*
 * Milliseconds between a leader's checks that its workers still run, and for
 * which a worker waits for an abandoning leader to terminate it.
 */
#define CHECK_MS	1000

/* Any process may read a slot that a participant filled and marked 'done'. */
typedef struct SharedSlot
{
	bool		joined;			/* protected by mutex */
	bool		done;			/* protected by mutex */
	int			nruns;			/* see shared_own_runs */
	PtSortStats stats;
} SharedSlot;

typedef struct SharedState
{
	int			joined;			/* participants that began their sort */
	int			done;			/* participants that announced their runs */
	bool		collected;		/* the leader collected all runs */
	bool		learning;		/* a participant learns for all participants */
	bool		published;		/* learning ended, with or without a result */
	int			learned;		/* size of the result of learning, or 0 */
	bool		planned;		/* the leader planned the slices */
	int			next_slice;		/* the first unclaimed slice */
	bool		failed;			/* the sort failed: see sort_failed */
	bool		abandoned;		/* the leader detached from the segment */
} SharedState;

struct PtSortShared
{
	BuildStamp	stamp;			/* must be first; immutable after init */
	int			processes;		/* number of slots; immutable after init */
	TextDistrust distrusted;	/* the leader's list; immutable after init */
	Oid			contradicted;	/* collation that a worker reported */
	SharedFileSet fileset;		/* has its own lock */
	ConditionVariable announced;	/* broadcast when the state changes */
	slock_t		mutex;			/* protects 'state' */
	SharedState state;

	/*
	 * The runs follow the slots.  A participant writes its runs and its slot
	 * together.  The slices (shared_slice) come last: the leader writes them
	 * before it sets 'planned', and all participants read them afterwards.
	 */
	SharedSlot	slots[FLEXIBLE_ARRAY_MEMBER];
};

int
shared_slices(int processes)
{
	if (processes < 1 || processes > PTSORT_MAX_PROCESSES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have %d processes", processes),
				 errdetail("A parallel sort has at least 1 and at most %d processes.",
						   PTSORT_MAX_PROCESSES),
				 errhint("Count the leader's process and all workers that may be launched.")));
	return processes <= 64 ? SLICES_EACH * processes : Max(512, processes);
}

/* Maximum number of runs of all participants; each may always have one run. */
#define MAX_SHARED_RUNS	128

int
shared_most_runs(int processes)
{
	return Max(MAX_SHARED_RUNS / processes, 1);
}

/* Returns the number of runs for which the shared block has room. */
static Size
all_runs(int processes)
{
	return mul_size(shared_most_runs(processes), processes);
}

static Size
slots_size(int processes)
{
	return MAXALIGN(add_size(offsetof(PtSortShared, slots),
							 mul_size(sizeof(SharedSlot), processes)));
}

static Size
runs_size(int processes)
{
	return MAXALIGN(mul_size(sizeof(RunDesc), all_runs(processes)));
}

/* Number of integers for a slice: a position for each run, and the start. */
static Size
slice_row(int processes)
{
	return add_size(all_runs(processes), 1);
}

Size
shared_estimate(int processes)
{
	/* shared_slices comes first, because it checks the number of processes */
	int			nslices = shared_slices(processes);
	Size		slices = mul_size(mul_size(nslices + 1, slice_row(processes)),
								  sizeof(int64));

	return add_size(add_size(slots_size(processes), runs_size(processes)),
					slices);
}

RunDesc *
shared_own_runs(PtSortShared *shared, int participant)
{
	RunDesc    *runs = (RunDesc *)
		((char *) shared + slots_size(shared->processes));

	return runs + participant * shared_most_runs(shared->processes);
}

int64 *
shared_slice(PtSortShared *shared, int slice)
{
	int			processes = shared->processes;
	int64	   *slices = (int64 *)
		((char *) shared + slots_size(processes) + runs_size(processes));

	Assert(slice >= 0 && slice <= shared_slices(processes));
	return slices + slice * slice_row(processes);
}

int64 *
shared_slice_start(PtSortShared *shared, int slice)
{
	return &shared_slice(shared, slice)[all_runs(shared->processes)];
}

static SharedState
look(PtSortShared *shared)
{
	SharedState state;

	SpinLockAcquire(&shared->mutex);
	state = shared->state;
	SpinLockRelease(&shared->mutex);
	return state;
}

/*
 * Raise an error, because the leader's transaction ended: no process will plan
 * slices or learn.  The leader terminates the workers that it knows: wait for
 * that.  It may not know all, because RegisterDynamicBackgroundWorker() can run
 * out of memory after it registered a worker.
 */
static void
report_abandoned(void)
{
	for (int i = 0; i < CHECK_MS / 10; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10 * 1000L);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("parallel sort was abandoned by its leader")));
}

/* True if any launched worker is running or will start. */
static bool
workers_alive(ParallelContext *workers)
{
	for (int i = 0; i < workers->nworkers_launched; i++)
	{
		pid_t		pid;
		BackgroundWorkerHandle *handle = workers->worker[i].bgwhandle;

		if (handle != NULL &&
			GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
			return true;
	}
	return false;
}

/* CHECK_FOR_INTERRUPTS raises any error of a worker. */
void
shared_wait_for(PtSortShared *shared, bool (*happened) (void *arg), void *arg,
				ParallelContext *workers)
{
	ConditionVariablePrepareToSleep(&shared->announced);
	while (!happened(arg))
	{
		bool		timed_out;

		CHECK_FOR_INTERRUPTS();
		if (look(shared).abandoned)
			report_abandoned();
		timed_out =
			ConditionVariableTimedSleep(&shared->announced, CHECK_MS,
										WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
		if (timed_out && workers && !workers_alive(workers) && !happened(arg))
		{
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("parallel worker ended before it finished its sort"),
					 errhint("More details may be available in the server log.")));
		}
	}
	ConditionVariableCancelSleep();
}

void
shared_wake(PtSortShared *shared)
{
	ConditionVariableBroadcast(&shared->announced);
}

void
shared_publish_plan(PtSortShared *shared, bool failed)
{
	fault_point("shared: plan");
	SpinLockAcquire(&shared->mutex);
	shared->state.planned = true;
	shared->state.failed |= failed;
	SpinLockRelease(&shared->mutex);
	shared_wake(shared);
}

static bool
is_planned(void *arg)
{
	return look(arg).planned;
}

void
shared_wait_plan(PtSortShared *shared)
{
	shared_wait_for(shared, is_planned, shared, NULL);
}

int
shared_claim_slice(PtSortShared *shared)
{
	int			nslices = shared_slices(shared->processes);
	int			slice = -1;

	SpinLockAcquire(&shared->mutex);
	if (!shared->state.failed && shared->state.next_slice < nslices)
		slice = shared->state.next_slice++;
	SpinLockRelease(&shared->mutex);
	return slice;
}

bool
shared_has_failed(PtSortShared *shared)
{
	return look(shared).failed;
}

/* on_dsm_detach callback of the leader: tells workers that the leader ended. */
static void
abandon(dsm_segment *segment, Datum arg)
{
	PtSortShared *shared = (PtSortShared *) DatumGetPointer(arg);

	SpinLockAcquire(&shared->mutex);
	shared->state.abandoned = true;
	SpinLockRelease(&shared->mutex);
	shared_wake(shared);

	/* a worker's error may end the statement, so distrust the collation here */
	if (OidIsValid(shared->contradicted))
		(void) text_rank_distrust(shared->contradicted);
}

/* on_dsm_detach callback of workers: stop reporting to the segment. */
static void
stop_reports(dsm_segment *segment, Datum arg)
{
	ptsort_report_to = NULL;
}

void
shared_init(PtSortShared *shared, int processes, dsm_segment *segment)
{
	memset(shared, 0, shared_estimate(processes));
	stamp_set(&shared->stamp);
	shared->distrusted = ptsort_distrusted;
	shared->processes = processes;
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->announced);
	SharedFileSetInit(&shared->fileset, segment);
	if (segment != NULL)
		on_dsm_detach(segment, abandon, PointerGetDatum(shared));
}

void
shared_attach(PtSortShared *shared, dsm_segment *segment)
{
	stamp_check(&shared->stamp);
	SharedFileSetAttach(&shared->fileset, segment);

	/* words would differ if a worker trusted more collations than the leader */
	ptsort_distrusted = shared->distrusted;
	ptsort_report_to = &shared->contradicted;
	on_dsm_detach(segment, stop_reports, (Datum) 0);
}

void
shared_join(PtSortShared *shared, int participant)
{
	bool		taken;
	bool		collected;

	if (participant < 0 || participant >= shared->processes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("participant number %d of parallel sort is out of range",
						participant),
				 errdetail("The shared block has room for the numbers 0 to %d.",
						   shared->processes - 1)));

	SpinLockAcquire(&shared->mutex);
	taken = shared->slots[participant].joined;
	collected = shared->state.collected;
	if (!taken)
	{
		shared->slots[participant].joined = true;
		shared->state.joined++;
	}
	SpinLockRelease(&shared->mutex);

	if (collected)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("participant %d began too late to take part in parallel sort",
						participant),
				 errdetail("The leader had already collected the runs.")));
	if (taken)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort already has a participant number %d",
						participant),
				 errhint("Set PtSortOptions.participant to 0 in the leader's process and to ParallelWorkerNumber + 1 in workers.")));
}

/* File for the result of learning, whose size depends on the data. */
#define LEARNED_FILE	"ptsort.learned"

bool
shared_claim_learning(PtSortShared *shared)
{
	bool		claimed;

	SpinLockAcquire(&shared->mutex);
	claimed = !shared->state.learning;
	shared->state.learning = true;
	SpinLockRelease(&shared->mutex);
	return claimed;
}

void
shared_publish_learned(PtSortShared *shared, const StringInfoData *learned)
{
	fault_point("shared: publish learned");
	if (learned->len > 0)
	{
		TapeFile   *file = tapefile_open(&shared->fileset, LEARNED_FILE, true);

		tapefile_write(file, learned->data, learned->len, 0);
		tapefile_close(file);
	}
	SpinLockAcquire(&shared->mutex);
	shared->state.published = true;
	shared->state.learned = learned->len;
	SpinLockRelease(&shared->mutex);
	shared_wake(shared);
}

static bool
is_published(void *arg)
{
	return look(arg).published;
}

void
shared_read_learned(PtSortShared *shared, StringInfo result)
{
	int			length;
	TapeFile   *file;

	fault_point("shared: wait for learning");
	shared_wait_for(shared, is_published, shared, NULL);
	length = look(shared).learned;
	if (length == 0)
		return;
	file = tapefile_open(&shared->fileset, LEARNED_FILE, false);
	result->data = palloc(length);
	tapefile_read(file, result->data, length, 0);
	result->len = length;
	tapefile_close(file);
}

SharedFileSet *
shared_fileset(PtSortShared *shared)
{
	return &shared->fileset;
}

void
shared_announce(PtSortShared *shared, int participant, int nruns,
				const PtSortStats *stats, bool failed)
{
	SharedSlot *slot = &shared->slots[participant];

	fault_point("shared: announce");
	slot->nruns = nruns;
	slot->stats = *stats;
	SpinLockAcquire(&shared->mutex);
	slot->done = true;
	shared->state.done++;
	shared->state.failed |= failed;
	SpinLockRelease(&shared->mutex);
	shared_wake(shared);
}

/* The caller, the leader's process, must not join after this check. */
static void
check_participants(PtSortShared *shared, int participants,
				   ParallelContext *workers)
{
	int			most = shared->processes;
	bool		leader_joined;

	SpinLockAcquire(&shared->mutex);
	leader_joined = shared->slots[0].joined;
	SpinLockRelease(&shared->mutex);
	if (workers)
		most = Min(most, workers->nworkers_launched + (leader_joined ? 1 : 0));
	if (participants > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have %d participants",
						participants),
				 errdetail_plural("At most %d process can take part in the sort.",
								  "At most %d processes can take part in the sort.",
								  most, most)));
}

/* Prevent more processes from joining.  Their tuples would be missing. */
static void
collect(PtSortShared *shared, int participants)
{
	int			joined;

	SpinLockAcquire(&shared->mutex);
	joined = shared->state.joined;
	shared->state.collected = joined == participants;
	SpinLockRelease(&shared->mutex);
	if (joined != participants)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort has more participants than its leader expects"),
				 errdetail("The leader expects %d, but %d began to sort.",
						   participants, joined)));
}

typedef struct AnnouncedCount
{
	PtSortShared *shared;
	int			participants;
} AnnouncedCount;

static bool
all_announced(void *arg)
{
	const AnnouncedCount *awaited = arg;

	return look(awaited->shared).done >= awaited->participants;
}

void
shared_wait(PtSortShared *shared, int participants, ParallelContext *workers)
{
	AnnouncedCount awaited = {shared, participants};

	check_participants(shared, participants, workers);
	fault_point("shared: wait");

	/* Raises an error if a launched worker died before it could attach. */
	if (workers)
		WaitForParallelWorkersToAttach(workers);
	shared_wait_for(shared, all_announced, &awaited, workers);
	collect(shared, participants);
}

int
shared_processes(PtSortShared *shared)
{
	return shared->processes;
}

/* Returns the slot of a participant if it announced its runs, else NULL. */
static const SharedSlot *
announced_slot(PtSortShared *shared, int participant)
{
	bool		done;

	if (participant < 0 || participant >= shared->processes)
		return NULL;
	SpinLockAcquire(&shared->mutex);
	done = shared->slots[participant].done;
	SpinLockRelease(&shared->mutex);
	return done ? &shared->slots[participant] : NULL;
}

const RunDesc *
shared_runs(PtSortShared *shared, int participant, int *nruns)
{
	const SharedSlot *slot = announced_slot(shared, participant);

	*nruns = slot == NULL ? 0 : slot->nruns;
	if (*nruns < 0 || *nruns > shared_most_runs(shared->processes))
		elog(ERROR, "participant %d of parallel sort announced %d runs",
			 participant, *nruns);
	return shared_own_runs(shared, participant);
}

bool
shared_stats(PtSortShared *shared, int participant, PtSortStats *stats)
{
	const SharedSlot *slot = announced_slot(shared, participant);

	if (slot != NULL)
		*stats = slot->stats;
	return slot != NULL;
}
