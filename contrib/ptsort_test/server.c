/*-------------------------------------------------------------------------
 *
 * server.c
 *	  ptsort_test_server(): compares ptsort's sort with the server's sort of
 *	  the same tuples.
 *
 * The test puts a table's rows into a sort of ptsort and a sort of the server.
 * At each position, the two sorts must return equal keys.  Where the server
 * leaves the order of tuples open, both sorts must return the same tuples,
 * byte for byte, and ptsort must return these tuples in the order that ptsort
 * promises.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "ptsort_test.h"

PG_FUNCTION_INFO_V1(ptsort_test_server);

/* An output tuple of one of the sorts. */
typedef struct OutTuple
{
	ItemPointerData tid;
	uint64		digest;			/* of the bytes that the server preserves */
	Datum		values[INDEX_MAX_KEYS]; /* of the key columns */
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext context;		/* of the values */
} OutTuple;

typedef struct ServerTest
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	EState	   *estate;			/* to evaluate a row's index columns */
	TupleTableSlot *slot;
	int			nkeys;
	SortSupport support;
	PtSort	   *ours;
	Tuplesortstate *server;
	int64		put;
} ServerTest;

/* Compares two tuples by the server's definition of the order. */
static int
compare_as_server(ServerTest *test, OutTuple *a, OutTuple *b)
{
	int			result = 0;

	for (int i = 0; i < test->nkeys && result == 0; i++)
		result = ApplySortComparator(a->values[i], a->isnull[i],
									 b->values[i], b->isnull[i],
									 &test->support[i]);
	return result;
}

/* Compares two tuples by ptsort's definition of the order. */
static int
compare_as_ours(ServerTest *test, OutTuple *a, OutTuple *b)
{
	int			result = compare_as_server(test, a, b);

	if (result != 0)
		return result;
	return ItemPointerCompare(&a->tid, &b->tid);
}

static uint64
digest(const void *bytes, Size size, ItemPointer tid)
{
	uint64		seed = (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);

	return hash_bytes_extended(bytes, size, seed);
}

/* Copies a row and computes the row's index columns. */
static void
take_row(ServerTest *test, HeapTuple tuple, OutTuple *out)
{
	tuple = heap_copytuple(tuple);
	out->tid = tuple->t_self;
	out->digest = digest(tuple->t_data, tuple->t_len, &tuple->t_self);
	ExecStoreHeapTuple(tuple, test->slot, false);
	FormIndexDatum(test->info, test->slot, test->estate, out->values,
				   out->isnull);
	for (int i = 0; i < test->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(test->index), i);

		if (!out->isnull[i])
			out->values[i] = datumCopy(out->values[i], att->attbyval,
									   att->attlen);
	}
	ResetPerTupleExprContext(test->estate);
}

/* Gets the next tuple of one of the sorts; returns false at the end. */
static bool
get_tuple(ServerTest *test, bool ours, bool forward, OutTuple *out)
{
	HeapTuple	row;
	MemoryContext caller;

	CHECK_FOR_INTERRUPTS();
	row = ours ? ptsort_get_heap(test->ours, forward) :
		tuplesort_getheaptuple(test->server, forward);
	if (row == NULL)
		return false;
	if (ours && row->t_tableOid != RelationGetRelid(test->heap))
		elog(ERROR, "a row of table %u came out", row->t_tableOid);
	MemoryContextReset(out->context);
	caller = MemoryContextSwitchTo(out->context);
	take_row(test, row, out);
	MemoryContextSwitchTo(caller);
	return true;
}

/* Puts all rows of the table, including dead rows, into both sorts. */
static void
put_rows(ServerTest *test)
{
	TableScanDesc scan = table_beginscan_strat(test->heap, SnapshotAny, 0, NULL,
											   true, true);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ptsort_put_heap(test->ours, tuple);
		tuplesort_putheaptuple(test->server, tuple);
		test->put++;
	}
	table_endscan(scan);
}

