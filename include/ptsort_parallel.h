/*-------------------------------------------------------------------------
 *
 * ptsort_parallel.h
 *	  Sort a table, or anything else, in parallel with one call.
 *
 * ptsort_parallel() does all that step 1 to 5 of ptsort.h leave to you: it
 * sizes and creates the parallel context, launches workers, hands out the
 * table's blocks, lets the leader take part, collects the runs, adds up WAL and
 * buffer usage, and falls back to fewer workers or none.  You say what is
 * sorted, and how:
 *
 *		static PtSort *
 *		my_begin(PtParallel *parallel, const PtSortOptions *options)
 *		{
 *			return ptsort_begin_tuple(RelationGetDescr(parallel->table), ...,
 *									  options);
 *		}
 *
 *		static const PtParallelOps my_ops = {.begin = my_begin};
 *		extern PGDLLEXPORT const PtParallelOps *my_sort_ops(void);
 *		const PtParallelOps *my_sort_ops(void) { return &my_ops; }
 *
 *		PtParallelRequest request = {
 *			.library = "$libdir/my_extension",
 *			.ops_function = "my_sort_ops",
 *			.table = table, .workers = 2,
 *			.budget = (int64) work_mem * 1024};
 *		PtParallel *parallel = ptsort_parallel(&request);
 *
 *		while (ptsort_get_slot(parallel->stream, true, slot))
 *			...;
 *		ptsort_parallel_end(parallel);
 *
 * THE SOURCE is a table, whose visible rows your callback put gets as slots
 * (without it they are put as they are, for ptsort_begin_tuple), or your
 * callback fill, which puts what it likes, or both.
 *
 * THE RESULT is a stream, which the leader reads after ptsort_parallel() has
 * returned, as above, all at once or a tuple now and then; or slices, which
 * all participants read at the same time in your callback read_slices, each
 * with its place in the whole (ptsort_slice_start).
 *
 * The callbacks, from top to bottom; those of the right column run in the
 * leader and, at the same time, in every worker:
 *
 *		leader						every participant
 *		shared_size, shared_init
 *									begin, put ..., fill
 *									begin, read_slices
 *									done
 *
 * Without read_slices there is one more begin in the leader, and done comes in
 * ptsort_parallel_end().  Without workers the leader is the only participant,
 * and begins one sort, which it puts into and reads from.
 *
 * WORKERS
 *
 * No worker is launched where there can be none: in a parallel worker or while
 * a parallel query runs, for a temporary table, for a table that another
 * extension forbids to read in parallel (as one does whose access method has no
 * parallel scans), without a postmaster, or if no segment of shared memory is
 * to be had.  Fewer start if max_parallel_workers or max_worker_processes says
 * so.  The result is the same.  How many to ask for is your decision, as is
 * another limit, such as max_parallel_workers_per_gather.
 *
 * A worker finds your callbacks by library and name.  It has the leader's
 * transaction, snapshot, user and settings, but none of its variables: what it
 * must know goes into arg, or into shared memory.
 *
 * An error in a callback of a worker is raised in the leader, as is the death
 * of a worker; the leader may be cancelled at any time.  After an error nothing
 * needs to be called.
 *
 * PARALLEL MODE
 *
 * While there are workers, all callbacks run in the server's parallel mode: no
 * process may change the database, get a transaction ID or start another
 * parallel operation.  When ptsort_parallel() returns, the workers have ended
 * and parallel mode as well; what reads the stream may do what it likes.  You
 * need not, and must not, call EnterParallelMode(), but with a context of your
 * own.
 *
 * A CONTEXT OF YOUR OWN
 *
 * For workers that do more than sort, or have more in the segment than arg and
 * shared memory, make the parallel context yourself:
 *
 *		EnterParallelMode();
 *		pcxt = CreateParallelContext("my_extension", "my_worker_main", 2);
 *		shm_toc_estimate_chunk(&pcxt->estimator, ...);	and keys: your own
 *		request.context = pcxt;
 *		parallel = ptsort_parallel(&request);
 *		...
 *		ptsort_parallel_end(parallel);
 *		DestroyParallelContext(pcxt);
 *		ExitParallelMode();
 *
 * ptsort_parallel() reserves its own memory as well, makes the segment, and
 * launches.  Allocate yours in shared_init, from parallel->toc, under keys
 * below PTSORT_PARALLEL_KEYS (unless they are there: if no worker starts, it is
 * called once more).  Each worker calls ptsort_parallel_worker() once;
 * if they do nothing else, name PTSORT_PARALLEL_MAIN in PTSORT_PARALLEL_LIBRARY
 * instead of a function of yours.  Parallel mode lasts until you end it, and
 * ptsort_parallel_end() waits until your workers have ended.  There may be one
 * ptsort_parallel() for each context.
 *
 * MEMORY
 *
 * As in ptsort_build.h: the current memory context of every callback is the
 * sort's own in that process, below the one in which ptsort_parallel() was
 * called, and is deleted at the end.  What put allocates it must free.
 *
 * The rules of ptsort.h hold here as well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PARALLEL_H
#define PTSORT_PARALLEL_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "ptsort.h"
#include "storage/shm_toc.h"
#include "utils/snapshot.h"

/* The main function of workers that only sort, for CreateParallelContext(). */
#define PTSORT_PARALLEL_LIBRARY "ptsort"
#define PTSORT_PARALLEL_MAIN	"ptsort_parallel_main"

