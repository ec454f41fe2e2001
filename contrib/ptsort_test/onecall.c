/*-------------------------------------------------------------------------
 *
 * onecall.c
 *	  ptsort_test_parallel(): uses and misuses the interface of
 *	  ptsort_parallel.h.
 *
 * The test sorts rows of a table, or numbers, or both, or runs an index build
 * that does not change the index.  It reads the sorted tuples from a stream or
 * from slices, and computes a hash of each tuple's keys.  Each process writes
 * the hashes of its slices to shared memory.  The function returns a digest of
 * all hashes, in the sort's output order.  The tests compute the expected
 * digest in SQL.  In each callback, the test checks the promises of
 * ptsort_parallel.h about the process, the participant's number, the argument
 * and the memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "ptsort_parallel.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "ptsort_test.h"

#define MAX_KEYS	4

/* Number of values that a process reserves at a time. */
#define CHUNK		100

/* Argument of the callbacks.  Every worker gets a copy. */
typedef struct Job
{
	bool		datums;			/* sort only the first key, not rows */
	bool		slices;
	int			nkeys;
	AttrNumber	attnums[MAX_KEYS];
	Oid			types[MAX_KEYS];
	Oid			operators[MAX_KEYS];
	Oid			collations[MAX_KEYS];
	int64		fill;			/* number of values that fill() puts */
	bool		hold_back;		/* put() keeps every 10th value for fill() */
	int64		room;			/* number of hashes that fit in Shared */
	char		fail[40];		/* a mistake: "no sort", "alone", "no slices",
								 * "first tuples", or the failing callback and
								 * "leader" or "worker" */
} Job;

static const Job *leaders_job;	/* NULL in workers */

/* Contents of PtParallel.shared */
typedef struct Shared
{
	int			processes;
	int			slices;
	pg_atomic_uint32 expected;	/* number of participants; 0 before begin() */
	pg_atomic_uint32 scanning;	/* number of participants with a row */
	pg_atomic_uint64 next;		/* the next number to put */
	pg_atomic_uint32 filled;	/* number of slices with tuples */
	uint32		hashes[FLEXIBLE_ARRAY_MEMBER];
} Shared;

/* Contents of PtParallel.local */
typedef struct Local
{
	MemoryContext context;		/* current in the first callback */
	int			begun;			/* number of sorts */
	bool		filled;
	int64		rows;
	int			nheld;
	Datum		held[10000];
} Local;

/* Results of the reads. */
typedef struct Found
{
	int			filled_slices;
	char	   *hashes;			/* of all tuples, in order, separated by " " */
	int64		comparisons;	/* during reads of the stream */
} Found;

PG_FUNCTION_INFO_V1(ptsort_test_parallel);


/*
 * The callbacks
 */

/*
 * Checks what must hold in every callback; raises the error that the test
 * requests.
 */
static Local *
check_call(PtParallel *parallel, const char *callback)
{
	const Job  *job = parallel->arg;
	const char *where = parallel->is_leader ? "leader" : "worker";
	Local	   *local = parallel->local;

	if (local == NULL)
	{
		parallel->local = local = palloc0(sizeof(Local));
		local->context = CurrentMemoryContext;
	}
	if (local->context != CurrentMemoryContext)
		elog(ERROR, "callbacks are called in two memory contexts");
	if (parallel->is_leader != !IsParallelWorker() ||
		parallel->is_leader != (parallel->participant == 0))
		elog(ERROR, "participant %d is in the wrong process",
			 parallel->participant);
	if (job == NULL || parallel->arg_size != sizeof(Job))
		elog(ERROR, "argument did not arrive");
	if (parallel->is_leader != (job == leaders_job))
		elog(ERROR, "argument is not the leader's pointer, or a copy");
	if (parallel->shared != NULL && strcmp(callback, "shared_init") != 0 &&
		parallel->participant >= ((Shared *) parallel->shared)->processes)
		elog(ERROR, "shared memory is not filled in before callback %s",
			 callback);
	if (strcmp(job->fail, psprintf("%s %s", callback, where)) == 0)
		elog(ERROR, "callback %s fails in the %s", callback, where);
	return local;
}

