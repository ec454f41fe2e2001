/*-------------------------------------------------------------------------
 *
 * buildreport.c
 *	  Reports of index builds and table copies; see buildreport.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "key/key.h"
#include "utils/memutils.h"
#include "write/buildreport.h"

bool		ptsort_log_build = false;

/* the session's last reports, by BuildReportKind, in TopMemoryContext */
static BuildReport *last_reports[BUILD_REPORT_COPY + 1];

int
buildreport_log_level(void)
{
	return ptsort_log_build ? LOG_SERVER_ONLY : DEBUG1;
}

const char *
buildreport_count(int participants)
{
	return psprintf(ngettext("%d participant", "%d participants",
							 participants), participants);
}

/* Describe an index's sort key: its class and number of words, and a comma. */
static const char *
describe_key(Relation index)
{
	const PtSortKey *key;

	if (index == NULL)
		return "";
	if (index->rd_rel->relam == GIST_AM_OID)
		return "GiST, ";
	if (index->rd_rel->relam == GIN_AM_OID)
		return "GIN, ";
	key = key_index(index);
	if (key->nwords == 0)
		return "keys compared, ";
	return psprintf("keys %s, %d %s, ", key->exact ? "exact" : "prefix",
					key->nwords, key->nwords == 1 ? "word" : "words");
}

const char *
buildreport_describe(const Team *team, const char *source, Relation index)
{
	int64		least = (int64) team->participants * PTSORT_MIN_BUDGET;

	return psprintf("%s, %s, %s%lld kB",
					buildreport_count(team->participants), source,
					describe_key(index),
					(long long) Max(team->budget, least) / 1024);
}

IndexBuildResult *
buildreport_end(const Build *build, bool scanned_before, double elapsed_ms)
{
	const Team *team = &build->team;
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	int64		runs = 0;
	int64		temp_bytes = 0;

	for (int i = 0; i <= team->launched; i++)
	{
		runs += team->slots[i].stats.sort.runs;
		temp_bytes += team->slots[i].stats.sort.temp_bytes;
	}
	ereport(buildreport_log_level(),
			(errmsg("ptsort: built index \"%s\": %s, %.0f tuples, %.1f ms, runs: %lld, temporary files: %lld kB",
					RelationGetRelationName(build->index),
					buildreport_count(team->participants),
					build->index_tuples, elapsed_ms,
					(long long) runs,
					(long long) (temp_bytes + 1023) / 1024)));
	buildreport_publish(BUILD_REPORT_BUILD, build->index, team,
						scanned_before);
	result->heap_tuples = build->heap_tuples;
	result->index_tuples = build->index_tuples;
	return result;
}

static void
forget(BuildReportKind kind)
{
	if (last_reports[kind] != NULL)
		pfree(last_reports[kind]);
	last_reports[kind] = NULL;
}

void
buildreport_publish(BuildReportKind kind, Relation index, const Team *team,
					bool scanned_before)
{
	Size		slots = mul_size(team->launched + 1, sizeof(TeamSlot));
	BuildReport *report;

	report = MemoryContextAllocZero(TopMemoryContext,
									add_size(offsetof(BuildReport,
													  participants),
											 slots));
	/* do not use GetUserId(): the server runs builds as the table's owner */
	report->session_user = GetSessionUserId();
	report->role = GetOuterUserId();
	if (index != NULL)
	{
		report->index_id = RelationGetRelid(index);
		namestrcpy(&report->index_name, RelationGetRelationName(index));
	}
	report->scanned_before = scanned_before;
	report->nparticipants = team->launched + 1;
	memcpy(report->participants, team->slots, slots);
	forget(kind);
	last_reports[kind] = report;
}

void
buildreport_validated(const Validation *validation)
{
	BuildReport *report = last_reports[BUILD_REPORT_BUILD];

	ereport(buildreport_log_level(),
			(errmsg("ptsort: validated index \"%s\": %s, %.1f ms, read %lld of %lld pages, compared %lld rows, inserted %lld",
					RelationGetRelationName(validation->index),
					buildreport_count(validation->participants),
					validation->ms,
					(long long) validation->pages_read,
					(long long) validation->table_pages,
					(long long) validation->rows,
					(long long) validation->inserted)));
	if (report != NULL &&
		report->index_id == RelationGetRelid(validation->index))
		report->validation = *validation;
}

const BuildReport *
buildreport_last(BuildReportKind kind)
{
	const BuildReport *report = last_reports[kind];

	if (report == NULL ||
		report->session_user != GetSessionUserId() ||
		report->role != GetOuterUserId())
		return NULL;
	return report;
}

void
buildreport_forget(void)
{
	forget(BUILD_REPORT_BUILD);
	forget(BUILD_REPORT_COPY);
}
