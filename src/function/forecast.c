/*-------------------------------------------------------------------------
 *
 * forecast.c
 *	  The SQL function ptsort_forecast().
 *
 * Temporary space.  A serial build writes runs only if its entries do not fit
 * in memory; other builds write all entries.  The sample's runs show how many
 * bytes an entry takes (sample.c).  Near the limit of memory the forecast says
 * that the build spills.  A GIN build sorts records with several entries.
 *
 * WAL.  The records contain the pages without the free space in the middle.
 * The forecast ignores wal_compression.
 *
 * Time.  The build takes its cost (cost.h) times a factor: how much longer than
 * its cost the sample took.  It contains the speed of this machine, and what is
 * special about the keys.  For reading from disk and for GiST's picksplit, the
 * sample's times count.
 *
 * Verdict.  The sum of all builds decides it, so it is the same in each row:
 * new files and WAL remain until the statement ends, and builds that share a
 * scan have temporary files at the same time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/genam.h"
#include "access/gin_private.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_am_d.h"
#include "copy/copy.h"
#include "fmgr.h"
#include "forecast/forecast.h"
#include "funcapi.h"
#include "function/forecaststatement.h"
#include "gin/gin.h"
#include "gist/gist.h"
#include "hook/hook.h"
#include "miscadmin.h"
#include "model/cost.h"
#include "model/space.h"
#include "owner.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
#include "write/pagewrite.h"

extern PGDLLEXPORT Datum ptsort_forecast(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_forecast);

/* Time for the samples of a statement; each has at least the minimum. */
#define SAMPLES_MS		2000.0
#define MIN_SAMPLE_MS	100.0

/* ForecastRequest: an item that the server does not build. */
typedef struct ForecastRequest
{
	const ForecastItem *item;
	Relation	heap;
	Relation	index;			/* NULL: a copy in the order of the file */
	int			workers;		/* that the build will request */
	double		limit_ms;		/* for the sample */
} ForecastRequest;

typedef struct Forecast
{
	double		rows;			/* index entries, or rows to copy */
	double		file_bytes;
	double		temp_bytes;
	double		wal_bytes;
	double		memory_bytes;
	double		seconds;
	char	   *obstacle;		/* why the build will fail; NULL if it can
								 * succeed */
} Forecast;

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


/*
 * One build or copy
 */

/* Part of the sample's time that a scan and a sort of the same rows take */
static const double sample_part = 0.8;

/* Entries of the smallest sample whose time shows anything */
static const int least_entries = 1000;

/*
 * Part of the budget that certainly holds entries, after the reserve.  Sorts of
 * tuples may set aside a quarter for learning, and fill their chunks unevenly.
 */
static const double entries_part = 0.9;
static const double tuples_part = 0.7;
static const double reserve_bytes = 256 * 1024;

/* Bytes by which WAL exceeds a page, and a participant's files its runs */
static const double page_wal = 40;
static const double more_temp_bytes = 64 * 1024;

/*
 * Set the memory and the temporary space of a sort, given the number of entries
 * and their bytes in memory, of the tuple there (or 0), and of both in a run.
 */
static void
forecast_sort(Forecast *forecast, const ForecastRequest *request, double n,
			  double entry_bytes, double tuple_bytes, double run_bytes)
{
	int			participants = request->workers + 1;
	double		budget = Max((double) maintenance_work_mem * 1024,
							 (double) participants * PTSORT_MIN_BUDGET);
	double		part = tuple_bytes > 0 ? tuples_part : entries_part;
	double		others = participants * reserve_bytes;
	double		kept = 0;		/* bytes of runs in memory */
	double		memory;

	if (request->index != NULL && request->index->rd_rel->relam == GIN_AM_OID)
		others += participants * gin_table_size(budget / participants);

	/* the array of entries doubles when it is full */
	memory = exp2(ceil(log2(Max(n, 1)))) * entry_bytes + n * tuple_bytes +
		others;
	forecast->memory_bytes = Min(memory, budget);
	if (request->workers == 0)
		kept = sort_memory_for_runs((int64) budget);
	if (request->workers > 0 ||
		(n * run_bytes > kept &&
		 n * (entry_bytes + tuple_bytes) >= budget * part - others))
		forecast->temp_bytes = n * run_bytes - kept +
			participants * more_temp_bytes;
}

