/*-------------------------------------------------------------------------
 *
 * tuplesort.c
 *	  The sort object: one phase machine for all its roles.
 *
 *		PUTTING		tuples go to memory; when the budget is used up they are
 *					sorted and leave as an initial run, or as the continuation
 *					of the last one if they come after it (serial, worker)
 *			|
 *		perform:	serial without runs		-> MEMORY
 *					serial with runs		-> MERGING, or RUN for random access
 *					worker					-> ANNOUNCED: one run, exported
 *					leader: wait, import	-> MERGING
 *					slice leader: wait, import, plan -> SLICES
 *					slice: wait for the plan, import -> SLICES
 *
 *		MEMORY, MERGING, RUN	get returns tuples in order
 *		SLICES		next_slice: -> MERGING, and again, until there are no more
 *					(a serial sort is one slice: its phase stays)
 *
 * The budget.  While tuples are put, the entries have what all else that the
 * sort holds leaves of it (sort_other_memory), and while runs are merged the
 * readers have that.  So what a key has learned, samples, lists of extents and
 * buffers are paid for without being listed anywhere.  The write buffer and
 * what learning may take are set aside before they exist (entries_budget).
 *
 * Merging.  More runs than the budget has read buffers for are merged in
 * several passes.  A merge reads as many runs as the budget has room for
 * readers with a buffer of one block: at about 20 kB each 36 in 1 MB and 180 in
 * 4 MB.  The first merge takes only as many as make all later ones full.
 * Temporary space is recycled while a run is read (tape.c), so passes need no
 * more space than the data.
 *
 * Learning.  A key that makes words from what it has seen (key.h) makes no
 * useful ones before.  So the first tuples are kept without words, and get them
 * when there are enough tuples to learn from.  The first participant to have
 * that many learns for all, as words of different codes cannot be compared.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "sort/shared.h"
#include "sort/slices.h"
#include "key/key.h"
#include "sort/options.h"
#include "sort/sortstate.h"
#include "sort/splice.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"

/* The write buffer is this part of the budget, within limits. */
#define WRITE_BUFFER_PART	16
#define MAX_WRITE_BUFFER	(256 * 1024)

/*
 * Blocks of a tape: the smallest read of a merge.  They are this part of the
 * budget, or one of the server's blocks, so that one merge can read many runs:
 * 36 in 1 MB, 180 in 4 MB.
 */
#define BLOCK_PART			512
#define MAX_TAPE_BLOCK		(32 * 1024)

/* Learning takes no more than this part of the budget, reserved until then. */
#define LEARNING_PART		4

/* The entries have this part of it, whatever the rest of the sort takes. */
#define ENTRIES_PART		4

/* Samples of one run, and those of all runs, are no more than this part. */
#define SAMPLES_PART		16

/*
 * Runs are compared by copies of their edges, if one is no larger than this
 * part of the budget, and all of them are no larger than that.
 */
#define EDGE_PART			64
#define EDGES_PART			16

/* Merge orders.  More than MAX_MERGE_ORDER runs at once only cost cache. */
#define MIN_MERGE_ORDER		6
#define MAX_MERGE_ORDER		500

/*
 * A key learns when this many tuples are there, or all, or memory is full.  Not
 * from the first few: if the table is in some order, they are unlike the rest.
 */
#define LEARN_TUPLES		200000

int			ptsort_debug_spill_entries = 0;
int			ptsort_debug_merge_order = 0;

/*
 * What is left of the budget for entries: all but the sort's other memory, what
 * writing a run will take and, while a key is learning, what it may still take.
 */
static int64
entries_budget(const PtSort *sort)
{
	int64		others = sort_other_memory(sort);

	if (!sort->run_is_open)
		others += sort->write_buffer + RUN_WRITER_MEMORY;
	if (sort->learning)
		others += sort->learning_limit - (int64) key_memory(sort->key);
	return Max(sort->options.budget - others,
			   sort->options.budget / ENTRIES_PART);
}

/* Prepare for tuples to be put. */
static void
begin_putting(PtSort *sort)
{
	if (sort->key && key_is_learning(sort->key))
	{
		Assert(sort->order.own->rekey != NULL);
		sort->learning = true;
		sort->learning_limit = key_limit(sort->key,
										 sort->options.budget / LEARNING_PART);
	}
	sort->memsort = memsort_create(&sort->order, entries_budget(sort));
}

