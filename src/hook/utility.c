/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  The running utility statement, and its options for index builds.
 *
 * The server has no option WITH (parallel_workers = N) for an index.  So the
 * ProcessUtility hook removes the option from the statement, and keeps the
 * option's N, the request, in a StmtContext while the statement runs.  Nested
 * statements (of functions in an index expression, of event triggers) have
 * contexts that hide the outer statement's request.
 *
 *	CREATE INDEX			The request applies to every index that the
 *							statement builds: several on a partitioned table.
 *	CREATE TABLE			The server passes a CREATE INDEX statement to
 *							ProcessUtility for each constraint's index.
 *	ALTER TABLE				The server builds the indexes of the constraints
 *							without another ProcessUtility call.  The context
 *							has each constraint's request with the columns
 *							that identify the constraint's index.
 *
 * For access methods that ptsort does not build, the hook leaves the option in
 * the statement, and the server raises its own error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "commands/defrem.h"
#include "hook/hook.h"
#include "postmaster/bgworker_internals.h"
#include "query/sortnode.h"
#include "tcop/utility.h"
#include "write/buildreport.h"

typedef struct ConstraintRequest
{
	ConstrType	kind;			/* CONSTR_PRIMARY, _UNIQUE or _EXCLUSION */
	List	   *columns;		/* column names; NULL for an expression */
	int			workers;
} ConstraintRequest;

/*
 * StmtContext: a running utility statement.  It lives on the C stack of the
 * hook, so it survives the commits inside a CONCURRENTLY statement.
 */
typedef struct StmtContext
{
	struct StmtContext *outer;
	int			index_workers;	/* request of CREATE INDEX, or -1 */
	List	   *constraints;	/* ConstraintRequests of ALTER TABLE */
	UtilityKind kind;
} StmtContext;

static StmtContext *current_stmt = NULL;

static ProcessUtility_hook_type next_ProcessUtility;

/* Returns the option's value.  Raises the same errors as the table option. */
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
	if (workers < 0 || workers > MAX_PARALLEL_WORKER_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value %s out of bounds for option \"%s\"",
						value, option->defname),
				 errdetail("Valid values are between \"%d\" and \"%d\".",
						   0, MAX_PARALLEL_WORKER_LIMIT)));
	return workers;
}

