/*-------------------------------------------------------------------------
 *
 * ptsort_parallel.h
 *	  Sort tuples or build an index, in parallel with one call.
 *
 * ptsort_parallel() takes steps 1 to 5 of ptsort.h for you.  You define what to
 * sort, and how:
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
 * THE SOURCE is a table, or your callback fill, or both.  fill may put any
 * tuples.  Your callback put gets the table's visible rows as slots.  Without a
 * callback put, ptsort puts the slots unchanged; begin must then call
 * ptsort_begin_tuple.
 *
 * AN INDEX BUILD is a request with an index, for example from an ambuild:
 *
 *		PtParallelRequest request = {
 *			.library = "$libdir/my_am", .ops_function = "my_build_ops",
 *			.table = heap, .index = index, .index_info = indexInfo,
 *			.workers = 2, .progress = true,
 *			.budget = (int64) maintenance_work_mem * 1024};
 *
 * ptsort calls your callback put_index with the tuples that the index must
 * have, and sets index_info->ii_BrokenHotChain if necessary.  Each process may
 * extend the index, and may write index pages with WAL.  Several processes may
 * extend the index at the same time, so each must take the relation's extension
 * lock.  The access method contrib/ptsort_am is an example.
 *
 * THE RESULT is a stream or slices.  The leader reads a stream, all at once or
 * one tuple at a time, after ptsort_parallel() returns (see the first example).
 * All participants read slices at the same time, in your callback read_slices.
 * ptsort_slice_start() returns a slice's place in the result.
 *
 * ptsort calls the callbacks of this table from top to bottom.  The callbacks
 * in the right column run in the leader and, at the same time, in every worker:
 *
 *		leader						every participant
 *		shared_size, shared_init
 *									begin, put or put_index ..., fill
 *									begin, read_slices
 *
 * Without read_slices, ptsort calls begin once more, in the leader.  Without
 * workers, the leader reads the sort that it fills.
 *
 * ptsort launches no worker in a parallel worker, during a parallel query, or
 * without a postmaster.  It launches no worker if no shared memory segment is
 * available, if the table is temporary, or if another extension forbids
 * parallel scans of the table (for example because the table's access method
 * does not support them).  max_parallel_workers and max_worker_processes limit
 * the number of workers.  You decide the number to request, and apply other
 * limits, for example max_parallel_workers_per_gather.
 *
 * Workers and parallel mode end before ptsort_parallel() returns, so they do
 * not restrict code that reads the stream.
 *
 * The rules of ptsort.h apply here as well.
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
 * PtParallel: one participant's view of the sort.  Callbacks get the struct as
 * an argument; in the leader, ptsort_parallel() returns the struct.  All fields
 * except 'local' are read-only.
 */
typedef struct PtParallel
{
	Relation	table;			/* the request's table, or NULL; a worker
								 * takes AccessShareLock on it or, in a build,
								 * index.c's locks on table and index */
	Relation	index;			/* the request's index, or NULL */
	IndexInfo  *index_info;
	const void *arg;			/* leader: the request's own pointer; worker:
								 * a copy of arg_size bytes, or NULL if
								 * arg_size is 0 */
	Size		arg_size;
	bool		is_leader;		/* true in the backend that called
								 * ptsort_parallel() */
	int			participants;	/* number of processes that put tuples (in a
								 * worker and in shared_init: the maximum) */
	int			participant;	/* number of this process; 0 in the leader */
	void	   *shared;			/* shared memory of shared_size() bytes,
								 * zeroed and MAXALIGNed; NULL without that
								 * callback */
	PtSort	   *stream;			/* leader, after ptsort_parallel() returned:
								 * the sort to read; NULL with read_slices */
	void	   *local;			/* for your own use; NULL at first */
} PtParallel;

/*
 * PtParallelOps: your callbacks.  begin is required; fill is required if the
 * request has no table, and put_index for a build.  If a callback is missing or
 * superfluous, ptsort_parallel() raises an error and does no work.
 */
