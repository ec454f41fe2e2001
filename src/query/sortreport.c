/*-------------------------------------------------------------------------
 *
 * sortreport.c
 *	  Reports on the sorts of queries: a line in the server's log, a line of
 *	  EXPLAIN if the server has a hook for it, and ptsort_last_sort().
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "miscadmin.h"
#include "query/sortnode.h"

bool		ptsort_log_sort = false;

static SortReport last_report;
static bool has_report = false;

int64
sortreport_space(const PtSortStats *stats)
{
	return ptsort_method_on_disk(stats->method) ?
		stats->temp_bytes : stats->peak_memory;
}

/* Log the report of a node's sorts. */
static void
say(const SortReport *report)
{
	const PtSortStats *stats = &report->stats;

	ereport(ptsort_log_sort ? LOG_SERVER_ONLY : DEBUG1,
			(errhidestmt(true), errhidecontext(true),
			 errmsg_internal("ptsort: sorted " INT64_FORMAT " rows by %d %s"
							 ", sorts: " INT64_FORMAT ", %s, %s: " INT64_FORMAT
							 " kB, comparisons: " INT64_FORMAT,
							 stats->tuples, report->keys,
							 report->keys == 1 ? "key" : "keys", report->sorts,
							 ptsort_method_name(stats->method),
							 ptsort_method_space(stats->method),
							 sortreport_space(stats) / 1024,
							 stats->comparisons)));
}

void
sortreport_publish(const PtSortStats *stats, int64 sorts, int keys)
{
	last_report.session_user = GetSessionUserId();
	last_report.role = GetOuterUserId();
	last_report.sorts = sorts;
	last_report.keys = keys;
	last_report.stats = *stats;
	has_report = true;
	say(&last_report);
}

#ifdef PT_EXPLAIN_NODES
void
sortreport_explain(const PtSortStats *stats, ExplainState *es)
{
	const char *method = psprintf("%s by ptsort",
								  ptsort_method_name(stats->method));
	const char *space = ptsort_method_space(stats->method);
	int64		kb = (sortreport_space(stats) + 1023) / 1024;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainIndentText(es);
		appendStringInfo(es->str,
						 "Sort Method: %s  %s: " INT64_FORMAT "kB\n",
						 method, space, kb);
		return;
	}
	ExplainPropertyText("Sort Method", method, es);
	ExplainPropertyInteger("Sort Space Used", "kB", kb, es);
	ExplainPropertyText("Sort Space Type", space, es);
}
#endif

const SortReport *
sortreport_last(void)
{
	if (!has_report || last_report.session_user != GetSessionUserId() ||
		last_report.role != GetOuterUserId())
		return NULL;
	return &last_report;
}

void
sortreport_forget(void)
{
	has_report = false;
}
