/*-------------------------------------------------------------------------
 *
 * hook.h
 *	  What the files of this folder have for each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HOOK_H
#define PTSORT_HOOK_H

#include "btree/btbuild.h"

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_parallel_workers;	/* maximum; -1: by the server's cost
										 * model */
extern int	ptsort_min_table_size;	/* in kB */
extern int	ptsort_indexes_per_scan;

/* Each of these installs the hooks of a file; _PG_init calls it once. */
extern void utility_init(void);
extern void ambuild_init(void);
extern void cluster_init(void);

/*
 * utility_workers returns the N of the running statement's
 * WITH (parallel_workers = N) for this index, or -1 if it has none.
 */
extern int	utility_workers(Relation index);

/*
 * utility_reindexes returns true if the running statement is a REINDEX of
 * tables, not of one index.  It may be CONCURRENTLY, but then its builds do not
 * call this.  utility_rewrites returns true if it may copy tables: CLUSTER or
 * VACUUM.
 */
extern bool utility_reindexes(void);
extern bool utility_rewrites(void);

/*
 * planworkers_request returns a request for a build of this index, or for a
 * copy of the table sorted by it.  Its number of workers is that of the
 * statement or of the table's option (then is_order is true), or the maximum.
 * 'by_cost' is the number by the server's cost model.
 */
extern BtBuildRequest planworkers_request(Relation heap, Relation index,
										  int by_cost);

/*
 * planworkers_limit lowers request->workers, unless the user specified it, to
 * the number with which building 'index', and request->candidates by the same
 * scan, or copying the table in its order is fastest.  If it lowers the number,
 * it adds the reason to request->source.
 */
extern void planworkers_limit(BtBuildRequest *request, Relation heap,
							  Relation index);

/*
 * ambuild_why_not returns why the server should build the indexes of this
 * table, or NULL if ptsort builds them.
 */
extern const char *ambuild_why_not(Relation heap);

#endif							/* PTSORT_HOOK_H */
