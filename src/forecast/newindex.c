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
#include "utils/syscache.h"

/* IndexColumn: what an index element of the statement resolves to. */
typedef struct IndexColumn
{
	Form_pg_attribute att;		/* column of the table; NULL: an expression */
	Node	   *expression;
	Oid			type;
	int32		typmod;
	Oid			collation;
} IndexColumn;

/* Set a column to one of the table. */
static void
resolve_attribute(IndexColumn *column, Relation heap, AttrNumber attnum)
{
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index creation on system columns is not supported")));
	column->att = TupleDescAttr(RelationGetDescr(heap), attnum - 1);
	column->type = column->att->atttypid;
	column->typmod = column->att->atttypmod;
	column->collation = column->att->attcollation;
}

/* Resolve a name or an expression.  An expression may be just a column. */
static void
resolve_element(IndexColumn *column, Relation heap, IndexElem *element)
{
	Node	   *expression = element->expr;
	Oid			collation = exprCollation(expression);
	AttrNumber	attnum;

	memset(column, 0, sizeof(IndexColumn));
	if (element->name != NULL)
	{
		attnum = get_attnum(RelationGetRelid(heap), element->name);
		if (attnum == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" does not exist", element->name)));
		resolve_attribute(column, heap, attnum);
		return;
	}
	while (IsA(expression, CollateExpr))
		expression = (Node *) ((CollateExpr *) expression)->arg;
	if (IsA(expression, Var) && ((Var *) expression)->varattno != 0)
		resolve_attribute(column, heap, ((Var *) expression)->varattno);
	else
	{
		column->expression = expression;
		column->type = exprType(expression);
		column->typmod = exprTypmod(expression);
	}
	column->collation = collation;
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
check_support(const IndexAmRoutine *routine, const IndexStmt *stmt)
{
	const char *missing = NULL;
	ListCell   *lc;

	/* a unique constraint of GiST has periods */
	if (stmt->unique && !stmt->isconstraint && !routine->amcanunique)
		missing = "unique indexes";
	else if (stmt->indexIncludingParams != NIL && !routine->amcaninclude)
		missing = "included columns";
	foreach(lc, stmt->indexParams)
	{
		IndexElem  *element = lfirst_node(IndexElem, lc);

		if (element->ordering != SORTBY_DEFAULT && !routine->amcanorder)
			missing = "ASC/DESC options";
		else if (element->nulls_ordering != SORTBY_NULLS_DEFAULT &&
				 !routine->amcanorder)
			missing = "NULLS FIRST/LAST options";
	}
	if (missing != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"%s\" does not support %s",
						stmt->accessMethod, missing)));
}

/* Set the operator class of key column i. */
static void
set_opclass(Relation index, int i, const IndexColumn *column,
			const IndexElem *element, Oid *type)
{
	Oid			opclass = ResolveOpClass(element->opclass, column->type,
										 get_am_name(index->rd_rel->relam),
										 index->rd_rel->relam);
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	int			nprocs = index->rd_indam->amsupport;
	int16		option = 0;
	Form_pg_opclass form;

	if (element->opclassopts != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot forecast an index with operator class parameters")));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	index->rd_opfamily[i] = form->opcfamily;
	index->rd_opcintype[i] = form->opcintype;
	if (form->opckeytype == ANYELEMENTOID && form->opcintype == ANYARRAYOID)
		*type = get_base_element_type(*type);
	else if (OidIsValid(form->opckeytype) &&
			 !IsPolymorphicType(form->opckeytype))
		*type = form->opckeytype;
	ReleaseSysCache(tuple);
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
set_column(Relation index, Relation heap, int i, IndexElem *element,
		   bool is_key)
{
	TupleDesc	desc = RelationGetDescr(index);
	Form_pg_attribute att = TupleDescAttr(desc, i);
	IndexColumn column;
	Oid			type;

	resolve_element(&column, heap, element);
	if (column.att != NULL)
		index->rd_index->indkey.values[i] = column.att->attnum;
	else
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
	TupleDescInitEntryCollation(desc, i + 1, index->rd_indcollation[i]);
	if (type == column.type && column.att != NULL)
	{
		att->attstorage = column.att->attstorage;
		att->attcompression = column.att->attcompression;
		populate_compact_attribute(desc, i);
	}
}

/*
 * Fill in rd_rel and rd_index: the parts that make a relation an index of this
 * table, and those that BuildIndexInfo() and nbtree read.
 */
static void
describe_index(Relation index, Relation heap, const IndexStmt *stmt,
			   const char *name, int natts)
{
	Form_pg_class class = palloc0(sizeof(FormData_pg_class));
	Form_pg_index form = palloc0(offsetof(FormData_pg_index, indkey.values) +
								 natts * sizeof(int16));

	namestrcpy(&class->relname, name);
	class->relnamespace = heap->rd_rel->relnamespace;
	class->relowner = heap->rd_rel->relowner;
	class->relam = stmt->accessMethod == NULL ? BTREE_AM_OID :
		get_index_am_oid(stmt->accessMethod, false);
	class->relpersistence = heap->rd_rel->relpersistence;
	class->relkind = RELKIND_INDEX;
	class->relnatts = natts;
	index->rd_rel = class;

	form->indrelid = RelationGetRelid(heap);
	form->indnatts = natts;
	form->indnkeyatts = list_length(stmt->indexParams);
	form->indisunique = stmt->unique;
	form->indnullsnotdistinct = stmt->nulls_not_distinct;
	form->indisprimary = stmt->primary;
	form->indisvalid = form->indisready = form->indislive = true;
	index->rd_index = form;
	index->rd_indam = GetIndexAmRoutineByAmId(class->relam, false);
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
	int			natts = list_length(stmt->indexParams) +
		list_length(stmt->indexIncludingParams);
	Datum		options;
	ListCell   *lc;
	int			i = 0;

	if (natts > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot use more than %d columns in an index",
						INDEX_MAX_KEYS)));
	describe_index(index, heap, stmt, name, natts);
	check_support(index->rd_indam, stmt);
	options = transformRelOptions((Datum) 0, stmt->options, NULL, NULL, false,
								  false);
	index->rd_options = index_reloptions(index->rd_indam->amoptions, options,
										 true);
	allocate_columns(index, natts);
	foreach(lc, stmt->indexParams)
		set_column(index, heap, i++, lfirst_node(IndexElem, lc), true);
	foreach(lc, stmt->indexIncludingParams)
		set_column(index, heap, i++, lfirst_node(IndexElem, lc), false);
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
