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
 * The rows are those that the statement's snapshot sees.  A build also indexes
 * recently dead rows that an older snapshot may see.
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
#include "gin/gin.h"
#include "miscadmin.h"
#include "model/space.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"
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
	GinCollector *collector;	/* of a GIN index */
	bool		may_spill;		/* the sample may write temporary files */
	BufferAccessStrategy strategy;
	TableScanDesc scan;
	IndexInfo  *index_info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	int64		rows;
} SampleState;

/* Put the index entry of a row into the sort, unless the index is partial. */
static void
put_row(SampleState *state)
{
	ExprContext *context = GetPerTupleExprContext(state->estate);
	PtSort	   *sort = state->sample->sort;
	ItemPointer tid = &state->slot->tts_tid;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	ResetExprContext(context);
	if (state->predicate != NULL && !ExecQual(state->predicate, context))
		return;
	FormIndexDatum(state->index_info, state->slot, state->estate, values,
				   isnull);
	if (state->collector != NULL)
		gincollect_row(state->collector, tid, values, isnull);
	else if (state->index->rd_rel->relam == GIST_AM_OID)
		variant_put_gist(sort, tid, values, isnull);
	else
		variant_put_index(sort, tid, values, isnull, true);
	state->sample->entries++;
}

static Buffer
read_block(const SampleState *state, BlockNumber block)
{
	return ReadBufferExtended(state->heap, MAIN_FORKNUM, block, RBM_NORMAL,
							  state->strategy);
}

/* Put or count the rows of a block. */
static void
sample_block(SampleState *state, BlockNumber block)
{
	Sample	   *sample = state->sample;
	instr_time	start;
	Buffer		buffer;
	ItemPointerData first;
	ItemPointerData last;

	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	buffer = read_block(state, block);
	sample->read_ms += pt_ms_since(start);
	INSTR_TIME_SET_CURRENT(start);
	ItemPointerSet(&first, block, FirstOffsetNumber);
	ItemPointerSet(&last, block, MaxOffsetNumber);
	table_rescan_tidrange(state->scan, &first, &last);
	while (table_scan_getnextslot_tidrange(state->scan, ForwardScanDirection,
										   state->slot))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(state->slot, false, NULL);

		sample->row_bytes += MAXALIGN(tuple->t_len) + sizeof(ItemIdData);
		state->rows++;
		if (state->index != NULL)
			put_row(state);
	}
	ExecClearTuple(state->slot);
	sample->rows_ms += pt_ms_since(start);
	ReleaseBuffer(buffer);
	sample->nread++;
}

/* True if the sample has enough rows or bytes. */
static bool
is_enough(const SampleState *state)
{
	const PtSort *sort = state->sample->sort;
	int64		bytes = 0;

	if (state->rows >= (ptsort_debug.sample_rows > 0 ?
						ptsort_debug.sample_rows : MAX_ROWS))
		return true;
	if (sort != NULL)
		bytes = memsort_used(sort->memsort) +
			(sort->tapeset == NULL ? 0 : tapeset_bytes(sort->tapeset));
	return bytes >= MAX_BYTES;
}

/* Read random blocks until the sample has enough or the time is over. */
static void
sample_blocks(SampleState *state, double limit_ms)
{
	Sample	   *sample = state->sample;
	BlockNumber blocks[MAX_BLOCKS];
	BlockSamplerData sampler;
	int			n = 0;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	sample->nblocks = RelationGetNumberOfBlocks(state->heap);
	BlockSampler_Init(&sampler, sample->nblocks, MAX_BLOCKS,
					  pg_prng_uint32(&pg_global_prng_state));
	while (BlockSampler_HasMore(&sampler))
		blocks[n++] = BlockSampler_Next(&sampler);
	for (int round = 0; round < ROUNDS; round++)
	{
		if (is_enough(state) || pt_ms_since(start) > limit_ms)
			break;
		for (int i = round; i < n; i += ROUNDS)
			sample_block(state, blocks[i]);
	}
}

/*
 * Disks read single blocks much more slowly than rows of blocks.  If the blocks
 * of the sample come from disk, read rows of blocks as a scan does.
 */
static void
measure_disk(SampleState *state)
{
	Sample	   *sample = state->sample;
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
			ReleaseBuffer(read_block(state, first + block));
		}
		ms += pt_ms_since(start);
	}
	sample->block_ms = ms / (disk.places * (disk.length - disk.first));
}

/* Prepare to compute index entries, and begin their sort. */
static void
begin_entries(SampleState *state)
{
	List	   *space = space_add(NIL, SPACE_TEMP, space_temporary(),
								  2 * MAX_BYTES);
	PtSortOptions options = {.role = PTSORT_SERIAL};

	state->may_spill = temp_file_limit < 0 &&
		space_lacking(linitial(space)) == 0;
	options.budget = state->may_spill ? PTSORT_MIN_BUDGET : LIMITED_BUDGET;
	state->index_info = BuildIndexInfo(state->index);
	state->estate = CreateExecutorState();
	GetPerTupleExprContext(state->estate)->ecxt_scantuple = state->slot;
	if (state->index_info->ii_Predicate != NIL)
		state->predicate = ExecPrepareQual(state->index_info->ii_Predicate,
										   state->estate);
	if (state->index->rd_rel->relam == GIN_AM_OID)
	{
		state->sample->sort =
			variant_begin_gin(state->index,
							  gin_table_size(maintenance_work_mem * 1024L),
							  &options);
		state->collector = gincollect_begin(state->sample->sort);
	}
	else if (state->index->rd_rel->relam == GIST_AM_OID)
		state->sample->sort = variant_begin_gist(state->index, &options);
	else						/* duplicates of a unique key are no error */
		state->sample->sort = variant_begin_index(state->heap, state->index,
												  false, false, &options);
}

/*
 * Write the entries to runs, whose size shows that of the build's, and perform
 * their sort.
 */
static void
end_entries(SampleState *state)
{
	PtSort	   *sort = state->sample->sort;
	instr_time	start;

	FreeExecutorState(state->estate);
	INSTR_TIME_SET_CURRENT(start);
	if (state->collector != NULL)
		gincollect_end(state->collector);
	if (state->may_spill)
		sort_spill(sort);
	sort_perform(sort);
	state->sample->rows_ms += pt_ms_since(start);
	for (int i = 0; i < sort->nruns; i++)
		state->sample->run_bytes += sort->runs[i]->desc.bytes;
}

void
sample_take(Sample *sample, Relation heap, Relation index, double limit_ms)
{
	ItemPointerData none;
	SampleState state = {
		.sample = sample,
		.heap = heap,
		.index = index,
		.strategy = GetAccessStrategy(BAS_BULKREAD),
		.slot = MakeSingleTupleTableSlot(RelationGetDescr(heap),
										 &TTSOpsBufferHeapTuple)
	};

	memset(sample, 0, sizeof(Sample));
	ItemPointerSet(&none, 0, FirstOffsetNumber);
	state.scan = table_beginscan_tidrange(heap, GetActiveSnapshot(), &none,
										  &none PT_NO_SCAN_FLAGS);
	if (index != NULL)
		begin_entries(&state);
	sample_blocks(&state, limit_ms);
	measure_disk(&state);
	if (index != NULL)
		end_entries(&state);
	else
		sample->entries = state.rows;
	table_endscan(state.scan);
	ExecDropSingleTupleTableSlot(state.slot);
	FreeAccessStrategy(state.strategy);
}
