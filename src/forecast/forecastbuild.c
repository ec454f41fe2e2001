/*-------------------------------------------------------------------------
 *
 * forecastbuild.c
 *	  Forecasts one build or copy from a sample of its table.
 *
 * Temporary space.  A serial build writes runs only if its entries do not fit
 * in memory; other builds write all entries.  The sample's runs show how many
 * bytes an entry takes (sample.c).  Near the limit of memory the forecast says
 * that the build spills.
 *
 * WAL.  The records contain the pages without the free space in the middle.
 * The forecast ignores wal_compression.
 *
 * Time.  The build takes its cost (cost.h) times a factor: how much longer than
 * its cost the sample took.  It contains the speed of this machine, and what is
 * special about the keys.  For reading from disk and for GiST's picksplit, the
 * sample's times count.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_am_d.h"
#include "forecast/forecast.h"
#include "miscadmin.h"
#include "model/cost.h"
#include "sort/tuplesort.h"
#include "util.h"

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
 * Set the memory and the temporary space of a sort, given the bytes of an entry
 * in memory, of its tuple there (or 0), and of both in a run.
 */
static void
forecast_sort(Forecast *forecast, const ForecastRequest *request,
			  double entry_bytes, double tuple_bytes, double run_bytes)
{
	int			participants = request->workers + 1;
	double		budget = Max((double) maintenance_work_mem * 1024,
							 (double) participants * PTSORT_MIN_BUDGET);
	double		part = tuple_bytes > 0 ? tuples_part : entries_part;
	double		memory;

	/* the array of entries doubles when it is full */
	memory = exp2(ceil(log2(Max(forecast->rows, 1)))) * entry_bytes +
		forecast->rows * tuple_bytes + participants * reserve_bytes;
	forecast->memory_bytes = Min(memory, budget);
	if (request->workers > 0 || forecast->rows * (entry_bytes + tuple_bytes) >=
		budget * part - reserve_bytes)
		forecast->temp_bytes = forecast->rows * run_bytes +
			participants * more_temp_bytes;
}

/* The same, as the sample's sort shows it. */
static void
forecast_index_sort(Forecast *forecast, const ForecastRequest *request,
					const Sample *sample, double tuple_bytes)
{
	const SortOrder *order = &sample->sort->order;
	int			stride = Max(order->nwords, 1) + 1;

	if (order->inline_image)
		tuple_bytes = 0;
	/* an entry and its scratch, see memsort.c */
	forecast_sort(forecast, request, 2 * stride * sizeof(uint64),
				  tuple_bytes, sample->run_bytes > 0 ?
				  sample->run_bytes / Max(sample->entries, 1) :
				  stride * sizeof(uint64) + tuple_bytes);	/* unpacked */
}

/* Returns the bytes of WAL for these pages of a new file. */
static double
wal_of(const ForecastRequest *request, double pages, double free_bytes)
{
	if (request->heap->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
		(!XLogIsNeeded() && !request->concurrent))
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
	job.write_factor = 1;
	return sample_part * sample->rows_ms / 1000 /
		(cost_scan(&job) + cost_sort(&job));
}

/*
 * Returns the seconds of a build or copy.  Dividing a GiST index's tuples into
 * leaves takes 'split_ms', which participants share, as they do reading blocks
 * from memory.
 */
static double
seconds_of(const Forecast *forecast, const ForecastRequest *request,
		   const Sample *sample, double split_ms)
{
	bool		is_split = request->index != NULL && split_ms > 0;
	Job			job = {
		.copies = request->copies,
		.key = request->index == NULL || is_split ? JOB_FIXED :
		size_key(request->index),
		.logged = forecast->wal_bytes > 0,
		.blocks = Max(sample->nblocks, 1),
		.rows = forecast->rows,
		.row_bytes = forecast->file_bytes / Max(forecast->rows, 1),
		.run_bytes = forecast->temp_bytes,
		.participants = Min(request->workers + 1, pt_processors()),
		.factor = 1,
		.write_factor = cost_write_factor(forecast->file_bytes)
	};
	double		read_ms = sample->block_ms > 0 ?
		sample->block_ms * sample->nblocks :
		sample->read_ms * sample_scale(sample) / job.participants;

	job.factor = factor_of(&job, sample);
	return (read_ms + split_ms / job.participants) / 1000 + cost_scan(&job) +
		cost_after_scan(&job) + cost_workers(request->workers);
}

static void
forecast_index(Forecast *forecast, const ForecastRequest *request)
{
	bool		is_gist = request->index->rd_rel->relam == GIST_AM_OID;
	char	   *page = palloc(BLCKSZ);
	Sample		sample;
	IndexSize	size;

	sample_take(&sample, request->heap, request->index, request->limit_ms);
	if (is_gist)
		gistsize_forecast(&size, request->index, &sample);
	else
		btreesize_forecast(&size, request->heap, request->index, &sample);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	forecast->file_bytes = size.pages * BLCKSZ;
	forecast_index_sort(forecast, request, &sample, size.tuple_bytes);
	forecast->wal_bytes = wal_of(request, size.pages, size.free_bytes);
	forecast->seconds = seconds_of(forecast, request, &sample, size.split_ms);
	_bt_pageinit(page, BLCKSZ);
	if (!is_gist && size.largest > pt_bt_max_item_size(page))
		forecast->obstacle =
			psprintf("an index row of %zu bytes is too large", size.largest);
	pfree(page);
	sort_end(sample.sort);
}

/* Returns the size of the table's TOAST table, which a copy copies. */
static double
toast_bytes(Relation heap)
{
	Relation	toast;
	double		result;

	if (!OidIsValid(heap->rd_rel->reltoastrelid))
		return 0;
	toast = relation_open(heap->rd_rel->reltoastrelid, AccessShareLock);
	result = (double) RelationGetNumberOfBlocks(toast) * BLCKSZ;
	relation_close(toast, AccessShareLock);
	return result;
}

/* A copy sorts the rows, with a word or two, unless it keeps their order. */
static void
forecast_copy(Forecast *forecast, const ForecastRequest *request)
{
	double		room = BLCKSZ - SizeOfPageHeaderData -
		RelationGetTargetPageFreeSpace(request->heap, HEAP_DEFAULT_FILLFACTOR);
	Sample		sample;
	double		mean;
	double		pages;

	sample_take(&sample, request->heap, NULL, request->limit_ms);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	mean = sample.row_bytes / Max(sample.entries, 1);
	/* a row that does not fit begins a page, so half a row remains free */
	pages = ceil(forecast->rows * mean / Max(room - mean / 2, mean));
	forecast->file_bytes = pages * BLCKSZ + toast_bytes(request->heap);
	if (request->index != NULL)
		forecast_sort(forecast, request, 4 * sizeof(uint64),
					  mean + sizeof(HeapTupleData),
					  mean + sizeof(HeapTupleData) + 2 * sizeof(uint64));
	forecast->wal_bytes = wal_of(request, forecast->file_bytes / BLCKSZ, 0);
	forecast->seconds = seconds_of(forecast, request, &sample, 0);
}

void
forecast_build(Forecast *forecast, const ForecastRequest *request)
{
	memset(forecast, 0, sizeof(Forecast));
	if (request->copies)
		forecast_copy(forecast, request);
	else
		forecast_index(forecast, request);
}
