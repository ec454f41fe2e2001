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

#include "team/build.h"
#include "validate/validate.h"

/* BuildReport: what the participants of a build or a copy did. */
typedef struct BuildReport
{
	Oid			session_user;	/* only this session user may read the report */
	Oid			role;			/* only this role may read the report */
	Oid			index_id;		/* InvalidOid: a copy without an index */
	NameData	index_name;
	bool		scanned_before; /* another index's build scanned the table */
	Validation	validation;		/* its results; table_pages is 0: none */
	int			nparticipants;
	TeamSlot	participants[FLEXIBLE_ARRAY_MEMBER];
} BuildReport;

/*
 * BuildReportKind: subject of a report; a session keeps the last of each kind.
 */
typedef enum BuildReportKind
{
	BUILD_REPORT_BUILD,			/* an index build */
	BUILD_REPORT_COPY			/* a copy of a table */
} BuildReportKind;

/*
 * ptsort.log_build: if true, the start line, the end line and the line about a
 * build that ptsort leaves to the server go to the server's log only.  If
 * false, these lines have level DEBUG1.  buildreport_log_level returns their
 * elevel.
 */
extern bool ptsort_log_build;
extern int	buildreport_log_level(void);

/* buildreport_count returns a number of participants for a log line. */
extern const char *buildreport_count(int participants);

/*
 * buildreport_describe returns text for a start line: the number of
 * participants, the reason for the number of workers, the class of the index's
 * sort key (unless 'index' is NULL), and the memory of all participants (at
 * least PTSORT_MIN_BUDGET for each).
 */
extern const char *buildreport_describe(const Team *team, const char *source,
										Relation index);

/*
 * buildreport_end, after team_finish, logs the end line of an index build,
 * publishes the report, and returns the ambuild's result, in the current memory
 * context.
 */
extern IndexBuildResult *buildreport_end(const Build *build,
										 bool scanned_before,
										 double elapsed_ms);

/*
 * buildreport_publish replaces the session's last report of kind 'kind' with a
 * report on all participants.  'index' is NULL for a copy without an index.
 * Call it after team_finish.
 */
extern void buildreport_publish(BuildReportKind kind, Relation index,
								const Team *team, bool scanned_before);

/*
 * buildreport_validated logs the validation of an index, and adds it to the
 * last report, if that is of this index.
 */
extern void buildreport_validated(const Validation *validation);

/*
 * buildreport_last returns the session's last report of kind 'kind', or NULL.
 * It is valid until the next report.  If SET ROLE or SET SESSION AUTHORIZATION
 * changed the user after the report, buildreport_last returns NULL, so that
 * users of a pooled connection cannot read names and sizes of each other's
 * tables.  buildreport_forget drops all reports, for DISCARD ALL.
 */
extern const BuildReport *buildreport_last(BuildReportKind kind);
extern void buildreport_forget(void);

#endif							/* PTSORT_BUILDREPORT_H */
