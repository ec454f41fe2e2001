/*-------------------------------------------------------------------------
 *
 * forecaststatement.c
 *	  Finds what a statement would build, without running the statement.
 *
 * A forecast computes expressions with the rights of the table's owner, as a
 * build does.  So for a new index, whose expressions the caller wrote, the
 * caller must own the table, as for CREATE INDEX itself.  For an index that
 * exists, the privilege MAINTAIN (17 and later) suffices.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "function/forecaststatement.h"
#include "hook/hook.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "storage/lmgr.h"

/* Raise the error for a statement without a forecast. */
static void
refuse_statement(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot forecast this statement"),
			 errhint("ptsort_forecast() forecasts one CREATE INDEX, ALTER TABLE ... ADD constraint, REINDEX INDEX, REINDEX TABLE, CLUSTER, REPACK or VACUUM FULL of named tables.")));
}


/*
 * Tables
 */

/* RangeVarGetRelidCallback: *arg is true if the user must own the table. */
static void
check_table(const RangeVar *relation, Oid table, Oid old, void *arg)
{
	bool		must_own = *(bool *) arg;
	char		kind;
	bool		allowed;

	if (!OidIsValid(table))
		return;
	kind = get_rel_relkind(table);
	if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW &&
		kind != RELKIND_PARTITIONED_TABLE && kind != RELKIND_TOASTVALUE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						relation->relname)));
	allowed = must_own ? pt_owns_table(table, GetUserId()) :
		pt_may_maintain(table, GetUserId());
	if (!allowed)
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(kind),
					   relation->relname);
}

/*
 * Check and lock a table and, unless 'only' is true, its partitions.  Returns
 * those that have rows.
 */
static List *
lock_tables(RangeVar *relation, bool must_own, bool only)
{
	Oid			table;
	List	   *result = NIL;
	ListCell   *lc;

	if (relation == NULL)
		refuse_statement();
	table = RangeVarGetRelidExtended(relation, AccessShareLock, 0, check_table,
									 &must_own);
	if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(table);
	if (only)
		return NIL;
	foreach(lc, find_all_inheritors(table, AccessShareLock, NULL))
	{
		Oid			partition = lfirst_oid(lc);
		RangeVar	name = {.relname = get_rel_name(partition)};

		if (get_rel_relkind(partition) != RELKIND_RELATION)
			continue;
		check_table(&name, partition, InvalidOid, &must_own);
		result = lappend_oid(result, partition);
	}
	return result;
}

/*
 * Returns an item for a new index, an index that exists or, if 'index' is NULL,
 * a copy of the table.
 */
static ForecastItem *
make_item(Oid table, const char *index, Oid index_id, Oid tablespace)
{
	ForecastItem *item = palloc0(sizeof(ForecastItem));

	item->heap_id = table;
	item->index_id = index_id;
	item->name = index;
	item->copies = index == NULL;
	item->tablespace = tablespace;
	item->workers = -1;
	return item;
}


/*
 * New indexes
 */

/* Append the columns' names to a name, as the server does. */
static void
append_columns(StringInfo names, List *elements)
{
	ListCell   *lc;

	foreach(lc, elements)
	{
		IndexElem  *element = lfirst_node(IndexElem, lc);

		if (names->len > 0)
			appendStringInfoChar(names, '_');
		appendStringInfoString(names, element->indexcolname ?
							   element->indexcolname : element->name ?
							   element->name : "expr");
	}
}

/* Returns the name that the server would choose for an index. */
static const char *
choose_name(Oid table, const IndexStmt *stmt)
{
	StringInfoData names;
	const char *label = stmt->primary ? "pkey" :
		stmt->excludeOpNames != NIL ? "excl" :
		stmt->isconstraint ? "key" : "idx";

	initStringInfo(&names);
	if (!stmt->primary)
	{
		append_columns(&names, stmt->indexParams);
		append_columns(&names, stmt->indexIncludingParams);
	}
	return ChooseRelationName(get_rel_name(table),
							  stmt->primary ? NULL : names.data, label,
							  get_rel_namespace(table), stmt->isconstraint);
}

/* Returns the tablespace of a new index; InvalidOid: that of the database. */
static Oid
tablespace_of(const IndexStmt *stmt, Oid table)
{
	if (stmt->tableSpace != NULL)
		return get_tablespace_oid(stmt->tableSpace, false);
	return GetDefaultTablespace(get_rel_persistence(table), false);
}

/*
 * Returns the item of a new index that the server's parser transformed.  If it
 * is one of several, of partitions, the server chooses its name.
 */
