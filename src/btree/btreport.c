/*-------------------------------------------------------------------------
 *
 * btreport.c
 *	  Reports of index builds and table copies; see btreport.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btreport.h"
#include "key/key.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

bool		ptsort_log_build = false;

/* the session's last reports, by BtReportKind, in TopMemoryContext */
static BtBuildReport *last_reports[BT_REPORT_COPY + 1];

int
btreport_log_level(void)
{
	return ptsort_log_build ? LOG_SERVER_ONLY : DEBUG1;
}

const char *
btreport_count(const Team *team)
{
	return psprintf(ngettext("%d participant", "%d participants",
							 team->participants), team->participants);
}

/* Describe an index's sort key: its class and number of words. */
static const char *
describe_key(Relation index)
{
	PtSortKey  *key = key_index(index);
	int			nwords = key->nwords;

	if (nwords == 0)
		return "keys compared";
	return psprintf("keys %s, %d %s",
					key->exact ? "exact" : "prefix",
					nwords, nwords == 1 ? "word" : "words");
}

const char *
btreport_describe(const Team *team, const char *source, Relation index)
{
	int64		least = (int64) team->participants * PTSORT_MIN_BUDGET;

	return psprintf("%s, %s, %s, %lld kB", btreport_count(team), source,
					describe_key(index),
					(long long) Max(team->budget, least) / 1024);
}

static void
forget(BtReportKind kind)
{
	if (last_reports[kind] != NULL)
		pfree(last_reports[kind]);
	last_reports[kind] = NULL;
}

void
btreport_publish(BtReportKind kind, Relation index, const Team *team,
				 bool scanned_before)
{
	Size		slots = mul_size(team->launched + 1, sizeof(TeamSlot));
	BtBuildReport *report;

	report = MemoryContextAllocZero(TopMemoryContext,
									add_size(offsetof(BtBuildReport,
													  participants),
											 slots));
	/* do not use GetUserId(): the server runs builds as the table's owner */
	report->session_user = GetSessionUserId();
	report->role = GetOuterUserId();
	namestrcpy(&report->index_name, RelationGetRelationName(index));
	report->scanned_before = scanned_before;
	report->nparticipants = team->launched + 1;
	memcpy(report->participants, team->slots, slots);
	forget(kind);
	last_reports[kind] = report;
}

const BtBuildReport *
btreport_last(BtReportKind kind)
{
	const BtBuildReport *report = last_reports[kind];

	if (report == NULL ||
		report->session_user != GetSessionUserId() ||
		report->role != GetOuterUserId())
		return NULL;
	return report;
}

void
btreport_forget(void)
{
	forget(BT_REPORT_BUILD);
	forget(BT_REPORT_COPY);
}
