/*-------------------------------------------------------------------------
 *
 * btbuild.h
 *	  ptsort's btree build: the ambuild that replaces the server's.
 *
 * ambuild.c decides whether ptsort builds an index and how many workers it
 * requests, and then calls btbuild_build().  A BtBuildReport keeps what a build
 * did, one BtBuildStats per participant, for ptsort_last_build().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTBUILD_H
#define PTSORT_BTBUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "ptsort_build.h"
#include "team/participant.h"
#include "utils/relcache.h"

/* BtBuildRequest: what ambuild.c requests of a build. */
typedef struct BtBuildRequest
{
	int			workers;		/* parallel workers to request, 0 = serial;
								 * after limits and parallel safety */
	bool		is_order;		/* use workers even if they do not pay */
	const char *source;			/* reason for 'workers', for the start line */
	WaitingRuns *runs;			/* runs of an earlier scan, or NULL */
	int			ncandidates;	/* number of 'candidates' */
	const Candidate *candidates;	/* siblings that this scan may also fill */
} BtBuildRequest;

/* BtBuildStats: what one participant of a build did. */
typedef struct BtBuildStats
{
	PtBuildStats build;
	int64		pages;			/* index pages written */
} BtBuildStats;

/* BtBuildReport: what all participants did, by number: the leader is 0. */
typedef struct BtBuildReport
{
	Oid			session_user;	/* only this session user may read it */
	Oid			role;			/* only this role may read it */
	NameData	index_name;
	bool		scanned_before; /* the build of another index scanned */
	int			nparticipants;
	BtBuildStats participants[FLEXIBLE_ARRAY_MEMBER];
} BtBuildReport;

/*
 * ptsort.log_build: if true, the start line, the end line and the line about a
 * build left to the server go to the server's log only; else they have level
 * DEBUG1.
 */
extern bool ptsort_log_build;

/*
 * btbuild_build builds 'index' over 'heap' as the server's btbuild would: the
 * result has the same meaning, and errors are the server's own.  It logs the
 * start and end lines and, on success, publishes its report.
 */
extern IndexBuildResult *btbuild_build(Relation heap, Relation index,
									   IndexInfo *indexInfo,
									   const BtBuildRequest *request);

/*
 * btbuild_describe_key returns a description of an index's sort key for a start
 * line: its class ("compared" if it has no words) and number of words.
 */
extern const char *btbuild_describe_key(Relation index);

/*
 * btbuild_memory_kb returns, for a start line, the memory that participants may
 * use, in kB: the budget, but at least PTSORT_MIN_BUDGET for each.
 */
extern long long btbuild_memory_kb(int64 budget, int participants);

/* btbuild_log_level returns the elevel of the lines of ptsort.log_build. */
extern int	btbuild_log_level(void);

/* BtReportKind: subject of a report; the session keeps the last of each. */
typedef enum BtReportKind
{
	BT_REPORT_BUILD,			/* an index build */
	BT_REPORT_COPY				/* a table copied in an index's order */
} BtReportKind;

/*
 * btbuild_new_report returns a report, for btbuild_publish, in which all
 * numbers are 0.
 */
extern BtBuildReport *btbuild_new_report(Relation index, int nparticipants);

/* btbuild_publish makes a report the last one of its kind. */
extern void btbuild_publish(BtBuildReport *report, BtReportKind kind);

/*
 * btbuild_last_report returns the session's last report of that kind, or NULL
 * before the first; it is valid until the next one.  It returns NULL if SET
 * ROLE or SET SESSION AUTHORIZATION changed the session's user since:
 * connections are pooled, and the report contains names and sizes of tables.
 */
extern const BtBuildReport *btbuild_last_report(BtReportKind kind);

/* btbuild_forget_reports drops all reports, for DISCARD ALL. */
extern void btbuild_forget_reports(void);

#endif							/* PTSORT_BTBUILD_H */
