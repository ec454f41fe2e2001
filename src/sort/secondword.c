/*-------------------------------------------------------------------------
 *
 * secondword.c
 *	  A second word of strings that are ordered by their bytes, in memory.
 *
 * Eight bytes leave most words of a language equal to some others.  To look at
 * the strings of these means to wait for each, since they are all over memory
 * (stringsort.c); the eight bytes after these are at hand when a string is put.
 * They are of no use where strings begin alike for longer or are often equal,
 * and make entries larger: so there are none in sorts of few tuples, of which
 * strings are at hand, too, or if a sample of the tuples says so, and none in
 * runs, where a string comes with its word.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/radix.h"
#include "sort/secondword.h"

/*
 * From how many tuples on there are two words.  (Of dictionaries, texts and
 * addresses of 80,000 to 150,000 tuples, builds took 0.97 of the time without;
 * of 300,000 German and French words 1.02 and 1.05.)
 */
#define LEAST_TUPLES	200000

/*
 * So many tuples tell whether that is good, if at least so many of them have
 * the first word of another: of a table that has not many more than a hundred
 * times as many, half of all tuples then have that.
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
 * Does the second word tell half of those tuples apart that the first one does
 * not, in a sample?
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
