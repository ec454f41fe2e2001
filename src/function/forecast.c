/*-------------------------------------------------------------------------
 *
 * forecast.c
 *	  The SQL function ptsort_forecast().
 *
 * The sum of all builds decides the verdict, which is the same in each row: new
 * files and WAL remain until the statement ends, and builds that share a scan
 * have temporary files at the same time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "fmgr.h"
#include "forecast/forecast.h"
#include "funcapi.h"
#include "function/forecaststatement.h"
#include "gist/gist.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "model/space.h"
#include "owner.h"
#include "util.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
#include "write/pagewrite.h"

extern PGDLLEXPORT Datum ptsort_forecast(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_forecast);

/* Time for the samples of a statement; each has at least the minimum. */
#define SAMPLES_MS		2000.0
#define MIN_SAMPLE_MS	100.0

/* ForecastRow: a row of the result. */
typedef struct ForecastRow
{
	const ForecastItem *item;
	const char *table_name;
	bool		known;			/* false: only file_bytes is known */
	Forecast	forecast;
	int			participants;
	const char *reason;
	char	   *directory;		/* of the new file */
} ForecastRow;

/* Choose the workers of a build or copy, as the build itself will. */
static BtBuildRequest
plan_workers(const ForecastItem *item, Relation heap, Relation index)
{
	const char *reason = item->copies ? cluster_why_not(heap, index) :
		ambuild_why_not(heap);
	int			by_cost = index == NULL ? 0 : planworkers_by_cost(heap, index);
	BtBuildRequest request = {.workers = by_cost};

	if (reason != NULL)
	{
		if (item->copies)
			request.workers = 0;
		request.source = psprintf("the server does it: %s", reason);
		return request;
	}
	request = planworkers_request(heap, index, item->workers, by_cost);
	planworkers_limit(&request, heap, index, item->copies ? heap : index);
	return request;
}

static void
forecast_known(ForecastRow *row, Relation heap, Relation index,
			   double limit_ms)
{
	const ForecastItem *item = row->item;
	ForecastRequest request = {
		.heap = heap,
		.index = index,
		.copies = item->copies,
		.concurrent = item->concurrent,
		.limit_ms = limit_ms
	};
	BtBuildRequest workers;

	workers = plan_workers(item, heap, index);
	if (item->stmt != NULL)
		newindex_plan(index);
	request.workers = workers.workers;
	forecast_build(&row->forecast, &request);
	row->participants = workers.workers + 1;
	row->reason = workers.source;
	row->known = true;
}

static void
check_heap(Relation heap)
{
	if (RELATION_IS_OTHER_TEMP(heap))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot forecast builds on table \"%s\"",
						RelationGetRelationName(heap)),
				 errdetail("Its access method is not heap.")));
}

/* Returns the reason why the server builds the index; NULL: ptsort may. */
static const char *
why_not(Relation index)
{
	if (index != NULL && index->rd_rel->relam == GIST_AM_OID)
		return gistbuild_why_not(index);
	return index != NULL && index->rd_rel->relam == BTREE_AM_OID ? NULL :
		"not a btree or GiST index";
}

static void
forecast_item(ForecastRow *row, const ForecastItem *item, double limit_ms)
{
	Relation	heap = table_open(item->heap_id, AccessShareLock);
	Relation	index = NULL;
	OwnerSwitch caller;
	const char *reason;

	check_heap(heap);
	row->item = item;
	row->table_name = pstrdup(RelationGetRelationName(heap));
	row->directory = space_tablespace(item->tablespace);
	/* the caller's search_path finds the operator classes and collations */
	if (item->stmt != NULL && utility_is_ours(item->stmt->accessMethod))
		index = newindex_describe(heap, item->stmt, item->name);
	owner_enter(&caller, heap);
	if (OidIsValid(item->index_id))
		index = index_open(item->index_id, AccessShareLock);
	if (!item->copies && (reason = why_not(index)) != NULL)
	{
		if (OidIsValid(item->index_id))
			row->forecast.file_bytes =
				(double) RelationGetNumberOfBlocks(index) * BLCKSZ;
		row->reason = psprintf("the server does it: %s", reason);
	}
	else
		forecast_known(row, heap, index, limit_ms);
	if (OidIsValid(item->index_id))
		index_close(index, NoLock);
	owner_leave(&caller);
	table_close(heap, NoLock);
}