/* Begin a sort; 'own' has what the variant itself does not tell. */
static PtSort *
begin(const PtSortVariant *variant, const SortVariant *own, void *state,
	  int nwords, MemoryContext context, const SortOptions *with)
{
	const PtSortOptions *options = &with->options;
	MemoryContext engine;
	MemoryContext old;
	PtSort	   *sort;

	options_check(variant, with, nwords);
	if (context == NULL)
		context = AllocSetContextCreate(CurrentMemoryContext, "ptsort variant",
										ALLOCSET_SMALL_SIZES);
	/* small blocks, for what is left over in them is not anybody's */
	engine = AllocSetContextCreate(context, "ptsort", ALLOCSET_DEFAULT_MINSIZE,
								   ALLOCSET_DEFAULT_INITSIZE, SORT_BLOCK);
	old = MemoryContextSwitchTo(engine);
	sort = palloc0(sizeof(PtSort));
	sort->options = *options;
	sort->options.budget = Max(options->budget, PTSORT_MIN_BUDGET);
	sort->variant_context = context;
	sort->context = engine;
	sort->order.variant = variant;
	sort->order.state = state;
	sort->order.nwords = nwords;
	sort->order.own = own;
	sort->order.inline_image = variant->inline_image;
	if (own->hints)
		order_note(&sort->order, HINTS_EXIST);
	if (with->optimistic)
		order_note(&sort->order, HINTS_MAY_FAIL);
	sort->write_buffer = Min(sort->options.budget / WRITE_BUFFER_PART,
							 MAX_WRITE_BUFFER);
	sort->maxruns = 16;
	sort->runs = palloc(sort->maxruns * sizeof(Run *));
	if (own->key)
		sort->key = own->key(state);
	if (sort->key && with->restartable)
		sort->contradicted = key_allow_restart(sort->key);
	if (options->role == PTSORT_WORKER)
		shared_join(options->shared, options->participant);
	if (options->role == PTSORT_SERIAL || options->role == PTSORT_WORKER)
		begin_putting(sort);
	MemoryContextSwitchTo(old);
	return sort;
}

/* sort_begin_with: see internal.h. */
PtSort *
sort_begin_with(const SortVariant *variant, void *state, int nwords,
				MemoryContext context, const SortOptions *options)
{
	return begin(&variant->base, variant, state, nwords, context, options);
}

/* sort_begin: see ptsort_begin. */
PtSort *
sort_begin(const PtSortVariant *variant, void *state, int nwords,
		   MemoryContext context, const PtSortOptions *options)
{
	static const SortVariant no_extras = {0};
	SortOptions with = {.options = *options};

	return begin(variant, &no_extras, state, nwords, context, &with);
}

/* Bytes of a tape's blocks. */
static int64
block_bytes(const PtSort *sort)
{
	int64		result = BLCKSZ;

	while (result < MAX_TAPE_BLOCK &&
		   result * 2 <= sort->options.budget / BLOCK_PART)
		result *= 2;
	return result;
}

/* The tapeset, made when first needed. */
static Tapeset *
own_tapeset(PtSort *sort)
{
	if (sort->tapeset == NULL)
	{
		SharedFileSet *fileset = NULL;

		if (sort->options.role == PTSORT_WORKER)
			fileset = shared_fileset(sort->options.shared);
		sort->tapeset = tapeset_create(fileset, sort->options.participant,
									   block_bytes(sort));
	}
	return sort->tapeset;
}

/* Most samples of a run: a power of two. */
static int64
max_samples(const PtSort *sort)
{
	int64		bytes = sort->options.budget / SAMPLES_PART;
	int64		result = RUN_MAX_SAMPLES;

	while (result * (int64) sizeof(RunSample) > bytes)
		result /= 2;
	return result;
}

/*
 * Start a new run.  Any run of a worker may be the one that others read, and
 * so gets a sparse index.
 */
static void
begin_run(PtSort *sort, RunWriter *writer)
{
	run_begin_write(writer, &sort->order, own_tapeset(sort), sort->write_buffer,
					sort->options.role == PTSORT_WORKER ? max_samples(sort) :
					RUN_NO_SAMPLES);
}

