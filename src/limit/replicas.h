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
 * 'most' bytes behind the end of the WAL.  With ptsort.lag_replicas, the
 * replicas of these names count, physical and logical ones, and a replica that
 * is not connected is too far behind; otherwise all connected physical replicas
 * count.  If the result is false, 'lag' says which replica is behind.
 */
#define REPLICA_LAG_SIZE	(NAMEDATALEN + 50)
extern bool replicas_are_within(uint64 most, char *lag);

#endif							/* PTSORT_REPLICAS_H */
