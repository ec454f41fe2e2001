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
 * A build that can be done all over again gives start_over.  Its sorts are then
 * restartable (SortOptions).  When one has failed, the leader calls start_over
 * instead of finish, to take back all that was written, and the build begins
 * again without the tables of the collation that contradicts them.
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
 * BuildScan: what builds of ptsort's own may ask for beyond the request, and
 * what they are told.  Zero-initialise it, then set the first part.
 */
typedef struct BuildScan
{
	WaitingRuns *runs;			/* to be loaded, without a scan, or NULL */
	int			ncandidates;	/* for which it would scan as well */
	const Candidate *candidates;

	int			nsiblings;		/* for which it does, before the first sort */
} BuildScan;

/*
 * build_own is build_run for builds of ptsort's own, whose begin callback gets
 * the PtSortOptions of a SortOptions; the request names no callbacks.  The runs
 * of siblings wait when it returns (siblings.h).
 */
extern PtBuildResult *build_own(const PtBuildRequest *request,
								const BuildOps *ops, BuildScan *scan);

#endif							/* PTSORT_BUILD_DRIVER_H */