int
utility_take_workers(List **options)
{
	int			workers = -1;
	ListCell   *lc;

	foreach(lc, *options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (option->defnamespace != NULL ||
			strcmp(option->defname, "parallel_workers") != 0)
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

bool
utility_is_ours(const char *access_method)
{
	return access_method == NULL || strcmp(access_method, "btree") == 0 ||
		strcmp(access_method, "gist") == 0 ||
		strcmp(access_method, "gin") == 0;
}

/* True if ptsort builds the constraint's index: btree or, for periods, GiST. */
static bool
constraint_is_ours(Constraint *constraint)
{
	return constraint->contype == CONSTR_PRIMARY ||
		constraint->contype == CONSTR_UNIQUE ||
		(constraint->contype == CONSTR_EXCLUSION &&
		 utility_is_ours(constraint->access_method));
}

/*
 * Returns the names of the key columns of the constraint's index.  For a column
 * constraint, 'column' is the name of its column.
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

static void
visit_constraint(Constraint *constraint, char *column, StmtContext *stmt)
{
	int			workers = -1;

	if (constraint_is_ours(constraint))
		workers = utility_take_workers(&constraint->options);
	if (workers >= 0)
	{
		ConstraintRequest *request = palloc(sizeof(ConstraintRequest));

		request->kind = constraint->contype;
		request->columns = constraint_columns(constraint, column);
		request->workers = workers;
		stmt->constraints = lappend(stmt->constraints, request);
	}
}

static void
visit_alter_table(AlterTableStmt *alter, StmtContext *stmt)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, alter->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->def == NULL)
			continue;
		if (cmd->subtype == AT_AddConstraint && IsA(cmd->def, Constraint))
			visit_constraint((Constraint *) cmd->def, NULL, stmt);
		else if (cmd->subtype == AT_AddColumn && IsA(cmd->def, ColumnDef))
		{
			ColumnDef  *column = (ColumnDef *) cmd->def;

			foreach(lc2, column->constraints)
				visit_constraint(lfirst_node(Constraint, lc2),
								 column->colname, stmt);
		}
	}
}

/*
 * Move a statement's options into its context.  Returns false if the statement
 * needs no context.  A nested one always does, to hide the outer request.
 */
static bool
init_context(Node *node, StmtContext *stmt)
{
	IndexStmt  *create;

	switch (nodeTag(node))
	{
		case T_IndexStmt:
			create = (IndexStmt *) node;
			if (utility_is_ours(create->accessMethod))
				stmt->index_workers = utility_take_workers(&create->options);
			return true;
		case T_AlterTableStmt:
			visit_alter_table((AlterTableStmt *) node, stmt);
			return true;
		case T_ReindexStmt:
			if (((ReindexStmt *) node)->kind != REINDEX_OBJECT_INDEX)
				stmt->kind = UTILITY_REINDEXES;
			return true;
		case T_RepackStmt:
		case T_VacuumStmt:
			stmt->kind = UTILITY_REWRITES;
			return true;
		case T_RefreshMatViewStmt:
			return true;
		default:
			return stmt->outer != NULL;
	}
}

static void
forget_reports(Node *node)
{
	if (IsA(node, DiscardStmt) &&
		((DiscardStmt *) node)->target == DISCARD_ALL)
	{
		buildreport_forget();
		sortreport_forget();
	}
}

static void
ptsort_ProcessUtility(PlannedStmt *pstmt, const char *queryString,
					  bool readOnlyTree, ProcessUtilityContext context,
					  ParamListInfo params, QueryEnvironment *queryEnv,
					  DestReceiver *dest, QueryCompletion *qc)
{
	StmtContext stmt = {
		.outer = current_stmt,
		.index_workers = -1,
		.kind = UTILITY_BUILDS
	};

	/* the next execution of a cached plan needs the options in the tree */
	PlannedStmt *const ours = readOnlyTree &&
		(IsA(pstmt->utilityStmt, IndexStmt) ||
		 IsA(pstmt->utilityStmt, AlterTableStmt)) ? copyObject(pstmt) : pstmt;

	if (!init_context(ours->utilityStmt, &stmt))
	{
		next_ProcessUtility(pstmt, queryString, readOnlyTree, context, params,
							queryEnv, dest, qc);
		forget_reports(pstmt->utilityStmt);
		return;
	}
	current_stmt = &stmt;
	PG_TRY();
	{
		next_ProcessUtility(ours, queryString, readOnlyTree && ours == pstmt,
							context, params, queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		current_stmt = stmt.outer;
		if (stmt.outer == NULL)
			redirect_forget();
	}
	PG_END_TRY();
	if (stmt.outer == NULL)
		siblings_forget();
}

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
		const char *wanted = lfirst(lc);
		AttrNumber	attnum = form->indkey.values[i++];

		if ((wanted == NULL) != (attnum == 0) ||
			(wanted != NULL &&
			 strcmp(get_attname(form->indrelid, attnum, false), wanted) != 0))
			return false;
	}
	return true;
}

/*
 * True if the server created the index for this constraint.  False if the index
 * existed before the transaction: the ALTER TABLE only rebuilds it.
 */
static bool
index_is_of_constraint(Relation index, ConstraintRequest *request)
{
	Form_pg_index form = index->rd_index;
	ConstrType	kind = form->indisprimary ? CONSTR_PRIMARY :
		form->indisexclusion ? CONSTR_EXCLUSION : CONSTR_UNIQUE;

	return index->rd_createSubid != InvalidSubTransactionId &&
		kind == request->kind &&
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

UtilityKind
utility_kind(void)
{
	return current_stmt == NULL ? UTILITY_NONE : current_stmt->kind;
}

void
utility_init(void)
{
	next_ProcessUtility = ProcessUtility_hook ?
		ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = ptsort_ProcessUtility;
}
