/*-------------------------------------------------------------------------
 *
 * modelsort.c
 *	  Sorts with ptsort in all roles, and compares the tuples with the array.
 *
 * The participants are several sorts of this one process.  They take turns in
 * an order that depends on the seed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "model.h"

/* Number of puts between two checks of a sort's memory. */
#define ROWS_PER_LOOK	500

/* A tuple is large if it exceeds the budget divided by this number. */
#define LARGE_PART		100

/*
 * Maximum size in bytes of the context 'puts' at the end of a sort.  Each put
 * frees what it allocates in the context, so only a few small blocks may
 * remain.  The values of hundreds of rows would need more.
 */
#define PUTS_LEAVE		(64 * 1024)

/* Maximum size in bytes of the sort's context after a reset. */
#define RESET_LEAVES	(500 * 1000)

/* A sort, and the memory context in which it began. */
typedef struct ModelSort
{
	ModelArray *array;
	PtSort	   *sort;
	MemoryContext context;
	Size		empty;			/* initial size of the context in bytes */
	MemoryContext puts;			/* current during puts that form tuples */
	TupleTableSlot *slot;		/* for reads */
	int64		reads;
} ModelSort;

static PtSort *
begin_sort(ModelArray *array, const PtSortOptions *options)
{
	ModelSource *source = array->source;

	if (array->settings->datum)
		return ptsort_begin_datum(TupleDescAttr(source->desc, 0)->atttypid,
								  source->operators[0], source->collations[0],
								  source->nulls_first[0], options);
	return ptsort_begin_tuple(source->desc, source->nkeys, source->attnums,
							  source->operators, source->collations,
							  source->nulls_first, options);
}

