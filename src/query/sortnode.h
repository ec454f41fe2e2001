/*-------------------------------------------------------------------------
 *
 * sortnode.h
 *	  Replaces the sorts of Sort nodes in queries, and reports on them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTNODE_H
#define PTSORT_SORTNODE_H

#include "compat.h"

#include "ptsort.h"

/* ptsort.sort: which sorts of queries ptsort performs. */
typedef enum SortTaking
{
	TAKE_NO_SORTS,
	TAKE_TEXT,					/* sorts whose first key is text in a
								 * collation other than "C" */
	TAKE_SORTS					/* sorts whose key has words */
} SortTaking;

extern int	ptsort_sort;

/* ptsort.min_sort_rows: minimum row estimate of sorts that ptsort performs */
extern int	ptsort_min_sort_rows;

/* sortnode_init installs the executor hooks.  Call it once per process. */
extern void sortnode_init(void);

extern bool ptsort_log_sort;	/* ptsort.log_sort */

/* SortReport: what the sorts of one Sort node did while the query ran. */
typedef struct SortReport
{
	Oid			session_user;	/* only this user in this role may read the
								 * report */
	Oid			role;
	int64		sorts;			/* number of sorts; above 1 after rescans */
	int			keys;			/* number of sort columns */
	PtSortStats stats;			/* statistics of all sorts; see ptsort_reset */
} SortReport;

/*
 * sortreport_last returns the session's last report, valid until the next, or
 * NULL if there is none or the session's user changed after the report.
 */
extern const SortReport *sortreport_last(void);

/* sortreport_forget drops the report, for DISCARD ALL. */
extern void sortreport_forget(void);

#endif							/* PTSORT_SORTNODE_H */