static void
begin(ServerTest *test, const PtSortOptions *options)
{
	TupleDesc	desc = RelationGetDescr(test->heap);

	test->nkeys = IndexRelationGetNumberOfKeyAttributes(test->index);
	test->info = BuildIndexInfo(test->index);
	test->ours = ptsort_begin_heap(desc, test->index, options);
	test->server = tuplesort_begin_cluster(desc, test->index, work_mem, NULL,
										   TUPLESORT_NONE);
	test->support = palloc0(test->nkeys * sizeof(SortSupportData));
	for (int i = 0; i < test->nkeys; i++)
	{
		TestKey		key;

		test_key_of_index(test->index, i, &key);
		test->support[i].ssup_cxt = CurrentMemoryContext;
		test->support[i].ssup_collation = key.collation;
		test->support[i].ssup_nulls_first = key.nulls_first;
		PrepareSortSupportFromOrderingOp(key.operator, &test->support[i]);
	}
	test->estate = CreateExecutorState();
	test->slot = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);
	GetPerTupleExprContext(test->estate)->ecxt_scantuple = test->slot;
}

static OutTuple *
make_tuple(void)
{
	OutTuple   *out = palloc0(sizeof(OutTuple));

	out->context = AllocSetContextCreate(CurrentMemoryContext,
										 "ptsort_test tuple",
										 ALLOCSET_DEFAULT_SIZES);
	return out;
}

/*
 * Compares the output of the two sorts; returns the number of positions at
 * which both sorts have the same tuple.  Stores the digests of ptsort's
 * output.
 */
static int64
compare_streams(ServerTest *test, uint64 *digests)
{
	OutTuple   *server = make_tuple();
	OutTuple   *ours = make_tuple();
	OutTuple   *before = make_tuple();
	uint64		balance = 0;
	int64		identical = 0;

	for (int64 n = 0; get_tuple(test, false, true, server); n++)
	{
		OutTuple   *swap = before;

		if (!get_tuple(test, true, true, ours))
			elog(ERROR, "only " INT64_FORMAT " tuples came out", n);
		if (compare_as_server(test, server, ours) != 0)
			elog(ERROR, "tuple " INT64_FORMAT " has another key than the server's",
				 n);
		if (n > 0 && compare_as_ours(test, before, ours) >= 0)
			elog(ERROR, "tuple " INT64_FORMAT " is not in order", n);
		if (n > 0 && compare_as_server(test, before, ours) != 0 && balance != 0)
			elog(ERROR, "tuples before " INT64_FORMAT " are damaged", n);
		balance += ours->digest - server->digest;
		identical += ours->digest == server->digest ? 1 : 0;
		digests[n] = ours->digest;
		before = ours;
		ours = swap;
	}
	if (balance != 0)
		elog(ERROR, "the last tuples are damaged");
	if (get_tuple(test, true, true, ours))
		elog(ERROR, "more than " INT64_FORMAT " tuples came out", test->put);
	return identical;
}

/* Reads all of ptsort's output backward, from its end. */
static void
read_backward(ServerTest *test, const uint64 *digests)
{
	OutTuple   *out = make_tuple();
	int64		n = test->put;

	while (get_tuple(test, true, false, out))
	{
		if (n == 0 || out->digest != digests[--n])
			elog(ERROR, "another tuple came out backward at " INT64_FORMAT, n);
	}
	if (n != 0)
		elog(ERROR, INT64_FORMAT " tuples did not come out backward", n);
}

static void
end(ServerTest *test)
{
	ptsort_end(test->ours);
	tuplesort_end(test->server);
	ExecDropSingleTupleTableSlot(test->slot);
	FreeExecutorState(test->estate);
}

/* ptsort_test_server: see the SQL script. */
Datum
ptsort_test_server(PG_FUNCTION_ARGS)
{
	PtSortOptions options = {
		.role = PTSORT_SERIAL,
		.budget = (int64) PG_GETARG_INT32(1) * 1024,
		.random_access = PG_GETARG_BOOL(2)
	};
	ServerTest	test = {0};
	PtSortStats stats;
	TupleDesc	desc;
	uint64	   *digests;
	Datum		values[4];
	bool		isnull[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	test.index = index_open(PG_GETARG_OID(0), AccessShareLock);
	test.heap = table_open(test.index->rd_index->indrelid, AccessShareLock);
	begin(&test, &options);
	put_rows(&test);
	ptsort_perform(test.ours);
	tuplesort_performsort(test.server);

	digests = MemoryContextAllocHuge(CurrentMemoryContext,
									 (test.put + 1) * sizeof(uint64));
	values[0] = Int64GetDatum(test.put);
	values[1] = Int64GetDatum(compare_streams(&test, digests));
	if (options.random_access)
		read_backward(&test, digests);
	ptsort_stats(test.ours, &stats);
	values[2] = Int64GetDatum(stats.runs);
	values[3] = Int64GetDatum(stats.comparisons);
	end(&test);
	table_close(test.heap, NoLock);
	index_close(test.index, NoLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
