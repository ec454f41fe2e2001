/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  Samples random blocks of a table, and sorts the entries of their rows.
 *
 * The blocks are a random sample, read in several rounds.  Each round takes
 * every ROUNDS-th block of the sample, so the blocks of the rounds so far are
 * spread over the table whenever the sample ends.  It ends when it has enough
 * rows or when its time is over.
 *
 * A row counts if a build would index it now (is_indexed).  A build also
 * indexes rows that another transaction inserts or deletes meanwhile, and
 * recently dead rows that an older snapshot may see.  So the sample counts all
 * of these, except the older versions of HOT chains.
 *
 * The entries go into ptsort's own sort, which writes them to runs, so that the
 * sample shows how many bytes an entry takes there.  The sort has the smallest
 * budget.  So the runs of the build are at least as long as the sample's, and
 * neighbours in them are at least as much alike.  The build's runs need no more
 * bytes for an entry, but often fewer.  If temp_file_limit is set, or little
 * more than ptsort.disk_reserve is free, the sample stays in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "debug.h"
#include "executor/executor.h"
#include "forecast/forecast.h"
#include "limit/diskspace.h"
#include "miscadmin.h"
#include "sort/tuplesort.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "util.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/sampling.h"
#include "variant/variants.h"

#define ROUNDS			16
#define MAX_BLOCKS		3200	/* 25 MB */
#define MAX_ROWS		100000
#define MAX_BYTES		((int64) 32 * 1024 * 1024)	/* of entries */

/*
 * A block that takes longer than block_ms comes from disk.  Rows of 'length'
 * blocks at 'places' places measure the disk.  The first blocks do not count:
 * after them the system begins to read ahead.
 */
static const struct
{
	double		block_ms;
	int			places;
	int			length;
	int			first;
}			disk = {

	.block_ms = 0.02,
	.places = 8,
	.length = 128,
	.first = 16
};

/*
 * If the sample must stay in memory: MAX_BYTES, and the entries of one round,
 * certainly fit in this budget.
 */
#define LIMITED_BUDGET	(8 * MAX_BYTES)

/* SampleState: the state of a sample while it reads blocks. */
typedef struct SampleState
{
	Sample	   *sample;
	Relation	heap;
	Relation	index;			/* NULL: only count the rows */
	bool		concurrent;
	bool		may_spill;		/* the sample may write temporary files */
	TransactionId horizon;		/* rows dead to all older snapshots are dead */
	BufferAccessStrategy strategy;
	IndexInfo  *index_info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	int64		rows;			/* that the build would look at */
} SampleState;

/* Choose the blocks of the sample, in ascending order; return their number. */
static int
choose_blocks(BlockNumber *blocks, BlockNumber nblocks)
{
	BlockSamplerData sampler;
	int			n = 0;

	BlockSampler_Init(&sampler, nblocks, MAX_BLOCKS,
					  pg_prng_uint32(&pg_global_prng_state));
	while (BlockSampler_HasMore(&sampler))
		blocks[n++] = BlockSampler_Next(&sampler);
	return n;
}

/* True if a build would index this row.  The buffer must be locked. */
static bool
is_indexed(const SampleState *scan, HeapTuple tuple, Buffer buffer)
{
	bool		was_updated = HeapTupleHeaderIsHotUpdated(tuple->t_data);

	switch (HeapTupleSatisfiesVacuum(tuple, scan->horizon, buffer))
	{
		case HEAPTUPLE_LIVE:
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return true;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			return !was_updated;
		case HEAPTUPLE_RECENTLY_DEAD:
			return !was_updated && !scan->concurrent;
		default:
			return false;
	}
}

/* Find the rows of a page that a build would index; return their number. */
static int
find_rows(SampleState *scan, Buffer buffer, OffsetNumber *rows)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page;
	int			n = 0;
	HeapTupleData tuple;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	tuple.t_tableOid = RelationGetRelid(scan->heap);
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		if (is_indexed(scan, &tuple, buffer))
			rows[n++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return n;
}

/* Put the index entry of a row into the sort, unless the index is partial. */
static void
put_row(SampleState *scan, HeapTuple tuple, Buffer buffer)
{
	ExprContext *context = GetPerTupleExprContext(scan->estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	ResetExprContext(context);
	ExecStoreBufferHeapTuple(tuple, scan->slot, buffer);
	if (scan->predicate != NULL && !ExecQual(scan->predicate, context))
		return;
	FormIndexDatum(scan->index_info, scan->slot, scan->estate, values, isnull);
	if (scan->index->rd_rel->relam == GIST_AM_OID)
		variant_put_gist(scan->sample->sort, &tuple->t_self, values, isnull);
	else
		variant_put_index(scan->sample->sort, &tuple->t_self, values, isnull,
						  true);
	scan->sample->entries++;
}

/* Put or count the rows of a page.  The pin keeps them in their places. */
static void
put_rows(SampleState *scan, Buffer buffer, const OffsetNumber *rows, int n)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(scan->heap);
	for (int i = 0; i < n; i++)
	{
		ItemId		item = PageGetItemId(page, rows[i]);

		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, rows[i]);
		scan->sample->row_bytes += MAXALIGN(tuple.t_len) + sizeof(ItemIdData);
		if (scan->index != NULL)
			put_row(scan, &tuple, buffer);
	}
	if (scan->index != NULL)
		ExecClearTuple(scan->slot);
	scan->rows += n;
}

static Buffer
read_block(const SampleState *scan, BlockNumber block)
{
	return ReadBufferExtended(scan->heap, MAIN_FORKNUM, block, RBM_NORMAL,
							  scan->strategy);
}

