/*-------------------------------------------------------------------------
 *
 * ptsort.h
 *	  Use ptsort's sort from your extension.
 *
 * There are three headers.  This one declares the sort, ptsort_parallel.h runs
 * a whole parallel sort or index build with one call, and ptsort_variant.h adds
 * a new kind of tuple.  doc/embedding.md has examples for all three.
 *
 * Call begin, put ..., perform, get ..., end.  For many small sorts, call
 * ptsort_reset() after each sort, and then put the tuples of the next sort.  A
 * sort of a few tuples then costs no more than putting and getting the tuples.
 *
 * PARALLEL SORT
 *
 * A serial sort has one participant.  A sort with several participants takes
 * these steps in this order; ptsort_parallel() can take all steps for you:
 *
 *	1. leader: reserve a block of ptsort_shared_estimate(n) bytes in your own
 *	   DSM segment.  n is 1 + the number of workers that you will launch.  Each
 *	   sort needs its own block, and a segment can hold many blocks.  Call
 *	   ptsort_shared_init() on the block, and then launch your workers.
 *	2. every worker process: call ptsort_shared_attach() once.
 *	3. every participant (the leader may be one): begin with role PTSORT_WORKER,
 *	   and set .participant to the number of this process: 0 in the leader,
 *	   ParallelWorkerNumber + 1 in a worker.  Put, perform, end.  perform writes
 *	   sorted runs to temporary files and describes them in the shared block.
 *	4. leader: begin with role PTSORT_LEADER, and set .participants to the
 *	   number of participants in step 3 (launched workers, plus one if the
 *	   leader took part).  Perform, get ..., end.  perform waits for the
 *	   participants' runs, and get returns the merged stream.  Instead of step
 *	   4, all processes may merge: the leader begins with role
 *	   PTSORT_SLICE_LEADER and .participants as above, and the workers begin
 *	   with role PTSORT_SLICE.  Each process calls perform, and then claims
 *	   slices with ptsort_next_slice() until no slice is left.  It gets all
 *	   tuples of a slice before it claims the next slice.  In the order of
 *	   their numbers, the slices form the merged stream.
 *	5. leader: destroy the segment after step 4.  The server removes the
 *	   temporary files when the last process detaches from the segment.
 *
 * ptsort never loses tuples silently.  It raises an error in a leader whose
 * .participants is not the number of processes that sorted, and in a process
 * that begins to sort after the leader collected the runs.
 *
 * All participants must pass equal arguments to begin, except for the options.
 *
 * CALLBACKS of ptsort_parallel()
 *
 * - A worker finds your callbacks by library and name.  It has the leader's
 *	 transaction, snapshot, user and settings, but not the leader's variables:
 *	 pass the worker its data in arg, or in shared memory.
 * - An error in a worker's callback raises an error in the leader, and so does
 *	 the death of a worker.  If a user cancels the leader, the server ends the
 *	 workers.
 * - Every callback runs in a memory context of the sort, which ptsort deletes
 *	 at the end.  A callback that ptsort calls for each row must free what it
 *	 allocates, or allocate in a context of your own that you reset.
 * - While there are workers, all callbacks run in the server's parallel mode:
 *	 no process may change catalogs, get a transaction ID or start another
 *	 parallel operation.
 *
 * RULES FOR ALL FUNCTIONS
 *
 * - Every function may raise an error.  You need not clean up after an error:
 *	 the server frees the memory when it deletes the context that was current
 *	 at begin, and removes the files when it releases the resource owner or the
 *	 segment.  You need ptsort_end() only on success.
 * - Sizes are in bytes.  The budget is for one sort object.  ptsort raises
 *	 a budget below PTSORT_MIN_BUDGET to that minimum.  ptsort can sort even a
 *	 tuple that is larger than the budget.
 * - A number out of range, for example a negative budget, raises
 *	 ERRCODE_INVALID_PARAMETER_VALUE; a tuple size out of range raises
 *	 ERRCODE_PROGRAM_LIMIT_EXCEEDED.  If a range has no documented upper limit,
 *	 any large value means "no limit".
 * - The order is total.  Tuples that compare equal come in the order of their
 *	 TIDs (index tuples, heap tuples) or of their bytes (datums, minimal
 *	 tuples).  With PtSortOptions.stable they come in the order in which you put
 *	 them.  The result is the same for every budget and every number of
 *	 participants.
 * - begin creates a child of the current memory context, and the sort
 *	 allocates everything in that child.  put copies its argument.  Do not free
 *	 the result of get.  put itself leaves nothing in the current context, but
 *	 functions of the data type may leave memory there: reset the current
 *	 context now and then.
 * - A pointer that get returns is valid until the next call on that sort.
 * - With forward = false, get reads backward, which needs random_access.  get
 *	 then returns the tuple before the tuple that it returned last, or the
 *	 last tuple of the result if the previous get reached the end.
 * - A PtSort belongs to one process, and is not thread-safe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_H
#define PTSORT_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "postgres.h"

#include "access/htup.h"
#include "access/itup.h"
#include "access/parallel.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "storage/dsm.h"
#include "utils/relcache.h"

/* Version of the interface in the three headers. */
#define PTSORT_API_VERSION 2

