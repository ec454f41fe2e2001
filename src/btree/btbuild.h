/*-------------------------------------------------------------------------
 *
 * btbuild.h
 *	  ptsort's btree build: the ambuild that replaces the server's.
 *
 * ambuild.c decides whether ptsort builds an index and how many workers it
 * requests, and then calls btbuild_build().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTBUILD_H
#define PTSORT_BTBUILD_H

#include "access/genam.h"
#include "btree/siblings.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

/* BtBuildRequest: what ambuild.c requests of a build. */
typedef struct BtBuildRequest
{
	int			workers;		/* parallel workers to request, 0 = serial;
								 * after limits and parallel safety */
	bool		is_order;		/* use workers even if they do not pay */
	const char *source;			/* reason for 'workers', for the start line */
	const WaitingRuns *runs;	/* runs of an earlier scan, or NULL */
	int			ncandidates;	/* open indexes that this scan may also serve */
	Relation   *candidates;
	bool		check_unique;	/* false: their builds will not check
								 * uniqueness */
} BtBuildRequest;

/*
 * btbuild_build builds 'index' over 'heap' as the server's btbuild would: the
 * result has the same meaning, and errors are the server's own.  It logs the
 * start and end lines and, on success, publishes its report.
 */
extern IndexBuildResult *btbuild_build(Relation heap, Relation index,
									   IndexInfo *indexInfo,
									   const BtBuildRequest *request);

#endif							/* PTSORT_BTBUILD_H */
