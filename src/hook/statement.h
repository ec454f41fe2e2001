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
 * statement_max_workers returns max_parallel_maintenance_workers as the user
 * has set it, which the variable may not be while a CONCURRENTLY is pending.
 */
extern int	statement_max_workers(void);

/*
 * An index has been created whose build follows in another transaction: with
 * max_parallel_maintenance_workers = 0, statement_note_concurrent_index sees
 * to it that the planner hook is called before that build.  The ambuild begins
 * with statement_begin_concurrent_build, and where that returned true it ends
 * with statement_end_concurrent_build (not after an error).
 */
extern void statement_note_concurrent_index(void);
extern bool statement_begin_concurrent_build(Relation index);
extern void statement_end_concurrent_build(void);

#endif							/* PTSORT_STATEMENT_H */
