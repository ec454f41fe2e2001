/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  The utility statement that is running, and what it asks of its builds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_STATEMENT_H
#define PTSORT_STATEMENT_H

#include "utils/relcache.h"

/* the range of the server's table option parallel_workers */
#define MAX_REQUESTED_WORKERS	1024

/* statement_init installs the ProcessUtility hook; once per process. */
extern void statement_init(void);

/*
 * statement_workers returns the N of the running statement's
 * WITH (parallel_workers = N) for this index, or -1 if it has none.
 */
extern int	statement_workers(Relation index);

/*
 * statement_reindexes tells whether the running statement is a REINDEX of more
 * than one index of each table, without CONCURRENTLY as far as builds can see.
 */
extern bool statement_reindexes(void);

/*
 * statement_rewrites tells whether the running statement is one that may copy
 * tables: CLUSTER or VACUUM.  When such a one has ended well,
 * statement_rewrite_ended is called, in a transaction.
 */
extern bool statement_rewrites(void);
extern void (*statement_rewrite_ended) (void);

#endif							/* PTSORT_STATEMENT_H */