static PtSort *
begin(PtParallel *parallel, const PtSortOptions *options)
{
	const Job  *job = parallel->arg;
	static const bool nulls_first[MAX_KEYS] = {false};
	PtSortOptions alone = {.role = PTSORT_SERIAL};
	Shared	   *shared = parallel->shared;

	if (check_call(parallel, "begin")->begun++ > 1)
		elog(ERROR, "three sorts were begun in one process");
	if (parallel->participants < 1)
		elog(ERROR, "there are %d participants", parallel->participants);
	if (strcmp(job->fail, "alone") == 0 &&
		options->role != PTSORT_WORKER && options->role != PTSORT_SERIAL)
		options = &alone;
	if (parallel->is_leader && shared != NULL)
		pg_atomic_write_u32(&shared->expected, parallel->participants);
	if (strcmp(job->fail, "no sort") == 0)
		return NULL;
	if (job->datums)
		return ptsort_begin_datum(job->types[0], job->operators[0],
								  job->collations[0], false, options);
	return ptsort_begin_tuple(RelationGetDescr(parallel->table), job->nkeys,
							  job->attnums, job->operators, job->collations,
							  nulls_first, options);
}

/*
 * Waits until every participant has a row, so that each participant leaves a
 * run.  The leader's first call of begin() stores the number of participants.
 */
static void
wait_for_others(PtParallel *parallel)
{
	Shared	   *shared = parallel->shared;
	uint32		expected;

	pg_atomic_fetch_add_u32(&shared->scanning, 1);
	while ((expected = pg_atomic_read_u32(&shared->expected)) == 0 ||
		   pg_atomic_read_u32(&shared->scanning) < expected)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

static void
put(PtParallel *parallel, PtSort *sort, TupleTableSlot *slot)
{
	const Job  *job = parallel->arg;
	Local	   *local = parallel->local;

	if (local->rows++ == 0)
	{
		check_call(parallel, "put");
		wait_for_others(parallel);
	}
	if (!job->datums)
		ptsort_put_slot(sort, slot);
	else
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, job->attnums[0], &isnull);

		if (job->hold_back && local->rows % 10 == 0 &&
			local->nheld < lengthof(local->held))
			local->held[local->nheld++] = value;
		else
			ptsort_put_datum(sort, value, isnull);
	}
}

static void
put_index(PtParallel *parallel, PtSort *sort, ItemPointer tid, Datum *values,
		  bool *isnull, bool alive)
{
	Local	   *local = check_call(parallel, "put_index");

	if (local->begun != 1)
		elog(ERROR, "put_index is called at the wrong time");
	if (local->rows++ == 0 && parallel->shared)
		wait_for_others(parallel);
	ptsort_put_datum(sort, values[0], isnull[0]);
}

static void
fill(PtParallel *parallel, PtSort *sort)
{
	const Job  *job = parallel->arg;
	Shared	   *shared = parallel->shared;
	Local	   *local = check_call(parallel, "fill");
	int64		first;

	if (local->filled || local->begun != 1)
		elog(ERROR, "fill is called at the wrong time");
	local->filled = true;
	for (int i = 0; i < local->nheld; i++)
		ptsort_put_datum(sort, local->held[i], false);
	while ((first = pg_atomic_fetch_add_u64(&shared->next, CHUNK)) < job->fill)
	{
		CHECK_FOR_INTERRUPTS();
		for (int64 i = first; i < Min(first + CHUNK, job->fill); i++)
			ptsort_put_datum(sort, Int64GetDatum(i * 7919 % 20011), false);
	}
}

static Size
shared_size(PtParallel *parallel, int processes, int slices)
{
	const Job  *job = parallel->arg;

	return add_size(offsetof(Shared, hashes),
					mul_size(job->room, sizeof(uint32)));
}

static void
shared_init(PtParallel *parallel, int processes, int slices)
{
	Shared	   *shared = parallel->shared;
	const char *bytes = parallel->shared;

	check_call(parallel, "shared_init");
	if (MAXALIGN(bytes) != (uintptr_t) bytes)
		elog(ERROR, "shared memory is not aligned");
	for (Size i = 0; i < shared_size(parallel, processes, slices); i++)
	{
		if (bytes[i] != 0)
			elog(ERROR, "shared memory is not zeroed");
	}
	if (parallel->participants > processes)
		elog(ERROR, "there are %d participants in %d processes",
			 parallel->participants, processes);
	shared->processes = processes;
	shared->slices = slices;
	pg_atomic_init_u32(&shared->expected, 0);
	pg_atomic_init_u32(&shared->scanning, 0);
	pg_atomic_init_u64(&shared->next, 0);
	pg_atomic_init_u32(&shared->filled, 0);
}

