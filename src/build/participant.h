/*-------------------------------------------------------------------------
 *
 * participant.h
 *	  One process's part of a parallel index build, and what its processes
 *	  share.  Private to participant.c and build.c.
 *
 * A participant goes through its phases in this order:
 *
 *		open, begin, scan, sort, close, load (of slices)
 *
 * The leader does its own opening, and whatever follows the sort, in build.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PARTICIPANT_H
#define PTSORT_PARTICIPANT_H

#include "access/tableam.h"
#include "ptsort_build.h"
#include "sort/internal.h"
#include "stamp.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"

/* The workers' entry point, by name, for CreateParallelContext(). */
#define BUILD_WORKER_MAIN "ptsort_build_worker_main"

/*
 * What is in the segment, each piece under a key of its own in the table of
 * contents.  A piece of size 0 is left out.
 */
typedef enum BuildPiece
{
	PIECE_SHARED,				/* one BuildShared */
	PIECE_SLOTS,				/* a BuildSlot for each participant */
	PIECE_SCAN,					/* ParallelTableScanDesc, the table AM's */
	PIECE_SORT,					/* PtSortShared, the sort's */
	PIECE_LOAD,					/* the user's, see shared_size */
	PIECE_LIBRARY,				/* string: the request's library */
	PIECE_FUNCTION,				/* string: the request's ops_function */
	PIECE_ARG,					/* the request's arg */
	PIECE_QUERY,				/* string: the leader's debug_query_string */
	PIECE_WAL,					/* a WalUsage for each participant */
	PIECE_BUFFERS,				/* a BufferUsage for each participant */
	NUM_PIECES
} BuildPiece;

#define PIECE_KEY(piece)	(UINT64CONST(0xB700000000000000) + (piece))

/*
 * BuildShared: what the workers must know.  The leader writes it before it
 * launches them; immutable from then on.  So are the strings and the argument.
 */
typedef struct BuildShared
{
	BuildStamp	stamp;			/* must be first */
	Oid			heap_id;
	Oid			index_id;
	bool		is_unique;		/* these three from the leader's IndexInfo, */
	bool		nulls_not_distinct; /* which may differ from the catalogs */
	bool		is_concurrent;
	int			participants;	/* that were planned to scan */
	int			processes;		/* the leader's and those of the workers */
	int64		budget;			/* bytes, of the whole build */
	Size		arg_size;
	bool		optimistic;		/* sorts are */
	bool		restartable;	/* sorts are */
	uint64		query_id;
} BuildShared;

/*
 * BuildSlot: what one participant found and did.  Written by it alone, without
 * a lock.  The counts are complete before it announces its run, so the leader
 * may read them once its own sort has been performed; the statistics are
 * complete when the process ends, so the leader may read them after
 * WaitForParallelWorkersToFinish().  The arrays of slots and of usage have an
 * element for each participant, by its number; those of usage leave the
 * leader's empty.
 */
typedef struct BuildSlot
{
	double		heap_tuples;
	int64		index_tuples;
	int64		loaded;			/* tuples that were read in the load */
	bool		broken_hot_chain;

	PtBuildStats stats;
	SortOutcome outcome;		/* of all its sorts together */
} BuildSlot;

/*
 * Participant: this process's part.
 */
typedef struct Participant
{
	PtBuild		build;			/* what the callbacks see */
	const PtBuildOps *ops;
	int64		budget;			/* bytes, of the whole build */
	int			processes;		/* among which it is divided at most */
	ParallelTableScanDesc scan; /* NULL: all of the table is ours */
	PtSortShared *sort_shared;	/* NULL: serial */
	PtSort	   *sort;
	BuildSlot  *slot;
	bool		progress;		/* report phases */
	bool		optimistic;		/* sorts are */
	bool		restartable;	/* sorts are */
} Participant;

/*
 * participant_find_ops returns the callbacks of a build by library and name,
 * or raises an error, also if they are incomplete.  The leader calls it as
 * well as the workers: a wrong name shows there first, and a build without
 * workers finds the same function.
 */
extern const PtBuildOps *participant_find_ops(const char *library,
											  const char *function);

/* participant_report_phase shows one of nbtree's phases as progress. */
extern void participant_report_phase(const Participant *participant,
									 int64 phase);

/* participant_begin begins the sort into which this process puts. */
extern void participant_begin(Participant *participant, PtSortRole role);

/*
 * participant_scan reads this process's share of the table.  Afterwards the
 * counts in its slot are complete.
 */
extern void participant_scan(Participant *participant);

/*
 * participant_sort sorts what was put.  A WORKER leaves its run, and so tells
 * the leader that its counts are complete.
 */
extern void participant_sort(Participant *participant);

/* participant_close ends a WORKER's sort.  The run stays. */
extern void participant_close(Participant *participant);

/*
 * participant_collect begins the sort that reads the runs, and waits for them.
 * The options are those in which the leader's differ from a worker's.
 */
extern void participant_collect(Participant *participant,
								PtSortOptions options);

/* build_add_outcome adds how a sort ended to how others did. */
extern void build_add_outcome(SortOutcome *sum, const SortOutcome *outcome);

/*
 * participant_load lets the user load, as many slices as it gets or all, adds
 * what the sort did and how it ended to what is known of the participant's own,
 * and ends it.
 */
extern void participant_load(Participant *participant);

/* participant_loads_slices tells whether the user can load in slices. */
extern bool participant_loads_slices(const Participant *participant);

/* Entry point of the workers. */
extern PGDLLEXPORT void ptsort_build_worker_main(dsm_segment *segment,
												 shm_toc *toc);

#endif							/* PTSORT_PARTICIPANT_H */