/* Keep the samples of all runs together within limits. */
static void
limit_samples(PtSort *sort)
{
	int64		total = 0;

	for (int i = 0; i < sort->nruns; i++)
		total += sort->runs[i]->desc.nsamples;
	if (total <= max_samples(sort))
		return;
	for (int i = 0; i < sort->nruns; i++)
		run_thin_samples(sort->runs[i]);
}

static void
add_run(PtSort *sort, Run *run)
{
	if (sort->nruns == sort->maxruns)
	{
		sort->maxruns *= 2;
		sort->runs = repalloc_huge(sort->runs, sort->maxruns * sizeof(Run *));
	}
	sort->runs[sort->nruns++] = run;
}

/* Finish a run and put it at the end of the queue. */
static void
append_run(PtSort *sort, RunWriter *writer)
{
	Run		   *run = run_end_write(writer);

	add_run(sort, run);
	limit_samples(sort);
	sort->stats.runs++;
	sort->stats.run_bytes += run->desc.bytes;
}

/* Let the key learn, and keep the most memory that the sort had meanwhile. */
static bool
learn(PtSort *sort)
{
	bool		right = sort_learn_key(sort->key, sort->options.shared);
	int64		transient = (int64) key_peak_memory(sort->key) -
		(int64) key_memory(sort->key);
	int64		memory = sort_other_memory(sort) + sort->memsort->used;

	sort->learning = false;
	sort->peak_memory = Max(sort->peak_memory, memory + Max(transient, 0));
	memsort_set_budget(sort->memsort, entries_budget(sort));
	return right;
}

/* Let the key learn from what is in memory, and make the words anew. */
static void
learn_words(PtSort *sort)
{
	const SortVariant *variant = sort->order.own;
	MemSort    *ms = sort->memsort;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort learning",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;

	if (learn(sort))
		order_note(&sort->order, HINTS_LEARNED_RIGHT);
	old = MemoryContextSwitchTo(context);
	for (int64 i = 0; i < ms->count; i++)
	{
		uint64	   *entry = memsort_entry(ms, i);
		uint64		words[KEY_ENTRY_WORDS];

		variant->rekey(memsort_tuple(ms, entry), words, sort->order.state);
		memcpy(entry, words, sort->order.nwords * sizeof(uint64));
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
sort_memory(PtSort *sort)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (sort->learning)
		learn_words(sort);
	memsort_sort(sort->memsort);
	sort_note_memory(sort);
	sort->stats.sort_ms += pt_ms_since(start);
}

/* End the initial run that is open, if any. */
static void
close_run(PtSort *sort)
{
	if (!sort->run_is_open)
		return;
	append_run(sort, &sort->open_run);
	sort->run_is_open = false;
}

/* A copy of an entry in memory, to compare runs by; NULL if it is too large. */
static uint64 *
copy_edge(PtSort *sort, int64 i)
{
	uint64	   *entry = memsort_entry(sort->memsort, i);
	char	   *tuple = memsort_tuple(sort->memsort, entry);
	Size		size = order_size(&sort->order, tuple);
	int			nwords = sort->order.nwords;
	uint64	   *edge;

	if (size > sort->options.budget / EDGE_PART ||
		sort->edge_bytes + size > sort->options.budget / EDGES_PART)
		return NULL;
	sort->edge_bytes += size;
	edge = palloc(nwords * sizeof(uint64) + size);
	memcpy(edge, entry, nwords * sizeof(uint64));
	memcpy(&edge[nwords], tuple, size);
	return edge;
}

/* Free such a copy. */
static void
free_edge(PtSort *sort, uint64 *edge)
{
	if (edge == NULL)
		return;
	sort->edge_bytes -= order_size(&sort->order, edge + sort->order.nwords);
	pfree(edge);
}

/* Append what is in memory to a run. */
static void
write_memory(PtSort *sort, RunWriter *writer)
{
	MemSort    *ms = sort->memsort;

	if (sort->order.inline_image)
	{
		run_write_entries(writer, ms->entries, ms->count);
		return;
	}
	for (int64 i = 0; i < ms->count; i++)
	{
		uint64	   *entry = memsort_entry(ms, i);
		char	   *tuple = memsort_tuple(ms, entry);

		pt_prefetch(memsort_ahead(ms, i));
		pt_prefetch(memsort_ahead(ms, i) + CACHE_LINE);
		run_write(writer, entry, tuple, order_size(&sort->order, tuple));
	}
}

/*
 * Write what is in memory, as a new run or at the end of the last one.  So
 * input that is in order becomes one run, however long it is.
 */
static void
spill(PtSort *sort)
{
	instr_time	start;
	uint64	   *first;
	Run		   *run;

	sort_memory(sort);
	INSTR_TIME_SET_CURRENT(start);
	first = copy_edge(sort, 0);
	if (!sort->run_is_open ||
		!splice_comes_before(&sort->order, sort->open_run.run->last, first))
	{
		close_run(sort);
		begin_run(sort, &sort->open_run);
		sort->run_is_open = true;
		sort->open_run.run->first = first;
		first = NULL;
	}
	run = sort->open_run.run;
	write_memory(sort, &sort->open_run);
	free_edge(sort, first);
	free_edge(sort, run->last);
	run->last = copy_edge(sort, sort->memsort->count - 1);
	memsort_reset(sort->memsort);
	memsort_set_budget(sort->memsort, entries_budget(sort));
	sort->stats.run_ms += pt_ms_since(start);
}

/* Make the words of a tuple that is not in memory yet. */
static void
rekey(PtSort *sort, const void *tuple, uint64 *words)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort rekey",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	sort->order.own->rekey(tuple, words, sort->order.state);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Raise the error for a tuple that cannot be put. */
static pg_noinline void
refuse_put(const PtSort *sort)
{
	if (sort->options.role != PTSORT_SERIAL &&
		sort->options.role != PTSORT_WORKER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot put tuple into sort"),
				 errdetail("Only sorts of the roles PTSORT_SERIAL and PTSORT_WORKER take tuples.")));
	sort_wrong_phase(sort, "cannot put tuple into sort");
}

