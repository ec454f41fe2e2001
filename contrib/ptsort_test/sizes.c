/*-------------------------------------------------------------------------
 *
 * sizes.c
 *	  ptsort_test_size(): tests every size and number that a caller can pass
 *	  through the public headers.
 *
 * Each function in the table below calls ptsort with the given size as one
 * argument, and with valid values as all other arguments.  If the size is out
 * of range, ptsort must raise an error; otherwise the sort must be right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "ptsort_parallel.h"
#include "compat.h"
#include "ptsort_test.h"

/* Number of tuples of a sort; initially, a sort has room for fewer tuples */
#define TUPLES		200000

/* Number of values that each participant of ptsort_parallel() puts */
#define EACH		10

PG_FUNCTION_INFO_V1(ptsort_test_size);
PG_FUNCTION_INFO_V1(ptsort_test_size_arguments);

/* test_in_range raises an error if an argument of a test is out of range. */
int64
test_in_range(const char *name, int64 value, int64 least, int64 most)
{
	if (value < least || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be between " INT64_FORMAT " and " INT64_FORMAT,
						name, least, most)));
	return value;
}

/* The segment of the last shared block, or NULL. */
static dsm_segment *block_segment;

/* Makes a shared block for two processes. */
static PtSortShared *
make_block(void)
{
	PtSortShared *shared;

	block_segment = dsm_create(ptsort_shared_estimate(2), 0);
	shared = dsm_segment_address(block_segment);
	ptsort_shared_init(shared, 2, block_segment);
	return shared;
}

static void
give_up_block(void)
{
	if (block_segment != NULL)
		dsm_detach(block_segment);
	block_segment = NULL;
}

/*
 * Options of a sort
 */

static PtSort *
begin_numbers(const PtSortOptions *options)
{
	return ptsort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
							  options);
}

/* Puts the numbers from 0 to TUPLES - 1, in mixed order. */
static void
put_numbers(PtSort *sort)
{
	for (int64 i = 0; i < TUPLES; i++)
		ptsort_put_datum(sort, Int64GetDatum(i * 7919 % TUPLES), false);
	ptsort_perform(sort);
}

/*
 * Checks that the first 'bound' numbers come out, or all numbers if bound is
 * 0.
 */
static void
check_numbers(PtSort *sort, int64 bound)
{
	int64		n = 0;
	Datum		value;
	bool		isnull;

	while (ptsort_get_datum(sort, true, &value, &isnull))
	{
		if (isnull || DatumGetInt64(value) != n)
			elog(ERROR, "number " INT64_FORMAT " is not in its place", n);
		n++;
	}
	if (n != (bound > 0 ? Min(bound, TUPLES) : TUPLES))
		elog(ERROR, INT64_FORMAT " numbers came out", n);
	ptsort_end(sort);
}

static void
sort_numbers(const PtSortOptions *options)
{
	PtSort	   *sort = begin_numbers(options);

	put_numbers(sort);
	check_numbers(sort, options->bound);
}

/* Runs a worker's sort, then the leader's sort, in this process. */
static void
sort_in_worker(PtSortOptions *options, int participants)
{
	PtSort	   *sort;

	options->role = PTSORT_WORKER;
	options->shared = make_block();
	sort = begin_numbers(options);
	put_numbers(sort);
	ptsort_end(sort);
	options->role = PTSORT_LEADER;
	options->participants = participants;
	options->expected_tuples = 0;
	sort = begin_numbers(options);
	ptsort_perform(sort);
	check_numbers(sort, 0);
}

/* Sorts in this process. */
static char *
with_options(const void *options)
{
	sort_numbers(options);
	return NULL;
}

static char *
with_worker_options(const void *options)
{
	PtSortOptions mine = *(const PtSortOptions *) options;

	sort_in_worker(&mine, 1);
	return NULL;
}

static char *
with_participant(const void *options)
{
	PtSortOptions mine = *(const PtSortOptions *) options;

	mine.role = PTSORT_WORKER;
	mine.shared = make_block();
	(void) begin_numbers(&mine);
	return NULL;
}

static char *
with_participants(const void *options)
{
	PtSortOptions mine = {.role = PTSORT_WORKER};

	sort_in_worker(&mine, ((const PtSortOptions *) options)->participants);
	return NULL;
}


/*
 * The shared block
 */

static char *
estimate(int64 size)
{
	if (ptsort_shared_estimate((int) size) < sizeof(int64))
		elog(ERROR, "the block is too small");
	return NULL;
}

static char *
slices(int64 size)
{
	return psprintf("%d", ptsort_shared_slices((int) size));
}

