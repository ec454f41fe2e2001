/*-------------------------------------------------------------------------
 *
 * newindex.c
 *	  Describes an index that does not exist, as a Relation.
 *
 * The server's code that turns a CREATE INDEX into the columns of an index
 * (DefineIndex, index_create) also writes to the catalogs.  This file does
 * without them: it resolves columns, operator classes, collations and options,
 * and fills in those fields of a RelationData that the sort, nbtree's functions
 * and the choice of workers read.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/reloptions.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_opclass.h"
#include "commands/defrem.h"
#include "forecast/forecast.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* IndexColumn: what an index element of the statement resolves to. */
typedef struct IndexColumn
{
	AttrNumber	attnum;			/* column of the table; 0: an expression */
	Node	   *expression;
	Oid			type;
	int32		typmod;
	Oid			collation;
	char		storage;		/* 0: that of the type */
	char		compression;
} IndexColumn;

/* Read a column of the table from the catalogs. */
static void
resolve_attribute(IndexColumn *column, HeapTuple tuple)
{
	Form_pg_attribute form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for a column");
	form = (Form_pg_attribute) GETSTRUCT(tuple);
	if (form->attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index creation on system columns is not supported")));
	column->attnum = form->attnum;
	column->type = form->atttypid;
	column->typmod = form->atttypmod;
	column->collation = form->attcollation;
	column->storage = form->attstorage;
	column->compression = form->attcompression;
	ReleaseSysCache(tuple);
}

/* Resolve a name or an expression.  An expression may be just a column. */
static void
resolve_element(IndexColumn *column, Oid heap_id, IndexElem *element)
{
	Node	   *expression = element->expr;
	HeapTuple	tuple;

	memset(column, 0, sizeof(IndexColumn));
	if (element->name != NULL)
	{
		tuple = SearchSysCacheAttName(heap_id, element->name);
		if (!HeapTupleIsValid(tuple))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" does not exist", element->name)));
		resolve_attribute(column, tuple);
		return;
	}
	column->type = exprType(expression);
	column->typmod = exprTypmod(expression);
	column->collation = exprCollation(expression);
	while (IsA(expression, CollateExpr))
		expression = (Node *) ((CollateExpr *) expression)->arg;
	if (IsA(expression, Var) && ((Var *) expression)->varattno != 0)
	{
		Oid			collation = column->collation;

		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(heap_id),
								Int16GetDatum(((Var *) expression)->varattno));
		resolve_attribute(column, tuple);
		column->collation = collation;
	}
	else
		column->expression = expression;
}

/* Resolve the collation of a key column. */
static void
resolve_collation(IndexColumn *column, const IndexElem *element)
{
	if (element->collation != NIL)
		column->collation = get_collation_oid(element->collation, false);
	if (type_is_collatable(column->type) && !OidIsValid(column->collation))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for index expression"),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
	if (!type_is_collatable(column->type) && OidIsValid(column->collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("collations are not supported by type %s",
						format_type_be(column->type))));
}

/* Raise the server's errors for what the access method does not support. */
static void
check_support(const IndexAmRoutine *routine, const char *access_method,
			  const IndexStmt *stmt)
{
	ListCell   *lc;

	/* a unique constraint of GiST has periods */
	if (stmt->unique && !stmt->isconstraint && !routine->amcanunique)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"%s\" does not support unique indexes",
						access_method)));
	foreach(lc, stmt->indexParams)
	{
		IndexElem  *element = lfirst_node(IndexElem, lc);

		if (element->ordering != SORTBY_DEFAULT && !routine->amcanorder)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("access method \"%s\" does not support ASC/DESC options",
							access_method)));
		if (element->nulls_ordering != SORTBY_NULLS_DEFAULT &&
			!routine->amcanorder)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("access method \"%s\" does not support NULLS FIRST/LAST options",
							access_method)));
	}
}

/* Returns the type that an operator class stores; 0: the column's own type. */
static Oid
stored_type(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", opclass);
	result = ((Form_pg_opclass) GETSTRUCT(tuple))->opckeytype;
	ReleaseSysCache(tuple);
	return result;
}