/* sort_put: see ptsort_put. */
void
sort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	MemSort    *ms = sort->memsort;

	if (unlikely(sort->phase != PHASE_PUTTING || ms == NULL))
		refuse_put(sort);
	if (unlikely(ptsort_debug_spill_entries > 0 &&
				 ms->count >= ptsort_debug_spill_entries) ||
		unlikely(!memsort_put(ms, words, tuple, size)))
	{
		MemoryContext old = MemoryContextSwitchTo(sort->context);
		bool		was_learning = sort->learning;
		uint64		new_words[KEY_ENTRY_WORDS];

		spill(sort);
		if (was_learning)
		{
			/* This tuple's words were made before the key had learned. */
			rekey(sort, tuple, new_words);
			words = new_words;
		}
		if (!memsort_put(ms, words, tuple, size))
			elog(ERROR, "tuple of %zu bytes does not fit into empty sort memory",
				 size);
		MemoryContextSwitchTo(old);
	}
	sort->stats.tuples++;
	if (unlikely(sort->learning) && ms->count >= LEARN_TUPLES)
	{
		MemoryContext old = MemoryContextSwitchTo(sort->context);

		learn_words(sort);
		MemoryContextSwitchTo(old);
	}
}

/* How many runs a merge that writes a run may read at once. */
static int
merge_order(PtSort *sort)
{
	int64		order = sort_merge_memory(sort, sort->nruns, MERGE_TO_RUN) /
		(block_bytes(sort) + TAPE_READ_SLACK + RUN_READER_MEMORY);

	if (ptsort_debug_merge_order > 0)
		return Max(ptsort_debug_merge_order, 2);
	return Min(Max(order, MIN_MERGE_ORDER), MAX_MERGE_ORDER);
}

/* Merge the first n runs of the queue into one at its end. */
static void
merge_runs(PtSort *sort, int n)
{
	RunWriter	writer;
	RunReader  *reader;
	Merge	   *merge = sort_create_merge(sort, n, NULL, MERGE_TO_RUN);

	begin_run(sort, &writer);
	while ((reader = merge_next(merge)) != NULL)
	{
		/* A wrong hint ends the run; a later merge joins the two parts. */
		if (unlikely(merge_was_wrong(merge)))
		{
			append_run(sort, &writer);
			begin_run(sort, &writer);
		}
		run_write(&writer, reader->words, reader->tuple, reader->size);
	}
	sort_note_memory(sort);
	merge_free(merge);
	for (int i = 0; i < n; i++)
		run_close(sort->runs[i]);
	sort->nruns -= n;
	memmove(sort->runs, sort->runs + n, sort->nruns * sizeof(Run *));
	append_run(sort, &writer);
}

