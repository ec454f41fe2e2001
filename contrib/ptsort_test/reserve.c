/*-------------------------------------------------------------------------
 *
 * reserve.c
 *	  ptsort_test_reserve(): builds tuples in the sort's own memory.
 *
 * The test puts tuples of random sizes in two steps (ptsort_reserve() and
 * ptsort_commit()) or in one step (ptsort_put()).  Sometimes, on purpose
 * or because of an error, the test does not use a place that it reserved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/memutils.h"

#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_reserve);

/* An image; the number decides the bytes after it. */
typedef struct Numbered
{
	uint32		size;
	uint32		number;
	unsigned char bytes[FLEXIBLE_ARRAY_MEMBER];
} Numbered;

/* State of one call of ptsort_test_reserve(). */
typedef struct ReserveTest
{
	PtSort	   *sort;
	bool		is_inline;
	uint32		n;
	int64		forgotten;		/* number of unused reservations */
	const uint64 *entries;		/* the unread entries */
	int			left;			/* number of unread entries */
} ReserveTest;

static Size
numbered_size(const void *image, void *state)
{
	return ((const Numbered *) image)->size;
}

static int
numbered_compare(const void *a, const void *b, void *state)
{
	uint32		first = ((const Numbered *) a)->number;
	uint32		second = ((const Numbered *) b)->number;

	return first < second ? -1 : first > second;
}

static const PtSortVariant flat_variant = {
	.name = "numbered",
	.size = numbered_size,
	.compare = numbered_compare
};

static const PtSortVariant inline_variant = {
	.name = "number",
	.inline_image = true
};

/* Returns the word of a tuple; many tuples have the same word. */
static uint64
word_of(uint32 number)
{
	return test_mix(number, 1) % 1000;
}

/* Returns the size of a tuple; one in a thousand is large. */
static Size
size_of(uint32 number)
{
	if (number % 1000 == 7)
		return 8000 + test_mix(number, 2) % 20000;
	return sizeof(Numbered) + test_mix(number, 2) % 300;
}

static void
make_image(Numbered *image, uint32 number)
{
	image->size = size_of(number);
	image->number = number;
	memset(image->bytes, number % 251, image->size - sizeof(Numbered));
}

static void
check_image(const Numbered *image, Size size)
{
	if (image->size != size || size != size_of(image->number))
		elog(ERROR, "tuple %u has %zu bytes", image->number, size);
	for (Size i = 0; i < size - sizeof(Numbered); i++)
	{
		if (image->bytes[i] != image->number % 251)
			elog(ERROR, "tuple %u has changed", image->number);
	}
}

/* Reserves a place, writes garbage to it and raises an error. */
static void
reserve_and_fail(PtSort *sort, Size size)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		memset(ptsort_reserve(sort, size), 0x7f, size);
		elog(ERROR, "there is no such image");
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (strcmp(error->message, "there is no such image") != 0)
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
}

/* Makes reservations that must have no effect. */
static void
forget_reservations(ReserveTest *test, uint32 number)
{
	Size		size = test->is_inline ? sizeof(uint64) : size_of(number * 7);

	if (number % 8 == 0)
		memset(ptsort_reserve(test->sort, size), 0x7f, size);
	if (number % 16 == 0)
		reserve_and_fail(test->sort, size);
	test->forgotten += (number % 8 == 0) + (number % 16 == 0);
}

static void
put_number(ReserveTest *test, uint32 number)
{
	uint64		word = word_of(number);
	Size		size = size_of(number);
	void	   *image;

	forget_reservations(test, number);
	if (test->is_inline)
	{
		uint64		entry = number;

		if (number % 4 == 1)
		{
			ptsort_put(test->sort, &entry, sizeof(uint64), &word);
			return;
		}
		*(uint64 *) ptsort_reserve(test->sort, sizeof(uint64)) = entry;
	}
	else if (number % 4 == 1)
	{
		image = palloc(size);
		make_image(image, number);
		ptsort_put(test->sort, image, size, &word);
		pfree(image);
		return;
	}
	else
	{
		image = ptsort_reserve(test->sort, size);
		if (image != (void *) MAXALIGN(image))
			elog(ERROR, "place of tuple %u is not aligned", number);
		make_image(image, number);
	}
	ptsort_commit(test->sort, &word);
}

