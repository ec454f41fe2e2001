/*-------------------------------------------------------------------------
 *
 * forecastbuild.c
 *	  Forecasts one build or copy from a sample of its table.
 *
 * Temporary space.  A serial build writes runs only if its entries do not fit
 * in memory; other builds write all entries.  The sample's runs show how many
 * bytes an entry takes.  If the sample did not spill, an entry counts as
 * unpacked.  Near the limit of memory the forecast says that the build spills.
 *
 * WAL.  The records contain the pages without the free space in the middle.
 * The forecast ignores wal_compression.
 *
 * Time.  The sample measures how long this machine takes to read a block and to
 * compute, put and sort an entry.  The build does the same, by other code, and
 * writes pages; the constants below relate the two.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>
#include <unistd.h>

#include "access/nbtree.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "forecast/forecast.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"

/*
 * The constants come from builds of 1 million rows (integers, text, wide rows)
 * with tables in the system's cache, on two processors.
 */
#define SCAN_PART		0.5		/* the scan reads a block in this part of the
								 * time that the sample takes */
#define ENTRY_PART		0.8		/* the same for an entry */
#define PAGE_MS			0.012	/* forming, logging and writing a page */
#define WORKER_MS		10.0	/* starting and ending a team */

/* Part of the budget that certainly holds entries */
#define ENTRIES_PART	0.9
#define ENTRIES_RESERVE (256 * 1024)

/* Bytes of WAL for a page, without its contents */
#define WAL_PAGE		40

/* Temporary files are longer than their runs by up to this, a participant. */
#define TEMP_RESERVE	(64 * 1024)

/* Returns the memory of an entry in a sort. */
static double
entry_memory(const PtSort *sort, double tuple_bytes)
{
	int			stride = Max(sort->order.nwords, 1) + 1;

	if (sort->order.inline_image)
		return stride * (sizeof(uint64) + 1);
	return (stride + 1) * sizeof(uint64) + tuple_bytes;
}

/* Returns the size of an entry in a temporary file. */
static double
entry_on_disk(const Sample *sample, double tuple_bytes)
{
	PtSortStats stats;

	sort_stats(sample->sort, &stats);
	if (stats.runs > 0 && sample->entries > 0)
		return (double) stats.temp_bytes / sample->entries;
	return (sample->sort->order.nwords + 1) * sizeof(uint64) +
		(sample->sort->order.inline_image ? 0 : tuple_bytes);
}

/* Set the memory and the temporary space of a sort. */
static void
forecast_sort(Forecast *forecast, const ForecastRequest *request,
			  double in_memory, double on_disk)
{
	double		budget = (double) maintenance_work_mem * 1024;
	double		needed = forecast->rows * in_memory;
	int			participants = request->workers + 1;

	budget = Max(budget, (double) participants * PTSORT_MIN_BUDGET);
	forecast->memory_bytes = Min(needed + participants * ENTRIES_RESERVE,
								 budget);
	if (request->workers == 0 &&
		needed < budget * ENTRIES_PART - ENTRIES_RESERVE)
		return;
	forecast->temp_bytes = forecast->rows * on_disk +
		(double) participants * TEMP_RESERVE;
}

/* Returns the bytes of WAL for these pages of a new file. */
static double
wal_of(const ForecastRequest *request, double pages, double free_bytes)
{
	if (request->heap->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
		(!XLogIsNeeded() && !request->concurrent))
		return 0;
	return pages * (BLCKSZ + WAL_PAGE) - free_bytes;
}

/* Returns the factor by which n entries cost more to sort than n samples. */
static double
sort_factor(double n, double samples)
{
	return n / Max(samples, 1) * log2(Max(n, 2)) / log2(Max(samples, 2));
}

static double
seconds_of(const Forecast *forecast, const ForecastRequest *request,
		   const Sample *sample, double pages)
{
	long		ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	int			busy = request->workers + 1;
	double		ms = sample->read_ms * sample_scale(sample) * SCAN_PART +
		(sample->put_ms + sample->sort_ms) * ENTRY_PART *
		sort_factor(forecast->rows, sample->entries) + pages * PAGE_MS;

	if (ncpus > 0)
		busy = Min(busy, ncpus);
	return (ms / busy + request->workers * WORKER_MS) / 1000;
}

static void
forecast_index(Forecast *forecast, const ForecastRequest *request)
{
	char	   *page = palloc(BLCKSZ);
	Sample		sample;
	IndexSize	size;

	sample_index(&sample, request->heap, request->index, request->concurrent,
				 request->limit_ms);
	indexsize_estimate(&size, request->heap, request->index, &sample);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	forecast->file_bytes = size.pages * BLCKSZ;
	forecast_sort(forecast, request,
				  entry_memory(sample.sort, size.tuple_bytes),
				  entry_on_disk(&sample, size.tuple_bytes));
	forecast->wal_bytes = wal_of(request, size.pages, size.free_bytes);
	forecast->seconds = seconds_of(forecast, request, &sample, size.pages);
	_bt_pageinit(page, BLCKSZ);
	if (size.largest > pt_bt_max_item_size(page))
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

	sample_rows(&sample, request->heap, request->limit_ms);
	forecast->rows = rint(sample.entries * sample_scale(&sample));
	mean = sample.row_bytes / Max(sample.entries, 1);
	/* a row that does not fit begins a page, so half a row remains free */
	pages = ceil(forecast->rows * mean / Max(room - mean / 2, mean));
	forecast->file_bytes = pages * BLCKSZ + toast_bytes(request->heap);
	if (request->index != NULL)
		forecast_sort(forecast, request,
					  mean + sizeof(HeapTupleData) + 4 * sizeof(uint64),
					  mean + sizeof(HeapTupleData) + 2 * sizeof(uint64));
	forecast->wal_bytes = wal_of(request, forecast->file_bytes / BLCKSZ, 0);
	forecast->seconds = seconds_of(forecast, request, &sample,
								   2 * forecast->file_bytes / BLCKSZ);
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
