/*-------------------------------------------------------------------------
 *
 * build.h
 *	  The driver of a parallel index build, as the rest of the library sees it.
 *
 * ptsort_build.h documents the interface.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_DRIVER_H
#define PTSORT_BUILD_DRIVER_H

#include "ptsort_build.h"
#include "team/participant.h"

/*
 * BuildOps: the callbacks of a build of ptsort's own, and the main function of
 * its workers, which calls participant_serve with them.
 *
 * A build that can be repeated sets start_over, else NULL.  Its sorts are then
 * restartable (SortOptions).  If one fails, the leader calls start_over instead
 * of finish, to undo all that was written, and the build begins again without
 * the tables of the collation that contradicts them.
 */
typedef struct BuildOps
{
	PtBuildOps	base;			/* must be first */
	const char *worker_main;
	void		(*start_over) (PtBuild *build);
} BuildOps;

/* build_run is ptsort_build() of the API. */
extern PtBuildResult *build_run(const PtBuildRequest *request);

/*
 * BuildScan: further options and results of builds of ptsort's own.
 * Zero-initialise it, then set the first part.
 */
typedef struct BuildScan
{
	WaitingRuns *runs;			/* runs to load instead of scanning, or NULL */
	int			ncandidates;	/* other indexes that the scan may serve */
	const Candidate *candidates;

	int			nsiblings;		/* result: number of other indexes served; set
								 * before the first sort begins */
} BuildScan;

/*
 * build_own is build_run for builds of ptsort's own: the request names no
 * callbacks, and the PtSortOptions that begin receives are part of a
 * SortOptions.  When it returns, the runs of the siblings wait (siblings.h).
 */
extern PtBuildResult *build_own(const PtBuildRequest *request,
								const BuildOps *ops, BuildScan *scan);

#endif							/* PTSORT_BUILD_DRIVER_H */
