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

/*
 * Name of this library as the processes of a build look it up.  No "$libdir/":
 * the library may have been found through dynamic_library_path.
 */
#define PTSORT_LIBRARY "ptsort"

/*
 * BuildOps: what a function of this library must return as its callbacks.
 *
 * A build that can be done all over again gives start_over.  Its sorts are then
 * optimistic and restartable (SortOptions).  When one has failed, the leader
 * calls start_over instead of finish, to take back all that was written, and
 * the build begins again without what made it fail.  The reason ends a message,
 * after a colon.
 */
typedef struct BuildOps
{
	PtBuildOps	base;			/* must be first */
	void		(*start_over) (PtBuild *build, const char *reason);
} BuildOps;

/* build_run is ptsort_build() of the API. */
extern PtBuildResult *build_run(const PtBuildRequest *request);

/*
 * build_run_with is build_run for builds of ptsort's own, whose begin callback
 * gets the PtSortOptions of a SortOptions.  It also tells how many hints were
 * wrong, in all sorts together.
 */
extern PtBuildResult *build_run_with(const PtBuildRequest *request,
									 int64 *wrong_hints);

#endif							/* PTSORT_BUILD_DRIVER_H */
