/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  The utility statement that is running, and what it asks of its builds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_UTILITY_H
#define PTSORT_UTILITY_H

#include "utils/relcache.h"

/* the range of the server's table option parallel_workers */
#define MAX_REQUESTED_WORKERS	1024

/* utility_init installs the ProcessUtility hook; once per process. */
extern void utility_init(void);

/*
 * utility_workers returns the N of the running statement's
 * WITH (parallel_workers = N) for this index, or -1 if it has none.
 */
extern int	utility_workers(Relation index);

/*
 * utility_reindexes tells whether the running statement is a REINDEX of more
 * than one index of each table, without CONCURRENTLY as far as builds can see.
 */
extern bool utility_reindexes(void);

/*
 * utility_rewrites tells whether the running statement is one that may copy
 * tables: CLUSTER or VACUUM.  When such a one has ended well,
 * utility_rewrite_ended is called, in a transaction.
 */
extern bool utility_rewrites(void);
extern void (*utility_rewrite_ended) (void);

#endif							/* PTSORT_UTILITY_H */
