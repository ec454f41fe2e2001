/*-------------------------------------------------------------------------
 *
 * cluster.h
 *	  The hooks that make ptsort copy tables for CLUSTER.  See cluster.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CLUSTER_H
#define PTSORT_CLUSTER_H

/* cluster_init installs the hooks; _PG_init calls it once per process. */
extern void cluster_init(void);

#endif							/* PTSORT_CLUSTER_H */
