/*-------------------------------------------------------------------------
 *
 * build.h
 *	  One process's part of an index build, of any access method.
 *
 * A kind of team that builds an index (team.h) has a Build as the first field
 * of its state, and a BuildInfo as the first field of its information for
 * workers.  build.c has the functions that all such kinds share.  The sorts of
 * other extensions (parallel.c) use them as well; these may have no index, and
 * no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_DRIVER_H
#define PTSORT_BUILD_DRIVER_H

#include "ptsort_parallel.h"
#include "team/heapscan.h"
#include "team/team.h"

/*
 * BuildInfo: what the workers must know.  The flags are those of the leader's
 * IndexInfo, which may differ from the catalogs.
 */
typedef struct BuildInfo
{
	Oid			heap_id;		/* InvalidOid: no table */
	Oid			index_id;		/* InvalidOid: no index */
	bool		is_unique;
	bool		nulls_not_distinct;
	bool		is_concurrent;
} BuildInfo;

typedef struct Build
{
	Team		team;			/* must be first */
	Relation	heap;
	Relation	index;
	IndexInfo  *index_info;

	/* Leader */
	bool		progress;		/* report to the view of CREATE INDEX */
	double		heap_tuples;	/* live rows, and tuples put, of all
								 * participants */
	double		index_tuples;
} Build;

/*
 * Leader: build_init sets all of a zeroed Build except the fields of the team
 * that only some kinds have.  'info' must live as long as the team.
 */
extern void build_init(Build *build, const TeamKind *kind,
					   const PtParallelRequest *request, BuildInfo *info,
					   Size info_size);

/*
 * build_run launches up to this many workers and lets all participants scan,
 * sort and, if they read slices, read.  It returns after the end of the
 * workers.
 */
extern void build_run(Build *build, int workers);

/*
 * build_check raises an error unless all participants together read as many
 * blocks as the table has and, if they read slices, as many tuples from the
 * sort as they put: the index would lack some.  'reader' names the callback
 * that reads.  Call it after build_run.
 */
extern void build_check(const Build *build, const char *reader);

/*
 * build_scan passes this process's part of the table to the targets, the first
 * of which is the index that is built, and stores the counts.
 */
extern void build_scan(Build *build, HeapScanTarget *targets, int ntargets);

/* TeamKind.open, close and enter_phase */
extern void build_open(Team *team);
extern void build_close(Team *team);
extern void build_enter_phase(Team *team, TeamPhase phase);

/* parallel.c: ptsort_parallel() and ptsort_parallel_end() */
extern PtParallel *parallel_run(const PtParallelRequest *request);
extern PtParallelResult *parallel_end(PtParallel *parallel);

/* Entry point of the workers of ptsort_parallel(). */
extern PGDLLEXPORT void ptsort_parallel_main(dsm_segment *segment,
											 shm_toc *toc);

/*
 * parallel_is_forbidden returns true if another extension forbids parallel work
 * on this table by its get_relation_info_hook.
 */
extern bool parallel_is_forbidden(Relation table);

#endif							/* PTSORT_BUILD_DRIVER_H */