/* Gets the next number; returns false at the end. */
static bool
get_number(ReserveTest *test, uint32 *number)
{
	const Numbered *image;
	const uint64 *entry;
	Size		size;

	if (!test->is_inline)
	{
		image = ptsort_get(test->sort, true, &size);
		if (image == NULL)
			return false;
		check_image(image, size);
		*number = image->number;
		return true;
	}
	if (test->left == 0)
	{
		test->entries = ptsort_get_entries(test->sort, &test->left);
		if (test->entries == NULL)
			return false;
	}
	entry = test->entries;
	test->entries += 2;
	test->left--;
	*number = (uint32) entry[1];
	if (entry[0] != word_of(*number))
		elog(ERROR, "tuple %u has another word", *number);
	return true;
}

/*
 * Checks that each number comes once, that the numbers are in the order of
 * their words, and that numbers with the same word ascend.
 */
static void
check_numbers(ReserveTest *test)
{
	uint32		number;
	uint32		before = 0;
	uint32		n = 0;

	while (get_number(test, &number))
	{
		if (number >= test->n)
			elog(ERROR, "tuple %u has never been put", number);
		if (n++ > 0 && (word_of(before) > word_of(number) ||
						(word_of(before) == word_of(number) &&
						 before >= number)))
			elog(ERROR, "tuple %u comes after %u", number, before);
		before = number;
	}
	/* numbers with the same word ascend strictly, so no number came twice */
	if (n != test->n)
		elog(ERROR, "%u of %u tuples came", n, test->n);
}

static void
begin(ReserveTest *test, const PtSortOptions *options)
{
	test->sort = ptsort_begin(test->is_inline ? &inline_variant : &flat_variant,
							  NULL, 1, NULL, options);
}

/* Puts all tuples, reserves a place and performs the sort. */
static void
put_and_perform(ReserveTest *test, const PtSortOptions *options)
{
	begin(test, options);
	for (uint32 i = 0; i < test->n; i++)
		put_number(test, i);
	(void) ptsort_reserve(test->sort, sizeof(uint64));
	ptsort_perform(test->sort);
}

/* Puts all tuples as the only worker, and reads them as the leader. */
static void
sort_in_worker(ReserveTest *test, PtSortOptions *options)
{
	options->role = PTSORT_WORKER;
	put_and_perform(test, options);
	ptsort_end(test->sort);
	options->role = PTSORT_LEADER;
	options->participants = 1;
	begin(test, options);
	ptsort_perform(test->sort);
}

/*
 * ptsort_test_reserve sorts n tuples within kb kilobytes, in a serial sort or
 * in a worker.
 */
Datum
ptsort_test_reserve(PG_FUNCTION_ARGS)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = PG_GETARG_INT32(1) * (int64) 1024
	};
	ReserveTest test = {
		.n = test_in_range("n", PG_GETARG_INT32(0), 0, MAX_ROWS),
		.is_inline = PG_GETARG_BOOL(2)
	};
	dsm_segment *segment = dsm_create(ptsort_shared_estimate(1), 0);
	PtSortStats stats;
	TupleDesc	desc;
	Datum		values[4];
	bool		isnull[4] = {0};

	if (PG_GETARG_BOOL(3))
	{
		options.shared = dsm_segment_address(segment);
		ptsort_shared_init(options.shared, 1, segment);
		sort_in_worker(&test, &options);
	}
	else
		put_and_perform(&test, &options);
	check_numbers(&test);
	ptsort_stats(test.sort, &stats);
	ptsort_end(test.sort);
	dsm_detach(segment);

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(stats.tuples);
	values[1] = Int64GetDatum(stats.runs);
	values[2] = Int64GetDatum(test.forgotten);
	values[3] = Int64GetDatum(stats.peak_memory);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, isnull)));
}