typedef struct PtParallelOps
{
	/*
	 * In every participant: begin a sort with exactly these options, or with
	 * a copy in which you set fields that are 0.  Begin all sorts of all
	 * participants in the same way.
	 */
	PtSort	   *(*begin) (PtParallel *parallel, const PtSortOptions *options);

	/*
	 * Optional, in every participant: put a row of the table, skip the row,
	 * or keep it until fill.  The default is ptsort_put_slot().
	 */
	void		(*put) (PtParallel *parallel, PtSort *sort,
						TupleTableSlot *slot);

	/*
	 * In every participant of an index build, instead of put: put a tuple of
	 * the table.  The arguments are those of IndexBuildCallback.
	 */
	void		(*put_index) (PtParallel *parallel, PtSort *sort,
							  ItemPointer tid, Datum *values, bool *isnull,
							  bool alive);

	/*
	 * In every participant, once: put this participant's share of the tuples
	 * that do not come from the table.  You decide how to divide these
	 * tuples.  Fewer processes may start than you requested: let the number
	 * of the participant select its share only if 'participants' is exact
	 * enough for you; otherwise use a counter in shared memory.
	 */
	void		(*fill) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in every participant: call ptsort_next_slice() until no slice
	 * is left, and read each slice to its end.  Leaving a slice unclaimed, or
	 * a tuple unread, is an error.
	 */
	void		(*read_slices) (PtParallel *parallel, PtSort *sort);

	/*
	 * Optional, in the leader: return the size in bytes of the shared memory
	 * that you need.  PtParallel.participant is less than 'processes', and
	 * some processes may not start.  With read_slices, the slices have the
	 * numbers 0 to slices - 1, in the order of the keys, and exactly one
	 * process claims each slice.  If no worker starts, ptsort calls
	 * shared_size and shared_init again, for one process and one slice.
	 */
	Size		(*shared_size) (PtParallel *parallel, int processes,
								int slices);

	/*
	 * Optional, only with shared_size, in the leader, before workers start:
	 * fill in the shared memory.
	 */
	void		(*shared_init) (PtParallel *parallel, int processes,
								int slices);
} PtParallelOps;

/* PtParallelRequest: what to sort.  Zero it, then set the fields you need. */
typedef struct PtParallelRequest
{
	const char *library;		/* "$libdir/" and the library's file name, as
								 * for load_external_function() */
	const char *ops_function;	/* name of an exported function of type
								 * PtParallelGetOps in that library */
	const void *arg;			/* data for the callbacks, or NULL */
	Size		arg_size;		/* number of bytes of arg to copy to every
								 * worker, less than 1 GB */
	Relation	table;			/* open, locked; NULL: fill puts all tuples */
	Snapshot	snapshot;		/* for the table scan; NULL: the active
								 * snapshot.  An index build chooses its own */
	Relation	index;			/* index to build, or NULL.  Open and lock
								 * table and index as index.c does, in a
								 * transaction with an XID */
	IndexInfo  *index_info;
	bool		progress;		/* index build: report to
								 * pg_stat_progress_create_index, with
								 * nbtree's phase numbers; the view shows the
								 * names that your ambuildphasename returns
								 * for PROGRESS_BTREE_PHASE_* */
	int64		budget;			/* in bytes, for all participants together */
	int			workers;		/* parallel workers to request, or 0; fewer
								 * may start */
} PtParallelRequest;

typedef const PtParallelOps *(*PtParallelGetOps) (void);

/* PtParallelStats: what one participant did; times are in milliseconds. */
typedef struct PtParallelStats
{
	double		fill_ms;		/* scanning the table and calling put and
								 * fill, without the times in 'sort' */
	double		read_ms;		/* your callback read_slices */
	int64		wal_bytes;		/* WAL bytes written before you read a stream */
	PtSortStats sort;			/* statistics of the participant's sorts */
} PtParallelStats;

/* PtParallelResult: all statistics, palloc'd in the current memory context. */
typedef struct PtParallelResult
{
	double		rows;			/* visible rows of the table; in an index
								 * build, live rows, for pg_class */
	int64		tuples;			/* tuples put */
	int			participants;	/* number of processes that put tuples */
	int			workers_planned;	/* requested, within the server's limits */
	int			workers_launched;
	/* workers_launched + 1 elements, by participant number */
	__extension__ PtParallelStats stats[FLEXIBLE_ARRAY_MEMBER];
} PtParallelResult;

/* ptsort_parallel puts and sorts tuples and, with read_slices, reads them. */
static inline PtParallel *
ptsort_parallel(const PtParallelRequest *request)
{
	return ptsort_api()->parallel(request);
}

/*
 * ptsort_parallel_end ends the sort and returns its statistics.  You need not
 * read the stream to its end first.  In an index build, however, unread tuples
 * raise an error, because the index would lack them.  Call ptsort_parallel and
 * ptsort_parallel_end in one transaction and with one resource owner.
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