static char *
init(int64 size)
{
	block_segment = dsm_create(ptsort_shared_estimate(1), 0);
	ptsort_shared_init(dsm_segment_address(block_segment), (int) size,
					   block_segment);
	return NULL;
}


/*
 * Variants
 */

static const PtSortVariant inline_variant = {
	.name = "number",
	.inline_image = true
};

static char *
words(int64 size)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};

	(void) ptsort_begin(&inline_variant, NULL, (int) size, NULL, &options);
	return NULL;
}

static Size
image_size(const void *image, void *state)
{
	return *(const uint64 *) image;
}

static int
compare_images(const void *a, const void *b, void *state)
{
	return 0;
}

static PtSort *
begin_images(void)
{
	static const PtSortVariant variant = {
		.name = "image",
		.size = image_size,
		.compare = compare_images
	};
	PtSortOptions options = {.role = PTSORT_SERIAL};

	return ptsort_begin(&variant, NULL, 0, NULL, &options);
}

static char *
put(int64 size)
{
	uint64		image = size;

	ptsort_put(begin_images(), &image, (Size) size, NULL);
	return NULL;
}

static char *
reserve(int64 size)
{
	(void) ptsort_reserve(begin_images(), (Size) size);
	return NULL;
}

/* test_begin_tuple begins a sort of tuples that have one int4 column. */
void
test_begin_tuple(int nkeys, AttrNumber attnum)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	Oid			operator = Int4LessOperator;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	(void) ptsort_begin_tuple(desc, nkeys, &attnum, &operator, &collation,
							  &nulls_first, &options);
}

static char *
tuple_keys(int64 size)
{
	test_begin_tuple((int) size, 1);
	return NULL;
}

static char *
tuple_column(int64 size)
{
	test_begin_tuple(1, (AttrNumber) size);
	return NULL;
}


/*
 * ptsort_parallel()
 */

/* The result of the callback shared_size, which the leader calls. */
static Size shared_bytes;

extern PGDLLEXPORT const PtParallelOps *ptsort_test_size_parallel_ops(void);

static PtSort *
parallel_begin(PtParallel *parallel, const PtSortOptions *options)
{
	return begin_numbers(options);
}

static void
parallel_fill(PtParallel *parallel, PtSort *sort)
{
	for (int64 i = 0; i < EACH; i++)
		ptsort_put_datum(sort, Int64GetDatum(EACH - i), false);
}

static Size
parallel_shared_size(PtParallel *parallel, int processes, int nslices)
{
	return shared_bytes;
}

static void
parallel_shared_init(PtParallel *parallel, int processes, int nslices)
{
	if (shared_bytes > 0)
		memset(parallel->shared, 1, shared_bytes);
}

const PtParallelOps *
ptsort_test_size_parallel_ops(void)
{
	static const PtParallelOps ops = {
		.begin = parallel_begin,
		.fill = parallel_fill,
		.shared_size = parallel_shared_size,
		.shared_init = parallel_shared_init
	};

	return &ops;
}

/*
 * Runs a parallel sort with the given number of bytes of shared memory for the
 * callbacks.
 */
static char *
sort_parallel(PtParallelRequest *request, Size shared)
{
	PtParallel *parallel;
	PtParallelResult *result;
	char		arg = 'a';
	int64		n = 0;
	Datum		value;
	bool		isnull;

	shared_bytes = shared;
	request->library = "$libdir/ptsort_test";
	request->ops_function = "ptsort_test_size_parallel_ops";
	request->arg = &arg;
	parallel = ptsort_parallel(request);
	while (ptsort_get_datum(parallel->stream, true, &value, &isnull))
		n++;
	result = ptsort_parallel_end(parallel);
	if (n != result->tuples || n != EACH * result->participants)
		elog(ERROR, INT64_FORMAT " numbers came from %d participants", n,
			 result->participants);
	return NULL;
}

static char *
with_request(const void *request)
{
	PtParallelRequest mine = *(const PtParallelRequest *) request;

	return sort_parallel(&mine, 1);
}

static char *
parallel_shared(int64 size)
{
	PtParallelRequest request = {.workers = 2};

	return sort_parallel(&request, (Size) size);
}

static char *
parallel_shared_alone(int64 size)
{
	PtParallelRequest request = {.workers = 0};

	return sort_parallel(&request, (Size) size);
}


/*
 * The interface
 */

static char *
get_api(uint32 version, uint32 size)
{
	PtSortGetApi get = (PtSortGetApi)
		load_external_function("$libdir/ptsort", "ptsort_get_api", true, NULL);

	return get(version, size)->version == PTSORT_API_VERSION ? NULL :
		pstrdup("another version");
}

static char *
api_version(int64 size)
{
	return get_api((uint32) size, sizeof(PtSortApi));
}

