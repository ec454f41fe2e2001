/*-------------------------------------------------------------------------
 *
 * replicas.h
 *	  How far streaming replicas are behind.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REPLICAS_H
#define PTSORT_REPLICAS_H

#include "compat.h"

extern char *ptsort_lag_replicas;	/* GUC: names, or "" for all */

/*
 * replicas_are_within returns true if no replica that counts is more than
 * 'most' bytes behind the end of the WAL.  With ptsort.lag_replicas, the named
 * replicas count, and a named replica that is not connected is too far behind;
 * otherwise all that are connected count.
 */
extern bool replicas_are_within(uint64 most);

#endif							/* PTSORT_REPLICAS_H */
