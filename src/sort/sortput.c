/*-------------------------------------------------------------------------
 *
 * sortput.c
 *	  Filling a sort: tuples in memory, and initial runs when memory is full.
 *
 * sort_other_memory measures everything in the sort except the entries, so
 * learned data, samples, lists of extents and buffers count towards the budget.
 * During input, the entries may use the rest of the budget; during a merge, the
 * readers may use it.  entries_budget also reserves the write buffer and the
 * memory that learning may need.
 *
 * A sort with a bound (src/README) compares a new tuple with the last tuple
 * within the bound before copying it.  Words that are cheap to make nearly
 * always decide this comparison.  Otherwise (a learned code, ICU sort keys) the
 * sort compares values, and makes words only for the tuples that it keeps.
 * If it must spill, no run has more tuples than the bound.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/key.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"

/* Part of the budget that entries may always use. */
#define ENTRIES_PART		4

/*
 * Part of the budget for copies of runs' edges (first and last tuples), by
 * which the sort compares runs.  A copy uses at most a quarter of this part.
 */
#define EDGES_PART			16

/* Maximum size of an image in bytes. */
#define MAX_IMAGE			(MaxAllocSize + 1)

/* For fewer than FEW_TUPLES tuples, sorts do not measure time and memory. */
#define FEW_TUPLES			256

/*
 * Least number of tuples beyond the bound for which the sort drops them: fewer
 * would not pay.  If memory is full, the larger of LEAST_MORE / 2 and 1 /
 * TRIM_PART of the bound is enough.
 */
#define LEAST_MORE		128
#define TRIM_PART		4

void
bounded_begin(PtSort *sort)
{
	int64		bound = sort->options.bound;

	sort->last_known = false;
	sort->trimmed = false;
	sort->trim_at = PG_INT64_MAX;
	if (bound > 0 && bound < PG_INT64_MAX / 2)
		sort->trim_at = bound + Max(bound, LEAST_MORE);
	if (sort->last)
		pfree(sort->last);
	sort->last = NULL;
}

/* True if a new tuple with these words is certainly beyond the bound. */
static bool
bounded_refuses(PtSort *sort, const uint64 *words, const void *tuple)
{
	SortOrder  *order = &sort->order;
	int			cmp;

	if (!sort->last_known)
		return false;
	cmp = order_compare_words(words, sort->last_words, order->nwords);
	if (cmp < 0)
		return false;
	if (cmp == 0)
	{
		/* the caller put 'last' earlier, so an equal tuple comes later */
		if (order->inline_image)
			cmp = *(const uint64 *) tuple >= sort->last_words[order->nwords];
		else
			cmp = order_compare_tuples(order, tuple, sort->last) >= 0;
		if (cmp == 0)
			return false;
	}
	sort->trimmed = true;
	return true;
}

bool
bounded_drops(PtSort *sort, const Datum *values, const bool *isnull)
{
	SortOrder  *order = &sort->order;
	uint64		words[KEY_ENTRY_WORDS];
	int			cmp = 0;

	if (sort->last_by_words)
	{
		key_words(sort->key, values, isnull, words);
		cmp = order_compare_words(words, sort->last_words, order->nwords);
	}
	if (cmp == 0)
	{
		order->comparisons++;
		cmp = order->own->compare_values(values, isnull, sort->last,
										 order->state);
	}

	/* unless the sort is stable, bytes decide between equal tuples */
	if (cmp < 0 || (cmp == 0 && !order->stable))
		return false;
	sort->trimmed = true;
	sort->stats.tuples++;
	return true;
}

/* Copy an entry as the last tuple within the bound. */
static void
set_last(PtSort *sort, int64 i)
{
	const SortOrder *order = &sort->order;
	uint64	   *entry = memsort_entry(sort->memsort, i);
	const char *tuple = memsort_tuple(sort->memsort, entry);
	Size		size = order_size(order, tuple);

	memcpy(sort->last_words, entry, order->nwords * sizeof(uint64));
	sort->last_known = true;
	sort->last_by_words = sort->key == NULL || key_words_are_quick(sort->key);
	if (order->inline_image)
	{
		sort->last_words[order->nwords] = *(const uint64 *) tuple;
		return;
	}
	if (sort->last)
		pfree(sort->last);
	sort->last = MemoryContextAllocHuge(sort->context, size);
	memcpy(sort->last, tuple, size);
}

void
bounded_cut(PtSort *sort)
{
	int64		bound = sort->options.bound;

	if (bound <= 0 || sort->memsort->count < bound)
		return;
	set_last(sort, bound - 1);
	sort->trimmed |= sort->memsort->count > bound;
	sort->memsort->count = bound;
}

