/*-------------------------------------------------------------------------
 *
 * ptsort_parallel.h
 *	  Sort a table, or anything else, or build an index, in parallel with one
 *	  call.
 *
 * ptsort_parallel() does all that steps 1 to 5 of ptsort.h leave to you.  You
 * define what to sort, and how:
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
 * THE SOURCE is a table, or your callback fill, which may put any tuples, or
 * both.  Your callback put gets the table's visible rows as slots; without put,
 * ptsort puts the slots unchanged, for ptsort_begin_tuple.
 *
 * AN INDEX BUILD has a request with an index, for example in an ambuild:
 *
 *		PtParallelRequest request = {
 *			.library = "$libdir/my_am", .ops_function = "my_build_ops",
 *			.table = heap, .index = index, .index_info = indexInfo,
 *			.workers = 2, .progress = true,
 *			.budget = (int64) maintenance_work_mem * 1024};
 *
 * It does what every index access method otherwise copies from the server's
 * btree code: your callback put_index gets the tuples that the index must have,
 * and ptsort sets index_info->ii_BrokenHotChain if need be.  Each process may
 * extend the index and write its pages, with WAL.  Since several processes may
 * extend it at the same time, they must hold the relation's extension lock.
 * The access method contrib/ptsort_am does that.
 *
 * THE RESULT is a stream, which the leader reads after ptsort_parallel()
 * returns, as above, all at once or one tuple at a time.  Or it is slices,
 * which all participants read at the same time in your callback read_slices,
 * each with its place in the whole (ptsort_slice_start).
 *
 * The callbacks, from top to bottom; those of the right column run in the
 * leader and, at the same time, in every worker:
 *
 *		leader						every participant
 *		shared_size, shared_init
 *									begin, put or put_index ..., fill
 *									begin, read_slices
 *
 * Without read_slices there is one more begin in the leader.  Without workers
 * the leader is the only participant, and begins one sort, which it puts into
 * and reads from.
 *
 * ptsort launches no worker where none is possible: in a parallel worker or
 * while a parallel query runs, for a temporary table, for a table whose
 * parallel scan another extension forbids (for example because its access
 * method has none), without a postmaster, or if no segment of shared memory is
 * available.  max_parallel_workers and max_worker_processes limit the number of
 * workers.  The result is the same.  You decide how many to request, and apply
 * other limits, such as max_parallel_workers_per_gather.
 *
 * Workers and parallel mode end before ptsort_parallel() returns, so they do
 * not restrict code that reads the stream.
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
#include "nodes/execnodes.h"
#include "utils/snapshot.h"

/*
 * PtParallel: one participant's view of the sort, an argument of each callback
 * and returned in the leader.  All fields except 'local' are read-only.
 */
typedef struct PtParallel
{
	Relation	table;			/* the request's, or NULL; a worker opens it
								 * with AccessShareLock, or for a build, like
								 * the index, with the lock of index.c */
	Relation	index;			/* the request's, or NULL */
	IndexInfo  *index_info;
	const void *arg;			/* leader: the request's own pointer; worker:
								 * a copy of its arg_size bytes, NULL if 0 */
	Size		arg_size;
	bool		is_leader;		/* in the backend that called
								 * ptsort_parallel() */
	int			participants;	/* number of processes that put tuples (in a
								 * worker and in shared_init: the maximum) */
	int			participant;	/* number of this process: 0 the leader, 1, 2,
								 * ... the workers */
	void	   *shared;			/* memory of shared_size() bytes, zeroed and
								 * MAXALIGNed; NULL without that callback */
	PtSort	   *stream;			/* leader, once ptsort_parallel() returned:
								 * the sort to read; NULL with read_slices */
	void	   *local;			/* yours, per participant, NULL at first */
} PtParallel;

/*
 * PtParallelOps: your callbacks.  begin is required, fill if the request has
 * no table, and put_index for a build.  ptsort_parallel() rejects any other set
 * before it does anything, with an error that names a missing or superfluous
 * callback.
 */
