/*-------------------------------------------------------------------------
 *
 * gistbuild.h
 *	  ptsort's sorted GiST build, which replaces the server's gistbuild().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GISTBUILD_H
#define PTSORT_GISTBUILD_H

#include "compat.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

/*
 * gistbuild_why_not returns NULL if the server would build the index by
 * sorting: all key columns have sort support, and buffering is not on.
 * Otherwise it returns the reason.
 */
extern const char *gistbuild_why_not(Relation index);

/*
 * gistbuild_build builds 'index' over 'heap' as the server's gistbuild would.
 * It logs the start and end lines and, on success, publishes its report.
 * 'source' is the reason for the number of workers.
 */
extern IndexBuildResult *gistbuild_build(Relation heap, Relation index,
										 IndexInfo *index_info, int workers,
										 const char *source);

#endif							/* PTSORT_GISTBUILD_H */
