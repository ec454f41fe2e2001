/*-------------------------------------------------------------------------
 *
 * sortput.c
 *	  Filling a sort: tuples in memory, and initial runs when it is full.
 *
 * The budget.  While tuples are put, the entries may use the part of the budget
 * that everything else in the sort (sort_other_memory) does not use; while runs
 * are merged, the readers may use that part.  So learned data, samples, lists
 * of extents and buffers count without being listed anywhere.  The write buffer
 * and the memory that learning may need are reserved (entries_budget).
 *
 * Learning.  Until a key that learns (key.h) has learned, its words are worse,
 * or it makes none.  So the sort makes the words of the first tuples only when
 * there are enough tuples to learn from, and only then shows the key a sample
 * of them.  A sort that does not learn, which is a serial sort of few tuples,
 * pays nothing.  (A participant with few tuples cannot tell how many the others
 * have.)  The first participant with enough tuples learns for all participants,
 * because words of different codes cannot be compared.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/key.h"
#include "miscadmin.h"
#include "sort/bounded.h"
#include "sort/secondword.h"
#include "sort/shared.h"
#include "sort/sortput.h"
#include "sort/sortruns.h"
#include "tape/splice.h"
#include "util.h"
#include "utils/memutils.h"

/* Most of the budget that learning uses, as a fraction; reserved until then. */
#define LEARNING_PART		4

/* Part of the budget that entries may use, however much the rest uses. */
#define ENTRIES_PART		4

/*
 * Runs are compared by copies of their edges, their first and last tuples.  A
 * copy is at most EDGE_PART of the budget, and all copies are at most
 * EDGES_PART of it.
 */
#define EDGE_PART			64
#define EDGES_PART			16

/*
 * A key learns when this many tuples are in memory, or all tuples are, or
 * memory is full.  It does not learn from the first few: if the table is in
 * some order, they differ from the rest.
 */
#define LEARN_TUPLES		200000

/*
 * With at least MANY_TUPLES tuples, or 1 / MANY_PART of the budget in use, keys
 * of a parallel sort learn in any case.  From TABLES_TUPLES on a process that
 * has not used an ICU collation before reads its tables (text_icu.h).
 */
#define MANY_TUPLES		100000
#define TABLES_TUPLES	30000
#define MANY_PART		2

/* Minimum number of tuples for a serial sort to learn. */
#define LEAST_TO_LEARN		2000

/*
 * A key sees LEARN_SAMPLE tuples, evenly spread.  If it is known that no more
 * will follow, learning can gain less, so the key sees one in SAMPLE_PART of
 * all tuples, but at least LEAST_SAMPLE.
 */
#define LEARN_SAMPLE		8000
#define LEAST_SAMPLE		400
#define SAMPLE_PART			64

/* The largest image that the contract allows, in bytes. */
#define MAX_IMAGE			((Size) 1024 * 1024 * 1024)

/* Ordering fewer tuples than this is not timed. */
#define FEW_TUPLES			256

/*
 * Returns the part of the budget for entries: all except the sort's other
 * memory, the memory that writing a run will need, and the memory that a key
 * needs to learn.
 */
static int64
entries_budget(PtSort *sort)
{
	int64		others = sort_other_memory(sort);
	int64		budget;

	if (!sort->run_is_open)
		others += sort->write_buffer + RUN_WRITER_MEMORY;
	if (sort->learning)
		others += sort->learning_limit - (int64) key_memory(sort->key);
	budget = Max(sort->options.budget - others,
				 sort->options.budget / ENTRIES_PART);
	return Min(budget, sort_run_memory(sort));
}

/* Minimum number of tuples for a serial sort to learn. */
static int64
least_to_learn(void)
{
	return ptsort_debug.learn_tuples >= 0 ? ptsort_debug.learn_tuples :
		LEAST_TO_LEARN;
}

/* Prepare for the first tuple, when nothing is known of the tuples. */
static void
begin_input(PtSort *sort)
{
	sort->learn_at = LEARN_TUPLES;
	sort->in_order = 0;
	bounded_begin(sort);
}

