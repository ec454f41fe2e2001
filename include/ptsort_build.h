/*-------------------------------------------------------------------------
 *
 * ptsort_build.h
 *	  Run a parallel index build around your callbacks.
 *
 * ptsort_build() does what every index access method otherwise copies from the
 * server's btree code; see CALLBACKS in ptsort.h.  It also opens and locks the
 * relations in the workers.  You write the middle:
 *
 *		static PtSort *
 *		my_begin(PtBuild *build, const PtSortOptions *options)
 *		{
 *			return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid,
 *									  false, options);
 *		}
 *
 *		static void
 *		my_put(PtBuild *build, PtSort *sort, ItemPointer tid,
 *			   Datum *values, bool *isnull, bool alive)
 *		{
 *			ptsort_put_datum(sort, ..., isnull[0]);
 *		}
 *
 *		static void
 *		my_load(PtBuild *build, PtSort *sort)
 *		{
 *			Datum		value;
 *			bool		isnull;
 *
 *			while (ptsort_get_datum(sort, true, &value, &isnull))
 *				...;
 *		}
 *
 *		static const PtBuildOps my_ops = {
 *			.begin = my_begin, .put = my_put, .load = my_load};
 *		extern PGDLLEXPORT const PtBuildOps *my_build_ops(void);
 *		const PtBuildOps *my_build_ops(void) { return &my_ops; }
 *
 *		ambuild:	PtBuildRequest request = {
 *						.heap = heap, .index = index, .index_info = indexInfo,
 *						.workers = 2,
 *						.budget = (int64) maintenance_work_mem * 1024,
 *						.library = "$libdir/my_am", .ops_function = "my_build_ops"};
 *					PtBuildResult *result = ptsort_build(&request);
 *
 * A build calls these callbacks, from top to bottom; those of the right column
 * run in the leader and, at the same time, in every worker:
 *
 *		leader						every participant
 *		shared_size, shared_init
 *									begin, put ...
 *									begin, load_slices
 *		finish
 *
 * or, if you cannot load in slices:
 *
 *									begin, put ...
 *		begin, load
 *
 * A build without workers is the same with the leader as the only participant
 * and one slice; it begins one sort, which it puts into and loads from.
 *
 * The sort copies its input: the values of put need not outlive the call.
 *
 * Each process may extend the index and write its pages, with WAL.  Since
 * several processes may extend it at the same time, they must hold the
 * relation's extension lock.  contrib/ptsort_am is an access method that does.
 *
 * The rules of ptsort.h hold here as well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_H
#define PTSORT_BUILD_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "ptsort.h"
#include "nodes/execnodes.h"

/*
 * PtBuild: one participant's view of the build, an argument of each callback.
 * All fields except 'local' are read-only.
 */
typedef struct PtBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *index_info;
	const void *arg;			/* leader: the request's own pointer; worker:
								 * a copy of its arg_size bytes, NULL if 0 */
	Size		arg_size;
	bool		is_leader;		/* in the backend that called ptsort_build() */
	int			participants;	/* number of processes that scan and sort (in
								 * a worker and in shared_init: the maximum) */
	int			participant;	/* number of this process: 0 the leader, 1, 2,
								 * ... the workers */
	void	   *shared;			/* memory of shared_size() bytes, zeroed and
								 * MAXALIGNed; NULL without that callback */
	void	   *local;			/* yours, per participant, NULL at first */
} PtBuild;

/*
 * PtBuildOps: your callbacks.  A build needs begin and put, and either load or
 * load_slices.  With load_slices, you can have shared memory (then set both
 * shared_size and shared_init) and let the leader combine the results (finish).
 * ptsort_build() rejects any other set before it does anything, with an error
 * that names the missing or superfluous callbacks.
 */