/*
 * Merge until at most 'target' runs are left.  The first merge takes just as
 * many as leave full merges for the rest.
 */
static void
merge_down(PtSort *sort, int target)
{
	int			order = merge_order(sort);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (sort->nruns > target)
	{
		int			excess = sort->nruns - target;	/* runs to get rid of */
		int			n = excess % (order - 1);

		n = n == 0 ? order : n + 1;
		merge_runs(sort, n);
	}
	sort->stats.run_ms += pt_ms_since(start);
}

/* Append runs that do not overlap to each other. */
static void
join_runs(PtSort *sort)
{
	if (!sort->options.random_access)
		sort->nruns = splice_runs(&sort->order, sort->runs, sort->nruns);
}

/* All tuples have left memory. */
static void
end_memory(PtSort *sort)
{
	sort_note_memory(sort);
	memsort_free(sort->memsort);
	sort->memsort = NULL;
}

/* Read the one run that is left in both directions, or nothing at all. */
static void
start_run(PtSort *sort)
{
	Size		buffer = Min(sort->options.budget, MAX_WRITE_BUFFER);

	sort->phase = PHASE_RUN;
	if (sort->nruns > 0)
		run_begin_read(&sort->reader, &sort->order, sort->runs[0], buffer,
					   false);
}

/* Merge the runs while they are read. */
static void
start_merging(PtSort *sort)
{
	merge_down(sort, merge_order(sort));
	sort->merge = sort_create_merge(sort, sort->nruns, NULL, MERGE_FINAL);
	sort->phase = PHASE_MERGING;
}

static void
perform_serial(PtSort *sort)
{
	if (!sort->run_is_open)
	{
		/* All tuples are in memory, so wrong hints can be corrected. */
		order_note(&sort->order, HINTS_IN_MEMORY);
		sort_memory(sort);
		sort->phase = PHASE_MEMORY;
		return;
	}
	spill(sort);
	close_run(sort);
	end_memory(sort);
	join_runs(sort);
	if (sort->options.random_access)
	{
		merge_down(sort, 1);
		start_run(sort);
	}
	else
		start_merging(sort);
}

static void
perform_worker(PtSort *sort)
{
	RunDesc		desc = {0};
	SortOutcome outcome;

	if (sort->memsort->count > 0)
		spill(sort);
	close_run(sort);
	end_memory(sort);
	join_runs(sort);
	merge_down(sort, 1);
	if (sort->nruns > 0)
	{
		run_export(sort->runs[0], &desc);
		desc.unverified = sort->order.policy == VERIFY_LATE;
		tapeset_export(sort->tapeset);
	}
	sort->stats.run_bytes = desc.bytes;
	sort->phase = PHASE_ANNOUNCED;
	sort_stats(sort, &sort->stats);
	sort_find_outcome(sort, &outcome);
	shared_announce(sort->options.shared, sort->options.participant, &desc,
					&sort->stats, &outcome);
}

/* Open the runs that the participants left; planning slices needs samples. */
static void
import_runs(PtSort *sort, bool with_samples)
{
	PtSortShared *shared = sort->options.shared;
	int			processes = shared_processes(shared);
	SortOutcome outcome;

	sort->run_owners = palloc(processes * sizeof(int));
	for (int i = 0; i < processes; i++)
	{
		const RunDesc *desc = shared_run(shared, i);

		if (shared_outcome(shared, i, &outcome))
		{
			if (outcome.wrong_hints > 0)
				order_note(&sort->order, HINTS_WRONG);
			sort->failed |= outcome.failed;
		}
		if (desc == NULL)
			continue;
		if (desc->unverified && !(sort->order.hint_facts & HINTS_MAY_FAIL))
			elog(ERROR,
				 "a sort must be optimistic in all participants or in none");
		if (desc->unverified)
			order_note(&sort->order, HINTS_IN_RUNS);
		sort->run_owners[sort->nruns] = i;
		add_run(sort, run_import(shared_fileset(shared), i, desc,
								 with_samples));
		sort->stats.tuples += desc->tuples;
	}
}

/* Runs whose sort has failed are in no order: read nothing of them. */
static void
discard_runs(PtSort *sort)
{
	for (int i = 0; i < sort->nruns; i++)
		run_close(sort->runs[i]);
	sort->nruns = 0;
}

