/*-------------------------------------------------------------------------
 *
 * participant.h
 *	  One process's part of a parallel index build.  Private to participant.c
 *	  and build.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PARTICIPANT_H
#define PTSORT_PARTICIPANT_H

#include "access/relscan.h"
#include "ptsort_build.h"
#include "team/siblings.h"
#include "team/team.h"

/* The workers' entry point, by name, for CreateParallelContext(). */
#define BUILD_WORKER_MAIN "ptsort_build_worker_main"

/*
 * BuildInfo: what the workers must know beyond what every team does.
 */
typedef struct BuildInfo
{
	Oid			heap_id;
	Oid			index_id;
	bool		is_unique;		/* these three from the leader's IndexInfo, */
	bool		nulls_not_distinct; /* which may differ from the catalogs */
	bool		is_concurrent;
	dsm_handle	stored;			/* segment with the runs that are loaded, or
								 * DSM_HANDLE_INVALID: the table is scanned */
	int			nsiblings;		/* for which it is scanned as well */
	SiblingInfo siblings[MAX_SIBLINGS];
} BuildInfo;

/*
 * Candidate: an index for which the leader would have the table scanned as
 * well.  It is open.
 */
typedef struct Candidate
{
	Relation	index;
	bool		is_unique;		/* these two as its IndexInfo will have them */
	bool		nulls_not_distinct;
} Candidate;

/*
 * Sibling: an index for which the table is scanned as well.
 */
typedef struct Sibling
{
	const PtBuildOps *ops;
	PtBuild		build;			/* what the callbacks see */
	dsm_segment *segment;
	SiblingShared *shared;
	PtSort	   *sort;
	SiblingCounts counts;		/* of this process */
} Sibling;

/*
 * Participant: this process's part.
 */
typedef struct Participant
{
	Team		team;			/* must be first */
	PtBuild		build;			/* what the callbacks see */
	const PtBuildOps *ops;
	bool		progress;		/* report phases */
	int			nsiblings;
	Sibling		siblings[MAX_SIBLINGS];
	dsm_segment *stored;		/* in a worker: see BuildInfo */

	/* Leader */
	BuildInfo	info;			/* what the workers are told */
	int			ncandidates;	/* to be siblings, if there are workers */
	const Candidate *candidates;
} Participant;

/* What the processes of a build do. */
extern const TeamKind participant_kind;

/*
 * participant_find_ops returns the callbacks of a build by library and name,
 * or raises an error, also if they are incomplete.  The leader calls it as
 * well as the workers: a wrong name shows there first, and a build without
 * workers finds the same function.
 */
extern const PtBuildOps *participant_find_ops(const char *library,
											  const char *function);

/* participant_drop_siblings, in the leader: nobody sorts for them. */
extern void participant_drop_siblings(Participant *participant);

/* participant_build returns what the callbacks see, as it is now. */
extern PtBuild *participant_build(Team *team);

/* participant_block_scan returns what the processes share of a heap's scan. */
static inline ParallelBlockTableScanDesc
participant_block_scan(const Team *team)
{
	return (ParallelBlockTableScanDesc) team->scan;
}

/*
 * participant_serve does all that a worker does.  Without 'ops', it finds the
 * callbacks by the names in the segment.
 */
extern void participant_serve(dsm_segment *segment, shm_toc *toc,
							  const PtBuildOps *ops);

/* Entry point of the workers of ptsort_build(). */
extern PGDLLEXPORT void ptsort_build_worker_main(dsm_segment *segment,
												 shm_toc *toc);

#endif							/* PTSORT_PARTICIPANT_H */
