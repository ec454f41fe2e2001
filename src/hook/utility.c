/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  The running utility statement, and its options for index builds.
 *
 * The server has no option WITH (parallel_workers = N) for an index.  The
 * ProcessUtility hook removes it from the statement before the server sees it,
 * and keeps it in a StmtContext while the statement runs; it is never stored in
 * the catalogs.  Statements inside that statement (of functions in an index
 * expression, of event triggers) have contexts of their own, which hide the
 * outer request.
 *
 *	CREATE INDEX			The request applies to every index built until the
 *							end of the statement: several on a partitioned
 *							table.
 *	CREATE TABLE			The server builds its constraints by CREATE INDEX
 *							statements, which come through ProcessUtility.
 *	ALTER TABLE				The server builds the indexes of its constraints
 *							without another ProcessUtility call.  Each
 *							constraint's request is kept with the columns that
 *							identify its index.
 *
 * The errors about the option are those of the server for a table's
 * parallel_workers.  For other access methods the option stays in the
 * statement, and the server raises its own error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "btree/btreport.h"
#include "btree/siblings.h"
#include "commands/defrem.h"
#include "hook/utility.h"
#include "miscadmin.h"
#include "query/sortreport.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * The request of a constraint in an ALTER TABLE.  The server builds its index
 * without another ProcessUtility call, maybe for each of many partitions; the
 * index is recognised by its kind and its columns.
 */
typedef struct ConstraintRequest
{
	ConstrType	kind;			/* CONSTR_PRIMARY, _UNIQUE or _EXCLUSION */
	List	   *columns;		/* names; NULL for an expression */
	int			workers;
} ConstraintRequest;

/*
 * A running utility statement.  It lives on the C stack of the ProcessUtility
 * hook, and so survives the commits inside CONCURRENTLY.
 */
typedef struct StmtContext
{
	struct StmtContext *outer;
	int			index_workers;	/* request of CREATE INDEX, or -1 */
	List	   *constraints;	/* ConstraintRequests of ALTER TABLE */
	bool		rewrites;		/* see utility_rewrites */
	bool		reindexes;		/* see utility_reindexes */
} StmtContext;

static StmtContext *current_stmt = NULL;

static ProcessUtility_hook_type prev_ProcessUtility = NULL;

void		(*utility_rewrite_ended) (void) = NULL;


/*
 * Removing WITH (parallel_workers = N) from a statement
 */

/* Returns the option's value; checks and errors are as for the table option. */
static int
parse_workers(DefElem *option)
{
	const char *value = option->arg ? defGetString(option) : "true";
	int			workers;

	if (!parse_int(value, &workers, 0, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for integer option \"%s\": %s",
						option->defname, value)));
	if (workers < 0 || workers > MAX_REQUESTED_WORKERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value %s out of bounds for option \"%s\"",
						value, option->defname),
				 errdetail("Valid values are between \"%d\" and \"%d\".",
						   0, MAX_REQUESTED_WORKERS)));
	return workers;
}

static bool
is_workers_option(DefElem *option)
{
	return option->defnamespace == NULL &&
		strcmp(option->defname, "parallel_workers") == 0;
}

static bool
has_workers_option(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		if (is_workers_option(lfirst_node(DefElem, lc)))
			return true;
	}
	return false;
}

/* Remove the option from the list and return its value, or -1 if absent. */
static int
take_workers_option(List **options)
{
	int			workers = -1;
	ListCell   *lc;

	foreach(lc, *options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (!is_workers_option(option))
			continue;
		if (workers >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameter \"%s\" specified more than once",
							option->defname)));
		workers = parse_workers(option);
		*options = foreach_delete_current(*options, lc);
	}
	return workers;
}

/* True if the constraint builds a btree, the default access method. */
static bool
constraint_builds_btree(Constraint *constraint)
{
	switch (constraint->contype)
	{
		case CONSTR_PRIMARY:
		case CONSTR_UNIQUE:
			return !pt_constraint_without_overlaps(constraint);
		case CONSTR_EXCLUSION:
			return constraint->access_method == NULL ||
				strcmp(constraint->access_method, "btree") == 0;
		default:
			return false;
	}
}

