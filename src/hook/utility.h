/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  The running utility statement, and its options for index builds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_UTILITY_H
#define PTSORT_UTILITY_H

#include "utils/relcache.h"

/* utility_init installs the ProcessUtility hook; called once per process. */
extern void utility_init(void);

/*
 * utility_workers returns the N of the running statement's
 * WITH (parallel_workers = N) for this index, or -1 if it has none.
 */
extern int	utility_workers(Relation index);

/*
 * utility_reindexes returns true if the running statement is a REINDEX of
 * tables, not of one index.  It may be CONCURRENTLY, but then its builds do not
 * call this.
 */
extern bool utility_reindexes(void);

/*
 * utility_rewrites returns true if the running statement may copy tables:
 * CLUSTER or VACUUM.
 */
extern bool utility_rewrites(void);

#endif							/* PTSORT_UTILITY_H */