static void
sample_block(SampleState *scan, BlockNumber block)
{
	Sample	   *sample = scan->sample;
	OffsetNumber rows[MaxHeapTuplesPerPage];
	instr_time	start;
	Buffer		buffer;
	int			n;

	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	buffer = read_block(scan, block);
	sample->read_ms += pt_ms_since(start);
	INSTR_TIME_SET_CURRENT(start);
	n = find_rows(scan, buffer, rows);
	sample->judge_ms += pt_ms_since(start);
	INSTR_TIME_SET_CURRENT(start);
	put_rows(scan, buffer, rows, n);
	sample->put_ms += pt_ms_since(start);
	ReleaseBuffer(buffer);
	sample->nread++;
}

/* True if the sample has enough rows or bytes. */
static bool
is_enough(const SampleState *scan)
{
	const PtSort *sort = scan->sample->sort;
	int64		bytes = 0;

	if (scan->rows >= (ptsort_debug.sample_rows > 0 ?
					   ptsort_debug.sample_rows : MAX_ROWS))
		return true;
	if (sort != NULL)
		bytes = memsort_used(sort->memsort) +
			(sort->tapeset == NULL ? 0 : tapeset_bytes(sort->tapeset));
	return bytes >= MAX_BYTES;
}

/* Read blocks until the sample has enough or the time is over. */
static void
sample_blocks(SampleState *scan, double limit_ms)
{
	Sample	   *sample = scan->sample;
	BlockNumber *blocks = palloc(MAX_BLOCKS * sizeof(BlockNumber));
	int			n;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	sample->nblocks = RelationGetNumberOfBlocks(scan->heap);
	n = choose_blocks(blocks, sample->nblocks);
	for (int round = 0; round < ROUNDS; round++)
	{
		if (is_enough(scan) || pt_ms_since(start) > limit_ms)
			break;
		for (int i = round; i < n; i += ROUNDS)
			sample_block(scan, blocks[i]);
	}
	pfree(blocks);
}

/*
 * Disks read single blocks much more slowly than rows of blocks.  If the blocks
 * of the sample come from disk, read rows of blocks as a scan does.
 */
static void
measure_disk(SampleState *scan)
{
	Sample	   *sample = scan->sample;
	const BlockNumber step = sample->nblocks / disk.places;
	double		ms = 0;

	if (sample->read_ms < disk.block_ms * sample->nread || step < disk.length)
		return;
	for (int i = 0; i < disk.places; i++)
	{
		BlockNumber first = i * step + (step - disk.length) / 2;
		instr_time	start;

		for (int block = 0; block < disk.length; block++)
		{
			CHECK_FOR_INTERRUPTS();
			if (block == disk.first)
				INSTR_TIME_SET_CURRENT(start);
			ReleaseBuffer(read_block(scan, first + block));
		}
		ms += pt_ms_since(start);
	}
	sample->block_ms = ms / (disk.places * (disk.length - disk.first));
}

/* True if the sample may write its entries to temporary files. */
static bool
may_spill(void)
{
	return temp_file_limit < 0 &&
		diskspace_lacking(disk_temporary(), 2 * MAX_BYTES, 0) == 0;
}

/* Prepare to compute index entries, and begin their sort. */
static void
begin_entries(SampleState *scan)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = LIMITED_BUDGET
	};
	ExprContext *context;

	scan->may_spill = may_spill();
	if (scan->may_spill)
		options.budget = PTSORT_MIN_BUDGET;
	scan->index_info = BuildIndexInfo(scan->index);
	scan->estate = CreateExecutorState();
	scan->slot = MakeSingleTupleTableSlot(RelationGetDescr(scan->heap),
										  &TTSOpsBufferHeapTuple);
	context = GetPerTupleExprContext(scan->estate);
	context->ecxt_scantuple = scan->slot;
	if (scan->index_info->ii_Predicate != NIL)
		scan->predicate = ExecPrepareQual(scan->index_info->ii_Predicate,
										  scan->estate);
	if (scan->index->rd_rel->relam == GIST_AM_OID)
		scan->sample->sort = variant_begin_gist(scan->index, &options);
	else						/* duplicates of a unique key are no error */
		scan->sample->sort = variant_begin_index(scan->heap, scan->index,
												 false, false, &options);
}

/*
 * Write the entries to runs, whose size shows that of the build's, and perform
 * their sort.
 */
static void
end_entries(SampleState *scan)
{
	PtSort	   *sort = scan->sample->sort;
	instr_time	start;

	ExecDropSingleTupleTableSlot(scan->slot);
	FreeExecutorState(scan->estate);
	INSTR_TIME_SET_CURRENT(start);
	if (scan->may_spill)
		sort_spill(sort);
	sort_perform(sort);
	scan->sample->sort_ms = pt_ms_since(start);
	for (int i = 0; i < sort->nruns; i++)
		scan->sample->run_bytes += sort->runs[i]->desc.bytes;
}

static void
take_sample(SampleState *scan, double limit_ms)
{
	memset(scan->sample, 0, sizeof(Sample));
	scan->horizon = GetOldestNonRemovableTransactionId(scan->heap);
	scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	if (scan->index != NULL)
		begin_entries(scan);
	sample_blocks(scan, limit_ms);
	measure_disk(scan);
	if (scan->index != NULL)
		end_entries(scan);
	else
		scan->sample->entries = scan->rows;
	FreeAccessStrategy(scan->strategy);
}

void
sample_index(Sample *sample, Relation heap, Relation index, bool concurrent,
			 double limit_ms)
{
	SampleState scan = {
		.sample = sample,
		.heap = heap,
		.index = index,
		.concurrent = concurrent
	};

	take_sample(&scan, limit_ms);
}

void
sample_rows(Sample *sample, Relation heap, double limit_ms)
{
	SampleState scan = {
		.sample = sample,
		.heap = heap
	};

	take_sample(&scan, limit_ms);
}
