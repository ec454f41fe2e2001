/*-------------------------------------------------------------------------
 *
 * sortreport.h
 *	  What is told of the sorts of queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTREPORT_H
#define PTSORT_SORTREPORT_H

#include "compat.h"

#include "ptsort.h"

/*
 * ptsort.log_sort: true if the line of each sort goes to the server's log, and
 * to no client, instead of having level DEBUG1
 */
extern bool ptsort_log_sort;

/* What the sorts of one Sort node did, while the query ran. */
typedef struct SortReport
{
	Oid			session_user;	/* who may read it: only these two, together */
	Oid			role;
	int64		sorts;			/* more than one if the node was rescanned */
	int			keys;			/* columns that it sorts by */
	PtSortStats stats;			/* of all of them, see ptsort_reset */
} SortReport;

/*
 * sortreport_space returns the bytes that EXPLAIN tells of a sort: on disk or
 * in memory, whichever ptsort_method_space says of its method.
 */
extern int64 sortreport_space(const PtSortStats *stats);

/*
 * sortreport_publish says the line of these sorts, and makes them what
 * sortreport_last returns.
 */
extern void sortreport_publish(const PtSortStats *stats, int64 sorts, int keys);

#ifdef PT_EXPLAIN_NODES
/* sortreport_explain adds what a sort did to what EXPLAIN says of its node. */
extern void sortreport_explain(const PtSortStats *stats, ExplainState *es);
#endif

/*
 * sortreport_last returns the session's last report, or NULL before the first;
 * it is valid until the next one.  It returns NULL to a session whose user has
 * changed since, for the same reason as btbuild_last_report.
 */
extern const SortReport *sortreport_last(void);

/* sortreport_forget drops the report, as DISCARD ALL wants. */
extern void sortreport_forget(void);

#endif							/* PTSORT_SORTREPORT_H */
