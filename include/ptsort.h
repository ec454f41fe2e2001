/*-------------------------------------------------------------------------
 *
 * ptsort.h
 *	  Use ptsort's sort from your extension.
 *
 * Three headers for three audiences: this one uses the sort, ptsort_parallel.h
 * runs a whole parallel sort or index build with one call, ptsort_variant.h
 * teaches the sort a new kind of tuple.  doc/embedding.md begins with a serial
 * sort and has what is common to all of them: setting up, compatibility,
 * examples.
 *
 * Call begin, put ..., perform, get ..., end.  If you have many small sorts,
 * call ptsort_reset() after each and put the next one's tuples: then a sort of
 * a few tuples costs no more than putting and getting them.
 *
 * PARALLEL SORT
 *
 * Serial is parallel with one participant.  With several, unless you leave all
 * of this to ptsort_parallel(), in this order:
 *
 *	1. leader: reserve ptsort_shared_estimate(n) bytes in your own DSM segment,
 *	   where n is 1 + the number of workers that you are going to launch (one
 *	   block per sort; any number of sorts per segment), then
 *	   ptsort_shared_init() on that block, then launch your workers.
 *	2. every worker process: ptsort_shared_attach() once.  The leader process
 *	   is attached by ptsort_shared_init() already.
 *	3. every participant (the leader's process may be one as well): begin with
 *	   role PTSORT_WORKER and .participant = the number of this process: 0 in
 *	   the leader's, ParallelWorkerNumber + 1 in a worker.  Put, perform, end.
 *	   perform leaves sorted runs in temporary files and their description in
 *	   the shared block.
 *	4. leader: begin with role PTSORT_LEADER and .participants = the number of
 *	   participants that really run (launched workers, plus one if the leader's
 *	   process took part in step 3).  perform waits for their runs; get returns
 *	   the merged stream; end.
 *	   Or, instead of 4, all processes merge: the leader begins with role
 *	   PTSORT_SLICE_LEADER and .participants as above, the workers begin with
 *	   role PTSORT_SLICE.  Each performs, and then, while ptsort_next_slice()
 *	   gives it a slice, gets that slice's tuples.  Slices follow each other in
 *	   order of their number; those of all processes together are the merged
 *	   stream.
 *	5. leader: destroy the segment after step 4.  Temporary files go when the
 *	   last process detaches from it.
 *
 * A leader whose .participants is not the number of processes that sorted gets
 * an error, and so does a process that begins to sort after the leader
 * collected the runs: tuples are never silently lost.
 *
 * All participants must begin with equal arguments, except the options.
 *
 * CALLBACKS
 *
 * ptsort_parallel() sizes and creates the parallel context, launches workers,
 * hands out the table's blocks, lets the leader take part, adds up tuple
 * counts, WAL and buffer usage, falls back to fewer workers or none, and cleans
 * up.  It calls your callbacks in the leader and in the workers.
 *
 * - A worker finds your callbacks by library and name: the request names a
 *	 function of yours that is exported and returns them.  A worker has the
 *	 leader's transaction, snapshot, user and settings, but none of its
 *	 variables: pass what it must know in arg, or in shared memory.
 * - An error in a callback of a worker, and the death of a worker, raise an
 *	 error in the leader.  The leader may be cancelled at any time.
 * - The current memory context of every callback is the sort's own in that
 *	 process: ptsort never resets it, and deletes it at the end.  A callback
 *	 that is called for each row must free what it allocates, or allocate it in
 *	 a context of yours that you reset.
 * - While there are workers, all callbacks run in the server's parallel mode:
 *	 no process may change catalogs, get a transaction ID or start another
 *	 parallel operation.
 *
 * RULES FOR ALL FUNCTIONS
 *
 * - Every function may ereport(ERROR).  After an error you need not call
 *	 anything: the memory context that was current at begin frees the memory,
 *	 and the resource owner or the segment removes the files, so ptsort_end()
 *	 is needed only on success.
 * - Sizes are bytes.  The budget is for this one sort object.  Budgets smaller
 *	 than PTSORT_MIN_BUDGET are raised to it.  One tuple larger than the budget
 *	 can still be sorted.
 * - A size or number out of its range, such as a negative budget, raises
 *	 ERRCODE_INVALID_PARAMETER_VALUE; the size of a tuple raises
 *	 ERRCODE_PROGRAM_LIMIT_EXCEEDED.  Where no upper end of the range is named,
 *	 any large value means "as much as there is".
 * - Order is total: tuples that compare equal come in order of their TID (index
 *	 tuples, heap tuples) or of their bytes (datums, minimal tuples), or, with
 *	 PtSortOptions.stable, in the order in which they were put.  So the result
 *	 is the same for every budget and every number of participants.
 * - begin makes a memory context below the current one, which holds everything
 *	 that the sort allocates.  put copies its argument.  Do not free what get
 *	 returns.  put leaves nothing in the current context, unless functions of
 *	 the type do: reset that context now and then if these are not yours.
 * - A pointer that get returns is valid until the next call on that sort.
 * - get takes forward = false to read backward, which needs random access: it
 *	 then returns the tuple before the one returned last, or, if the last get
 *	 has found the end, the last tuple.
 * - Not for use by several threads; a PtSort belongs to one process.
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

/* Most processes of one parallel sort: the leader's and its workers'. */
#define PTSORT_MAX_PROCESSES	1025