/* Computes the hash of the next tuple's keys; returns false at the end. */
static bool
next_hash(const Job *job, PtSort *sort, TupleTableSlot *slot, uint32 *hash)
{
	StringInfoData keys;
	Datum		value;
	bool		isnull;

	if (job->datums ? !ptsort_get_datum(sort, true, &value, &isnull) :
		!ptsort_get_slot(sort, true, slot))
		return false;
	initStringInfo(&keys);
	for (int i = 0; i < job->nkeys; i++)
	{
		Oid			output;
		bool		is_varlena;

		if (!job->datums)
			value = slot_getattr(slot, job->attnums[i], &isnull);
		if (isnull)
			continue;
		getTypeOutputInfo(job->types[i], &output, &is_varlena);
		appendStringInfo(&keys, keys.len > 0 ? "|%s" : "%s",
						 OidOutputFunctionCall(output, value));
	}
	*hash = hash_bytes((unsigned char *) keys.data, keys.len);
	return true;
}

static TupleTableSlot *
make_slot(const Job *job, Relation table)
{
	if (job->datums)
		return NULL;
	return MakeSingleTupleTableSlot(RelationGetDescr(table),
									&TTSOpsMinimalTuple);
}

static void
read_slices(PtParallel *parallel, PtSort *sort)
{
	const Job  *job = parallel->arg;
	Shared	   *shared = parallel->shared;
	TupleTableSlot *slot = make_slot(job, parallel->table);
	int			slice;

	check_call(parallel, "read_slices");
	if (strcmp(job->fail, "no slices") == 0)
		return;
	while (ptsort_next_slice(sort, &slice))
	{
		int64		at = ptsort_slice_start(sort);
		int64		first = at;
		int64		end = strcmp(job->fail, "first tuples") == 0 ?
			at + 1 : job->room;
		uint32		hash;

		if (slice < 0 || slice >= shared->slices)
			elog(ERROR, "there is no slice %d", slice);
		while (at < end && next_hash(job, sort, slot, &hash))
			shared->hashes[at++] = hash;
		if (at > first)
			pg_atomic_fetch_add_u32(&shared->filled, 1);
	}
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
}


/*
 * The sets of callbacks
 */

/* Defines the function ptsort_test_parallel_NAME, which returns callbacks. */
#define OPS(name, ...) \
extern PGDLLEXPORT const PtParallelOps *ptsort_test_parallel_##name(void); \
const PtParallelOps * \
ptsort_test_parallel_##name(void) \
{ \
	static const PtParallelOps ops = {__VA_ARGS__}; \
\
	return &ops; \
}

/* The callbacks in a set */
#define BEGIN		.begin = begin
#define FILL		.fill = fill
#define PUT			.put = put
#define PUT_INDEX	.put_index = put_index
#define INIT		.shared_init = shared_init
#define SHARED		.shared_size = shared_size, INIT
#define SLICES		.read_slices = read_slices
#define NOTHING		.begin = NULL

OPS(fill, BEGIN, FILL, SHARED)
OPS(fill_slices, BEGIN, FILL, SHARED, SLICES)
OPS(table, BEGIN, PUT, FILL, SHARED)
OPS(table_slices, BEGIN, PUT, FILL, SHARED, SLICES)
OPS(index, BEGIN, PUT_INDEX, SHARED)
OPS(index_slices, BEGIN, PUT_INDEX, SHARED, SLICES)
OPS(least, BEGIN)

/* Callbacks are missing or superfluous. */
OPS(no_begin, FILL)
OPS(no_callback, NOTHING)
OPS(index_no_begin, PUT_INDEX)
OPS(index_put, BEGIN, PUT)
OPS(index_both, BEGIN, PUT, PUT_INDEX)
OPS(index_no_size, BEGIN, PUT_INDEX, INIT)

extern PGDLLEXPORT const PtParallelOps *ptsort_test_parallel_none(void);

const PtParallelOps *
ptsort_test_parallel_none(void)
{
	return NULL;
}


/*
 * The sort
 */

static void
set_key(Job *job, Relation table, const char *name, Oid operator_)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(table), name);
	Form_pg_attribute attribute;

	if (attnum <= 0 || job->nkeys == MAX_KEYS)
		elog(ERROR, "\"%s\" cannot be a key", name);
	attribute = TupleDescAttr(RelationGetDescr(table), attnum - 1);
	job->attnums[job->nkeys] = attnum;
	job->types[job->nkeys] = attribute->atttypid;
	job->collations[job->nkeys] = attribute->attcollation;
	job->operators[job->nkeys++] = operator_;
}