static void
perform_leader(PtSort *sort)
{
	shared_wait(sort->options.shared, sort->options.participants,
				sort->options.workers);
	import_runs(sort, false);
	if (sort->failed)
		discard_runs(sort);
	start_merging(sort);
}

/* Plan the slices and publish the plan; if a sort has failed, an empty one. */
static void
plan_slices(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	int			processes = shared_processes(shared);
	int			nslices = shared_slices(processes);
	int			row = sort->nruns + 1;	/* see slices_plan */
	int64	   *slices;
	int64		others;			/* bytes of all but the plan's own */
	int64		memory;

	if (sort->failed)
	{
		shared_fail(shared);
		shared_publish_plan(shared);
		return;
	}
	slices = palloc_extended((nslices + 1) * row * sizeof(int64),
							 MCXT_ALLOC_HUGE);
	others = sort_other_memory(sort);
	memory = slices_plan(&sort->order, sort->runs, sort->nruns, nslices,
						 Max(sort->options.budget - others, 0), slices);
	sort->peak_memory = Max(sort->peak_memory, others + memory);
	if (sort->contradicted != NULL && OidIsValid(*sort->contradicted))
		shared_fail(shared);
	for (int r = 0; r < sort->nruns; r++)
		run_forget_samples(sort->runs[r]);
	for (int slice = 0; slice <= nslices; slice++)
	{
		int64	   *published = shared_slice(shared, slice);

		for (int r = 0; r < sort->nruns; r++)
			published[sort->run_owners[r]] = slices[slice * row + r];
		published[processes] = slices[slice * row + sort->nruns];
	}
	pfree(slices);
	shared_publish_plan(shared);
}

static void
perform_slice_leader(PtSort *sort)
{
	shared_wait(sort->options.shared, sort->options.participants,
				sort->options.workers);
	import_runs(sort, true);
	plan_slices(sort);
	sort->phase = PHASE_SLICES;
}

static void
perform_slice(PtSort *sort)
{
	shared_wait_plan(sort->options.shared);
	import_runs(sort, false);
	sort->phase = PHASE_SLICES;
}

/* sort_perform: see ptsort_perform. */
void
sort_perform(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (sort->phase != PHASE_PUTTING)
		sort_wrong_phase(sort, "cannot perform sort");
	fault_point("sort: perform");
	sort->phase = PHASE_FAILED;
	switch (sort->options.role)
	{
		case PTSORT_SERIAL:
			perform_serial(sort);
			break;
		case PTSORT_WORKER:
			perform_worker(sort);
			break;
		case PTSORT_LEADER:
			perform_leader(sort);
			break;
		case PTSORT_SLICE_LEADER:
			perform_slice_leader(sort);
			break;
		case PTSORT_SLICE:
			perform_slice(sort);
			break;
	}
	MemoryContextSwitchTo(old);
}

/* sort_learn_key: see ptsort_key_learn. */
bool
sort_learn_key(PtSortKey *key, PtSortShared *shared)
{
	StringInfoData learned;
	bool		right;

	initStringInfo(&learned);
	if (shared == NULL)
		right = key_learn(key, NULL);
	else if (shared_claim_learning(shared))
	{
		right = key_learn(key, &learned);
		shared_publish_learned(shared, learned.data, learned.len);
	}
	else
	{
		shared_read_learned(shared, &learned);
		right = key_adopt(key, learned.data, learned.len);
	}
	pfree(learned.data);
	return right;
}

/* sort_end: see ptsort_end. */
void
sort_end(PtSort *sort)
{
	sort_check_told(sort);
	for (int i = 0; i < sort->nruns; i++)
		run_close(sort->runs[i]);
	if (sort->tapeset)
		tapeset_close(sort->tapeset);
	MemoryContextDelete(sort->variant_context);
}

/* sort_stats: see ptsort_stats. */
void
sort_stats(PtSort *sort, PtSortStats *stats)
{
	PtSortStats result;

	sort_note_memory(sort);
	result = sort->stats;
	result.comparisons = sort->order.comparisons;
	result.peak_memory = sort->peak_memory;
	if (sort->tapeset)
		result.temp_bytes = tapeset_bytes(sort->tapeset);
	*stats = result;
}