/* Number of entries expected in memory if there is room; 0 if unknown. */
static int64
expected_entries(const PtSort *sort)
{
	return sort->options.bound > 0 ? 0 : sort->options.expected_tuples;
}

/* sort_begin_putting: see sortput.h. */
void
sort_begin_putting(PtSort *sort)
{
	int64		expected = sort->options.expected_tuples;

	if (sort->key && key_is_learning(sort->key))
	{
		Assert(sort->order.own->rekey != NULL);
		sort->learning = true;
		sort->learning_limit = key_limit(sort->key,
										 sort->options.budget / LEARNING_PART);
		if (sort->options.role == PTSORT_SERIAL && expected > 0 &&
			expected < least_to_learn())
			key_expect_few(sort->key);
		if (sort->options.bound > 0)
			key_compare_text(sort->key);
		secondword_begin(sort);
	}
	sort->memsort = memsort_create(&sort->order, entries_budget(sort),
								   expected_entries(sort));
	if (sort_wants_short_runs(sort))
		memsort_want_scratch(sort->memsort);
	begin_input(sort);
}

/* sort_put_again: see sortput.h. */
void
sort_put_again(PtSort *sort)
{
	MemoryContext old;

	begin_input(sort);
	if (likely(sort->memsort && memsort_is_small(sort->memsort)))
	{
		memsort_reset(sort->memsort);
		return;
	}
	if (sort->memsort)
	{
		sort_note_memory(sort);
		memsort_leave(sort->memsort);
		sort->memsort = NULL;
	}
	old = MemoryContextSwitchTo(sort->context);
	sort->memsort = memsort_create(&sort->order, entries_budget(sort),
								   expected_entries(sort));
	MemoryContextSwitchTo(old);
}