/* Returns the verdict on all rows. */
static char *
judge_rows(ForecastRow *rows, int n)
{
	List	   *needs = NIL;

	for (int i = 0; i < n; i++)
	{
		const Forecast *forecast = &rows[i].forecast;
		double		ahead = forecast->wal_bytes == 0 ? 0 :
			rows[i].participants * PAGEWRITE_WAL;

		if (forecast->obstacle != NULL)
			return forecast->obstacle;
		if (!rows[i].known && !OidIsValid(rows[i].item->index_id))
			return pstrdup("unknown");
		if (temp_file_limit >= 0 && rows[i].known &&
			forecast->temp_bytes / rows[i].participants >
			(double) temp_file_limit * 1024)
			return pstrdup("temporary files: more than temp_file_limit");
		needs = space_add(needs, SPACE_INDEX, rows[i].directory,
						  forecast->file_bytes);
		needs = space_add(needs, SPACE_TEMP, space_temporary(),
						  forecast->temp_bytes);
		needs = space_add(needs, SPACE_WAL, "pg_wal",
						  forecast->wal_bytes + ahead);
	}
	return space_verdict(needs);
}

/* Set a value to a number of bytes or rows; unless it is known, to null. */
static void
set_number(Datum *value, bool *isnull, double number, bool known)
{
	*value = Int64GetDatum((int64) number);
	*isnull = !known;
}

static void
put_row(ReturnSetInfo *result, const ForecastRow *row, const char *verdict)
{
	const Forecast *forecast = &row->forecast;
	int64		available[] = {
		space_free(row->directory), space_free(space_temporary()),
		space_free("pg_wal")
	};
	Datum		values[14];
	bool		isnull[lengthof(values)] = {false};
	bool		known = row->known;

	isnull[0] = row->item->name == NULL;
	if (!isnull[0])
		values[0] = CStringGetTextDatum(row->item->name);
	values[1] = CStringGetTextDatum(row->table_name);
	set_number(&values[2], &isnull[2], forecast->rows, known);
	set_number(&values[3], &isnull[3], forecast->file_bytes,
			   known || OidIsValid(row->item->index_id));
	set_number(&values[4], &isnull[4], forecast->temp_bytes, known);
	set_number(&values[5], &isnull[5], forecast->wal_bytes, known);
	set_number(&values[6], &isnull[6], forecast->memory_bytes, known);
	values[7] = Int32GetDatum(row->participants);
	isnull[7] = !known;
	values[8] = CStringGetTextDatum(row->reason);
	values[9] = Float8GetDatum(Max(pt_round(forecast->seconds), 0.001));
	isnull[9] = !known;
	for (int i = 0; i < 3; i++)
		set_number(&values[10 + i], &isnull[10 + i], available[i],
				   available[i] >= 0);
	values[13] = CStringGetTextDatum(verdict);
	tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
}

Datum
ptsort_forecast(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *items;
	ForecastRow *rows;
	const char *verdict;
	double		limit_ms;
	int			n = 0;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	items = forecast_items(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	rows = palloc0(sizeof(ForecastRow) * (list_length(items) + 1));
	limit_ms = SAMPLES_MS / (list_length(items) + 1);
	foreach(lc, items)
	{
		CHECK_FOR_INTERRUPTS();
		forecast_item(&rows[n++], lfirst(lc), Max(limit_ms, MIN_SAMPLE_MS));
	}
	verdict = judge_rows(rows, n);
	for (int i = 0; i < n; i++)
		put_row(result, &rows[i], verdict);
	return (Datum) 0;
}
