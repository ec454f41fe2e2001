/*-------------------------------------------------------------------------
 *
 * btreport.h
 *	  What index builds and copies of tables report: log lines, and the reports
 *	  of ptsort_last_build() and ptsort_last_copy().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTREPORT_H
#define PTSORT_BTREPORT_H

#include "team/team.h"

/* A participant reports progress after reading this many tuples. */
#define BTREPORT_STEP	1024

/* BtBuildReport: what all participants did. */
typedef struct BtBuildReport
{
	Oid			session_user;	/* only this session user may read it */
	Oid			role;			/* only this role may read it */
	NameData	index_name;
	bool		scanned_before; /* the build of another index scanned */
	int			nparticipants;
	TeamSlot	participants[FLEXIBLE_ARRAY_MEMBER];
} BtBuildReport;

/* BtReportKind: subject of a report; the session keeps the last of each. */
typedef enum BtReportKind
{
	BT_REPORT_BUILD,			/* an index build */
	BT_REPORT_COPY				/* a table copied in an index's order */
} BtReportKind;

/*
 * ptsort.log_build: if true, the start line, the end line and the line about a
 * build left to the server go to the server's log only; else they have level
 * DEBUG1.
 */
extern bool ptsort_log_build;

/* btreport_log_level returns the elevel of the lines of ptsort.log_build. */
extern int	btreport_log_level(void);

/* btreport_count returns the number of participants, for a line. */
extern const char *btreport_count(const Team *team);

/*
 * btreport_describe returns, for a start line: the number of participants, the
 * reason for the number of workers, the class of the index's sort key, and the
 * memory that all may use (at least PTSORT_MIN_BUDGET for each).
 */
extern const char *btreport_describe(const Team *team, const char *source,
									 Relation index);

/*
 * btreport_publish makes the last report of this kind, with the statistics of
 * all participants.  Call it after team_finish.
 */
extern void btreport_publish(BtReportKind kind, Relation index,
							 const Team *team, bool scanned_before);

/*
 * btreport_last returns the session's last report of that kind, or NULL before
 * the first; it is valid until the next one.  It returns NULL if SET ROLE or
 * SET SESSION AUTHORIZATION changed the session's user since: connections are
 * pooled, and the report contains names and sizes of tables.
 */
extern const BtBuildReport *btreport_last(BtReportKind kind);

/* btreport_forget drops all reports, for DISCARD ALL. */
extern void btreport_forget(void);

#endif							/* PTSORT_BTREPORT_H */