static char *
api_size(int64 size)
{
	return get_api(PTSORT_API_VERSION, (uint32) size);
}

/*
 * The arguments and their types.  An argument is a field of the options or of a
 * request, or try_size passes it.
 */
typedef struct SizeArgument
{
	const char *name;
	int			bits;
	bool		is_signed;
	char	   *(*try_size) (int64 size);	/* returns NULL on success */
	char	   *(*try_field) (const void *options);
	size_t		offset;			/* of the field */
} SizeArgument;

#define OPTION(field)	NULL, with_options, offsetof(PtSortOptions, field)
#define WORKER(field) \
	NULL, with_worker_options, offsetof(PtSortOptions, field)
#define REQUEST(field)	NULL, with_request, offsetof(PtParallelRequest, field)

static const SizeArgument arguments[] = {
	{"PtSortOptions.role", 32, true, OPTION(role)},
	{"PtSortOptions.budget", 64, true, OPTION(budget)},
	{"PtSortOptions.budget, parallel", 64, true, WORKER(budget)},
	{"PtSortOptions.participant", 32, true, NULL, with_participant,
	offsetof(PtSortOptions, participant)},
	{"PtSortOptions.participants", 32, true, NULL, with_participants,
	offsetof(PtSortOptions, participants)},
	{"PtSortOptions.expected_tuples", 64, true, OPTION(expected_tuples)},
	{"PtSortOptions.expected_tuples, parallel", 64, true,
	WORKER(expected_tuples)},
	{"PtSortOptions.bound", 64, true, OPTION(bound)},
	{"ptsort_shared_estimate: processes", 32, true, estimate},
	{"ptsort_shared_init: processes", 32, true, init},
	{"ptsort_shared_slices: processes", 32, true, slices},
	{"ptsort_begin_tuple: nkeys", 32, true, tuple_keys},
	{"ptsort_begin_tuple: attnums", 16, true, tuple_column},
	{"ptsort_begin: nwords", 32, true, words},
	{"ptsort_put: size", 64, false, put},
	{"ptsort_reserve: size", 64, false, reserve},
	{"PtParallelRequest.workers", 32, true, REQUEST(workers)},
	{"PtParallelRequest.budget", 64, true, REQUEST(budget)},
	{"PtParallelRequest.arg_size", 64, false, REQUEST(arg_size)},
	{"PtParallelOps.shared_size", 64, false, parallel_shared},
	{"PtParallelOps.shared_size, alone", 64, false, parallel_shared_alone},
	{"ptsort_get_api: version", 32, false, api_version},
	{"ptsort_get_api: size", 32, false, api_size},
};

/*
 * Sets a field to the size, and uses the options or the request.  The options
 * allow unlimited memory, so that only the size limits an allocation.
 */
static char *
try_field(const SizeArgument *argument, int64 size)
{
	PtSortOptions options = {.budget = PG_INT64_MAX};
	PtParallelRequest request = {.workers = 2};
	char	   *fields = argument->try_field == with_request ?
		(char *) &request : (char *) &options;

	if (argument->bits == 64)
		memcpy(fields + argument->offset, &size, sizeof(int64));
	else
		*(int *) (fields + argument->offset) = (int) size;
	return argument->try_field(fields);
}

/* True if the argument's type can hold the number; -1 is the largest Size. */
static bool
has_number(const SizeArgument *argument, int64 size)
{
	int			bits = argument->bits - (argument->is_signed ? 1 : 0);

	return size == -1 || bits >= 63 || size < INT64CONST(1) << bits;
}

/* ptsort_test_size: see the SQL script. */
Datum
ptsort_test_size(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		size = PG_GETARG_INT64(1);

	for (int i = 0; i < lengthof(arguments); i++)
	{
		const char *result = "not a number of this type";

		if (strcmp(name, arguments[i].name) != 0)
			continue;
		/* an earlier error released the segment */
		block_segment = NULL;
		if (has_number(&arguments[i], size))
			result = arguments[i].try_size ? arguments[i].try_size(size) :
				try_field(&arguments[i], size);
		give_up_block();
		PG_RETURN_TEXT_P(cstring_to_text(result ? result : "ok"));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no argument \"%s\"", name)));
}

/* ptsort_test_size_arguments: see the SQL script. */
Datum
ptsort_test_size_arguments(PG_FUNCTION_ARGS)
{
	Datum		names[lengthof(arguments)];

	for (int i = 0; i < lengthof(arguments); i++)
		names[i] = CStringGetTextDatum(arguments[i].name);
	PG_RETURN_ARRAYTYPE_P(construct_array(names, lengthof(arguments), TEXTOID,
										  -1, false, TYPALIGN_INT));
}
