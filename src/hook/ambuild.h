/*-------------------------------------------------------------------------
 *
 * ambuild.h
 *	  How btree builds reach ptsort.  See ambuild.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_AMBUILD_H
#define PTSORT_AMBUILD_H

#include "btree/btbuild.h"

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_parallel_workers;	/* at most; -1 = by cost model */
extern int	ptsort_min_table_size;	/* in kB */
extern int	ptsort_indexes_per_scan;

/*
 * ambuild_workers returns how many workers a build of this index, or a copy
 * of its table in its order, may ask for, and whether that is an order; else
 * planworkers.c is to be asked.  'by_cost' is what the server's cost model
 * says.
 */
extern BtBuildRequest ambuild_workers(Relation heap, Relation index,
									  int by_cost);

/*
 * ambuild_why_not returns why the server should build the indexes of this
 * table, or NULL if we do.
 */
extern const char *ambuild_why_not(Relation heap);

/* ambuild_init installs the hooks; once per process, from _PG_init. */
extern void ambuild_init(void);

#endif							/* PTSORT_AMBUILD_H */
