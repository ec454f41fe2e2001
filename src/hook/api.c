/*-------------------------------------------------------------------------
 *
 * api.c
 *	  The table of functions that the public headers call, and that of internal
 *	  functions and settings that ptsort's own tests use.
 *
 * See contrib/ptsort_test/internal_tests.h.  The tests are a library of their
 * own, which includes public headers only, so that it is a client like others.
 * It gets at internal functions by the second table.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "../contrib/ptsort_test/internal_tests.h"
#include "debug.h"
#include "key/key.h"
#include "ptsort_build.h"
#include "sort/shared.h"
#include "sort/sortput.h"
#include "sort/sortread.h"
#include "sort/tuplesort.h"
#include "tape/tapefile.h"
#include "team/build.h"
#include "team/parallel.h"
#include "text/text_rank.h"
#include "variant/variants.h"

extern PGDLLEXPORT const PtSortApi *ptsort_get_api(uint32 version, uint32 size);
extern PGDLLEXPORT const PtSortInternals *ptsort_internals(void);

static const PtSortApi api = {
	.version = PTSORT_API_VERSION,
	.size = sizeof(PtSortApi),

	.shared_estimate = shared_estimate,
	.shared_init = shared_init,
	.shared_attach = shared_attach,
	.shared_slices = shared_count_slices,
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

	.build = build_embedded,
	.parallel = parallel_run,
	.parallel_end = parallel_end
};

/* Returns the number of functions in a table of this size. */
static uint32
functions_in(uint32 size)
{
	return (size - offsetof(PtSortApi, shared_estimate)) / sizeof(void *);
}

/*
 * ptsort_get_api: see PtSortGetApi in ptsort.h.  Functions are only appended,
 * so that a smaller table of the same version is the beginning of this one.
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
 * For the tests
 */

StaticAssertDecl((int) TEST_KEY_AUTO == (int) KEY_CLASS_AUTO &&
				 (int) TEST_KEY_PREFIX == (int) KEY_CLASS_PREFIX &&
				 (int) TEST_KEY_COMPARED == (int) KEY_CLASS_COMPARED,
				 "the tests do not know the classes of keys");

StaticAssertDecl(TEST_ENTRY_WORDS == KEY_ENTRY_WORDS &&
				 TEST_KEY_TUPLE_SIZE == KEY_TUPLE_SIZE,
				 "the tests do not know how large an entry is");

static bool
begin_learning(PtSortKey *key)
{
	if (key_can_learn(key, true))
		key_begin_learning(key);
	else
		(void) key_forgo_learning(key, false);
	return key_is_learning(key);
}

static bool
compare_ranks(Oid collation, const char *a, int a_length, const char *b,
			  int b_length, int *cmp)
{
	TextRanks  *ranks = text_rank_find(collation);

	return ranks != NULL && text_rank_prepare(ranks) &&
		text_rank_compare(ranks, 0, a, a_length, b, b_length, cmp);
}

static void
trust_collations(void)
{
	const TextDistrust none = {0};

	text_rank_adopt_distrust(&none);
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
			 (sort->key != NULL && key_has_learned(sort->key)))
		kind = "learned";
	return psprintf("%s %d", kind, order->nwords);
}

const PtSortInternals *
ptsort_internals(void)
{
	static const PtSortInternals internals = {
		.size = sizeof(PtSortInternals),
		.settings = {
			.key_class = &ptsort_debug.key_class,
			.trust_collations = &ptsort_debug.trust_collations,
			.collation_rules = &ptsort_debug.collation_rules,
			.spill_entries = &ptsort_debug.spill_entries,
			.merge_order = &ptsort_debug.merge_order,
			.slices = &ptsort_debug.slices,
			.learn_tuples = &ptsort_debug.learn_tuples,
			.leader_participates = &ptsort_debug.leader_participates,
			.server_pages = &ptsort_debug.server_pages,
			.all_workers = &ptsort_debug.all_workers
		},
		.key_index = key_index,
		.key_operators = key_operators,
		.key_nwords = key_nwords,
		.key_support = key_support,
		.key_is_exact = key_is_exact,
		.key_is_learning = key_is_learning,
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
