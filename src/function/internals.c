/*-------------------------------------------------------------------------
 *
 * internals.c
 *	  The internal functions and settings that ptsort's own tests use.
 *
 * See internals.h.  The tests are a separate library that includes only public
 * headers, like any other client.  This table gives them access to internal
 * functions.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "function/internals.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "tape/tape.h"
#include "variant/variants.h"

StaticAssertDecl(TEST_ENTRY_WORDS == KEY_ENTRY_WORDS &&
				 TEST_KEY_TUPLE_SIZE == KEY_TUPLE_SIZE,
				 "the tests do not know how large an entry is");

extern PGDLLEXPORT const PtSortInternals *ptsort_internals(void);

static bool
begin_learning(PtSortKey *key)
{
	if (key_can_learn(key, true))
		key_begin_learning(key);
	else
		(void) key_forgo_learning(key, false);
	return key->learning;
}

static Size
key_tuple(const PtSortKey *key, const uint64 *entry, IndexTuple tuple)
{
	return key_pack_tuple(&key->pack, entry, tuple);
}

static TestKeyFacts
key_facts(PtSortKey *key)
{
	return (TestKeyFacts)
	{
		.nwords = key->nwords,
			.support = key->support,
			.exact = key->exact,
			.learning = key->learning
	};
}

static bool
compare_ranks(Oid collation, const char *a, int a_length, const char *b,
			  int b_length, int *cmp)
{
	TextRanks  *ranks = text_rank_find(collation);

	return ranks != NULL && text_rank_is_ready(ranks, true) &&
		text_rank_compare(ranks, 0, a, a_length, b, b_length, cmp);
}

static void
trust_collations(void)
{
	ptsort_distrusted.n = 0;
}

static char *
describe_key(const PtSort *sort)
{
	const SortOrder *order = &sort->order;
	const char *kind = "words";

	if (order->nwords == 0)
		return pstrdup("compared");
	if (order->inline_image)
		kind = "exact";
	else if (order->words_by_tables ||
			 (sort->key != NULL && sort->key->word.code != NULL))
		kind = "learned";
	return psprintf("%s %d", kind, order->nwords);
}

const PtSortInternals *
ptsort_internals(void)
{
	static const PtSortInternals internals = {
		.size = sizeof(PtSortInternals),
		.settings = &ptsort_debug,
		.key_index = key_index,
		.key_operators = key_operators,
		.key_facts = key_facts,
		.key_words = key_words,
		.key_begin_learning = begin_learning,
		.key_learn = key_learn,
		.key_tuple = key_tuple,
		.compare_ranks = compare_ranks,
		.shared_fileset = shared_fileset,
		.shared_stats = shared_stats,
		.trust_collations = trust_collations,
		.describe_key = describe_key,
		.file_open = tapefile_open,
		.file_write = tapefile_write,
		.file_read = tapefile_read,
		.file_close = tapefile_close
	};

	return &internals;
}