/* Keys of a table of contents from here on are ptsort's own. */
#define PTSORT_PARALLEL_KEYS	UINT64CONST(0xB700000000000000)

/*
 * PtParallel: one participant's view of the sort, given to each callback and
 * returned in the leader.  All but 'local' is read-only.
 */
typedef struct PtParallel
{
	Relation	table;			/* the request's; in a worker opened with
								 * AccessShareLock; NULL without one */
	const void *arg;			/* leader: the request's own pointer; worker:
								 * a copy of its arg_size bytes, NULL if 0 */
	Size		arg_size;
	bool		is_leader;		/* in the backend that called
								 * ptsort_parallel() */
	int			participants;	/* how many processes put tuples (in a worker
								 * and in shared_init: at most) */
	int			participant;	/* number of this process: 0 the leader, 1, 2,
								 * ... the workers */
	void	   *shared;			/* memory of shared_size() bytes, zeroed and
								 * MAXALIGNed; NULL without that callback */
	SharedFileSet *fileset;		/* for files from process to process; NULL if
								 * there are no workers.  Names as for
								 * ptsort_shared_fileset() */
	shm_toc    *toc;			/* of the segment; without workers NULL, or
								 * that of your own context */
	PtSort	   *stream;			/* leader, from the return of
								 * ptsort_parallel() on: what to read; NULL
								 * with read_slices */
	void	   *local;			/* yours, per participant, NULL at first */
} PtParallel;

/*
 * PtParallelOps: your callbacks.  begin is needed, and fill if the request has
 * no table.
 */