/* Make the words of every step'th tuple; store them in its entry if 'keep'. */
static void
rekey_memory(PtSort *sort, int64 step, bool keep)
{
	const SortVariant *variant = sort->order.own;
	MemSort    *ms = sort->memsort;
	const int	nwords = sort->order.nwords;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort learning",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int64 i = 0; i < ms->count; i += step)
	{
		uint64	   *entry = memsort_entry(ms, i);
		uint64		words[KEY_ENTRY_WORDS] = {0};

		CHECK_FOR_INTERRUPTS();
		variant->rekey(memsort_tuple(ms, entry), words, sort->order.state);
		for (int word = 0; keep && word < nwords; word++)
			entry[word] = words[word];
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Published by a participant that could have learned and did not. */
#define FORGONE		'-'

/*
 * Estimates the number of tuples of all participants: from the expected number,
 * or, if there is none, from the number of tuples in this one's memory.
 */
static int64
all_tuples(const PtSort *sort)
{
	int64		own = sort->memsort->count;

	if (sort->options.role == PTSORT_SERIAL)
		return sort->all_in_memory ? own :
			Max(own, sort->options.expected_tuples);
	if (sort->options.expected_tuples > 0)
		own = sort->options.expected_tuples;
	return own * shared_processes(sort->options.shared);
}

/* True if the memory in use suggests that many more tuples may follow. */
static bool
may_have_more(const PtSort *sort)
{
	return sort->memsort->used >= sort->options.budget / MANY_PART;
}

/* True if there are, or may be, at least this many tuples. */
static bool
has_many(const PtSort *sort, int64 least)
{
	if (ptsort_debug.learn_tuples >= 0)
		least = ptsort_debug.learn_tuples;
	return all_tuples(sort) >= least || may_have_more(sort);
}

/* Returns n such that a key that learns sees every n'th tuple in memory. */
static int64
sample_step(const PtSort *sort)
{
	int64		n = sort->memsort->count;
	int64		all = Max(all_tuples(sort), n);
	int64		want = LEARN_SAMPLE;
	bool		known = sort->options.role == PTSORT_WORKER &&
		(sort->options.expected_tuples > 0 || !may_have_more(sort));

	if (known || sort->all_in_memory)
		want = Min(Max(all / SAMPLE_PART, LEAST_SAMPLE), want);
	return Max(n / want, 1);
}

/*
 * True if all tuples of this process are expected to be in memory, or in a few
 * short runs.
 */
static bool
fits_in_memory(const PtSort *sort)
{
	const MemSort *ms = sort->memsort;
	int64		expected = sort->options.expected_tuples;
	int64		most = Min(ms->budget, sort_short_runs_memory(sort));

	return sort->all_in_memory ||
		(expected > 0 && (double) ms->used / ms->count * expected < most);
}

/*
 * True if the input fits in memory and its key prefixes suffice, so that
 * learning would not pay.
 */
static bool
strings_are_enough(const PtSort *sort)
{
	return sort->order.has_strings && fits_in_memory(sort);
}

/* sort_is_to_learn: see sortextras.h. */
bool
sort_is_to_learn(const PtSort *sort)
{
	return sort->learning && sort->memsort->count > 0 &&
		!strings_are_enough(sort);
}

/*
 * Make the key learn from the tuples in memory, and append what the other
 * participants need to 'learned', unless that is NULL.  Returns false if the
 * key did not learn: in a parallel sort there may be too few tuples, and the
 * collation's tables may not be proved.
 */
static bool
learn_here(PtSort *sort, StringInfo learned)
{
	bool		may_forgo = learned && !has_many(sort, MANY_TUPLES);

	if (strings_are_enough(sort))
		return false;
	if (may_forgo && !key_learning_pays(sort->key, all_tuples(sort)))
		return false;
	if (!key_can_learn(sort->key, has_many(sort, TABLES_TUPLES)))
		return false;
	key_begin_learning(sort->key);
	rekey_memory(sort, sample_step(sort), false);
	if (may_forgo && !key_learning_pays(sort->key, all_tuples(sort)))
		return false;
	key_learn(sort->key, learned);
	return true;
}

/*
 * Make the key learn for all participants, or adopt what the first participant
 * learned.  Returns false if that participant, or a serial sort, did not learn.
 */
static bool
learn_or_adopt(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	StringInfoData learned;
	bool		has_learned;

	if (sort->options.role == PTSORT_SERIAL)
		return learn_here(sort, NULL);
	initStringInfo(&learned);
	if (shared_claim_learning(shared))
	{
		has_learned = learn_here(sort, &learned);
		if (!has_learned)
			appendStringInfoChar(&learned, FORGONE);
		shared_publish_learned(shared, learned.data, learned.len);
	}
	else
	{
		/* the claimant does this at the same time */
		(void) key_can_learn(sort->key, has_many(sort, TABLES_TUPLES));
		shared_read_learned(shared, &learned);
		has_learned = learned.len > 1;
		if (has_learned)
			key_adopt(sort->key, learned.data, learned.len);
	}
	pfree(learned.data);
	return has_learned;
}

/* Keep one word for each tuple if the key had two and makes only one now. */
static void
follow_key(PtSort *sort, int nwords)
{
	if (key_nwords(sort->key) == nwords)
		return;
	sort->order.nwords = key_nwords(sort->key);
	memsort_narrow(sort->memsort);
}

/* Continue without learning; make the words again if they become better. */
static void
forgo_learning(PtSort *sort)
{
	int			nwords = key_nwords(sort->key);
	bool		serial = sort->options.role == PTSORT_SERIAL;
	bool		anew = key_forgo_learning(sort->key, serial);

	sort->learning = false;
	follow_key(sort, nwords);
	if (anew)
		rekey_memory(sort, 1, true);
}

/*
 * Make the key learn, or continue without, and record the sort's peak memory
 * meanwhile.  Returns true if the key learned.
 */
static bool
learn(PtSort *sort)
{
	int64		transient;
	int64		memory;

	if (!learn_or_adopt(sort))
	{
		sort_note_memory(sort);
		forgo_learning(sort);
		return false;
	}
	transient = (int64) key_peak_memory(sort->key) -
		(int64) key_memory(sort->key);
	memory = sort_other_memory(sort) + sort->memsort->used;
	sort->learning = false;
	sort->peak_memory = Max(sort->peak_memory, memory + Max(transient, 0));
	return true;
}

/*
 * True if the input of a serial sort is pre-sorted so far.  Then the sort needs
 * no words until memory is full: comparing each tuple with the one before it is
 * cheaper.  The first tuple that is out of order ends the check, so other input
 * pays almost nothing.
 */
static bool
came_in_order(PtSort *sort)
{
	MemSort    *ms = sort->memsort;
	SortOrder  *order = &sort->order;

	if (sort->options.role != PTSORT_SERIAL || sort->options.bound > 0 ||
		sort->run_is_open)
		return false;
	for (int64 i = Max(sort->in_order, 1); i < ms->count; i++)
	{
		uint64	   *before = memsort_entry(ms, i - 1);
		uint64	   *entry = memsort_entry(ms, i);
		int			cmp = order_compare_words(before, entry, order->nwords);

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (cmp == 0)
			cmp = order_compare_tuples(order, memsort_tuple(ms, before),
									   memsort_tuple(ms, entry));
		if (cmp > 0)
			return false;
		sort->in_order = i + 1;
	}
	return true;
}

/* Make the key learn from the tuples in memory, and make their words again. */
static void
learn_words(PtSort *sort)
{
	int			nwords = key_nwords(sort->key);

	if (!learn(sort))
	{
		secondword_judge(sort);
		memsort_set_budget(sort->memsort, entries_budget(sort));
		return;
	}
	follow_key(sort, nwords);
	sort->order.words_by_tables = key_is_by_tables(sort->key);
	memsort_set_budget(sort->memsort, entries_budget(sort));
	rekey_memory(sort, 1, true);
}

/*
 * When all tuples of a serial sort are in memory, decide whether a key that has
 * not learned will do so.
 */
static void
learn_or_forgo(PtSort *sort)
{
	if (sort->learning && sort->memsort->count < least_to_learn())
		forgo_learning(sort);
}

/* sort_entries_in_memory: see sortput.h. */
void
sort_entries_in_memory(PtSort *sort)
{
	instr_time	start;
	bool		few = sort->memsort->count < FEW_TUPLES && !sort->learning;

	/* for few tuples, measuring time and memory costs more than sorting */
	if (few)
	{
		memsort_sort(sort->memsort);
		return;
	}
	INSTR_TIME_SET_CURRENT(start);
	if (sort->learning)
		learn_words(sort);
	memsort_sort(sort->memsort);
	sort_note_memory(sort);
	sort->stats.sort_ms += pt_ms_since(start);
}

/* sort_all_in_memory: see sortput.h. */
void
sort_all_in_memory(PtSort *sort)
{
	instr_time	start;

	sort->all_in_memory = true;
	learn_or_forgo(sort);
	if (sort->learning)
	{
		bool		nothing_to_do;

		INSTR_TIME_SET_CURRENT(start);
		nothing_to_do = came_in_order(sort);
		sort->stats.sort_ms += pt_ms_since(start);
		if (nothing_to_do)
		{
			sort_note_memory(sort);
			return;
		}
	}
	sort_entries_in_memory(sort);
}

/* End the initial run that is open, if any. */
static void
close_run(PtSort *sort)
{
	if (!sort->run_is_open)
		return;
	sort_append_run(sort, &sort->open_run);
	sort->run_is_open = false;
}

/* Copy an entry in memory, for comparing runs; NULL if it is too large. */
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

/* Free a copy made by copy_edge. */
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
 * Write the tuples in memory, as a new run or at the end of the last one: so
 * pre-sorted input becomes one run of any length.  No run has more tuples than
 * the bound.
 */
static void
write_run(PtSort *sort)
{
	int64		bound = sort->options.bound;
	MemSort    *ms = sort->memsort;
	uint64	   *first = copy_edge(sort, 0);
	Run		   *run;

	if (!sort->run_is_open ||
		!splice_comes_before(&sort->order, sort->open_run.run->last, first))
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

/* Sort and write the tuples in memory, and make it empty. */
static void
spill(PtSort *sort)
{
	instr_time	start;

	sort_entries_in_memory(sort);
	bounded_cut(sort);
	INSTR_TIME_SET_CURRENT(start);
	secondword_drop(sort);
	write_run(sort);
	if (sort_wants_short_runs(sort))
		sort_note_memory(sort); /* includes the scratch, which is kept */
	memsort_reset(sort->memsort);
	memsort_set_budget(sort->memsort, entries_budget(sort));
	sort->stats.run_ms += pt_ms_since(start);
}

/* Make the words of a tuple that is not in the sort's memory. */
static void
rekey(PtSort *sort, const void *tuple, uint64 *words)
{
	MemoryContext context = AllocSetContextCreate(sort->context,
												  "ptsort rekey",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	sort->order.own->rekey(tuple, words, sort->order.state);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Raise the error for a call that puts a tuple in the wrong phase or role. */
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

/* Raise the error for an image that is too small or too large. */
static pg_noinline void
refuse_size(Size size)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("cannot sort tuple of %zu bytes", size),
			 errdetail("Tuples have at least %zu and at most %zu bytes.",
					   sizeof(uint64), (Size) MAX_IMAGE)));
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
			 errdetail("No place is reserved for it.")));
}

