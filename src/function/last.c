/*-------------------------------------------------------------------------
 *
 * last.c
 *	  The SQL functions ptsort_last_build(), ptsort_last_copy() and
 *	  ptsort_last_sort(), which report what this session did last with ptsort,
 *	  and ptsort_collation_digest().
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "funcapi.h"
#include "query/sortnode.h"
#include "util.h"
#include "utils/tuplestore.h"
#include "write/buildreport.h"

extern PGDLLEXPORT Datum ptsort_collation_digest(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_last_build(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_last_copy(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_last_sort(PG_FUNCTION_ARGS);

/* Add a row to the result; a negative 'participant' means the total. */
static void
put_last_build_row(ReturnSetInfo *rsinfo, const BuildReport *report,
				   int participant, const TeamSlot *slot)
{
	const PtParallelStats *stats = &slot->stats;
	const PtSortStats *sort = &stats->sort;
	const char *role = participant < 0 ? "total" :
		participant == 0 ? "leader" : "worker";
	Datum		values[] = {
		CStringGetTextDatum(NameStr(report->index_name)),
		Int32GetDatum(participant),
		CStringGetTextDatum(role),
		Int64GetDatum(sort->tuples),
		Int64GetDatum(sort->runs),
		Int64GetDatum(sort->run_bytes),
		Float8GetDatum(pt_round(stats->fill_ms)),
		Float8GetDatum(pt_round(sort->sort_ms)),
		Float8GetDatum(pt_round(sort->run_ms)),
		Float8GetDatum(pt_round(stats->read_ms)),
		Int64GetDatum(sort->comparisons),
		Int64GetDatum(slot->pages),
		Int64GetDatum(stats->wal_bytes),
		Int64GetDatum(sort->peak_memory),
		Int64GetDatum(sort->temp_bytes),
		Float8GetDatum(pt_round(slot->paused_ms)),
		Float8GetDatum(pt_round(report->validation.ms)),
		Int64GetDatum(report->validation.table_pages),
		Int64GetDatum(report->validation.pages_read),
		Int64GetDatum(report->validation.rows),
		Int64GetDatum(report->validation.inserted)
	};
	const int	nvalidation = 5;
	bool		nulls[lengthof(values)] = {
		[0] = !OidIsValid(report->index_id),
		[1] = participant < 0,
		[6] = report->scanned_before	/* scan_ms */
	};

	/* the validation is not divided by participants */
	if (participant >= 0 || report->validation.table_pages == 0)
		memset(nulls + lengthof(nulls) - nvalidation, true, nvalidation);

	/* ptsort_last_copy() returns fewer */
	Assert(rsinfo->setDesc->natts <= lengthof(values));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Add a participant to the total.  Participants work in parallel, so the total
 * of a time is the maximum; other totals are sums.
 */
static void
add_to_total(TeamSlot *total, const TeamSlot *slot)
{
	PtParallelStats *sum = &total->stats;
	const PtParallelStats *stats = &slot->stats;

	sum->sort.tuples += stats->sort.tuples;
	sum->sort.runs += stats->sort.runs;
	sum->sort.run_bytes += stats->sort.run_bytes;
	sum->fill_ms = Max(sum->fill_ms, stats->fill_ms);
	sum->sort.sort_ms = Max(sum->sort.sort_ms, stats->sort.sort_ms);
	sum->sort.run_ms = Max(sum->sort.run_ms, stats->sort.run_ms);
	sum->read_ms = Max(sum->read_ms, stats->read_ms);
	sum->sort.comparisons += stats->sort.comparisons;
	total->pages += slot->pages;
	total->paused_ms = Max(total->paused_ms, slot->paused_ms);
	sum->wal_bytes += stats->wal_bytes;
	sum->sort.peak_memory += stats->sort.peak_memory;
	sum->sort.temp_bytes += stats->sort.temp_bytes;
}

/* Report the last build or copy: a row for each participant, and the total. */
static void
put_last_report(FunctionCallInfo fcinfo, BuildReportKind kind)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const BuildReport *report = buildreport_last(kind);
	TeamSlot	total = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (report == NULL)
		return;
	for (int i = 0; i < report->nparticipants; i++)
	{
		put_last_build_row(rsinfo, report, i, &report->participants[i]);
		add_to_total(&total, &report->participants[i]);
	}
	put_last_build_row(rsinfo, report, -1, &total);
}

PG_FUNCTION_INFO_V1(ptsort_last_build);
Datum
ptsort_last_build(PG_FUNCTION_ARGS)
{
	put_last_report(fcinfo, BUILD_REPORT_BUILD);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(ptsort_last_copy);
Datum
ptsort_last_copy(PG_FUNCTION_ARGS)
{
	put_last_report(fcinfo, BUILD_REPORT_COPY);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(ptsort_last_sort);
Datum
ptsort_last_sort(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const SortReport *report = sortreport_last();

	InitMaterializedSRF(fcinfo, 0);
	if (report != NULL)
	{
		const PtSortStats *stats = &report->stats;
		Datum		values[] = {
			Int64GetDatum(report->sorts),
			Int32GetDatum(report->keys),
			Int64GetDatum(stats->tuples),
			CStringGetTextDatum(ptsort_method_name(stats->method)),
			Int64GetDatum(stats->runs),
			Int64GetDatum(stats->comparisons),
			Float8GetDatum(pt_round(stats->sort_ms)),
			Float8GetDatum(pt_round(stats->run_ms)),
			Int64GetDatum(stats->peak_memory),
			Int64GetDatum(stats->temp_bytes)
		};
		bool		nulls[lengthof(values)] = {false};

		Assert(rsinfo->setDesc->natts == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(ptsort_collation_digest);
Datum
ptsort_collation_digest(PG_FUNCTION_ARGS)
{
	char	   *digest = text_digest(PG_GETARG_OID(0));

	if (digest == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(digest));
}