/* One participant's sort (or the leader's merge).  Private to ptsort. */
typedef struct PtSort PtSort;

/* The block in shared memory of one parallel sort.  Private to ptsort. */
typedef struct PtSortShared PtSortShared;

struct PtParallel;
struct PtParallelRequest;
struct PtParallelResult;
struct PtSortVariant;

/* What the sort object is for; see "PARALLEL SORT" above. */
typedef enum PtSortRole
{
	PTSORT_SERIAL,				/* put and get in one object, no shared block */
	PTSORT_WORKER,				/* put only; leaves runs in temporary files */
	PTSORT_LEADER,				/* get only; waits for the workers' runs and
								 * merges them */
	PTSORT_SLICE_LEADER,		/* get only; waits for the runs, plans slices
								 * of their merge, and merges slices */
	PTSORT_SLICE				/* get only; waits for that plan, and merges
								 * slices */
} PtSortRole;

/*
 * PtSortOptions: how to sort.  Zero-initialise it, then set what you need.
 */
typedef struct PtSortOptions
{
	PtSortRole	role;
	int64		budget;			/* bytes; see "RULES" above */
	bool		random_access;	/* allow rescan, backward reads, mark, restore
								 * (SERIAL only) */
	PtSortShared *shared;		/* all except SERIAL: the attached block */
	int			participant;	/* WORKER: number of this process in the
								 * block: 0 the leader's, 1, 2, ... the
								 * workers'.  Other roles ignore it */
	int			participants;	/* LEADER, SLICE_LEADER: number of WORKER
								 * sorts, at least 1; 0 in all others */
	ParallelContext *workers;	/* LEADER, SLICE_LEADER, may be NULL: the
								 * launched workers; then a worker that dies
								 * before it leaves its run is an error
								 * instead of a long wait */
	int64		expected_tuples;	/* about how many you will put into this
									 * sort; 0: unknown.  Affects only the
									 * time: ptsort omits for few tuples what
									 * pays only for many */
	int64		bound;			/* get returns only this many tuples, the
								 * first in order, so the sort need not keep
								 * others; 0: all (SERIAL, and not for unique
								 * indexes) */
	bool		stable;			/* tuples that compare equal come in the order
								 * in which they were put: those of one
								 * participant, and before them those of
								 * participants of lower number.  In all
								 * participants or in none */
} PtSortOptions;

/*
 * How a sort object sorted, for EXPLAIN; ptsort_method_name() has names.
 */
typedef enum PtSortMethod
{
	PTSORT_STILL_IN_PROGRESS,	/* not performed yet */
	PTSORT_TOP_N,				/* in memory, keeping only the first tuples */
	PTSORT_IN_MEMORY,
	PTSORT_EXTERNAL_SORT,		/* to one run in a temporary file */
	PTSORT_EXTERNAL_MERGE		/* reading merges runs in temporary files */
} PtSortMethod;

