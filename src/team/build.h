/*-------------------------------------------------------------------------
 *
 * build.h
 *	  One process's part of an index build, for any access method.
 *
 * Each kind of team (team.h) that builds an index has a Build as the first
 * field of its state, and a BuildInfo as the first field of its information for
 * workers.  So do the sorts of other extensions (parallel.c), which may have no
 * index and no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILD_DRIVER_H
#define PTSORT_BUILD_DRIVER_H

#include "access/genam.h"
#include "team/heapscan.h"
#include "team/team.h"

/*
 * BuildInfo: what the leader tells the workers.  The flags are copies of the
 * flags in the leader's IndexInfo, because the catalogs may have other values.
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
	BuildInfo	info;
	WorkAbout	about;
	bool		progress;		/* report to the progress view */
	double		heap_tuples;	/* live rows that all participants read */
	double		index_tuples;	/* tuples put by all participants together */
	const char *source;			/* write/indexbuild.h: reason for the number
								 * of workers */
	bool		started;		/* write/indexbuild.h: logged the start line */
	struct Load *load;			/* write/indexbuild.h: kept until all end */
} Build;

/*
 * Leader: build_init sets all fields of a zeroed Build, except fields of 'team'
 * that only some kinds of team use.
 */
extern void build_init(Build *build, const TeamKind *kind,
					   const PtParallelRequest *request);

/*
 * Leader: build_request returns the request of an ambuild, which may use all of
 * maintenance_work_mem.  Like the server's ambuilds, it raises an error if the
 * index is not empty.
 */
extern PtParallelRequest build_request(Relation heap, Relation index,
									   IndexInfo *index_info);

/*
 * build_run launches up to 'workers' workers, and returns after they end.
 * All participants scan, sort and, if team.slices is true, read slices.
 */
extern void build_run(Build *build, int workers);

/*
 * After build_run, build_check raises an error unless the participants together
 * read all blocks of the table and, if they read slices, all tuples that they
 * put.  'reader' is the name of the reading callback.
 */
extern void build_check(const Build *build, const char *reader);

/*
 * build_scan passes this process's part of the table to the targets, and stores
 * the row and block counts in team.slot.  targets[0] is the team's index.
 */
extern void build_scan(Build *build, HeapScanTarget *targets, int ntargets);

/* build_scan_index does this for the team's index alone. */
extern void build_scan_index(Build *build, IndexBuildCallback callback,
							 void *state);

/* TeamKind.open, close and enter_phase */
extern void build_open(Team *team);
extern void build_close(Team *team);
extern void build_enter_phase(Team *team, TeamPhase phase);

/* parallel.c: ptsort_parallel() and ptsort_parallel_end() */
extern PtParallel *parallel_run(const PtParallelRequest *request);
extern PtParallelResult *parallel_end(PtParallel *parallel);

/*
 * parallel_is_forbidden returns true if the planner's hook of another
 * extension forbids parallel work on this table.
 */
extern bool parallel_is_forbidden(Relation table);

#endif							/* PTSORT_BUILD_DRIVER_H */