static ForecastItem *
new_index(Oid table, IndexStmt *stmt, bool is_one)
{
	ForecastItem *item = make_item(table, is_one && stmt->idxname != NULL ?
								   stmt->idxname : choose_name(table, stmt),
								   InvalidOid, tablespace_of(stmt, table));

	if (!utility_is_ours(stmt->accessMethod))
		(void) get_index_am_oid(stmt->accessMethod, false);
	item->stmt = stmt;
	item->concurrent = stmt->concurrent;
	item->workers = utility_take_workers(&stmt->options);
	return item;
}

static List *
create_index(IndexStmt *create, const char *statement)
{
	List	   *tables = lock_tables(create->relation, true,
									 !create->relation->inh);
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		Oid			table = lfirst_oid(lc);
		IndexStmt  *stmt = copyObject(create);

		stmt = transformIndexStmt(table, stmt, statement);
		items = lappend(items, new_index(table, stmt,
										 list_length(tables) == 1));
	}
	return items;
}

/* True if a command adds a constraint with a new index. */
static bool
adds_index(const AlterTableCmd *cmd)
{
	const Constraint *constraint = (Constraint *) cmd->def;

	return cmd->subtype == AT_AddConstraint && IsA(constraint, Constraint) &&
		constraint->indexname == NULL &&
		(constraint->contype == CONSTR_PRIMARY ||
		 constraint->contype == CONSTR_UNIQUE ||
		 constraint->contype == CONSTR_EXCLUSION);
}

/* The server's parser turns each constraint into an index statement. */
static List *
alter_table(AlterTableStmt *alter, const char *statement)
{
	List	   *tables;
	List	   *items = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, alter->cmds)
	{
		if (alter->objtype != OBJECT_TABLE || !adds_index(lfirst(lc)))
			refuse_statement();
	}
	tables = lock_tables(alter->relation, true, !alter->relation->inh);
	foreach(lc, tables)
	{
		Oid			table = lfirst_oid(lc);
		AlterTableStmt *stmt = copyObject(alter);
		List	   *before;
		List	   *after;

		stmt = transformAlterTableStmt(table, stmt, statement, &before, &after);
		foreach(lc2, stmt->cmds)
		{
			AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc2);

			if (cmd->subtype == AT_AddIndex)
				items = lappend(items, new_index(table, (IndexStmt *) cmd->def,
												 list_length(tables) == 1));
		}
	}
	return items;
}


/*
 * Existing indexes
 */

/* Returns an item for an existing index, whose table is locked. */
static ForecastItem *
existing_index(Oid table, Oid index_id, bool concurrent, Oid tablespace)
{
	Relation	index = relation_open(index_id, AccessShareLock);
	char	   *name = pstrdup(RelationGetRelationName(index));
	ForecastItem *item;

	if (!OidIsValid(tablespace))
		tablespace = index->rd_rel->reltablespace;
	relation_close(index, NoLock);
	item = make_item(table, name, index_id, tablespace);
	item->concurrent = concurrent;
	return item;
}

/*
 * True if the server does not rebuild the index with the other indexes of its
 * table, and warns.
 */
static bool
is_skipped(Relation heap, Oid index_id, bool concurrent)
{
	Relation	index = index_open(index_id, AccessShareLock);
	bool		skipped = false;

	if (concurrent && !RelationUsesLocalBuffers(heap))
		skipped = !index->rd_index->indisvalid ||
			index->rd_index->indisexclusion;
	else if (IsToastRelation(heap))
		skipped = !index->rd_index->indisvalid;
	index_close(index, NoLock);
	return skipped;
}

/*
 * Returns the items of all indexes of a table, and of its TOAST table, that the
 * server rebuilds with the table.
 */
static List *
indexes_of(Oid table, bool concurrent, Oid tablespace)
{
	Relation	heap = table_open(table, AccessShareLock);
	Oid			toast = heap->rd_rel->reltoastrelid;
	List	   *indexes = RelationGetIndexList(heap);
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		if (!is_skipped(heap, lfirst_oid(lc), concurrent))
			items = lappend(items, existing_index(table, lfirst_oid(lc),
												  concurrent, tablespace));
	}
	table_close(heap, NoLock);
	if (OidIsValid(toast))
		items = list_concat(items, indexes_of(toast, concurrent, tablespace));
	return items;
}

/* RangeVarGetRelidCallback: check and lock the table before the index. */
static void
check_index(const RangeVar *relation, Oid index, Oid old, void *arg)
{
	Oid			table = IndexGetRelation(index, true);
	RangeVar	name = {.relname = get_rel_name(table)};
	bool		must_own = false;

	if (!OidIsValid(index))
		return;
	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index", relation->relname)));
	check_table(&name, table, InvalidOid, &must_own);
	LockRelationOid(table, AccessShareLock);
}