/* Begins a sort in a memory context of its own. */
static void
open_sort(ModelSort *model, ModelArray *array, const PtSortOptions *options)
{
	MemoryContext caller;

	*model = (ModelSort)
	{
		.array = array
	};
	model->slot = MakeSingleTupleTableSlot(array->source->desc,
										   array->settings->datum ?
										   &TTSOpsVirtual :
										   &TTSOpsMinimalTuple);
	model->context = AllocSetContextCreate(CurrentMemoryContext,
										   "ptsort_test sort",
										   ALLOCSET_SMALL_SIZES);
	model->empty = MemoryContextMemAllocated(model->context, true);
	model->puts = AllocSetContextCreate(CurrentMemoryContext,
										"ptsort_test puts",
										ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(model->context);
	model->sort = begin_sort(array, options);
	MemoryContextSwitchTo(caller);
}

/*
 * Checks that the sort holds no more memory than its budget.  A merge holds
 * one tuple for each run, so the check is off if tuples are large, or if a
 * setting forces hundreds of tiny runs.
 */
static void
check_memory(ModelSort *model)
{
	ModelArray *array = model->array;
	int64		held = MemoryContextMemAllocated(model->context, true);
	int64		budget = Max(array->settings->budget, PTSORT_MIN_BUDGET);

	if (array->largest > budget / LARGE_PART ||
		test_internals()->settings->spill_entries > 0)
		return;
	if (held > budget + budget / 20 + 32768)
		elog(ERROR, "the sort holds " INT64_FORMAT " of " INT64_FORMAT " bytes",
			 held, budget);
}

/* Ends a sort and checks that it freed its memory. */
static void
close_sort(ModelSort *model)
{
	ExecDropSingleTupleTableSlot(model->slot);
	ptsort_end(model->sort);
	if (MemoryContextMemAllocated(model->context, true) != model->empty)
		elog(ERROR, "the sort has left memory in its caller's context");
	if (MemoryContextMemAllocated(model->puts, true) > PUTS_LEAVE)
		elog(ERROR, "puts have left memory in the current context");
	MemoryContextDelete(model->context);
	MemoryContextDelete(model->puts);
}

/*
 * Puts a tuple with ptsort_put_tuple or ptsort_put_slot, or the tuple's value
 * with ptsort_put_datum.
 */
static void
put_slot(ModelSort *model, TupleTableSlot *slot, int64 number)
{
	bool		is_null;
	Datum		value = slot_getattr(slot, 1, &is_null);
	MemoryContext caller;

	if (!model->array->settings->datum &&
		test_mix(model->array->settings->seed, number) % 2 != 0)
	{
		ptsort_put_tuple(model->sort, ExecCopySlotMinimalTuple(slot));
		return;
	}
	caller = MemoryContextSwitchTo(model->puts);
	if (model->array->settings->datum)
		ptsort_put_datum(model->sort, value, is_null);
	else
		ptsort_put_slot(model->sort, slot);
	MemoryContextSwitchTo(caller);
}

/* Puts the tuples of the array's round, each into its participant's sort. */
static void
put_all(ModelArray *array, ModelSort *models)
{
	const ModelSettings *settings = array->settings;
	MemoryContext caller = MemoryContextSwitchTo(array->row_context);
	TupleTableSlot *slot;

	model_source_rewind(array->source);
	for (int64 i = 0; (slot = model_source_next(array->source)) != NULL; i++)
	{
		ModelSort  *model = &models[model_participant(settings, i, array->n)];

		if (!model_is_put(settings, array->round, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		put_slot(model, slot, i);
		if (i % ROWS_PER_LOOK == 0)
			check_memory(model);
		MemoryContextReset(array->row_context);
	}
	MemoryContextSwitchTo(caller);
}

/* Gets a tuple's image, or NULL if there is no tuple. */
static char *
get_image(ModelSort *model, bool forward, Size *size, MinimalTuple *tuple)
{
	ModelArray *array = model->array;

	*tuple = NULL;
	if (array->settings->datum)
	{
		Datum	   *value = &model->slot->tts_values[0];
		bool	   *is_null = &model->slot->tts_isnull[0];

		ExecClearTuple(model->slot);
		if (!ptsort_get_datum(model->sort, forward, value, is_null))
			return NULL;
		ExecStoreVirtualTuple(model->slot);
		*tuple = ExecCopySlotMinimalTuple(model->slot);
		return model_datum_image(TupleDescAttr(array->source->desc, 0),
								 *value, *is_null, size);
	}
	if (model->reads++ % 2 == 0)
		*tuple = ptsort_get_tuple(model->sort, forward);
	else if (ptsort_get_slot(model->sort, forward, model->slot))
		*tuple = ExecCopySlotMinimalTuple(model->slot);
	else if (!TTS_EMPTY(model->slot))
		elog(ERROR, "the slot is not empty at the end");
	return *tuple ? model_tuple_image(*tuple, size) : NULL;
}

/* Raises an error that describes an unexpected tuple. */
static void
complain(ModelArray *array, int64 position, MinimalTuple tuple)
{
	const ModelTuple *expected = &array->tuples[position];
	int			order = model_compare(array->source, tuple, expected->tuple);

	if (order != 0)
		elog(ERROR, "the key of tuple " INT64_FORMAT " is %s than the server's",
			 position, order < 0 ? "less" : "greater");
	for (int64 i = 0; i < array->n; i++)
	{
		if (array->tuples[i].group == expected->group &&
			array->tuples[i].size == tuple->t_len && i != position &&
			memcmp(array->tuples[i].image, tuple, tuple->t_len) == 0)
			elog(ERROR, "tuple " INT64_FORMAT " should be number " INT64_FORMAT " of its equals",
				 position, i);
	}
	elog(ERROR, "tuple " INT64_FORMAT " is not one of its equals", position);
}

/*
 * Reads a tuple, which must equal the array's tuple at this position.  Returns
 * false if there is no tuple.
 */
static bool
read_tuple(ModelSort *model, bool forward, int64 position)
{
	ModelArray *array = model->array;
	MemoryContext caller = MemoryContextSwitchTo(array->row_context);
	MinimalTuple tuple;
	Size		size;
	char	   *image = get_image(model, forward, &size, &tuple);

	CHECK_FOR_INTERRUPTS();
	if (image != NULL)
	{
		const ModelTuple *expected = &array->tuples[position];

		if (position < 0 || position >= array->wanted)
			elog(ERROR, "there is a tuple at position " INT64_FORMAT " of " INT64_FORMAT,
				 position, array->wanted);
		if (size != expected->size || memcmp(image, expected->image, size) != 0)
			complain(array, position, tuple);
	}
	ExecClearTuple(model->slot);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(array->row_context);
	return image != NULL;
}

/*
 * Like read_tuple, but raises an error if a tuple of the array is missing.
 */
static bool
read_and_check(ModelSort *model, bool forward, int64 position)
{
	bool		got = read_tuple(model, forward, position);

	if (!got && position >= 0 && position < model->array->wanted)
		elog(ERROR, "there is no tuple at position " INT64_FORMAT " of " INT64_FORMAT,
			 position, model->array->wanted);
	return got;
}

/* Reads a sort from its first tuple to its last one. */
static void
read_all(ModelSort *model)
{
	int64		position = 0;

	while (read_and_check(model, true, position))
	{
		if (position % ROWS_PER_LOOK == 0)
			check_memory(model);
		position++;
	}
	(void) read_and_check(model, true, position);
}

/* TestWalk.read */
static void
walk_to(TestWalk *walk, bool forward)
{
	(void) read_and_check(walk->state, forward, walk->position - 1);
}

/* Checks that a sort's statistics are possible. */
static void
check_stats(ModelArray *array, const PtSortStats *stats)
{
	if (stats->tuples != array->n)
		elog(ERROR, "the sort counts " INT64_FORMAT " of " INT64_FORMAT " tuples",
			 stats->tuples, array->n);
	/* runs may be in memory */
	if (stats->runs > 0 ?
		stats->temp_bytes == 0 && stats->method != PTSORT_IN_MEMORY :
		stats->temp_bytes > 0)
		elog(ERROR, INT64_FORMAT " runs, but " INT64_FORMAT " bytes of files",
			 stats->runs, stats->temp_bytes);
	if (stats->peak_memory <= 0)
		elog(ERROR, "the sort says that it had no memory");
}

/*
 * Sorts the tuples of one round.  In later rounds, the function sometimes
 * reads only half of the tuples, or does not even perform the sort.
 */
static void
sort_round(ModelSort *model)
{
	ModelArray *array = model->array;
	uint64		dice = test_mix(array->settings->seed, -1000 - array->round);
	PtSortStats before;
	PtSortStats after;

	ptsort_stats(model->sort, &before);
	put_all(array, model);
	if (array->round > 0 && dice % 8 == 0)
		return;
	ptsort_perform(model->sort);
	check_memory(model);
	if (array->round > 0 && dice % 8 < 3)
	{
		for (int64 i = 0; i < array->wanted / 2; i++)
			(void) read_and_check(model, true, i);
		return;
	}
	read_all(model);
	if (array->settings->random_access)
	{
		TestWalk	walk = {
			.sort = model->sort,
			.n = array->wanted,
			.read = walk_to,
			.state = model
		};

		test_walk(&walk, array->settings->seed, 300);
	}
	ptsort_stats(model->sort, &after);
	after.tuples -= before.tuples;
	check_stats(array, &after);
}

static void
sort_serially(ModelArray *array, PtSortStats *stats)
{
	const ModelSettings *settings = array->settings;
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = settings->budget,
		.random_access = settings->random_access,
		.stable = settings->stable,
		.bound = settings->bound,
		.expected_tuples = settings->expected_tuples
	};
	ModelSort	model;

	open_sort(&model, array, &options);
	for (int round = 0; round < settings->rounds; round++)
	{
		if (round > 0)
		{
			ptsort_reset(model.sort);
			if (MemoryContextMemAllocated(model.context, true) > RESET_LEAVES)
				elog(ERROR, "the reset sort holds too much memory");
			model.array = model_array_round(array, round);
		}
		sort_round(&model);
		check_memory(&model);
	}
	ptsort_stats(model.sort, stats);
	close_sort(&model);
}

/* Sorts as each of the participants, and leaves their runs for the merge. */
static void
participate(ModelArray *array, PtSortShared *shared)
{
	const ModelSettings *settings = array->settings;
	ModelSort	models[MAX_PARTICIPANTS];

	for (int i = 0; i < settings->participants; i++)
	{
		PtSortOptions options = {
			.role = PTSORT_WORKER,
			.budget = settings->budget,
			.shared = shared,
			.participant = i,
			.stable = settings->stable,
			.expected_tuples = settings->expected_tuples
		};

		open_sort(&models[i], array, &options);
	}
	put_all(array, models);
	for (int i = 0; i < settings->participants; i++)
	{
		ptsort_perform(models[i].sort);
		check_memory(&models[i]);
		close_sort(&models[i]);
	}
}

/* A participant that merges slices. */
typedef struct ModelMerger
{
	ModelSort	model;
	int64		position;		/* of the next tuple, or -1 without a slice */
	bool		finished;
} ModelMerger;

/*
 * Takes a new slice if necessary, reads some tuples of the slice, and marks
 * these tuples as seen.
 */
static void
merge_some(ModelMerger *merger, int ntuples, bool *seen)
{
	int			slice;

	if (merger->position < 0)
	{
		merger->finished = !ptsort_next_slice(merger->model.sort, &slice);
		if (!merger->finished)
			merger->position = ptsort_slice_start(merger->model.sort);
	}
	for (int i = 0; i < ntuples && merger->position >= 0; i++)
	{
		if (!read_tuple(&merger->model, true, merger->position))
			merger->position = -1;
		else
			seen[merger->position++] = true;
	}
}

/*
 * All participants merge.  They take turns: in each turn, one of them reads
 * some tuples of its slice.  Each slice must have the array's tuples from the
 * slice's start position on.
 */
static void
read_slices(ModelArray *array, ModelMerger *mergers)
{
	int			n = array->settings->participants;
	bool	   *seen = palloc0(array->n + 1);
	int			finished = 0;

	for (uint64 turn = 0; finished < n; turn++)
	{
		uint64		dice = test_mix(array->settings->seed, turn);
		ModelMerger *merger = &mergers[dice % n];

		if (merger->finished)
			continue;
		merge_some(merger, dice / n % 100, seen);
		if (merger->finished)
			finished++;
	}
	for (int64 i = 0; i < array->n; i++)
	{
		if (!seen[i])
			elog(ERROR, "tuple " INT64_FORMAT " is in no slice", i);
	}
	pfree(seen);
}

/* Adds a participant's statistics to the total. */
static void
add_stats(PtSortStats *total, const PtSortStats *stats)
{
	total->runs += stats->runs;
	total->comparisons += stats->comparisons;
	total->temp_bytes += stats->temp_bytes;
	total->peak_memory = Max(total->peak_memory, stats->peak_memory);
}

/* Merges the runs as the leader or, in slices, as all participants. */
static void
merge_and_check(ModelArray *array, PtSortShared *shared, PtSortStats *stats)
{
	const ModelSettings *settings = array->settings;
	int			n = settings->slices ? settings->participants : 1;
	ModelMerger mergers[MAX_PARTICIPANTS] = {0};
	PtSortStats one;

	for (int i = 0; i < n; i++)
	{
		PtSortOptions options = {
			.role = i > 0 ? PTSORT_SLICE :
			settings->slices ? PTSORT_SLICE_LEADER : PTSORT_LEADER,
			.budget = settings->budget,
			.shared = shared,
			.stable = settings->stable,
			.participants = i > 0 ? 0 : settings->participants
		};

		open_sort(&mergers[i].model, array, &options);
		mergers[i].position = -1;
		ptsort_perform(mergers[i].model.sort);
		check_memory(&mergers[i].model);
	}
	if (settings->slices)
		read_slices(array, mergers);
	else
		read_all(&mergers[0].model);
	ptsort_stats(mergers[0].model.sort, stats);
	for (int i = 0; i < n; i++)
	{
		check_memory(&mergers[i].model);
		ptsort_stats(mergers[i].model.sort, &one);
		if (i > 0)
			add_stats(stats, &one);
		close_sort(&mergers[i].model);
	}
	for (int i = 0; i < settings->participants; i++)
	{
		if (!test_internals()->shared_stats(shared, i, &one))
			elog(ERROR, "participant %d left no statistics", i);
		add_stats(stats, &one);
	}
	check_stats(array, stats);
}

/* model_sort sorts the source and compares the output with the array. */
void
model_sort(ModelArray *array, PtSortStats *stats)
{
	int			n = array->settings->participants;
	dsm_segment *segment;
	PtSortShared *shared;

	if (n == 0)
	{
		sort_serially(array, stats);
		return;
	}
	segment = dsm_create(ptsort_shared_estimate(n), 0);
	shared = dsm_segment_address(segment);
	ptsort_shared_init(shared, n, segment);
	participate(array, shared);
	merge_and_check(array, shared, stats);
	dsm_detach(segment);
}
