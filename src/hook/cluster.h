/*-------------------------------------------------------------------------
 *
 * cluster.h
 *	  How copies of tables reach ptsort.  See cluster.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CLUSTER_H
#define PTSORT_CLUSTER_H

/* cluster_init installs the hooks; once per process, from _PG_init. */
extern void cluster_init(void);

#endif							/* PTSORT_CLUSTER_H */
