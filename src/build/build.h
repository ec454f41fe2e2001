/*-------------------------------------------------------------------------
 *
 * build.h
 *	  The frame of a parallel index build, as the rest of the library sees it.
 *
 * ptsort_build.h documents the interface; everybody, ptsort's own btree build
 * included, reaches it through the API table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_FRAME_H
#define PTSORT_BUILD_FRAME_H

#include "ptsort_build.h"

/*
 * Name of this library as the processes of a build look it up.  No "$libdir/":
 * the library may have been found through dynamic_library_path.
 */
#define PTSORT_LIBRARY "ptsort"

/* Developer GUC: does the leader's process scan and sort as well? */
extern bool ptsort_debug_leader_participates;

/* build_run is ptsort_build() of the API. */
extern PtBuildResult *build_run(const PtBuildRequest *request);

#endif							/* PTSORT_BUILD_FRAME_H */