typedef struct PtParallelOps
{
	/*
	 * In every participant: begin a sort with exactly these options, or a
	 * copy of them in which you set what ptsort_parallel() leaves 0.  Begin
	 * all sorts of all participants alike.
	 */
	PtSort	   *(*begin) (PtParallel *parallel, const PtSortOptions *options);

	/*
	 * Optional, in every participant: put a row of the table, or nothing, or
	 * keep it until fill.  The default is ptsort_put_slot().
	 */
	void		(*put) (PtParallel *parallel, PtSort *sort,
						TupleTableSlot *slot);

	/*
	 * In every participant of an index build, instead of put: put a tuple of
	 * the table.  Arguments as in IndexBuildCallback.
	 */
	void		(*put_index) (PtParallel *parallel, PtSort *sort,
							  ItemPointer tid, Datum *values, bool *isnull,
							  bool alive);

	/*
	 * In every participant, once: put this participant's share of the tuples
	 * that do not come from the table.  You decide how to divide them: by the
	 * number of the participant if participants is exact enough for you, else
	 * by a counter in shared memory, because fewer processes may start than
	 * you requested.
	 */
	void		(*fill) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in every participant: while ptsort_next_slice() claims a
	 * slice, read it to its end.  Leaving a slice unclaimed, or tuples of one
	 * unread, is an error.
	 */
	void		(*read_slices) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in the leader: return the bytes of shared memory that you
	 * need for this many processes (PtParallel.participant is less than that;
	 * some may not start) and, with read_slices, slices (numbered from 0 in
	 * order; one process claims each).  If no worker starts, ptsort calls
	 * this and shared_init again, for one process and one slice.
	 */
	Size		(*shared_size) (PtParallel *parallel, int processes,
								int slices);

	/*
	 * Optional, only with shared_size, in the leader, before the launch: fill
	 * in shared memory.
	 */
	void		(*shared_init) (PtParallel *parallel, int processes,
								int slices);
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
	Size		arg_size;		/* bytes of arg to copy to every worker, less
								 * than 1 GB */
	Relation	table;			/* source, open and locked; NULL: only fill */
	Snapshot	snapshot;		/* for the table; NULL: the active one.  A
								 * build decides itself */
	Relation	index;			/* index of the table to build, or NULL.  Both
								 * are open and locked as index.c locks them,
								 * and the transaction has an XID */
	IndexInfo  *index_info;
	bool		progress;		/* of a build: report to
								 * pg_stat_progress_create_index, with
								 * nbtree's numbers of phases: the view shows
								 * the names that your ambuildphasename has
								 * for PROGRESS_BTREE_PHASE_* */
	int64		budget;			/* bytes for all participants together */
	int			workers;		/* parallel workers wanted, 0 = none; fewer
								 * may start */
} PtParallelRequest;

typedef const PtParallelOps *(*PtParallelGetOps) (void);

/*
 * PtParallelStats: what one participant did.  Times in milliseconds of this
 * participant's own clock.
 */
typedef struct PtParallelStats
{
	double		fill_ms;		/* scanning the table, and your put and fill,
								 * except the times in 'sort' */
	double		read_ms;		/* read_slices */
	int64		wal_bytes;		/* of WAL written, before you read a stream */
	PtSortStats sort;			/* of all its sorts */
} PtParallelStats;

/*
 * PtParallelResult: palloc'd in the current memory context.
 */
typedef struct PtParallelResult
{
	double		rows;			/* visible rows of the table; in a build live
								 * ones, for pg_class */
	int64		tuples;			/* tuples put */
	int			participants;	/* processes that put */
	int			workers_planned;	/* after the server's limits */
	int			workers_launched;
	PtParallelStats stats[FLEXIBLE_ARRAY_MEMBER];	/* workers_launched + 1,
													 * by participant number */
} PtParallelResult;

/*
 * ptsort_parallel puts, sorts and, with read_slices, reads.  Then you read the
 * stream, if there is one.
 */
static inline PtParallel *
ptsort_parallel(const PtParallelRequest *request)
{
	return ptsort_api()->parallel(request);
}

/*
 * ptsort_parallel_end ends the sort and returns its statistics.  You need not
 * read the stream to its end first, except that of an index build: the index
 * would lack tuples, so that is an error.  Call it in the transaction, and with
 * the resource owner, of ptsort_parallel().
 */
static inline PtParallelResult *
ptsort_parallel_end(PtParallel *parallel)
{
	return ptsort_api()->parallel_end(parallel);
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_PARALLEL_H */