/* The same, as the sample's sort shows it. */
static void
forecast_index_sort(Forecast *forecast, const ForecastRequest *request,
					const Sample *sample, const IndexSize *size)
{
	const SortOrder *order = &sample->sort->order;
	int			stride = Max(order->nwords, 1) + 1;
	double		tuple_bytes = size->tuple_bytes;
	double		n = size->tuples > 0 ? size->tuples : forecast->rows;

	if (order->inline_image)
		tuple_bytes = 0;
	/* an entry and its scratch, see memsort.c */
	forecast_sort(forecast, request, n, 2 * stride * sizeof(uint64),
				  tuple_bytes, sample->run_bytes > 0 ?
				  sample->run_bytes * sample_scale(sample) / Max(n, 1) :
				  stride * sizeof(uint64) + tuple_bytes);	/* unpacked */
}

/* Returns the bytes of WAL for these pages of a new file. */
static double
wal_of(const ForecastRequest *request, double pages, double free_bytes)
{
	if (request->heap->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
		(!XLogIsNeeded() && !request->item->concurrent))
		return 0;
	return pages * (BLCKSZ + page_wal) - free_bytes;
}

/*
 * Returns the factor that the sample shows.  A small one shows nothing, nor
 * does one without a sort.
 */
static double
factor_of(const Job *build, const Sample *sample)
{
	Job			job = *build;

	if (sample->sort == NULL || sample->entries < least_entries)
		return 1;
	job.blocks = sample->nread;
	job.rows = sample->entries;
	job.run_bytes = sample->run_bytes;
	job.participants = 1;
	return sample->rows_ms * (job.key == JOB_EXTRACT ? 1 : sample_part) /
		(1000 * (cost_scan(&job) + cost_sort(&job)));
}

/*
 * Returns the seconds of a build or copy.  Dividing a GiST index's tuples into
 * leaves takes split_ms, which participants share, as they do reading blocks
 * from memory.
 */
static double
seconds_of(const Forecast *forecast, const ForecastRequest *request,
		   const Sample *sample, const IndexSize *size)
{
	bool		is_split = request->index != NULL && size->split_ms > 0;
	Form_pg_class table = request->heap->rd_rel;
	Job			job = {
		.copies = request->item->copies,
		.key = is_split ? JOB_FIXED : size_key(request->index),
		.logged = forecast->wal_bytes > 0,
		.blocks = Max(sample->nblocks, 1),
		.rows = forecast->rows,
		.row_bytes = forecast->file_bytes / Max(forecast->rows, 1),
		.run_bytes = forecast->temp_bytes,
		.participants = Min(request->workers + 1, pt_processors()),
		.factor = 1
	};
	double		read_ms = sample->block_ms > 0 ?
		sample->block_ms * sample->nblocks :
		sample->read_ms * sample_scale(sample) / job.participants;

	/* validation reads the pages again that are not all-visible */
	if (request->item->concurrent)
		read_ms *= 2 - table->relallvisible / (double) Max(table->relpages, 1);
	job.factor = factor_of(&job, sample);
	return (read_ms + size->split_ms / job.participants) / 1000 +
		cost_scan(&job) + cost_after_scan(&job) +
		cost_workers(request->workers);
}

static void
forecast_index(Forecast *forecast, const ForecastRequest *request)
{
	Oid			relam = request->index->rd_rel->relam;
	PGAlignedBlock page;
	Size		most;
	Sample		sample;
	IndexSize	size;

	sample_take(&sample, request->heap, request->index, request->limit_ms);
	if (relam == GIN_AM_OID)
		ginsize_forecast(&size, request->index, &sample);
	else if (relam == GIST_AM_OID)
		gistsize_forecast(&size, request->index, &sample);
	else
		btreesize_forecast(&size, request->heap, request->index, &sample);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	forecast->file_bytes = size.pages * BLCKSZ;
	forecast_index_sort(forecast, request, &sample, &size);
	forecast->wal_bytes = wal_of(request, size.pages, size.free_bytes);
	forecast->seconds = seconds_of(forecast, request, &sample, &size);
	_bt_pageinit(page.data, BLCKSZ);
	most = relam == GIN_AM_OID ? GinMaxItemSize :
		pt_bt_max_item_size(page.data);
	if (relam != GIST_AM_OID && size.largest > most)
		forecast->obstacle =
			psprintf("an index row of %zu bytes is too large", size.largest);
	sort_end(sample.sort);
}

