/*-------------------------------------------------------------------------
 *
 * misuse_kinds.c
 *	  ptsort_test_misuse(): the misuses of heap tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "compat.h"
#include "ptsort_test.h"

/*
 * Opens the named index on one of the test's tables or on a catalog.
 */
static Relation
open_index(const char *name)
{
	RangeVar   *rangevar = makeRangeVar(NULL, pstrdup(name), -1);

	return index_open(RangeVarGetRelid(rangevar, AccessShareLock, false),
					  AccessShareLock);
}

static PtSort *
begin_datums(void)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};

	return test_begin_int4(&options);
}

/* Begins a sort of rows with one int4 column, in the named index's order. */
static PtSort *
begin_heap(const char *index)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	return ptsort_begin_heap(desc, open_index(index), &options);
}

static void
heap_by_hash_index(void)
{
	(void) begin_heap("misuse_hash");
}

static void
heap_of_other_columns(void)
{
	(void) begin_heap("pg_class_relname_nsp_index");
}

static void
heap_of_other_type(void)
{
	(void) begin_heap("pg_class_oid_index");
}

static void
get_heap_of_datums(void)
{
	(void) ptsort_get_heap(begin_datums(), true);
}

static void
put_heap_of_datums(void)
{
	HeapTupleData tuple = {0};

	ptsort_put_heap(begin_datums(), &tuple);
}

const TestMisuse test_kind_misuses[] = {
	{"heap tuples by a hash index", heap_by_hash_index},
	{"heap tuples of other columns", heap_of_other_columns},
	{"heap tuples of another type", heap_of_other_type},
	{"get a heap tuple of datums", get_heap_of_datums},
	{"put a heap tuple among datums", put_heap_of_datums},
	{NULL, NULL},
};