/* Returns the part of the budget for entries, see above. */
static int64
entries_budget(PtSort *sort)
{
	int64		others = sort_other_memory(sort) + learning_memory(sort) +
		sort_writer_memory(sort);
	int64		most = sort_run_memory(sort);

	return Min(Max(sort->options.budget - others,
				   sort->options.budget / ENTRIES_PART), most);
}

void
sort_begin_putting(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	learning_begin(sort);
	bounded_begin(sort);
	if (sort->memsort && !memsort_is_small(sort->memsort))
	{
		sort_note_memory(sort);
		memsort_free(sort->memsort);
		sort->memsort = NULL;
	}
	if (sort->memsort)
		memsort_reset(sort->memsort);
	else
		sort->memsort = memsort_create(&sort->order, entries_budget(sort));
	MemoryContextSwitchTo(old);
}

void
sort_entries_in_memory(PtSort *sort)
{
	instr_time	start;

	/* for few tuples, measuring time and memory costs more than sorting */
	if (sort->memsort->count < FEW_TUPLES && !sort->learning)
	{
		memsort_sort(sort->memsort);
		return;
	}
	INSTR_TIME_SET_CURRENT(start);
	if (!sort->all_put || !learning_came_in_order(sort))
	{
		learning_end(sort);
		memsort_sort(sort->memsort);
	}
	sort_note_memory(sort);
	sort->stats.sort_ms += pt_ms_since(start);
}

static void
close_run(PtSort *sort)
{
	if (!sort->run_is_open)
		return;
	sort_append_run(sort, &sort->open_run);
	sort_expect_merges(sort);
	sort->run_is_open = false;
}

/* Copy an entry for comparing runs; returns NULL if the copy is too large. */
static uint64 *
copy_edge(PtSort *sort, int64 i)
{
	uint64	   *entry = memsort_entry(sort->memsort, i);
	char	   *tuple = memsort_tuple(sort->memsort, entry);
	Size		size = order_size(&sort->order, tuple);
	int			nwords = sort->order.nwords;
	uint64	   *edge;

	if (4 * size > sort->options.budget / EDGES_PART ||
		sort->edge_bytes + size > sort->options.budget / EDGES_PART)
		return NULL;
	sort->edge_bytes += size;
	edge = palloc_extended(nwords * sizeof(uint64) + size, MCXT_ALLOC_HUGE);
	memcpy(edge, entry, nwords * sizeof(uint64));
	memcpy(&edge[nwords], tuple, size);
	return edge;
}

static void
free_edge(PtSort *sort, uint64 *edge)
{
	if (edge == NULL)
		return;
	sort->edge_bytes -= order_size(&sort->order, edge + sort->order.nwords);
	pfree(edge);
}

/* Append the tuples in memory to a run. */
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
		Size		size = order_size(&sort->order, tuple);

		memsort_prefetch(ms, i, size);
		run_write(writer, entry, tuple, size);
	}
}

/*
 * Write the tuples in memory, as a new run or at the end of the last run.
 * Pre-sorted input therefore becomes one run of any length.
 */
static void
write_run(PtSort *sort)
{
	int64		bound = sort->options.bound;
	MemSort    *ms = sort->memsort;
	uint64	   *first = copy_edge(sort, 0);
	Run		   *run;

	if (!sort_continues_run(sort, first))
	{
		close_run(sort);
		sort_begin_run(sort, &sort->open_run);
		sort->run_is_open = true;
		sort->open_tuples = 0;
		sort->open_run.run->first = first;
		first = NULL;
	}
	free_edge(sort, first);
	if (bound > 0)
		ms->count = Min(ms->count, bound - sort->open_tuples);
	if (ms->count == 0)
		return;
	run = sort->open_run.run;
	write_memory(sort, &sort->open_run);
	sort->open_tuples += ms->count;
	free_edge(sort, run->last);
	run->last = copy_edge(sort, ms->count - 1);
}

/* Sort the tuples in memory, write them to a run, and empty the memory. */
static void
spill(PtSort *sort)
{
	instr_time	start;

	sort_entries_in_memory(sort);
	bounded_cut(sort);
	INSTR_TIME_SET_CURRENT(start);
	write_run(sort);
	if (sort_wants_short_runs(sort))
		sort_note_memory(sort); /* includes the scratch */
	memsort_reset(sort->memsort);
	memsort_set_budget(sort->memsort, entries_budget(sort));
	sort->stats.run_ms += pt_ms_since(start);
}

/* Raise the error for a put that the sort's phase or role does not allow. */
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

static pg_noinline void
refuse_size(Size size)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("cannot sort tuple of %zu bytes", size),
			 errdetail("Tuples have at least %zu and at most %zu bytes.",
					   sizeof(uint64), MAX_IMAGE)));
}