/* Sort the tuples in memory, and drop those beyond the bound. */
static void
trim(PtSort *sort)
{
	learn_or_forgo(sort);
	sort_entries_in_memory(sort);
	bounded_cut(sort);
	memsort_compact(sort->memsort);
}

/*
 * Adjust the memory of one run, now that the tuples' size is known; true if it
 * grew enough to continue filling it.
 */
static bool
has_more_room(PtSort *sort)
{
	int64		before = sort->memsort->budget;

	if (!sort_wants_short_runs(sort) || sort_must_spill(sort))
		return false;
	memsort_set_budget(sort->memsort, entries_budget(sort));
	return sort->memsort->budget > before + before / 8;
}

/*
 * Write the tuples in memory, or drop those beyond the bound, in the sort's own
 * memory context.
 */
static pg_noinline void
make_room(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->phase = PHASE_FAILED;
	if (bounded_pays(sort))
		trim(sort);
	else if (!has_more_room(sort))
		spill(sort);
	sort->phase = PHASE_PUTTING;
	MemoryContextSwitchTo(old);
}

/* sort_reserve: see ptsort_reserve and sortput.h. */
void *
sort_reserve(PtSort *sort, Size size)
{
	MemSort    *ms = sort->memsort;
	char	   *place;

	if (unlikely(sort->phase != PHASE_PUTTING || ms == NULL))
		refuse_put(sort);
	if (unlikely(size < sizeof(uint64) || size > MAX_IMAGE))
		refuse_size(size);
	if (!sort_must_spill(sort))
	{
		place = memsort_reserve(ms, size);
		if (likely(place != NULL))
			return place;
	}
	make_room(sort);
	place = memsort_reserve(ms, size);
	if (place == NULL && ms->count > 0)
	{
		/* the tuples within the bound fill memory: now it spills */
		make_room(sort);
		place = memsort_reserve(ms, size);
	}
	if (place == NULL)
		elog(ERROR, "tuple of %zu bytes does not fit into empty sort memory",
			 size);
	return place;
}