/* Set the operator class of key column i. */
static void
set_opclass(Relation index, int i, const IndexColumn *column,
			const IndexElem *element, Oid *type)
{
	bool		is_gist = index->rd_rel->relam == GIST_AM_OID;
	Oid			opclass = ResolveOpClass(element->opclass, column->type,
										 is_gist ? "gist" : "btree",
										 index->rd_rel->relam);
	int			nprocs = index->rd_indam->amsupport;
	Oid			stored = stored_type(opclass);
	int16		option = 0;

	if (element->opclassopts != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot forecast an index with operator class parameters")));
	if (OidIsValid(stored) && !IsPolymorphicType(stored))
		*type = stored;
	if (!get_opclass_opfamily_and_input_type(opclass, &index->rd_opfamily[i],
											 &index->rd_opcintype[i]))
		elog(ERROR, "cache lookup failed for opclass %u", opclass);
	for (int proc = 1; proc <= nprocs; proc++)
		index->rd_support[i * nprocs + proc - 1] =
			get_opfamily_proc(index->rd_opfamily[i], index->rd_opcintype[i],
							  index->rd_opcintype[i], proc);
	if (element->ordering == SORTBY_DESC)
		option |= INDOPTION_DESC;
	if (element->nulls_ordering == SORTBY_NULLS_FIRST ||
		(element->ordering == SORTBY_DESC &&
		 element->nulls_ordering == SORTBY_NULLS_DEFAULT))
		option |= INDOPTION_NULLS_FIRST;
	index->rd_indoption[i] = option;
}

/* Set column i of the index: a key column, or a column of INCLUDE. */
static void
set_column(Relation index, int i, IndexElem *element, bool is_key)
{
	TupleDesc	desc = RelationGetDescr(index);
	Form_pg_attribute att = TupleDescAttr(desc, i);
	IndexColumn column;
	Oid			type;

	resolve_element(&column, index->rd_index->indrelid, element);
	index->rd_index->indkey.values[i] = column.attnum;
	if (column.expression != NULL)
		index->rd_indexprs = lappend(index->rd_indexprs, column.expression);
	type = column.type;
	if (is_key)
	{
		resolve_collation(&column, element);
		set_opclass(index, i, &column, element, &type);
		index->rd_indcollation[i] = column.collation;
	}
	TupleDescInitEntry(desc, i + 1, element->name ? element->name : "expr",
					   type, column.typmod, 0);
	TupleDescInitEntryCollation(desc, i + 1,
								is_key ? column.collation : InvalidOid);
	if (type == column.type && column.attnum != 0)
	{
		att->attstorage = column.storage;
		att->attcompression = column.compression;
		populate_compact_attribute(desc, i);
	}
}

/* Fill in rd_rel: the parts that make a relation an index of this table. */
static Form_pg_class
describe_class(Relation heap, const char *name, Oid access_method, int natts)
{
	Form_pg_class result = palloc0(sizeof(FormData_pg_class));

	namestrcpy(&result->relname, name);
	result->relnamespace = heap->rd_rel->relnamespace;
	result->relowner = heap->rd_rel->relowner;
	result->relam = access_method;
	result->relpersistence = heap->rd_rel->relpersistence;
	result->relkind = RELKIND_INDEX;
	result->relnatts = natts;
	return result;
}

/* Fill in rd_index: the parts that BuildIndexInfo() and nbtree read. */
static Form_pg_index
describe_index(Relation heap, const IndexStmt *stmt, int natts)
{
	Form_pg_index result = palloc0(offsetof(FormData_pg_index, indkey.values) +
								   natts * sizeof(int16));

	result->indrelid = RelationGetRelid(heap);
	result->indnatts = natts;
	result->indnkeyatts = list_length(stmt->indexParams);
	result->indisunique = stmt->unique;
	result->indnullsnotdistinct = stmt->nulls_not_distinct;
	result->indisprimary = stmt->primary;
	result->indisvalid = result->indisready = result->indislive = true;
	return result;
}

/* Allocate the arrays with an element for each column. */
static void
allocate_columns(Relation index, int natts)
{
	int			nprocs = index->rd_indam->amsupport;

	index->rd_att = CreateTemplateTupleDesc(natts);
	index->rd_opfamily = palloc0(natts * sizeof(Oid));
	index->rd_opcintype = palloc0(natts * sizeof(Oid));
	index->rd_indcollation = palloc0(natts * sizeof(Oid));
	index->rd_indoption = palloc0(natts * sizeof(int16));
	index->rd_support = palloc0(natts * nprocs * sizeof(RegProcedure));
	index->rd_supportinfo = palloc0(natts * nprocs * sizeof(FmgrInfo));
	index->rd_opcoptions = palloc0(natts * sizeof(bytea *));
	index->rd_indexcxt = CurrentMemoryContext;
}

Relation
newindex_describe(Relation heap, IndexStmt *stmt, const char *name)
{
	Relation	index = palloc0(sizeof(RelationData));
	Oid			access_method = BTREE_AM_OID;
	int			nkeys = list_length(stmt->indexParams);
	int			natts = nkeys + list_length(stmt->indexIncludingParams);
	Datum		options;
	ListCell   *lc;
	int			i = 0;

	if (natts > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot use more than %d columns in an index",
						INDEX_MAX_KEYS)));
	if (stmt->accessMethod != NULL && strcmp(stmt->accessMethod, "gist") == 0)
		access_method = GIST_AM_OID;
	index->rd_rel = describe_class(heap, name, access_method, natts);
	index->rd_index = describe_index(heap, stmt, natts);
	index->rd_indam = GetIndexAmRoutineByAmId(access_method, false);
	check_support(index->rd_indam, stmt->accessMethod, stmt);
	options = transformRelOptions((Datum) 0, stmt->options, NULL, NULL, false,
								  false);
	index->rd_options = index_reloptions(index->rd_indam->amoptions, options,
										 true);
	allocate_columns(index, natts);
	foreach(lc, stmt->indexParams)
		set_column(index, i++, lfirst_node(IndexElem, lc), true);
	foreach(lc, stmt->indexIncludingParams)
		set_column(index, i++, lfirst_node(IndexElem, lc), false);
	TupleDescFinalize(index->rd_att);
	if (stmt->whereClause != NULL)
		index->rd_indpred = make_ands_implicit((Expr *) stmt->whereClause);
	return index;
}

/* Fold the constants of expressions, as RelationGetIndexExpressions() does. */
static List *
plan_expressions(List *expressions, const char *where)
{
	List	   *result;

	if (expressions == NIL)
		return NIL;
	result = (List *) eval_const_expressions(NULL, (Node *) expressions);
	if (contain_mutable_functions((Node *) result))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("functions in %s must be marked IMMUTABLE", where)));
	fix_opfuncids((Node *) result);
	return result;
}

void
newindex_plan(Relation index)
{
	index->rd_indexprs = plan_expressions(index->rd_indexprs,
										  "index expression");
	index->rd_indpred = plan_expressions(index->rd_indpred,
										 "index predicate");
}