/* Smallest budget of one sort object, in bytes. */
#define PTSORT_MIN_BUDGET	(1024 * 1024)

/* Maximum number of processes of one parallel sort, leader included. */
#define PTSORT_MAX_PROCESSES	1025

/* One participant's sort (or the leader's merge).  Private to ptsort. */
typedef struct PtSort PtSort;

/* The shared memory block of one parallel sort.  Private to ptsort. */
typedef struct PtSortShared PtSortShared;

struct PtParallel;
struct PtParallelRequest;
struct PtParallelResult;
struct PtSortVariant;

/* Purpose of a sort object; see "PARALLEL SORT" above. */
typedef enum PtSortRole
{
	PTSORT_SERIAL,				/* put and get in one object, no shared block */
	PTSORT_WORKER,				/* put only; writes runs to temporary files */
	PTSORT_LEADER,				/* get only; waits for the workers' runs and
								 * merges them */
	PTSORT_SLICE_LEADER,		/* get only; waits for the runs, plans slices
								 * of their merge, and merges slices */
	PTSORT_SLICE				/* get only; waits for the SLICE_LEADER's
								 * plan, and merges slices */
} PtSortRole;

/* PtSortOptions: how to sort.  Zero it, then set the fields you need. */
typedef struct PtSortOptions
{
	PtSortRole	role;
	int64		budget;			/* bytes; see "RULES" above */
	bool		random_access;	/* allow rescan, backward reads, mark, restore
								 * (SERIAL only) */
	PtSortShared *shared;		/* attached block; NULL if SERIAL */
	int			participant;	/* WORKER: number of this process; other roles
								 * ignore this field */
	int			participants;	/* LEADER, SLICE_LEADER: number of WORKER
								 * sorts, at least 1; 0 in other roles */
	ParallelContext *workers;	/* LEADER, SLICE_LEADER: the launched workers,
								 * or NULL; if set, a worker that dies before
								 * it writes its run causes an error, not a
								 * long wait */
	int64		expected_tuples;	/* estimated number of tuples of this
									 * sort; 0: unknown.  Affects only speed:
									 * ptsort skips steps that would cost more
									 * than they save in a sort of this size */
	int64		bound;			/* SERIAL only, not for unique indexes: get
								 * returns only the first 'bound' tuples in
								 * order, and the sort may drop the others; 0:
								 * all tuples */
	bool		stable;			/* tuples that compare equal come in the order
								 * of participant numbers, then in the order
								 * in which you put them.  Set 'stable' in all
								 * participants or in none */
} PtSortOptions;

/* PtSortMethod: how a sort object sorted; see ptsort_method_name(). */
typedef enum PtSortMethod
{
	PTSORT_STILL_IN_PROGRESS,	/* not performed yet */
	PTSORT_TOP_N,				/* in memory, keeping only the first tuples */
	PTSORT_IN_MEMORY,
	PTSORT_EXTERNAL_SORT,		/* one run, in a temporary file */
	PTSORT_EXTERNAL_MERGE		/* get merges runs in temporary files */
} PtSortMethod;