/* sort_note_put: see sortput.h.  The key may learn now. */
void
sort_note_put(PtSort *sort)
{
	if (sort->memsort->count >= sort->trim_at)
		make_room(sort);
	if (sort->learning && sort->memsort->count >= sort->learn_at)
	{
		MemoryContext old = MemoryContextSwitchTo(sort->context);

		if (came_in_order(sort))
			sort->learn_at *= 2;
		else
			learn_words(sort);
		MemoryContextSwitchTo(old);
	}
}

/* sort_commit: see ptsort_commit. */
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

/* Put an inline image. */
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

/* sort_put: see ptsort_put. */
void
sort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	bool		was_learning = sort->learning;
	uint64		new_words[KEY_ENTRY_WORDS];
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
	if (unlikely(was_learning && !sort->learning))
	{
		/* This tuple's words were made before the key learned. */
		rekey(sort, tuple, new_words);
		words = new_words;
	}
	memcpy(place, tuple, size);
	memsort_commit(sort->memsort, words);
	sort_count_put(sort);
}

/* sort_end_runs: see sortput.h. */
void
sort_end_runs(PtSort *sort)
{
	if (sort->memsort->count > 0)
		spill(sort);
	close_run(sort);
	sort_note_memory(sort);
	memsort_free(sort->memsort);
	sort->memsort = NULL;
	chunk_give_back();
	sort_join_runs(sort);
}
