/*-------------------------------------------------------------------------
 *
 * ambuild.h
 *	  The hooks that make ptsort build btree indexes.  See ambuild.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_AMBUILD_H
#define PTSORT_AMBUILD_H

#include "btree/btbuild.h"

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_parallel_workers;	/* maximum; -1 = by cost model */
extern int	ptsort_min_table_size;	/* in kB */
extern int	ptsort_indexes_per_scan;

/*
 * ambuild_workers returns the number of workers for a build of this index, or
 * for a copy of its table in its order.  If the result's is_order is set, the
 * user specified the number; otherwise it is a limit, and the caller calls
 * planworkers_limit.  'by_cost' is the number by the server's cost model.
 */
extern BtBuildRequest ambuild_workers(Relation heap, Relation index,
									  int by_cost);

/*
 * ambuild_why_not returns why the server should build the indexes of this
 * table, or NULL if ptsort builds them.
 */
extern const char *ambuild_why_not(Relation heap);

/* ambuild_init installs the hooks; _PG_init calls it once per process. */
extern void ambuild_init(void);

#endif							/* PTSORT_AMBUILD_H */
