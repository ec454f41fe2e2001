/*-------------------------------------------------------------------------
 *
 * ambuild.h
 *	  The hooks that make ptsort build btree indexes.  See ambuild.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_AMBUILD_H
#define PTSORT_AMBUILD_H

#include "utils/relcache.h"

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_min_table_size;	/* in kB */
extern int	ptsort_indexes_per_scan;

/*
 * ambuild_why_not returns why the server should build the indexes of this
 * table, or NULL if ptsort builds them.
 */
extern const char *ambuild_why_not(Relation heap);

/* ambuild_init installs the hooks; _PG_init calls it once per process. */
extern void ambuild_init(void);

#endif							/* PTSORT_AMBUILD_H */