static void
set_keys(Job *job, Relation table, ArrayType *names, ArrayType *operators)
{
	Datum	   *name;
	Datum	   *operator_;
	int			nnames;
	int			noperators;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &name, NULL,
					  &nnames);
	deconstruct_array(operators, REGOPERATOROID, sizeof(Oid), true,
					  TYPALIGN_INT, &operator_, NULL, &noperators);
	if (nnames != noperators)
		elog(ERROR, "each key needs an operator");
	for (int i = 0; i < nnames; i++)
		set_key(job, table, TextDatumGetCString(name[i]),
				DatumGetObjectId(operator_[i]));
}

/* Reads up to 'most' tuples of the stream, outside of parallel mode. */
static char *
read_stream(PtParallel *parallel, const Job *job, int64 most,
			int64 *comparisons)
{
	PtSortStats before;
	PtSortStats after;

	TupleTableSlot *slot = make_slot(job, parallel->table);
	StringInfoData hashes;
	uint32		hash;

	ptsort_stats(parallel->stream, &before);
	initStringInfo(&hashes);
	for (int64 i = 0; i < most; i++)
	{
		if (!next_hash(job, parallel->stream, slot, &hash))
			break;
		appendStringInfo(&hashes, i > 0 ? " %d" : "%d", (int) hash);
	}
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	ptsort_stats(parallel->stream, &after);
	*comparisons = after.comparisons - before.comparisons;
	return hashes.data;
}

static char *
read_shared(const Shared *shared, int64 n)
{
	StringInfoData hashes;

	initStringInfo(&hashes);
	for (int64 i = 0; i < n; i++)
		appendStringInfo(&hashes, i > 0 ? " %d" : "%d",
						 (int) shared->hashes[i]);
	return hashes.data;
}

/*
 * Checks the state that a caller may rely on after ptsort_parallel() returns.
 */
static void
check_return(const PtParallel *parallel)
{
	const Job  *job = parallel->arg;

	if (IsInParallelMode())
		elog(ERROR, "parallel mode has not ended");
	(void) GetCurrentTransactionId();
	if ((parallel->stream == NULL) != job->slices)
		elog(ERROR, "stream is missing or unexpected");
}

static int64
blocks_used(void)
{
	return pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_hit + pgBufferUsage.local_blks_read;
}

/* Checks the result's numbers against each other. */
static void
check_result(const PtParallelResult *result)
{
	int64		tuples = 0;

	for (int i = 0; i <= result->workers_launched; i++)
		tuples += result->stats[i].sort.tuples;
	if (result->stats[0].fill_ms + result->stats[0].read_ms <= 0 &&
		result->participants > result->workers_launched)
		elog(ERROR, "the first statistics are not the leader's");
	if (tuples != result->tuples)
		elog(ERROR, INT64_FORMAT " tuples were counted, " INT64_FORMAT " in all",
			 tuples, result->tuples);
	if (result->workers_launched > result->workers_planned ||
		result->participants > result->workers_launched + 1)
		elog(ERROR, "%d participants, %d workers launched, %d planned",
			 result->participants, result->workers_launched,
			 result->workers_planned);
}

static PtParallelResult *
sort_with(PtParallelRequest *request, int64 most, Found *found)
{
	const Job  *job = request->arg;
	PtParallel *parallel = ptsort_parallel(request);
	PtParallelResult *result;

	check_return(parallel);
	if (!job->slices)
		found->hashes = read_stream(parallel, job, most,
									&found->comparisons);
	else
	{
		Shared	   *shared = parallel->shared;

		found->filled_slices = pg_atomic_read_u32(&shared->filled);
		found->hashes = read_shared(shared, Min(most, job->room));
	}
	result = ptsort_parallel_end(parallel);
	check_result(result);
	return result;
}

/*
 * Checks that the leader's count of used buffers includes all blocks of the
 * table, no matter which process read them.
 */
static void
check_usage(Relation table, int64 blocks_before)
{
	if (table != NULL &&
		blocks_used() - blocks_before < RelationGetNumberOfBlocks(table))
		elog(ERROR, "leader does not count buffers that workers used");
}

