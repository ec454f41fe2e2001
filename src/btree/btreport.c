/*-------------------------------------------------------------------------
 *
 * btreport.c
 *	  What index builds and copies of tables report: btreport.h.
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
	int			nwords = key_nwords(key);

	if (nwords == 0)
		return "keys compared";
	return psprintf("keys %s, %d %s",
					key_is_exact(key) ? "exact" : "prefix",
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

BtBuildReport *
btreport_new(Relation index, const Team *team)
{
	int			nparticipants = team->launched + 1;
	Size		size = add_size(offsetof(BtBuildReport, participants),
								mul_size(nparticipants, sizeof(BtBuildStats)));
	BtBuildReport *report = MemoryContextAllocZero(TopMemoryContext, size);

	/* not GetUserId(): the server runs as the table's owner */
	report->session_user = GetSessionUserId();
	report->role = GetOuterUserId();
	namestrcpy(&report->index_name, RelationGetRelationName(index));
	report->nparticipants = nparticipants;
	for (int i = 0; i < nparticipants; i++)
	{
		report->participants[i].build = team->slots[i].stats;
		report->participants[i].pages = team->slots[i].pages;
	}
	return report;
}

static void
forget(BtReportKind kind)
{
	if (last_reports[kind] != NULL)
		pfree(last_reports[kind]);
	last_reports[kind] = NULL;
}

void
btreport_publish(BtBuildReport *report, BtReportKind kind)
{
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