typedef struct PtBuildOps
{
	/* In every participant: begin a sort with exactly these options. */
	PtSort	   *(*begin) (PtBuild *build, const PtSortOptions *options);

	/*
	 * In every participant: put one tuple of the table into the sort.
	 * Arguments as in IndexBuildCallback.
	 */
	void		(*put) (PtBuild *build, PtSort *sort, ItemPointer tid,
						Datum *values, bool *isnull, bool alive);

	/*
	 * In the leader, which then loads alone: read the sort to its end and
	 * write the index.  ptsort_build() ends this sort, like every sort of a
	 * build; you must not.
	 */
	void		(*load) (PtBuild *build, PtSort *sort);

	/*
	 * Optional, in the leader: return the bytes of shared memory that the
	 * load needs for this many processes (PtBuild.participant is less than
	 * that; some may not start) and slices (numbered from 0 in key order; one
	 * process claims each).  If no worker starts, ptsort calls it again, for
	 * one process and one slice.
	 */
	Size		(*shared_size) (PtBuild *build, int processes, int slices);

	/*
	 * With shared_size, in the leader, before any process is in load_slices:
	 * fill in build->shared.
	 */
	void		(*shared_init) (PtBuild *build, int processes, int slices);

	/*
	 * In every participant: while ptsort_next_slice() claims a slice, read it
	 * to its end and write it.  Leaving a slice unclaimed, or tuples of one
	 * unread, is an error.
	 */
	void		(*load_slices) (PtBuild *build, PtSort *sort);

	/*
	 * Optional, in the leader, when load_slices has returned in all
	 * processes: combine the slices.
	 */
	void		(*finish) (PtBuild *build);
} PtBuildOps;

/*
 * PtBuildRequest: what to build.  Zero-initialise it, then set what you need.
 */
typedef struct PtBuildRequest
{
	Relation	heap;
	Relation	index;
	IndexInfo  *index_info;
	int			workers;		/* parallel workers wanted, 0 = serial build;
								 * fewer may start.  The caller applies
								 * max_parallel_maintenance_workers, as the
								 * server's plan_create_index_workers() does
								 * for every access method */
	int64		budget;			/* bytes for all participants together */
	const char *library;		/* "$libdir/" and the file's name, as for
								 * load_external_function() */
	const char *ops_function;	/* name of an exported function of type
								 * PtBuildGetOps in that library */
	const void *arg;			/* for the callbacks, or NULL */
	Size		arg_size;		/* bytes of arg to copy to every worker, less
								 * than 1 GB */
	bool		progress;		/* report to pg_stat_progress_create_index,
								 * with nbtree's numbers of phases: the view
								 * shows the names that your ambuildphasename
								 * has for PROGRESS_BTREE_PHASE_* */
} PtBuildRequest;

typedef const PtBuildOps *(*PtBuildGetOps) (void);

/*
 * PtBuildStats: what one participant did.  Times in milliseconds of this
 * participant's own clock.
 */
typedef struct PtBuildStats
{
	double		scan_ms;		/* scanning the table and making entries */
	double		load_ms;		/* final merge and load */
	int64		wal_bytes;		/* of WAL written */
	PtSortStats sort;			/* of all its sorts */
} PtBuildStats;

/*
 * PtBuildResult: palloc'd in the caller's context.
 */
typedef struct PtBuildResult
{
	double		heap_tuples;	/* live tuples scanned, for pg_class */
	double		index_tuples;	/* tuples put */
	int			participants;	/* processes that scanned */
	int			workers_planned;	/* after the server's limits */
	int			workers_launched;
	PtBuildStats stats[FLEXIBLE_ARRAY_MEMBER];	/* workers_launched + 1, by
												 * participant number: the
												 * leader is first, also if it
												 * did not scan */
} PtBuildResult;

/*
 * ptsort_build builds the index.  Call it from an ambuild, or where the same
 * holds: the transaction has an XID, and the relations are open and locked as
 * index.c locks them.
 */
static inline PtBuildResult *
ptsort_build(const PtBuildRequest *request)
{
	return ptsort_api()->build(request);
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_BUILD_H */
