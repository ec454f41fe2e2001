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
 * BuildInfo: TeamKind's information for the workers of a build.  is_unique,
 * nulls_not_distinct and is_concurrent are those of the leader's IndexInfo,
 * which may differ from the catalogs.
 */
typedef struct BuildInfo
{
	Oid			heap_id;
	Oid			index_id;
	bool		is_unique;
	bool		nulls_not_distinct;
	bool		is_concurrent;
	dsm_handle	stored;			/* segment of the runs to load, or
								 * DSM_HANDLE_INVALID: scan the table */
	int			nsiblings;		/* other indexes that the scan serves */
	SiblingInfo siblings[MAX_SIBLINGS];
} BuildInfo;

/*
 * Candidate: an open index that may become a sibling, so that the scan of this
 * build serves it, too.
 */
typedef struct Candidate
{
	Relation	index;
	bool		is_unique;		/* as its IndexInfo will have it */
	bool		nulls_not_distinct; /* as its IndexInfo will have it */
} Candidate;

/*
 * Sibling: another index that the scan of this build serves (siblings.h).
 */
typedef struct Sibling
{
	const PtBuildOps *ops;
	PtBuild		build;			/* argument of the callbacks */
	dsm_segment *segment;
	SiblingShared *shared;
	PtSort	   *sort;
	SiblingCounts counts;		/* of this process */
} Sibling;

/*
 * Participant: one process's state in a build.
 */
typedef struct Participant
{
	Team		team;			/* must be first */
	PtBuild		build;			/* argument of the callbacks */
	const PtBuildOps *ops;
	bool		progress;		/* report phases to the progress view */
	int			nsiblings;
	Sibling		siblings[MAX_SIBLINGS];
	dsm_segment *stored;		/* in a worker: segment of BuildInfo.stored */

	/* Leader */
	BuildInfo	info;			/* for the workers */
	int			ncandidates;	/* they become siblings if there are workers */
	const Candidate *candidates;
} Participant;

/* Index builds as a kind of team. */
extern const TeamKind participant_kind;

/*
 * participant_find_ops returns the callbacks of a build by library and name.
 * It raises an error if there are none or if they are incomplete.  The leader
 * calls it, too, not only the workers: so it reports a wrong name before the
 * launch, and a build without workers uses the same function.
 */
extern const PtBuildOps *participant_find_ops(const char *library,
											  const char *function);

/*
 * participant_drop_siblings, in the leader, detaches the segments of all
 * siblings: this build does not sort for them.
 */
extern void participant_drop_siblings(Participant *participant);

/* participant_build updates and returns the argument of the callbacks. */
extern PtBuild *participant_build(Team *team);

/* participant_block_scan returns the shared state of a heap's parallel scan. */
static inline ParallelBlockTableScanDesc
participant_block_scan(const Team *team)
{
	return (ParallelBlockTableScanDesc) team->scan;
}

/*
 * participant_serve does all the work of a worker.  If 'ops' is NULL, it finds
 * the callbacks by the names in the segment.
 */
extern void participant_serve(dsm_segment *segment, shm_toc *toc,
							  const PtBuildOps *ops);

/* Entry point of the workers of ptsort_build(). */
extern PGDLLEXPORT void ptsort_build_worker_main(dsm_segment *segment,
												 shm_toc *toc);

#endif							/* PTSORT_PARTICIPANT_H */
