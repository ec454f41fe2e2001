/*-------------------------------------------------------------------------
 *
 * ptsort_build.h
 *	  Run a parallel index build around your callbacks.
 *
 * ptsort_build() does what every index access method otherwise copies from the
 * server's btree code: it sizes and creates the parallel context, launches
 * workers, opens and locks the relations in them, hands out the table's
 * blocks, lets the leader take part, collects tuple counts, WAL and buffer
 * usage, falls back to a serial build when no worker starts, and tears all
 * down.  You write the middle:
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
 *						.workers = 2, .budget = (int64) maintenance_work_mem * 1024,
 *						.library = "my_am", .ops_function = "my_build_ops"};
 *					PtBuildResult *result = ptsort_build(&request);
 *
 * The rules of ptsort.h hold here as well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_H
#define PTSORT_BUILD_H

#include "ptsort.h"
#include "nodes/execnodes.h"

/*
 * PtBuild: one participant's view of the build, given to each callback.
 */
typedef struct PtBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *index_info;
	const void *arg;			/* copy of the request's arg in this process's
								 * reach; read-only */
	Size		arg_size;
	bool		is_leader;		/* in the backend that called ptsort_build() */
	int			participants;	/* how many processes scan and sort (in a
								 * worker: at most) */
	void	   *shared;			/* memory of shared_size() bytes, or NULL */
	int			process;		/* number of this process for load_slices */
	SharedFileSet *fileset;		/* for files of load_slices; not NULL there */
	void	   *local;			/* yours, per participant, NULL at first */
} PtBuild;

/*
 * PtBuildOps: your callbacks.  begin, put and scan_done run in every
 * participant (the leader's process included), load in the leader only.  A
 * process may begin several sorts, one after the other.
 *
 * If you can load in slices, say so by giving the last four.  Then a parallel
 * build calls, in place of load: in the leader, shared_size before there are
 * workers and shared_init once there are some; in every process load_slices,
 * with a sort of role PTSORT_SLICE; and when all have returned from it, finish
 * in the leader.  A build without workers calls load.
 *
 * If you can do it all again, give start_over: then sorts are optimistic and
 * restartable (PtSortOptions), and when one has failed finish is not called,
 * but start_over, and the build begins again without what made it fail.
 */
typedef struct PtBuildOps
{
	/* Begin a sort with exactly these options. */
	PtSort	   *(*begin) (PtBuild *build, const PtSortOptions *options);

	/* One tuple of the table, as in IndexBuildCallback. */
	void		(*put) (PtBuild *build, PtSort *sort, ItemPointer tid,
						Datum *values, bool *isnull, bool alive);

	/* Read the sort to its end and write the index. */
	void		(*load) (PtBuild *build, PtSort *sort);

	/* Optional: put what is still held back; the scan is over. */
	void		(*scan_done) (PtBuild *build, PtSort *sort);

	/*
	 * Shared memory for so many processes (numbered from 0; not all of them
	 * need turn up) and slices (numbered from 0; each will be claimed).
	 */
	Size		(*shared_size) (PtBuild *build, int processes, int slices);
	void		(*shared_init) (PtBuild *build, int processes, int slices);

	/* While ptsort_next_slice() gives one, read it to its end and write it. */
	void		(*load_slices) (PtBuild *build, PtSort *sort);

	/* Put the slices together. */
	void		(*finish) (PtBuild *build);

	/*
	 * Optional, in the leader: take back all that was written.  The reason is
	 * half a sentence, for a message.
	 */
	void		(*start_over) (PtBuild *build, const char *reason);
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
								 * fewer may start.  The caller sees to
								 * max_parallel_maintenance_workers */
	int64		budget;			/* bytes for all participants together */
	const char *library;		/* as for load_external_function() */
	const char *ops_function;	/* name of an exported function of type
								 * PtBuildGetOps in that library */
	const void *arg;			/* bytes copied to every participant, or NULL */
	Size		arg_size;
	bool		progress;		/* report nbtree's phases to
								 * pg_stat_progress_create_index */
} PtBuildRequest;

typedef const PtBuildOps *(*PtBuildGetOps) (void);

/*
 * PtBuildStats: what one participant did.  Times in milliseconds of this
 * participant's own clock.
 */
typedef struct PtBuildStats
{
	bool		is_leader;
	double		scan_ms;		/* scanning the table and making entries */
	double		load_ms;		/* final merge and load */
	int64		wal_bytes;
	PtSortStats sort;
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
	PtBuildStats stats[FLEXIBLE_ARRAY_MEMBER];	/* workers_launched + 1: the
												 * leader's process is last,
												 * also if it did not scan */
} PtBuildResult;

/*
 * ptsort_build builds the index.  Must be called from the leader's ambuild:
 * the transaction needs an XID, and the relations are locked as index.c does.
 */
static inline PtBuildResult *
ptsort_build(const PtBuildRequest *request)
{
	return ptsort_api()->build(request);
}

#endif							/* PTSORT_BUILD_H */