/*
 * PtSortStats: what one sort object did, including its sorts before the last
 * reset.  peak_memory, temp_bytes and method (in the order of PtSortMethod) are
 * maxima over all of its sorts; the other fields are totals.
 */
typedef struct PtSortStats
{
	int64		tuples;			/* tuples put; LEADER, SLICE_LEADER, SLICE:
								 * tuples in all runs */
	int64		runs;			/* runs written, initial and merged, to files
								 * or to memory */
	int64		run_bytes;		/* size of the runs that this participant left
								 * behind; SERIAL: size of all runs written */
	int64		comparisons;	/* comparisons by the caller's operators */
	int64		peak_memory;	/* maximum memory that the sort held */
	int64		temp_bytes;		/* maximum size of the temporary files */
	double		sort_ms;		/* sorting entries in memory; small sorts do
								 * not count */
	double		run_ms;			/* writing runs and merging them into one */
	PtSortMethod method;
} PtSortStats;

/*
 * PtSortApi: table of the functions.  You call perform as ptsort_perform(), and
 * so on.  The order of the functions is part of the ABI; new functions go to
 * the end.
 */
typedef struct PtSortApi
{
	uint32		version;		/* PTSORT_API_VERSION */
	uint32		size;			/* sizeof(PtSortApi) of the library */

	/*
	 * Return the size in bytes of the shared memory that a sort by at most
	 * 'processes' processes needs: the leader, whether or not it sorts, and
	 * all workers that you may launch.  All functions accept 1 to
	 * PTSORT_MAX_PROCESSES processes.
	 */
	Size		(*shared_estimate) (int processes);

	/*
	 * Initialise the shared block of one sort, and attach this process.
	 * 'shared' is MAXALIGNed memory of ptsort_shared_estimate() bytes in the
	 * segment.
	 */
	void		(*shared_init) (PtSortShared *shared, int processes,
								dsm_segment *segment);

	/* Attach a worker process to the block, once per process and block. */
	void		(*shared_attach) (PtSortShared *shared, dsm_segment *segment);

	/*
	 * Return the number of slices of a parallel sort whose block is for
	 * 'processes' processes.  Some slices may be empty.
	 */
	int			(*shared_slices) (int processes);

	/*
	 * Start a sort of index tuples by the key columns of a btree index and
	 * then by heap TID.  With 'unique', put, perform or get raises the
	 * server's unique violation for two live tuples with equal keys; nulls
	 * are distinct unless nulls_not_distinct is true.  Keep both relations
	 * open.  The index's access method must be the server's btree.  For other
	 * access methods, use datums, minimal tuples or a variant of your own.
	 */
	PtSort	   *(*begin_index) (Relation heap, Relation index, bool unique,
								bool nulls_not_distinct,
								const PtSortOptions *options);

	/*
	 * Add one index tuple, with the values of all the index's columns.  The
	 * check for duplicates ignores a tuple that is not alive (recently dead).
	 */
	void		(*put_index) (PtSort *sort, ItemPointer tid,
							  const Datum *values, const bool *isnull,
							  bool alive);

	/* Return the next index tuple in order, or NULL at the end. */
	IndexTuple	(*get_index) (PtSort *sort, bool forward);

	/*
	 * Start a sort of a table's rows, as CLUSTER needs it: by the key columns
	 * of one of the table's btree indexes, expressions included, and then by
	 * TID.  The sort copies 'desc': pass the table's descriptor, or a
	 * descriptor in which the indexed columns have the table's column
	 * numbers. The sort ignores the predicate of a partial index.  Keep the
	 * index open. put, perform, get and next_slice evaluate the index's
	 * expressions, in the caller's security context and with the caller's
	 * active snapshot.
	 */
	PtSort	   *(*begin_heap) (TupleDesc desc, Relation index,
							   const PtSortOptions *options);

	/*
	 * Add a copy of a row: the tuple with all of its header, its TID (t_self)
	 * and its table (t_tableOid).  Toast pointers stay unchanged.
	 */
	void		(*put_heap) (PtSort *sort, HeapTuple tuple);

	/*
	 * Return the next row in order, bit for bit as you put it, or NULL at the
	 * end.  You may modify the row in place unless the sort has random
	 * access.
	 */
	HeapTuple	(*get_heap) (PtSort *sort, bool forward);

	/*
	 * Start a sort of single values of a type.  The operator must be the
	 * "less" or "greater" member of a btree operator class.
	 */
	PtSort	   *(*begin_datum) (Oid type, Oid lt_operator, Oid collation,
								bool nulls_first,
								const PtSortOptions *options);

	/* Add a detoasted copy of one value. */
	void		(*put_datum) (PtSort *sort, Datum value, bool isnull);

	/*
	 * Get the next value and return true; return false at the end.
	 * By-reference values point into the sort's memory.
	 */
	bool		(*get_datum) (PtSort *sort, bool forward, Datum *value,
							  bool *isnull);

	/*
	 * Start a sort of minimal tuples by nkeys columns, each with its
	 * operator, collation and place of nulls.  The sort copies the
	 * descriptor.
	 */
	PtSort	   *(*begin_tuple) (TupleDesc desc, int nkeys,
								const AttrNumber *attnums,
								const Oid *lt_operators,
								const Oid *collations,
								const bool *nulls_first,
								const PtSortOptions *options);

	/* Add a copy of the tuple, or of the slot's tuple. */
	void		(*put_tuple) (PtSort *sort, MinimalTuple tuple);
	void		(*put_slot) (PtSort *sort, TupleTableSlot *slot);

	/* Return the next tuple in order, or NULL at the end. */
	MinimalTuple (*get_tuple) (PtSort *sort, bool forward);

	/*
	 * Store the next tuple in a slot for minimal tuples, without a copy.  At
	 * the end, clear the slot and return false.
	 */
	bool		(*get_slot) (PtSort *sort, bool forward, TupleTableSlot *slot);

	/*
	 * Sort the tuples that you put.  WORKER: write runs and announce them.
	 * LEADER, SLICE_LEADER: wait for all participants' runs.  SLICE: wait for
	 * the SLICE_LEADER's plan.  Call perform once per sort.
	 */
	void		(*perform) (PtSort *sort);

	/*
	 * Claim a slice that no process claimed before, and make get return the
	 * slice's tuples.  Return false if no slice is left.  *slice becomes the
	 * slice's number, from 0, or -1 at the end.  The role is SLICE_LEADER,
	 * SLICE or SERIAL; a SERIAL sort has one slice with all its tuples.
	 */
	bool		(*next_slice) (PtSort *sort, int *slice);

	/*
	 * Return the number of tuples in the merged stream before the slice that
	 * ptsort_next_slice claimed last.  With this number, each process can
	 * write its slices to their places in an array.  Raise an error if
	 * ptsort_next_slice claimed no slice or found no slice left.
	 */
	int64		(*slice_start) (PtSort *sort);

	/* Go back to the start and set the mark there. */
	void		(*rescan) (PtSort *sort);

	/* Remember the current position.  The initial mark is the start. */
	void		(*mark) (PtSort *sort);

	/* Go back to the marked position. */
	void		(*restore) (PtSort *sort);

	/*
	 * Return a SERIAL sort, in any state, to its state after begin: without
	 * tuples or temporary files, and ready for put.  The sort keeps its
	 * options, what it learned about the keys, its statistics, and a little
	 * memory.  You cannot reset a sort in which perform or put raised an
	 * error (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE).
	 */
	void		(*reset) (PtSort *sort);

	/* Free the sort.  A worker's runs stay in the shared file set. */
	void		(*end) (PtSort *sort);

	/* Fill in the statistics of this sort object. */
	void		(*stats) (PtSort *sort, PtSortStats *stats);

	/* ptsort_variant.h */
	PtSort	   *(*begin) (const struct PtSortVariant *variant, void *state,
						  int nwords, MemoryContext context,
						  const PtSortOptions *options);
	void		(*put) (PtSort *sort, const void *tuple, Size size,
						const uint64 *words);
	void	   *(*reserve) (PtSort *sort, Size size);
	void		(*commit) (PtSort *sort, const uint64 *words);
	const void *(*get) (PtSort *sort, bool forward, Size *size);
	const uint64 *(*get_entries) (PtSort *sort, int *n);

	/* ptsort_parallel.h */
	struct PtParallel *(*parallel) (const struct PtParallelRequest *request);
	struct PtParallelResult *(*parallel_end) (struct PtParallel *parallel);
} PtSortApi;

