/*-------------------------------------------------------------------------
 *
 * secondword.c
 *	  A second word of strings that are ordered by their bytes, in memory.
 *
 * Most words of a language share their first eight bytes with other words.
 * Reading the strings to tell them apart means a cache miss for each, because
 * they are scattered over memory (bytesort.c); the next eight bytes are
 * available when a string is put.  These do not help if longer prefixes are
 * equal or strings are often equal, and they make entries larger.  So there is
 * no second word in sorts of few tuples, whose strings are in the cache anyway,
 * nor if a sample of the tuples shows that it would not help, nor in runs,
 * where a string is next to its word.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/radix.h"
#include "sort/secondword.h"

/*
 * Minimum number of expected tuples for a second word: with fewer, larger
 * entries cost more than the second word saves.
 */
#define LEAST_TUPLES	200000

/*
 * A sample of SAMPLE_TUPLES tuples decides whether to keep the second word.  At
 * least LEAST_SAME of them must have the same first word as another tuple of
 * the sample; in a table of up to about a hundred times the sample's size, half
 * of all tuples then share their first word with another one.
 */
#define SAMPLE_TUPLES	2048
#define LEAST_SAME		5

/* secondword_drop: see secondword.h. */
void
secondword_drop(PtSort *sort)
{
	if (sort->key == NULL || !key_drop_word(sort->key))
		return;
	sort->order.nwords = key_nwords(sort->key);
	if (sort->memsort)
		memsort_narrow(sort->memsort);
}

/* secondword_begin: see secondword.h. */
void
secondword_begin(PtSort *sort)
{
	if (sort->options.expected_tuples < LEAST_TUPLES)
		secondword_drop(sort);
}

/*
 * True if, in a sample, the second word tells apart at least half of the tuples
 * that the first word does not.
 */
static bool
tells_apart(MemSort *ms)
{
	int			n = Min(ms->count, SAMPLE_TUPLES);
	uint64	   *sample = palloc(2 * n * sizeof(uint64));
	uint64	   *scratch = palloc(2 * n * sizeof(uint64));
	int			same_first = 0;
	int			same_both = 0;

	for (int i = 0; i < n; i++)
		memcpy(&sample[2 * i], memsort_entry(ms, i * (ms->count / n)),
			   2 * sizeof(uint64));
	radix_sort(sample, n, 2, 2, scratch, n);
	for (int i = 1; i < n; i++)
	{
		const uint64 *words = &sample[2 * i];

		if (words[0] != words[-2])
			continue;
		same_first++;
		same_both += words[1] == words[-1];
	}
	pfree(sample);
	pfree(scratch);
	return same_first >= LEAST_SAME && same_both * 2 <= same_first;
}

/* secondword_judge: see secondword.h. */
void
secondword_judge(PtSort *sort)
{
	/* other keys may have two words as well */
	if (sort->order.has_strings && sort->order.nwords == 2 &&
		!tells_apart(sort->memsort))
		secondword_drop(sort);
}