static Datum
make_row(FunctionCallInfo fcinfo, const PtParallelResult *result,
		 const Found *found)
{
	TupleDesc	desc;
	Datum		values[7];
	bool		nulls[7] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(result->participants);
	values[1] = Int32GetDatum(result->workers_launched);
	values[2] = Int64GetDatum((int64) result->rows);
	values[3] = Int64GetDatum(result->tuples);
	values[4] = Int32GetDatum(found->filled_slices);
	values[5] = DirectFunctionCall1Coll(md5_text, DEFAULT_COLLATION_OID,
										CStringGetTextDatum(found->hashes));
	values[6] = Int64GetDatum(found->comparisons);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

static const char *
choose_ops(const PtParallelRequest *request)
{
	const Job  *job = request->arg;
	const char *source = request->index ? "index" :
		request->table ? "table" : "fill";

	return psprintf("ptsort_test_parallel_%s%s", source,
					job->slices ? "_slices" : "");
}

static PtParallelResult *
sort_nested(PtParallelRequest *request, Found *found)
{
	PtParallel *parallel;
	PtParallelResult *result;

	EnterParallelMode();
	parallel = ptsort_parallel(request);
	found->hashes = read_stream(parallel, request->arg, PG_INT64_MAX,
								&found->comparisons);
	result = ptsort_parallel_end(parallel);
	ExitParallelMode();
	return result;
}

/*
 * Opens the request's table and index, and locks them as index.c does for a
 * build.
 */
static void
open_relations(PtParallelRequest *request, Oid table, Oid index)
{
	if (!OidIsValid(index))
	{
		request->table = relation_open(table, AccessShareLock);
		return;
	}
	(void) GetCurrentTransactionId();
	request->table = relation_open(table, ShareLock);
	request->index = index_open(index, AccessExclusiveLock);
	request->index_info = BuildIndexInfo(request->index);
}

/*
 * ptsort_test_parallel(tab regclass, keys text[], operators regoperator[],
 * variant text, fill bigint, hold_back bool, slices bool, workers int,
 * budget_kb int, nested bool, fail text, reads bigint, ops text,
 * index regclass): see the SQL script.
 */
Datum
ptsort_test_parallel(PG_FUNCTION_ARGS)
{
	int64		blocks_before = blocks_used();
	int64		most_reads = PG_GETARG_BOOL(6) ? MAX_ROWS : PG_INT64_MAX;
	int64		reads = test_in_range("reads", PG_GETARG_INT64(11), 0,
									  most_reads);
	Found		found = {0};
	PtParallelResult *result;
	Job			job = {
		.datums = strcmp(text_to_cstring(PG_GETARG_TEXT_PP(3)), "datum") == 0,
		.slices = PG_GETARG_BOOL(6),
		.fill = test_in_range("fill", PG_GETARG_INT64(4), 0, MAX_ROWS),
		.hold_back = PG_GETARG_BOOL(5),
		.room = PG_GETARG_BOOL(6) ? reads : 0
	};
	PtParallelRequest request = {
		.library = "$libdir/ptsort_test",
		.arg = &job,
		.arg_size = sizeof(Job),
		.workers = PG_GETARG_INT32(7),
		.budget = PG_GETARG_INT32(8) * INT64CONST(1024)
	};

	strlcpy(job.fail, text_to_cstring(PG_GETARG_TEXT_PP(10)),
			sizeof(job.fail));
	if (!PG_ARGISNULL(0))
	{
		open_relations(&request, PG_GETARG_OID(0),
					   PG_ARGISNULL(13) ? InvalidOid : PG_GETARG_OID(13));
		set_keys(&job, request.table, PG_GETARG_ARRAYTYPE_P(1),
				 PG_GETARG_ARRAYTYPE_P(2));
	}
	else
	{
		job.datums = true;
		job.nkeys = 1;
		job.types[0] = INT8OID;
		job.operators[0] = Int8LessOperator;
	}
	request.ops_function = PG_ARGISNULL(12) ? choose_ops(&request) :
		text_to_cstring(PG_GETARG_TEXT_PP(12));
	if (request.ops_function[0] == '\0')
		request.ops_function = NULL;	/* simulates a missing name */
	leaders_job = &job;
	if (PG_GETARG_BOOL(9))
		result = sort_nested(&request, &found);
	else
		result = sort_with(&request, reads, &found);
	check_usage(request.table, blocks_before);
	if (request.index != NULL)
		index_close(request.index, NoLock);
	if (request.table != NULL)
		relation_close(request.table, NoLock);
	return make_row(fcinfo, result, &found);
}
