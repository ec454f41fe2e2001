/*-------------------------------------------------------------------------
 *
 * misuse_variants.c
 *	  ptsort_test_misuse(): the misuses of ptsort_variant.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "ptsort_test.h"

static Size
any_size(const void *tuple, void *state)
{
	return sizeof(uint64);
}

static int
any_compare(const void *a, const void *b, void *state)
{
	return 0;
}

/* Begins a sort of the given variant. */
static void
begin_variant(const PtSortVariant *variant, int nwords)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};

	(void) ptsort_begin(variant, NULL, nwords,
						AllocSetContextCreate(CurrentMemoryContext, "misuse",
											  ALLOCSET_DEFAULT_SIZES),
						&options);
}

static void
variant_without_callbacks(void)
{
	static const PtSortVariant variant = {.name = "empty"};

	begin_variant(&variant, 1);
}

static void
variant_without_compare(void)
{
	static const PtSortVariant variant = {
		.name = "unordered",
		.size = any_size
	};

	begin_variant(&variant, 1);
}

static void
variant_without_size(void)
{
	static const PtSortVariant variant = {
		.name = "endless",
		.compare = any_compare
	};

	begin_variant(&variant, 1);
}

static void
variant_of_three_words(void)
{
	static const PtSortVariant variant = {
		.name = "wordy",
		.size = any_size,
		.compare = any_compare
	};

	begin_variant(&variant, PTSORT_MAX_WORDS + 1);
}

static const PtSortVariant inline_variant = {
	.name = "inline",
	.inline_image = true
};

static void
inline_callback(void)
{
	static const PtSortVariant variant = {
		.name = "inline and flat",
		.inline_image = true,
		.compare = any_compare
	};

	begin_variant(&variant, 1);
}

static void
inline_without_words(void)
{
	begin_variant(&inline_variant, 0);
}
static void
entries_of_flat(void)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	PtSort	   *sort = ptsort_begin_datum(FLOAT8OID, Float8LessOperator,
										  InvalidOid, false, &options);
	int			n;

	ptsort_perform(sort);
	(void) ptsort_get_entries(sort, &n);
}

/* Begins a sort of images of any size, with one word each. */
static PtSort *
begin_any(void)
{
	static const PtSortVariant variant = {
		.name = "any",
		.size = any_size,
		.compare = any_compare
	};
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = PTSORT_MIN_BUDGET
	};

	return ptsort_begin(&variant, NULL, 1, NULL, &options);
}

static const uint64 any_word = 1;

static void
commit_nothing(void)
{
	ptsort_commit(begin_any(), &any_word);
}

static void
commit_twice(void)
{
	PtSort	   *sort = begin_any();

	memset(ptsort_reserve(sort, sizeof(uint64)), 0, sizeof(uint64));
	ptsort_commit(sort, &any_word);
	ptsort_commit(sort, &any_word);
}

static void
commit_after_put(void)
{
	PtSort	   *sort = begin_any();

	(void) ptsort_reserve(sort, sizeof(uint64));
	ptsort_put(sort, &any_word, sizeof(uint64), &any_word);
	ptsort_commit(sort, &any_word);
}

static void
commit_after_perform(void)
{
	PtSort	   *sort = begin_any();

	(void) ptsort_reserve(sort, sizeof(uint64));
	ptsort_perform(sort);
	ptsort_commit(sort, &any_word);
}

static void
reserve_too_little(void)
{
	(void) ptsort_reserve(begin_any(), sizeof(uint64) - 1);
}

static void
reserve_too_much(void)
{
	(void) ptsort_reserve(begin_any(), (Size) 1024 * 1024 * 1024 + 1);
}

const TestMisuse test_variant_misuses[] = {
	{"variant without callbacks", variant_without_callbacks},
	{"variant without compare", variant_without_compare},
	{"variant without size", variant_without_size},
	{"variant of three words", variant_of_three_words},
	{"inline images with a callback", inline_callback},
	{"inline images without words", inline_without_words},
	{"entries of flat images", entries_of_flat},
	{"commit without reserve", commit_nothing},
	{"commit twice", commit_twice},
	{"commit after put", commit_after_put},
	{"commit after perform", commit_after_perform},
	{"reserve too little", reserve_too_little},
	{"reserve too much", reserve_too_much},
	{NULL, NULL},
};