/*
 * Returns the names of the key columns of the constraint's index.  'column' is
 * the column of a column constraint.
 */
static List *
constraint_columns(Constraint *constraint, char *column)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, constraint->keys)
		columns = lappend(columns, strVal(lfirst(lc)));
	foreach(lc, constraint->exclusions)
	{
		List	   *exclusion = lfirst_node(List, lc);

		columns = lappend(columns, linitial_node(IndexElem, exclusion)->name);
	}
	if (columns == NIL)
		columns = list_make1(column);
	return columns;
}

/*
 * Visit a constraint of an ALTER TABLE.  Returns true if it has the option.  If
 * 'stmt' is not NULL, moves the option into it.
 */
static bool
visit_constraint(Constraint *constraint, char *column, StmtContext *stmt)
{
	ConstraintRequest *request;

	if (!constraint_builds_btree(constraint) ||
		!has_workers_option(constraint->options))
		return false;
	if (stmt != NULL)
	{
		request = palloc(sizeof(ConstraintRequest));
		request->kind = constraint->contype;
		request->columns = constraint_columns(constraint, column);
		request->workers = take_workers_option(&constraint->options);
		stmt->constraints = lappend(stmt->constraints, request);
	}
	return true;
}

/* Call visit_constraint for all constraints of an ALTER TABLE. */
static bool
visit_alter_table(AlterTableStmt *alter, StmtContext *stmt)
{
	bool		found = false;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, alter->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->def == NULL)
			continue;
		if (cmd->subtype == AT_AddConstraint && IsA(cmd->def, Constraint))
			found |= visit_constraint((Constraint *) cmd->def, NULL, stmt);
		else if (cmd->subtype == AT_AddColumn && IsA(cmd->def, ColumnDef))
		{
			ColumnDef  *column = (ColumnDef *) cmd->def;

			foreach(lc2, column->constraints)
				found |= visit_constraint(lfirst_node(Constraint, lc2),
										  column->colname, stmt);
		}
	}
	return found;
}

/*
 * Visit CREATE INDEX or ALTER TABLE, with the result of visit_constraint.  (The
 * constraints of CREATE TABLE come back through ProcessUtility, as a CREATE
 * INDEX each.)
 */
static bool
visit_statement(Node *node, StmtContext *stmt)
{
	if (IsA(node, AlterTableStmt))
		return visit_alter_table((AlterTableStmt *) node, stmt);
	if (IsA(node, IndexStmt))
	{
		IndexStmt  *create = (IndexStmt *) node;

		if ((create->accessMethod == NULL ||
			 strcmp(create->accessMethod, "btree") == 0) &&
			has_workers_option(create->options))
		{
			if (stmt != NULL)
				stmt->index_workers = take_workers_option(&create->options);
			return true;
		}
	}
	return false;
}


/*
 * The ProcessUtility hook
 */

/* True if this statement may call relation_copy_for_cluster. */
static bool
may_rewrite(Node *node)
{
	return IsA(node, ClusterStmt) || IsA(node, VacuumStmt);
}

/* True if this statement rebuilds all indexes of a table. */
static bool
rebuilds_all(Node *node)
{
	return IsA(node, ReindexStmt) &&
		((ReindexStmt *) node)->kind != REINDEX_OBJECT_INDEX;
}

/*
 * True if this statement needs a context: if it may contain a request, copy
 * tables or build all indexes of one, or if it runs inside another statement
 * with a context, to hide that one's request.
 */
static bool
needs_context(Node *node)
{
	return current_stmt != NULL || IsA(node, IndexStmt) ||
		IsA(node, AlterTableStmt) || IsA(node, ReindexStmt) ||
		IsA(node, RefreshMatViewStmt) || may_rewrite(node);
}

/* True for DISCARD ALL, which makes a session like a new one. */
static bool
discards_all(Node *node)
{
	return IsA(node, DiscardStmt) &&
		((DiscardStmt *) node)->target == DISCARD_ALL;
}

static void
call_next(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
		  ProcessUtilityContext context, ParamListInfo params,
		  QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	ProcessUtility_hook_type next = prev_ProcessUtility ?
		prev_ProcessUtility : standard_ProcessUtility;

	next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
}

