/*-------------------------------------------------------------------------
 *
 * misuse_kinds.c
 *	  ptsort_test_misuse(), of heap tuples and of indexes of any access method.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "ptsort_test.h"

/* An index of that name on a table of ours, or one of a catalog. */
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

/* Begins a sort of rows of one int4 column in the order of this index. */
static PtSort *
begin_heap(const char *index)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
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

static PtSort *
begin_hash(Oid heap, const char *index)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};

	return ptsort_begin_index_hash(table_open(heap, AccessShareLock),
								   open_index(index), 1, 0, 1, &options);
}

static void
hash_of_two_columns(void)
{
	(void) begin_hash(RelationRelationId, "pg_class_relname_nsp_index");
}

static void
hash_of_name(void)
{
	(void) begin_hash(ExtensionRelationId, "pg_extension_name_index");
}

static void
hash_of_other_table(void)
{
	(void) begin_hash(RelationRelationId, "misuse_hash");
}

static void
hash_of_null(void)
{
	PtSort	   *sort = begin_hash(RelationRelationId, "pg_class_oid_index");
	ItemPointerData tid;
	Datum		value = (Datum) 0;
	bool		isnull = true;

	ItemPointerSet(&tid, 0, 1);
	ptsort_put_index(sort, &tid, &value, &isnull, true);
}

static void
hash_of_datums(void)
{
	(void) ptsort_get_datum(begin_hash(RelationRelationId,
									   "pg_class_oid_index"),
							true, NULL, NULL);
}

static void
support_without_comparison(void)
{
	SortSupportData support = {0};

	(void) ptsort_key_supports(1, &support);
}

static void
no_supports(void)
{
	SortSupportData support = {0};

	(void) ptsort_key_supports(0, &support);
}

static void
key_wider_than_index(void)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	Oid			operators[] = {Int4LessOperator, Int4LessOperator};
	Oid			collations[] = {InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false};
	PtSortKey  *key = ptsort_key_columns(2, operators, collations,
										 nulls_first);

	(void) ptsort_begin_index_by(open_index("pg_class_oid_index"), key,
								 CurrentMemoryContext, &options);
}

const TestMisuse test_kind_misuses[] = {
	{"heap tuples by a hash index", heap_by_hash_index},
	{"heap tuples of other columns", heap_of_other_columns},
	{"heap tuples of another type", heap_of_other_type},
	{"get a heap tuple of datums", get_heap_of_datums},
	{"put a heap tuple among datums", put_heap_of_datums},
	{"hash codes of two columns", hash_of_two_columns},
	{"hash codes of a name", hash_of_name},
	{"hash codes of another table", hash_of_other_table},
	{"hash code that is null", hash_of_null},
	{"datums of hash codes", hash_of_datums},
	{"support without comparison", support_without_comparison},
	{"no supports", no_supports},
	{"key wider than the index", key_wider_than_index},
	{NULL, NULL},
};
