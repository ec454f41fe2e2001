/*-------------------------------------------------------------------------
 *
 * learning.c
 *	  Decides whether, when and from which tuples a sort's key learns.
 *
 * See "Text" in src/README.  The key does not learn from the first few tuples:
 * in an ordered table, these differ from the rest.
 *
 * In a parallel sort, the first participant with enough tuples learns for all
 * participants.  It estimates how many tuples the others have, because it
 * cannot wait for them: one process may be several participants.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/pg_prng.h"
#include "debug.h"
#include "key/key.h"
#include "miscadmin.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "text/text_model.h"
#include "utils/memutils.h"

/* Until learning ends, the sort reserves 1 / LEARNING_PART of the budget. */
#define LEARNING_PART		4

/* A key learns from LEARN_TUPLES tuples, all tuples, or when memory is full. */
#define LEARN_TUPLES		200000

/*
 * Minimum number of tuples for learning in a serial and in a parallel sort,
 * where other participants wait.  A process reads the tables of an ICU
 * collation only for MANY_TUPLES or more, times the key's cost of reading.
 */
#define FEW_TUPLES			2000
#define MANY_TUPLES			30000

/* A key sees 1 in SAMPLE_PART tuples (LEAST_SAMPLE to MOST_SAMPLE tuples). */
#define SAMPLE_PART			64
#define LEAST_SAMPLE		400
#define MOST_SAMPLE			TEXT_SAMPLE_STRINGS

/* A sort has few keys if FEW_KEYS_SAMPLE tuples have at most FEW_KEYS keys. */
#define FEW_KEYS_SAMPLE		(LEAST_SAMPLE / 4)

void
learning_begin(PtSort *sort)
{
	sort->learn_at = LEARN_TUPLES;
	sort->in_order = 0;
	if (sort->key == NULL || !sort->key->learning)
		return;
	Assert(sort->order.own->rekey != NULL);
	sort->learning = true;
	sort->key->limit = sort->options.budget / LEARNING_PART;
	sort->learning_limit = text_code_most_memory(sort->key->limit);
}

int64
learning_memory(const PtSort *sort)
{
	return sort->learning ?
		sort->learning_limit - (int64) key_memory(sort->key) : 0;
}

/* Returns a random one of 'step' entries from i on: input may be periodic. */
static uint64 *
entry_in_step(PtSort *sort, pg_prng_state *random, int64 i, int64 step)
{
	return memsort_entry(sort->memsort,
						 i + pg_prng_uint64_range(random, 0, step - 1));
}

