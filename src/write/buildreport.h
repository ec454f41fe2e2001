/*-------------------------------------------------------------------------
 *
 * buildreport.h
 *	  Reports of index builds and table copies: lines in the log, and the data
 *	  for ptsort_last_build() and ptsort_last_copy().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BUILDREPORT_H
#define PTSORT_BUILDREPORT_H

#include "team/team.h"

/* Number of tuples that a participant reads between two progress reports. */
#define BUILDREPORT_STEP	1024

/* BuildReport: what the participants of a build or a copy did. */
typedef struct BuildReport
{
	Oid			session_user;	/* only this session user may read the report */
	Oid			role;			/* only this role may read the report */
	NameData	index_name;
	bool		scanned_before; /* another index's build scanned the table */
	int			nparticipants;
	TeamSlot	participants[FLEXIBLE_ARRAY_MEMBER];
} BuildReport;

/*
 * BuildReportKind: subject of a report; a session keeps the last of each kind.
 */
typedef enum BuildReportKind
{
	BUILD_REPORT_BUILD,			/* an index build */
	BUILD_REPORT_COPY			/* a table copied in an index's order */
} BuildReportKind;

/*
 * ptsort.log_build: if true, the start line, the end line and the line about a
 * build that ptsort leaves to the server go to the server's log only.  If
 * false, these lines have level DEBUG1.
 */
extern bool ptsort_log_build;

/* buildreport_log_level returns the elevel that ptsort.log_build sets. */
extern int	buildreport_log_level(void);

/*
 * buildreport_count returns the number of participants as text for a log line.
 */
extern const char *buildreport_count(const Team *team);

/*
 * buildreport_describe returns text for a start line: the number of
 * participants, the reason for the number of workers, the class of the index's
 * sort key, and the memory of all participants (at least PTSORT_MIN_BUDGET for
 * each).
 */
extern const char *buildreport_describe(const Team *team, const char *source,
										Relation index);

/* buildreport_end logs the end line of a build of 'tuples' index tuples. */
extern void buildreport_end(const Team *team, Relation index, double tuples,
							double elapsed_ms);

/*
 * buildreport_publish replaces the session's last report of kind 'kind' with a
 * report on all participants.  Call it after team_finish.
 */
extern void buildreport_publish(BuildReportKind kind, Relation index,
								const Team *team, bool scanned_before);

/*
 * buildreport_last returns the session's last report of kind 'kind', or NULL if
 * there is none.  The report is valid until the next report.  If SET ROLE or
 * SET SESSION AUTHORIZATION changed the user after the report, buildreport_last
 * returns NULL, so that users of a pooled connection cannot read names and
 * sizes of each other's tables.
 */
extern const BuildReport *buildreport_last(BuildReportKind kind);

/* buildreport_forget drops all reports, for DISCARD ALL. */
extern void buildreport_forget(void);

#endif							/* PTSORT_BUILDREPORT_H */