/*
 * PtSortStats: what one sort object did so far, including before the last
 * reset.  Counts and times add up all its sorts; the other fields are the
 * maximum of one of them.  EXPLAIN shows temp_bytes of the two external
 * methods, and peak_memory of the others.
 */
typedef struct PtSortStats
{
	int64		tuples;			/* tuples put; LEADER, SLICE_LEADER, SLICE:
								 * tuples in all runs */
	int64		runs;			/* runs written: initial ones and merged ones */
	int64		run_bytes;		/* bytes of the runs this participant left, or
								 * of all runs written (SERIAL) */
	int64		comparisons;	/* comparisons by the caller's operators */
	int64		peak_memory;	/* maximum bytes that the sort held */
	int64		temp_bytes;		/* maximum bytes of temporary files */
	double		sort_ms;		/* ordering entries in memory, except a few */
	double		run_ms;			/* writing runs, merging them into one */
	PtSortMethod method;		/* the last one, in the order above, that a
								 * sort used */
} PtSortStats;

/*
 * PtSortApi: the functions.  You call perform as ptsort_perform(), and so on.
 * The order is part of the ABI, and new functions go to the end.
 */
typedef struct PtSortApi
{
	uint32		version;		/* PTSORT_API_VERSION */
	uint32		size;			/* sizeof(PtSortApi) of the library */

	/*
	 * Return the bytes that a sort by at most 'processes' processes needs in
	 * shared memory.  Count the leader's process, whether or not it will
	 * sort, and all workers that you may launch; they are numbered 0 to
	 * processes - 1.  Everywhere, a number of processes is 1 to
	 * PTSORT_MAX_PROCESSES.
	 */
	Size		(*shared_estimate) (int processes);

	/*
	 * Turn memory of ptsort_shared_estimate() bytes in the given segment,
	 * MAXALIGNed, into the shared block of one sort and attach this process
	 * to it.
	 */
	void		(*shared_init) (PtSortShared *shared, int processes,
								dsm_segment *segment);

	/*
	 * Make the block usable in a worker process.  Call it once for each
	 * process and block.
	 */
	void		(*shared_attach) (PtSortShared *shared, dsm_segment *segment);

	/*
	 * Return the number of slices of a parallel sort whose block was made for
	 * 'processes' processes.  Some may be empty.
	 */
	int			(*shared_slices) (int processes);

	/*
	 * Start a sort of index tuples by the key columns of a btree index and
	 * then by heap TID.  With unique, two live tuples with equal keys raise
	 * the server's own unique violation in put, perform or get; nulls are
	 * distinct unless nulls_not_distinct.  Both relations must stay open. The
	 * index's access method is the server's btree.  For another access method
	 * use datums, minimal tuples or a variant of your own.
	 */
	PtSort	   *(*begin_index) (Relation heap, Relation index, bool unique,
								bool nulls_not_distinct,
								const PtSortOptions *options);

	/*
	 * Add one index tuple made of all the index's columns.  A tuple that is
	 * not alive (recently dead) takes no part in uniqueness.
	 */
	void		(*put_index) (PtSort *sort, ItemPointer tid,
							  const Datum *values, const bool *isnull,
							  bool alive);

	/* Return the next index tuple in order, NULL at the end. */
	IndexTuple	(*get_index) (PtSort *sort, bool forward);

	/*
	 * Start a sort of a table's rows by the key columns of one of its btree
	 * indexes, expressions included, and then by TID: what CLUSTER needs.
	 * 'desc' describes the rows and is copied.  Pass the table's descriptor,
	 * or one with the same numbers for the columns that the index uses.  The
	 * predicate of a partial index is ignored.  The index must stay open.
	 * put, perform, get and next_slice evaluate its expressions, in the
	 * caller's security context and with its active snapshot.
	 */
	PtSort	   *(*begin_heap) (TupleDesc desc, Relation index,
							   const PtSortOptions *options);

	/*
	 * Add a copy of a row: the tuple with all of its header, its TID (t_self)
	 * and its table (t_tableOid).  Toast pointers stay unchanged.
	 */
	void		(*put_heap) (PtSort *sort, HeapTuple tuple);

	/*
	 * Return the next row in order, bit by bit as it was put, NULL at the
	 * end.  It may be modified in place unless the sort has random access.
	 */
	HeapTuple	(*get_heap) (PtSort *sort, bool forward);

	/*
	 * Start a sort of single values of a type by an operator that is the
	 * "less" or "greater" member of a btree operator class.
	 */
	PtSort	   *(*begin_datum) (Oid type, Oid lt_operator, Oid collation,
								bool nulls_first,
								const PtSortOptions *options);

	/* Add one value, which is copied (and detoasted). */
	void		(*put_datum) (PtSort *sort, Datum value, bool isnull);

	/*
	 * Get the next value and return true, or false at the end.  By-reference
	 * values point into the sort.
	 */
	bool		(*get_datum) (PtSort *sort, bool forward, Datum *value,
							  bool *isnull);

	/*
	 * Start a sort of minimal tuples by nkeys columns, each with its
	 * operator, collation and place of nulls.  The descriptor is copied.
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

	/* Return the next tuple in order, NULL at the end. */
	MinimalTuple (*get_tuple) (PtSort *sort, bool forward);

	/*
	 * Store the next tuple into a slot of minimal tuples, not copied; at the
	 * end clear the slot and return false.
	 */
	bool		(*get_slot) (PtSort *sort, bool forward, TupleTableSlot *slot);

	/*
	 * Sort the tuples put.  WORKER: write runs and announce them.  LEADER,
	 * SLICE_LEADER: wait for all participants' runs.  SLICE: wait for the
	 * SLICE_LEADER's plan.  Call it once per sort.
	 */
	void		(*perform) (PtSort *sort);

	/*
	 * Claim a slice that no process has claimed and make get return its
	 * tuples; false if there is none left.  *slice is its number, from 0, or
	 * -1 at the end.  SLICE_LEADER and SLICE.  You can also read a SERIAL
	 * sort like this: as slice 0, which is all of it.
	 */
	bool		(*next_slice) (PtSort *sort, int *slice);

	/*
	 * Return the number of tuples in the merged stream before the slice that
	 * ptsort_next_slice claimed last; an error if it claimed none, or none
	 * was left.  So you can write a slice to its place in an array, no matter
	 * which process writes the slices before it.
	 */
	int64		(*slice_start) (PtSort *sort);

	/*
	 * Go back to the start and set the mark there.  Needs random_access, as
	 * do the next two.
	 */
	void		(*rescan) (PtSort *sort);

	/* Remember the current position.  The initial mark is the start. */
	void		(*mark) (PtSort *sort);

	/* Go back to the marked position. */
	void		(*restore) (PtSort *sort);

	/*
	 * Return a SERIAL sort, in any state, to its state after begin: without
	 * tuples or temporary files, and ready for put.  It keeps its options,
	 * what it learned about the keys, its statistics, and a little memory.  A
	 * sort in which perform or put raised an error cannot be reset
	 * (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE).
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
 * arguments are the version and size that the caller was compiled with.  Raises
 * ERRCODE_FEATURE_NOT_SUPPORTED if the table has another version or is smaller.
 * The table lives as long as the process.
 */
typedef const PtSortApi *(*PtSortGetApi) (uint32 version, uint32 size);

static inline const PtSortApi *
ptsort_api(void)
{
	static const PtSortApi *api = NULL;

	if (unlikely(api == NULL))
	{
		PtSortGetApi get = (PtSortGetApi)
			load_external_function("$libdir/ptsort", "ptsort_get_api",
								   true, NULL);

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

/* ptsort_method_name returns a method's name as in EXPLAIN. */
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

/*
 * ptsort_method_space returns where a method keeps the tuples, as EXPLAIN calls
 * it.
 */
static inline const char *
ptsort_method_space(PtSortMethod method)
{
	return ptsort_method_on_disk(method) ? "Disk" : "Memory";
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_H */