/* A copy sorts the rows, with a word or two, unless it keeps their order. */
static void
forecast_copy(Forecast *forecast, const ForecastRequest *request)
{
	double		room = BLCKSZ - SizeOfPageHeaderData -
		RelationGetTargetPageFreeSpace(request->heap, HEAP_DEFAULT_FILLFACTOR);
	IndexSize	none = {0};
	Sample		sample;
	double		mean;
	double		pages;

	sample_take(&sample, request->heap, NULL, request->limit_ms);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	mean = sample.row_bytes / Max(sample.entries, 1);
	/* a row that does not fit begins a page, so half a row remains free */
	pages = ceil(forecast->rows * mean / Max(room - mean / 2, mean));
	forecast->file_bytes = pages * BLCKSZ + size_of_toast(request->heap);
	if (request->index != NULL)
		forecast_sort(forecast, request, forecast->rows, 4 * sizeof(uint64),
					  mean + sizeof(HeapTupleData),
					  mean + sizeof(HeapTupleData) + 2 * sizeof(uint64));
	else
		forecast->memory_bytes = Min(maintenance_work_mem * 1024.0,
									 (request->workers + 1.0) *
									 COPY_SLICE_BLOCKS * BLCKSZ);
	forecast->wal_bytes = wal_of(request, forecast->file_bytes / BLCKSZ, 0);
	forecast->seconds = seconds_of(forecast, request, &sample, &none);
}


/*
 * The rows of the result
 */

/* Choose the workers of a build or copy, as the build itself will. */
static BtBuildRequest
plan_workers(const ForecastItem *item, Relation heap, Relation index)
{
	const char *reason = item->copies ? cluster_why_not(heap, index) :
		ambuild_why_not(heap);
	int			by_cost = index == NULL && !item->copies ? 0 :
		planworkers_by_cost(heap, index);
	BtBuildRequest request = {.workers = by_cost};

	if (reason == NULL && !item->copies && index != NULL &&
		index->rd_rel->relam == GIN_AM_OID)
		reason = ambuild_gin_why_not(heap, index);
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
	BtBuildRequest workers = plan_workers(item, heap, index);
	ForecastRequest request = {
		.item = item,
		.heap = heap,
		.index = index,
		.workers = workers.workers,
		.limit_ms = limit_ms
	};

	if (item->stmt != NULL)
		newindex_plan(index);
	if (item->copies)
		forecast_copy(&row->forecast, &request);
	else
		forecast_index(&row->forecast, &request);
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
	return index != NULL && (index->rd_rel->relam == BTREE_AM_OID ||
							 index->rd_rel->relam == GIN_AM_OID) ? NULL :
		"not a btree, GiST or GIN index";
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

static void
put_row(ReturnSetInfo *result, const ForecastRow *row, const char *verdict)
{
	const Forecast *forecast = &row->forecast;
	const char *name = row->item->name;
	bool		known = row->known;
	int64		index_free = space_free(row->directory);
	int64		temp_free = space_free(space_temporary());
	int64		wal_free = space_free("pg_wal");
	Datum		values[] = {
		name != NULL ? CStringGetTextDatum(name) : (Datum) 0,
		CStringGetTextDatum(row->table_name),
		Int64GetDatum((int64) forecast->rows),
		Int64GetDatum((int64) forecast->file_bytes),
		Int64GetDatum((int64) forecast->temp_bytes),
		Int64GetDatum((int64) forecast->wal_bytes),
		Int64GetDatum((int64) forecast->memory_bytes),
		Int32GetDatum(row->participants),
		CStringGetTextDatum(row->reason),
		Float8GetDatum(Max(pt_round(forecast->seconds), 0.001)),
		Int64GetDatum(index_free),
		Int64GetDatum(temp_free),
		Int64GetDatum(wal_free),
		CStringGetTextDatum(verdict)
	};
	bool		isnull[lengthof(values)] = {
		name == NULL, false, !known, !known && !OidIsValid(row->item->index_id),
		!known, !known, !known, !known, false, !known,
		index_free < 0, temp_free < 0, wal_free < 0, false
	};

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