/* call_next with 'stmt' as the innermost context until it returns or fails. */
static void
call_next_within(StmtContext *stmt, PlannedStmt *pstmt,
				 const char *queryString, bool readOnlyTree,
				 ProcessUtilityContext context, ParamListInfo params,
				 QueryEnvironment *queryEnv, DestReceiver *dest,
				 QueryCompletion *qc)
{
	stmt->outer = current_stmt;
	current_stmt = stmt;
	PG_TRY();
	{
		call_next(pstmt, queryString, readOnlyTree, context, params, queryEnv,
				  dest, qc);
	}
	PG_FINALLY();
	{
		current_stmt = stmt->outer;
	}
	PG_END_TRY();
}

static void
ptsort_ProcessUtility(PlannedStmt *pstmt, const char *queryString,
					  bool readOnlyTree, ProcessUtilityContext context,
					  ParamListInfo params, QueryEnvironment *queryEnv,
					  DestReceiver *dest, QueryCompletion *qc)
{
	StmtContext stmt = {.index_workers = -1};

	if (!needs_context(pstmt->utilityStmt))
	{
		call_next(pstmt, queryString, readOnlyTree, context, params, queryEnv,
				  dest, qc);
		if (discards_all(pstmt->utilityStmt))
		{
			btreport_forget();
			sortreport_forget();
		}
		return;
	}

	if (visit_statement(pstmt->utilityStmt, NULL))
	{
		/* a cached plan's tree must keep the option for its next execution */
		if (readOnlyTree)
			pstmt = copyObject(pstmt);
		readOnlyTree = false;
		visit_statement(pstmt->utilityStmt, &stmt);
	}
	stmt.rewrites = may_rewrite(pstmt->utilityStmt);
	stmt.reindexes = rebuilds_all(pstmt->utilityStmt);
	call_next_within(&stmt, pstmt, queryString, readOnlyTree, context, params,
					 queryEnv, dest, qc);
	if (stmt.rewrites)
		utility_rewrite_ended();
	if (stmt.outer == NULL)
		siblings_forget();
}


/*
 * The request of the running statement for an index
 */

static bool
index_has_columns(Relation index, List *columns)
{
	Form_pg_index form = index->rd_index;
	ListCell   *lc;
	int			i = 0;

	if (list_length(columns) != form->indnkeyatts)
		return false;
	foreach(lc, columns)
	{
		char	   *wanted = lfirst(lc);
		AttrNumber	attnum = form->indkey.values[i++];

		if (wanted == NULL || attnum == 0)
		{
			if (wanted != NULL || attnum != 0)
				return false;
		}
		else if (strcmp(get_attname(form->indrelid, attnum, false),
						wanted) != 0)
			return false;
	}
	return true;
}

/*
 * True if the index was created for this constraint.  An index that existed
 * before the transaction was not: the same ALTER TABLE only rebuilds it.
 */
static bool
index_is_of_constraint(Relation index, ConstraintRequest *request)
{
	Form_pg_index form = index->rd_index;
	ConstrType	kind;

	if (index->rd_createSubid == InvalidSubTransactionId)
		return false;
	if (form->indisprimary)
		kind = CONSTR_PRIMARY;
	else if (form->indisexclusion)
		kind = CONSTR_EXCLUSION;
	else
		kind = CONSTR_UNIQUE;
	return kind == request->kind &&
		(form->indisunique || form->indisexclusion) &&
		index_has_columns(index, request->columns);
}

int
utility_workers(Relation index)
{
	ListCell   *lc;

	if (current_stmt == NULL)
		return -1;
	foreach(lc, current_stmt->constraints)
	{
		ConstraintRequest *request = lfirst(lc);

		if (index_is_of_constraint(index, request))
			return request->workers;
	}
	return current_stmt->index_workers;
}

bool
utility_reindexes(void)
{
	return current_stmt != NULL && current_stmt->reindexes;
}

bool
utility_rewrites(void)
{
	return current_stmt != NULL && current_stmt->rewrites;
}


void
utility_init(void)
{
	prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = ptsort_ProcessUtility;
}