/* Show the key about 'sample' tuples; if 0, make the words of all tuples. */
static void
rekey_memory(PtSort *sort, int64 sample)
{
	MemSort    *ms = sort->memsort;
	int64		step = sample > 0 ? Max(ms->count / sample, 1) : 1;
	pg_prng_state random;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort learning",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	pg_prng_seed(&random, 0);
	for (int64 i = 0; i + step <= ms->count; i += step)
	{
		uint64	   *entry = entry_in_step(sort, &random, i, step);
		uint64		words[KEY_ENTRY_WORDS] = {0};

		CHECK_FOR_INTERRUPTS();
		sort->order.own->rekey(memsort_tuple(ms, entry), words,
							   sort->order.state);
		for (int word = 0; sample == 0 && word < sort->order.nwords; word++)
			entry[word] = words[word];
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Estimates the tuples of all participants; PG_INT64_MAX before perform. */
static int64
estimate_tuples(const PtSort *sort)
{
	int64		own = sort->memsort->count;

	if (sort->options.bound > 0)
		return own;
	if (!sort->all_put)
		return PG_INT64_MAX;
	return sort->options.role == PTSORT_SERIAL ? own :
		Max(own, sort->options.expected_tuples) *
		shared_processes(sort->options.shared);
}

/*
 * True if comparing strings by their bytes is quick enough: all tuples are in
 * memory, or should fit in memory or in a few short runs.
 */
static bool
strings_are_enough(const PtSort *sort)
{
	const MemSort *ms = sort->memsort;
	int64		expected = sort->options.expected_tuples;
	int64		most = Min(ms->budget, sort_short_runs_memory(sort));

	return sort->order.has_strings &&
		((sort->all_put && sort->options.role == PTSORT_SERIAL) ||
		 (expected > 0 &&
		  (double) memsort_used(ms) / ms->count * expected < most));
}

/* True if tuples have so few keys that comparing them is cheaper than words. */
static bool
has_few_keys(PtSort *sort)
{
	MemSort    *ms = sort->memsort;
	int64		step = Max(ms->count / FEW_KEYS_SAMPLE, 1);
	FewKeys		keys = {0};
	pg_prng_state random;

	/* a pack's words may differ, but tiesort_find_key requires equal words */
	if (sort->options.role != PTSORT_SERIAL || sort->order.inline_image ||
		sort->key->pack.nfields > 0 || ms->count < FEW_KEYS_SAMPLE)
		return false;
	pg_prng_seed(&random, 0);
	for (int64 i = 0; i + step <= ms->count; i += step)
	{
		uint64	   *entry = entry_in_step(sort, &random, i, step);

		if (tiesort_find_key(&keys, &sort->order, memsort_tuple(ms, entry)) < 0)
			return false;
	}
	return true;
}

static int64
many_tuples(void)
{
	return ptsort_debug.learn_tuples >= 0 ? ptsort_debug.learn_tuples :
		MANY_TUPLES;
}

/* True if reading the tables of the key's collation pays for these tuples. */
static bool
reading_pays(const PtSort *sort, int64 tuples)
{
	return tuples >= many_tuples() * key_reading_cost(sort->key);
}

bool
learning_gains(const PtSort *sort)
{
	return !sort->learning || sort->key->word_columns > 1 ||
		reading_pays(sort, sort->options.expected_tuples) ||
		key_can_learn(sort->key, false);
}

/* Returns the size of the sample to learn from, or 0; may prepare tables. */
static int64
decide(const PtSort *sort)
{
	int64		tuples = estimate_tuples(sort);
	bool		serial = sort->options.role == PTSORT_SERIAL;
	int64		least = serial && ptsort_debug.learn_tuples < 0 ?
		FEW_TUPLES : many_tuples();

	if (sort->memsort->count == 0 || tuples < least ||
		strings_are_enough(sort) ||
		!key_can_learn(sort->key, reading_pays(sort, tuples)))
		return 0;
	return Min(Max(tuples / SAMPLE_PART, LEAST_SAMPLE), MOST_SAMPLE);
}

/* Let the key sample tuples in memory; returns false if 'sample' is 0. */
static bool
show_sample(PtSort *sort, int64 sample)
{
	if (sample == 0)
		return false;
	key_begin_learning(sort->key);
	rekey_memory(sort, sample);
	return true;
}

/* Give the key the first caller's sample; returns false if there is none. */
static bool
share_sample(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	StringInfoData sample = {0};
	bool		learns;

	if (shared_claim_learning(shared))
	{
		learns = show_sample(sort, decide(sort));
		if (learns)
			text_code_export(sort->key->word.code, &sample);
		shared_publish_learned(shared, &sample);
	}
	else
	{
		/* prepare the tables while another participant makes the sample */
		(void) decide(sort);
		shared_read_learned(shared, &sample);
		learns = sample.len > 0;
		if (learns)
			key_adopt(sort->key, sample.data, sample.len);
	}
	if (sample.data)
		pfree(sample.data);
	return learns;
}

/*
 * Continue without learning; returns true if the sort must make words again.  A
 * parallel sort always does, because its participants need equal words for
 * equal keys.  Otherwise, comparing text may be cheaper than making words.
 */
static bool
forgo(PtSort *sort, bool few_keys)
{
	bool		compare = sort->options.role == PTSORT_SERIAL &&
		(sort->options.bound > 0 || few_keys ||
		 key_can_learn(sort->key, false));

	sort_note_memory(sort);
	return key_forgo_learning(sort->key, compare);
}

/* Record the sort's peak memory during learning. */
static void
note_learning(PtSort *sort)
{
	const TextCode *code = sort->key->word.code;
	int64		transient = (int64) text_code_peak_memory(code) -
		(int64) text_code_memory(code);
	int64		memory = sort_other_memory(sort) + memsort_used(sort->memsort);

	sort->peak_memory = Max(sort->peak_memory, memory + Max(transient, 0));
}

void
learning_end(PtSort *sort)
{
	bool		few_keys;
	bool		learned;
	bool		again = true;

	if (!sort->learning)
		return;
	few_keys = sort->all_put && has_few_keys(sort);
	if (sort->options.role != PTSORT_SERIAL)
		learned = share_sample(sort);
	else
		learned = !few_keys && show_sample(sort, decide(sort));
	if (learned)
	{
		key_learn(sort->key);
		note_learning(sort);
	}
	else
		again = forgo(sort, few_keys);
	sort->learning = false;
	sort->order.words_by_tables = sort->key->word.ranks != NULL;
	if (sort->key->nwords != sort->order.nwords)
	{
		sort->order.nwords = sort->key->nwords;
		memsort_narrow(sort->memsort);
	}
	if (again)
		rekey_memory(sort, 0);
}

bool
learning_came_in_order(PtSort *sort)
{
	MemSort    *ms = sort->memsort;
	SortOrder  *order = &sort->order;

	if (!sort->learning || sort->options.role != PTSORT_SERIAL ||
		sort->options.bound > 0 || sort->run_is_open)
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

void
learning_note_put(PtSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (learning_came_in_order(sort) || has_few_keys(sort))
		sort->learn_at *= 2;
	else
		learning_end(sort);
	MemoryContextSwitchTo(old);
}
