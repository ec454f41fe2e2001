/*-------------------------------------------------------------------------
 *
 * api.c
 *	  The tables of functions that the public headers and ptsort's own tests
 *	  call.
 *
 * The tests are a separate library that includes only public headers, like any
 * other client, and internals.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "function/internals.h"
#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "tape/tapefile.h"
#include "team/build.h"
#include "variant/variants.h"

StaticAssertDecl(TEST_ENTRY_WORDS == KEY_ENTRY_WORDS &&
				 TEST_KEY_TUPLE_SIZE == KEY_TUPLE_SIZE,
				 "the tests do not know how large an entry is");

extern PGDLLEXPORT const PtSortApi *ptsort_get_api(uint32 version, uint32 size);
extern PGDLLEXPORT const PtSortInternals *ptsort_internals(void);

static const PtSortApi api = {
	.version = PTSORT_API_VERSION,
	.size = sizeof(PtSortApi),
	.shared_estimate = shared_estimate,
	.shared_init = shared_init,
	.shared_attach = shared_attach,
	.shared_slices = shared_slices,
	.begin_index = variant_begin_index,
	.put_index = variant_put_index,
	.get_index = variant_get_index,
	.begin_heap = variant_begin_heap,
	.put_heap = variant_put_heap,
	.get_heap = variant_get_heap,
	.begin_datum = variant_begin_datum,
	.put_datum = variant_put_datum,
	.get_datum = variant_get_datum,
	.begin_tuple = variant_begin_tuple,
	.put_tuple = variant_put_tuple,
	.put_slot = variant_put_slot,
	.get_tuple = variant_get_tuple,
	.get_slot = variant_get_slot,
	.perform = sort_perform,
	.next_slice = sort_next_slice,
	.slice_start = sort_slice_start,
	.rescan = sort_rescan,
	.mark = sort_mark,
	.restore = sort_restore,
	.reset = sort_reset,
	.end = sort_end,
	.stats = sort_stats,

	.begin = sort_begin,
	.put = sort_put,
	.reserve = sort_reserve,
	.commit = sort_commit,
	.get = sort_get,
	.get_entries = sort_get_entries,

	.parallel = parallel_run,
	.parallel_end = parallel_end
};

static uint32
functions_in(uint32 size)
{
	return (size - offsetof(PtSortApi, shared_estimate)) / sizeof(void *);
}

/*
 * See PtSortGetApi in ptsort.h.  A release that keeps the interface version
 * only appends functions to the table, so a smaller table is a prefix of it.
 */
const PtSortApi *
ptsort_get_api(uint32 version, uint32 size)
{
	if (version != PTSORT_API_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("extension was compiled against another version of ptsort's interface"),
				 errdetail("The extension uses version %u, the installed ptsort offers version %d.",
						   version, PTSORT_API_VERSION),
				 errhint("Recompile the extension with the installed headers.")));
	if (size > sizeof(PtSortApi))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ptsort is older than the extension expects"),
				 errdetail("The extension was compiled for %u functions of interface version %u, the installed ptsort has %u.",
						   functions_in(size), version,
						   functions_in(sizeof(PtSortApi))),
				 errhint("Install at least the version of ptsort whose headers the extension was compiled with.")));
	return &api;
}


/*
 * The table for the tests
 */

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
