/*-------------------------------------------------------------------------
 *
 * hook.h
 *	  Declarations that the files of this directory share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HOOK_H
#define PTSORT_HOOK_H

#include "access/amapi.h"
#include "btree/btbuild.h"

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_parallel_workers;	/* maximum; -1: the server's cost
										 * model sets the maximum */
extern int	ptsort_min_table_size;	/* in kB */
extern int	ptsort_indexes_per_scan;

/* _PG_init calls each of these functions, which install a file's hooks. */
extern void utility_init(void);
extern void redirect_init(void);
extern void cluster_init(void);

/* The hook for new relations calls cluster_new_table. */
extern void cluster_new_table(Relation rel);

/* validation_begin is the ambulkdelete of all access methods. */
extern IndexBulkDeleteResult *validation_begin(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback,
											   void *state);

/* cluster_why_not returns the reason to leave a copy to the server, or NULL. */
extern const char *cluster_why_not(Relation old_heap, Relation index);

/*
 * utility_workers returns N of the option WITH (parallel_workers = N) that the
 * running statement has for this index, or -1 if there is none.
 * utility_take_workers removes that option from a list, and returns N or -1.
 */
extern int	utility_workers(Relation index);
extern int	utility_take_workers(List **options);

/*
 * utility_is_ours returns true if ptsort builds indexes of an access method;
 * NULL is the default, btree.
 */
extern bool utility_is_ours(const char *access_method);

typedef enum UtilityKind
{
	UTILITY_NONE,				/* no statement that may build indexes */
	UTILITY_BUILDS,
	UTILITY_REINDEXES,			/* REINDEX of tables, not of one index; the
								 * builds of CONCURRENTLY do not ask */
	UTILITY_REWRITES			/* CLUSTER, REPACK or VACUUM */
} UtilityKind;

/* utility_kind returns the kind of the running statement. */
extern UtilityKind utility_kind(void);

/*
 * planworkers_request returns a request for a build of this index, or for
 * copying the table in its order.  If the statement, with 'requested' workers
 * (or -1), or the table's parallel_workers option sets a number of workers, the
 * request has that number, and is_order is true.  Otherwise it has the maximum:
 * 'by_cost' or ptsort.parallel_workers; 0 if the build cannot be parallel.
 *
 * planworkers_by_cost returns the number from the server's cost model, as
 * plan_create_index_workers() does, for an index that need not exist.
 */
extern BtBuildRequest planworkers_request(Relation heap, Relation index,
										  int requested, int by_cost);
extern int	planworkers_by_cost(Relation heap, Relation index);

/*
 * planworkers_obstacle returns the reason why the server's rules forbid
 * parallel work on a table, or NULL if they allow it.  The work calls the
 * functions in the expressions and the predicate of 'index', unless it is NULL.
 */
extern const char *planworkers_obstacle(Relation heap, Relation index);

/*
 * planworkers_limit lowers request->workers to the number with which the build
 * of 'index' and request->candidates, or a copy, is fastest, unless the user
 * specified the number.  Adds the reason for a lower number to request->source.
 * 'old' is the index or the table that is written, or NULL for a check.
 */
extern void planworkers_limit(BtBuildRequest *request, Relation heap,
							  Relation index, Relation old);

/* True if runs fit on the disk beside a new file of 'rel' and its WAL. */
extern bool planworkers_runs_fit(Relation rel, double bytes);

/* Returns the number of workers, at most 'most', that spares a processor. */
extern int	planworkers_beside_others(int most);

/*
 * ambuild_build is the ambuild of all access methods.  ambuild_why_not returns
 * the reason why the server should build the indexes of this table, or NULL.
 * ambuild_gin_why_not returns the reason for a GIN index.
 * ambuild_of_server returns the server's function that builds the index, or
 * NULL for tables, indexes of catalogs, and other access methods than ptsort's.
 */
extern IndexBuildResult *ambuild_build(Relation heap, Relation index,
									   IndexInfo *indexInfo);
extern const char *ambuild_why_not(Relation heap);
extern const char *ambuild_gin_why_not(Relation heap, Relation index);
extern ambuild_function ambuild_of_server(Relation rel);

/*
 * redirect_expect makes redirect.c look for an index that CONCURRENTLY will
 * build or validate.  ambuild_build and validation_begin call
 * redirect_found, and utility.c calls redirect_forget after each statement.
 */
extern void redirect_expect(Oid index_oid);
extern void redirect_found(Oid index_oid);
extern void redirect_forget(void);

#endif							/* PTSORT_HOOK_H */