typedef struct PtParallelOps
{
	/*
	 * In every participant: begin a sort with exactly these options, or a
	 * copy of them in which you have set what ptsort_parallel() leaves 0. All
	 * sorts of all participants must be begun alike.
	 */
	PtSort	   *(*begin) (PtParallel *parallel, const PtSortOptions *options);

	/*
	 * Optional, in every participant: put a row of the table, or nothing, or
	 * keep it until fill.  Without this it is ptsort_put_slot().
	 */
	void		(*put) (PtParallel *parallel, PtSort *sort,
						TupleTableSlot *slot);

	/*
	 * In every participant, once: put this one's share of what does not come
	 * from the table.  How it is shared out is your affair: by number of the
	 * participant if participants is exact enough for you, else by a counter
	 * in shared memory, for fewer processes may come than were asked for.
	 */
	void		(*fill) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in every participant: while ptsort_next_slice() gives a
	 * slice, read it to its end.  To leave a slice to nobody, or tuples of
	 * one unread, is an error.
	 */
	void		(*read_slices) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in the leader: how many bytes of shared memory you need for
	 * this many processes (PtParallel.participant is less than that; some may
	 * not turn up) and, with read_slices, slices (numbered from 0 in order;
	 * each will be claimed by one process).  Is called again, for one process
	 * and one slice, if no worker can be had, and so is shared_init.
	 */
	Size		(*shared_size) (PtParallel *parallel, int processes,
								int slices);

	/* Optional, in the leader, before the launch: fill in shared memory. */
	void		(*shared_init) (PtParallel *parallel, int processes,
								int slices);

	/*
	 * Optional, in every participant: its last callback.  Close what you have
	 * opened.  Not called after an error.
	 */
	void		(*done) (PtParallel *parallel);
} PtParallelOps;

/*
 * PtParallelRequest: what to sort.  Zero-initialise it, then set what you need.
 */
typedef struct PtParallelRequest
{
	const char *library;		/* "$libdir/" and the file's name, as for
								 * load_external_function() */
	const char *ops_function;	/* name of an exported function of type
								 * PtParallelGetOps in that library */
	const void *arg;			/* for the callbacks, or NULL */
	Size		arg_size;		/* bytes of it that every worker gets a copy
								 * of: less than 1 GB */
	Relation	table;			/* source, open and locked; NULL: only fill */
	Snapshot	snapshot;		/* for the table; NULL: the active one */
	int64		budget;			/* bytes for all participants together */
	int			workers;		/* parallel workers wanted, 0 = none; fewer
								 * may start.  Not with a context of your own,
								 * which says so */
	bool		workers_only;	/* if there are workers, the leader's process
								 * puts nothing */
	ParallelContext *context;	/* a context of your own, or NULL */
} PtParallelRequest;

typedef const PtParallelOps *(*PtParallelGetOps) (void);

/*
 * PtParallelStats: what one participant did.  Times in milliseconds of this
 * participant's own clock.
 */
typedef struct PtParallelStats
{
	double		fill_ms;		/* scanning the table, and your put and fill,
								 * but for what is in the sort's figures */
	double		read_ms;		/* read_slices */
	int64		wal_bytes;		/* of WAL written */
	PtSortStats sort;			/* of all its sorts */
} PtParallelStats;

/*
 * PtParallelResult: palloc'd in the current memory context.
 */
typedef struct PtParallelResult
{
	double		rows;			/* of the table that were visible */
	int64		tuples;			/* put */
	int			participants;	/* processes that put */
	int			workers_planned;	/* after the server's limits */
	int			workers_launched;
	PtParallelStats stats[FLEXIBLE_ARRAY_MEMBER];	/* workers_launched + 1,
													 * by participant number */
} PtParallelResult;

/*
 * ptsort_parallel puts, sorts and, with read_slices, reads.  Nothing is left to
 * be done but to read the stream, if it has one.
 */
static inline PtParallel *
ptsort_parallel(const PtParallelRequest *request)
{
	return ptsort_api()->parallel(request);
}

/*
 * ptsort_parallel_end ends the sort, whether or not the stream was read to its
 * end, and tells what it did.  It must be called in the transaction, and with
 * the resource owner, of ptsort_parallel().
 */
static inline PtParallelResult *
ptsort_parallel_end(PtParallel *parallel)
{
	return ptsort_api()->parallel_end(parallel);
}

/*
 * ptsort_parallel_worker takes part as a worker of a context of your own.  Its
 * arguments are those of your worker's main function.
 */
static inline void
ptsort_parallel_worker(dsm_segment *segment, shm_toc *toc)
{
	ptsort_api()->parallel_worker(segment, toc);
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_PARALLEL_H */
