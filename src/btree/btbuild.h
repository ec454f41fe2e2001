/*-------------------------------------------------------------------------
 *
 * btbuild.h
 *	  ptsort's btree build: the ambuild that replaces the server's.
 *
 * ambuild.c decides whether a build is ours and how many workers it should
 * ask for, and then calls btbuild_build().  What a build did is kept as a
 * BtBuildReport, one BtBuildStats per participant, for ptsort_last_build().
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

/* What ambuild.c asks of a build. */
typedef struct BtBuildRequest
{
	int			workers;		/* parallel workers to ask for, 0 = serial;
								 * the caps and parallel safety are applied */
	bool		is_order;		/* whether they pay or not */
	const char *source;			/* why this many, for the start line */
	WaitingRuns *runs;			/* what an earlier scan has left, or NULL */
	int			ncandidates;	/* for which to scan as well */
	const Candidate *candidates;
} BtBuildRequest;

/* What one participant of a build did. */
typedef struct BtBuildStats
{
	PtBuildStats build;
	int64		pages;			/* index pages written */
} BtBuildStats;

/* What all did, by participant number: the leader is 0. */
typedef struct BtBuildReport
{
	Oid			session_user;	/* who may read it: only these two, together */
	Oid			role;
	NameData	index_name;
	bool		scanned_before; /* by the build of another index */
	int			nparticipants;
	BtBuildStats participants[FLEXIBLE_ARRAY_MEMBER];
} BtBuildReport;

/*
 * ptsort.log_build: true if the start, end and leaving lines go to the server's
 * log, and to no client, instead of having level DEBUG1
 */
extern bool ptsort_log_build;

/*
 * btbuild_build builds 'index' over 'heap' as the server's btbuild would: the
 * result has the same meaning, and errors are the server's own.  It says the
 * start and the end line, and publishes its report when it has succeeded.
 */
extern IndexBuildResult *btbuild_build(Relation heap, Relation index,
									   IndexInfo *indexInfo,
									   const BtBuildRequest *request);

/*
 * btbuild_describe_key says what the sort key of an index is, for a start line:
 * its class, "compared" if it has no words, and how many words.
 */
extern const char *btbuild_describe_key(Relation index);

/*
 * btbuild_memory_kb returns, for a start line, the memory that participants
 * may use of a budget: each of them gets PTSORT_MIN_BUDGET at least.
 */
extern long long btbuild_memory_kb(int64 budget, int participants);

/* btbuild_log_level returns the elevel of the start, end and leaving lines. */
extern int	btbuild_log_level(void);

/* What a report is of; the session has the last one of each. */
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

/* btbuild_publish makes it the last report of its kind. */
extern void btbuild_publish(BtBuildReport *report, BtReportKind kind);

/*
 * btbuild_last_report returns the session's last report of that kind, or NULL
 * before the first; it is valid until the next one.  It returns NULL to a
 * session whose user has changed since, by SET ROLE or SET SESSION
 * AUTHORIZATION: connections are pooled, and the report tells names and sizes
 * of tables.
 */
extern const BtBuildReport *btbuild_last_report(BtReportKind kind);

/* btbuild_forget_reports drops the reports, as DISCARD ALL wants. */
extern void btbuild_forget_reports(void);

#endif							/* PTSORT_BTBUILD_H */