/*
 * ptsort_get_api returns the table of functions of the installed library.  The
 * arguments are the version and size with which the caller was compiled.
 * Raises ERRCODE_FEATURE_NOT_SUPPORTED if the table has another version, or is
 * smaller than 'size'.  The table is valid until the process ends.
 */
typedef const PtSortApi *(*PtSortGetApi) (uint32 version, uint32 size);

static inline const PtSortApi *
ptsort_api(void)
{
	static const PtSortApi *api = NULL;

	if (unlikely(api == NULL))
	{
		void	   *address = load_external_function("$libdir/ptsort",
													 "ptsort_get_api", true,
													 NULL);
		PtSortGetApi get;

		/* ISO C does not convert it to a pointer to a function */
		memcpy(&get, &address, sizeof(get));
		api = get(PTSORT_API_VERSION, sizeof(PtSortApi));
	}
	return api;
}

#define ptsort_shared_estimate	(ptsort_api()->shared_estimate)
#define ptsort_shared_init		(ptsort_api()->shared_init)
#define ptsort_shared_attach	(ptsort_api()->shared_attach)
#define ptsort_shared_slices	(ptsort_api()->shared_slices)
#define ptsort_begin_index		(ptsort_api()->begin_index)
#define ptsort_put_index		(ptsort_api()->put_index)
#define ptsort_get_index		(ptsort_api()->get_index)
#define ptsort_begin_heap		(ptsort_api()->begin_heap)
#define ptsort_put_heap			(ptsort_api()->put_heap)
#define ptsort_get_heap			(ptsort_api()->get_heap)
#define ptsort_begin_datum		(ptsort_api()->begin_datum)
#define ptsort_put_datum		(ptsort_api()->put_datum)
#define ptsort_get_datum		(ptsort_api()->get_datum)
#define ptsort_begin_tuple		(ptsort_api()->begin_tuple)
#define ptsort_put_tuple		(ptsort_api()->put_tuple)
#define ptsort_put_slot			(ptsort_api()->put_slot)
#define ptsort_get_tuple		(ptsort_api()->get_tuple)
#define ptsort_get_slot			(ptsort_api()->get_slot)
#define ptsort_perform			(ptsort_api()->perform)
#define ptsort_next_slice		(ptsort_api()->next_slice)
#define ptsort_slice_start		(ptsort_api()->slice_start)
#define ptsort_rescan			(ptsort_api()->rescan)
#define ptsort_mark				(ptsort_api()->mark)
#define ptsort_restore			(ptsort_api()->restore)
#define ptsort_reset			(ptsort_api()->reset)
#define ptsort_end				(ptsort_api()->end)
#define ptsort_stats			(ptsort_api()->stats)

/* ptsort_method_name returns a method's name as EXPLAIN shows it. */
static inline const char *
ptsort_method_name(PtSortMethod method)
{
	switch (method)
	{
		case PTSORT_STILL_IN_PROGRESS:
			return "still in progress";
		case PTSORT_TOP_N:
			return "top-N sort";
		case PTSORT_IN_MEMORY:
			return "in-memory sort";
		case PTSORT_EXTERNAL_SORT:
			return "external sort";
		case PTSORT_EXTERNAL_MERGE:
			return "external merge";
	}
	return "unknown";
}

/* ptsort_method_on_disk returns true if a method keeps the tuples in files. */
static inline bool
ptsort_method_on_disk(PtSortMethod method)
{
	return method == PTSORT_EXTERNAL_SORT || method == PTSORT_EXTERNAL_MERGE;
}

/* ptsort_method_space returns EXPLAIN's word for a method's storage. */
static inline const char *
ptsort_method_space(PtSortMethod method)
{
	return ptsort_method_on_disk(method) ? "Disk" : "Memory";
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_H */