/* Raise the error for a commit without a reserved place. */
static pg_noinline void
refuse_commit(const PtSort *sort)
{
	if (sort->phase != PHASE_PUTTING || sort->memsort == NULL)
		refuse_put(sort);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot commit tuple to sort"),
			 errdetail("No place is reserved for the tuple.")));
}

/* Sort the tuples in memory, and drop the tuples beyond the bound. */
static void
trim(PtSort *sort)
{
	sort_entries_in_memory(sort);
	memsort_set_budget(sort->memsort, entries_budget(sort));
	bounded_cut(sort);
	memsort_compact(sort->memsort);
}

/* Recompute the memory for one run; returns true if it grew enough. */
static bool
has_more_room(PtSort *sort)
{
	int64		before = sort->memsort->budget;

	if (!sort_wants_short_runs(sort) || sort_must_spill(sort))
		return false;
	memsort_set_budget(sort->memsort, entries_budget(sort));
	return sort->memsort->budget > before + before / 8;
}

/* Drop tuples beyond the bound, let the memory grow, or write the tuples. */
static pg_noinline void
make_room(PtSort *sort)
{
	int64		bound = sort->options.bound;
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->phase = PHASE_FAILED;
	if (bound > 0 && sort->memsort->count - bound >=
		Max(bound / TRIM_PART, LEAST_MORE / 2))
		trim(sort);
	else if (!has_more_room(sort))
		spill(sort);
	sort->phase = PHASE_PUTTING;
	MemoryContextSwitchTo(old);
}

void *
sort_reserve(PtSort *sort, Size size)
{
	MemSort    *ms = sort->memsort;
	char	   *place;

	if (unlikely(sort->phase != PHASE_PUTTING || ms == NULL))
		refuse_put(sort);
	if (unlikely(size < sizeof(uint64) || size > MAX_IMAGE))
		refuse_size(size);
	while (sort_must_spill(sort) ||
		   unlikely((place = memsort_reserve(ms, size)) == NULL))
	{
		if (ms->count == 0)
			elog(ERROR, "tuple of %zu bytes does not fit into empty sort memory",
				 size);
		make_room(sort);
	}
	return place;
}

void
sort_note_put(PtSort *sort)
{
	if (sort->memsort->count >= sort->trim_at)
		make_room(sort);
	if (sort->learning && sort->memsort->count >= sort->learn_at)
	{
		learning_note_put(sort);
		memsort_set_budget(sort->memsort, entries_budget(sort));
	}
}

void
sort_commit(PtSort *sort, const uint64 *words)
{
	MemSort    *ms = sort->memsort;

	if (unlikely(sort->phase != PHASE_PUTTING || ms == NULL ||
				 ms->reserved == NULL))
		refuse_commit(sort);
	if (unlikely(sort->last_known) &&
		bounded_refuses(sort, words, ms->reserved))
	{
		ms->reserved = NULL;
		sort->stats.tuples++;
		return;
	}
	memsort_commit(ms, words);
	sort_count_put(sort);
}

static inline void
put_inline(PtSort *sort, uint64 image, const uint64 *words)
{
	MemSort    *ms = sort->memsort;

	if (unlikely(sort->phase != PHASE_PUTTING || ms == NULL))
		refuse_put(sort);
	if (unlikely(sort->last_known) && bounded_refuses(sort, words, &image))
	{
		sort->stats.tuples++;
		return;
	}
	while (sort_must_spill(sort) ||
		   unlikely(!memsort_put_inline(ms, words, image)))
	{
		if (ms->count == 0)
			elog(ERROR, "no entry fits into empty sort memory");
		make_room(sort);
	}
	sort_count_put(sort);
}

void
sort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	void	   *place;

	if (sort->order.inline_image)
	{
		put_inline(sort, *(const uint64 *) tuple, words);
		return;
	}
	if (unlikely(sort->last_known) && sort->phase == PHASE_PUTTING &&
		bounded_refuses(sort, words, tuple))
	{
		sort->stats.tuples++;
		return;
	}
	place = sort_reserve(sort, size);
	memcpy(place, tuple, size);
	memsort_commit(sort->memsort, words);
	sort_count_put(sort);
}

void
sort_spill(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->phase = PHASE_FAILED;
	if (sort->memsort->count > 0)
		spill(sort);
	sort->phase = PHASE_PUTTING;
	MemoryContextSwitchTo(old);
}

void
sort_end_runs(PtSort *sort)
{
	if (sort->memsort->count > 0)
		spill(sort);
	close_run(sort);
	sort_note_memory(sort);
	memsort_free(sort->memsort);
	sort->memsort = NULL;
	if (!sort->options.random_access)
		sort_join_runs(sort);
}