/* Returns the items of an index, or of a partitioned index's leaves. */
static List *
reindex_one(RangeVar *relation, bool concurrent, Oid tablespace)
{
	Oid			index = RangeVarGetRelidExtended(relation, AccessShareLock, 0,
												 check_index, NULL);
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, find_all_inheritors(index, AccessShareLock, NULL))
	{
		Oid			leaf = lfirst_oid(lc);

		if (get_rel_relkind(leaf) != RELKIND_INDEX)
			continue;
		check_index(relation, leaf, InvalidOid, NULL);
		items = lappend(items, existing_index(IndexGetRelation(leaf, false),
											  leaf, concurrent, tablespace));
	}
	return items;
}

static List *
reindex(ReindexStmt *stmt)
{
	bool		concurrent = false;
	Oid			tablespace = InvalidOid;
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, stmt->params)
	{
		DefElem    *param = lfirst_node(DefElem, lc);

		if (strcmp(param->defname, "concurrently") == 0)
			concurrent = defGetBoolean(param);
		else if (strcmp(param->defname, "tablespace") == 0)
			tablespace = get_tablespace_oid(defGetString(param), false);
	}
	if (stmt->kind == REINDEX_OBJECT_INDEX)
		return reindex_one(stmt->relation, concurrent, tablespace);
	if (stmt->kind != REINDEX_OBJECT_TABLE)
		refuse_statement();
	foreach(lc, lock_tables(stmt->relation, false, false))
		items = list_concat(items, indexes_of(lfirst_oid(lc), concurrent,
											  tablespace));
	return items;
}


/*
 * Copies of tables
 */

/* Returns the index that orders a copy of the named table, or a partition. */
static Oid
order_index(Oid named, Oid table, const char *name)
{
	Relation	heap = table_open(table, AccessShareLock);
	Oid			result = InvalidOid;
	ListCell   *lc;

	if (name != NULL)
		result = get_relname_relid(name, get_rel_namespace(named));
	foreach(lc, RelationGetIndexList(heap))
	{
		Oid			index = lfirst_oid(lc);

		if (name == NULL ? get_index_isclustered(index) :
			list_member_oid(get_partition_ancestors(index), result))
			result = index;
	}
	if (OidIsValid(result))
		check_index_is_clusterable(heap, result, AccessShareLock);
	table_close(heap, NoLock);
	if (!OidIsValid(result))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 name != NULL ?
				 errmsg("index \"%s\" for table \"%s\" does not exist", name,
						get_rel_name(table)) :
				 errmsg("there is no previously clustered index for table \"%s\"",
						get_rel_name(table))));
	return result;
}

/* Returns the items of a copy: the table, then its indexes. */
static List *
copy_table(RangeVar *relation, bool ordered, const char *index_name)
{
	List	   *items = NIL;
	List	   *tables = lock_tables(relation, false, false);
	Oid			named = RangeVarGetRelid(relation, NoLock, false);
	ListCell   *lc;

	foreach(lc, tables)
	{
		Oid			table = lfirst_oid(lc);
		Oid			index = ordered ? order_index(named, table, index_name) :
			InvalidOid;

		items = lappend(items, make_item(table, NULL, index,
										 get_rel_tablespace(table)));
		items = list_concat(items, indexes_of(table, false, InvalidOid));
	}
	return items;
}

static List *
vacuum(VacuumStmt *stmt)
{
	bool		full = false;
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "full") == 0)
			full = defGetBoolean(option);
	}
	if (!stmt->is_vacuumcmd || !full || stmt->rels == NIL)
		refuse_statement();
	foreach(lc, stmt->rels)
	{
		RangeVar   *relation = lfirst_node(VacuumRelation, lc)->relation;

		items = list_concat(items, copy_table(relation, false, NULL));
	}
	return items;
}

static List *
repack(Node *stmt)
{
	const char *name;
	bool		ordered = pt_repack_order(stmt, &name);

	return copy_table(pt_repack_table(stmt), ordered, name);
}


/* error_context_stack: the position of an error is in the argument's text. */
static void
point_into_statement(void *statement)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(statement);
	}
}

/* Returns the items of a parsed statement. */
static List *
items_of(Node *node, const char *statement)
{
	switch (nodeTag(node))
	{
		case T_IndexStmt:
			return create_index((IndexStmt *) node, statement);
		case T_AlterTableStmt:
			return alter_table((AlterTableStmt *) node, statement);
		case T_ReindexStmt:
			return reindex((ReindexStmt *) node);
		case T_VacuumStmt:
			return vacuum((VacuumStmt *) node);
		case T_RepackStmt:
			return repack(node);
		default:
			refuse_statement();
			return NIL;
	}
}

List *
forecast_items(const char *statement)
{
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = point_into_statement,
		.arg = (void *) statement
	};
	List	   *statements;
	List	   *items;

	error_context_stack = &context;
	statements = raw_parser(statement, RAW_PARSE_DEFAULT);
	if (list_length(statements) != 1)
		refuse_statement();
	items = items_of(linitial_node(RawStmt, statements)->stmt, statement);
	error_context_stack = context.previous;
	return items;
}
