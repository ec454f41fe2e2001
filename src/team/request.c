/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Checks of what a caller requests: numbers, callbacks, parallel work.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "team/request.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Maximum size of the argument, which is copied for the workers */
#define MAX_ARG_SIZE		((Size) MaxAllocSize)

/*
 * Maximum size of the callbacks' shared memory: more than any machine has, and
 * small enough that rounding and sums do not overflow.
 */
#define MAX_SHARED_SIZE		((Size) 1 << 46)

void
request_check(const char *what, int workers, int64 budget, Size arg_size)
{
	if (workers < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot have %d workers", what, workers),
				 errhint("Ask for 0 workers if this process is to work alone.")));
	if (budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget of %s must not be negative", what),
				 errdetail("It is " INT64_FORMAT ".", budget)));
	if (arg_size > MAX_ARG_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument of %s cannot have %zu bytes", what, arg_size),
				 errdetail("It has at most %zu.", MAX_ARG_SIZE)));
}

Size
request_shared_size(Size size)
{
	if (size > MAX_SHARED_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("callback shared_size asks for %zu bytes", size),
				 errdetail("It can ask for at most %zu.", MAX_SHARED_SIZE)));
	return size;
}

const void *
request_callbacks(const char *what, const char *library, const char *function)
{
	const void *(*get_ops) (void);
	const void *ops;

	if (library == NULL || function == NULL)
		elog(ERROR, "request for a %s does not say where its callbacks are",
			 what);
	get_ops = (const void *(*) (void))
		load_external_function(library, function, true, NULL);
	ops = get_ops();
	if (ops == NULL)
		elog(ERROR, "function \"%s\" in \"%s\" returned no callbacks",
			 function, library);
	return ops;
}

void
request_check_callbacks(const char *library, const char *function,
						const CallbackRule *rules, int n)
{
	StringInfoData missing;
	StringInfoData excess;

	initStringInfo(&missing);
	initStringInfo(&excess);
	for (int i = 0; i < n; i++)
	{
		const CallbackRule *rule = &rules[i];
		StringInfo	names = rule->given ? &excess : &missing;

		if (rule->given ? rule->forbidden : rule->required)
			appendStringInfo(names, names->len > 0 ? ", %s" : "%s", rule->name);
	}
	if (missing.len > 0)
		ereport(ERROR,
				(errmsg_internal("callbacks of \"%s\" in \"%s\" are incomplete",
								 function, library),
				 errdetail_internal("Missing: %s.", missing.data)));
	if (excess.len > 0)
		ereport(ERROR,
				(errmsg_internal("callbacks of \"%s\" in \"%s\" are superfluous",
								 function, library),
				 errdetail_internal("Not allowed: %s.", excess.data)));
	pfree(missing.data);
	pfree(excess.data);
}

/*
 * To forbid parallel work, a hook sets rel_parallel_workers to 0, as Citus does
 * for its columnar tables, whose access method cannot scan in parallel.  For
 * the server this overrides the table's own option, so the option is not passed
 * to the hook here.  The planner's data structures are those that
 * plan_create_index_workers() makes.
 */
bool
request_parallel_forbidden(Relation table)
{
	PlannerInfo *root;
	RangeTblEntry *rte;
	RelOptInfo *rel;

	if (get_relation_info_hook == NULL)
		return false;

	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(table);
	rte->relkind = RELKIND_RELATION;
	rte->rellockmode = AccessShareLock;
	rte->inh = true;			/* do not look at the indexes */

	root = makeNode(PlannerInfo);
	root->parse = makeNode(Query);
	root->parse->commandType = CMD_SELECT;
	root->parse->rtable = list_make1(rte);
	pt_add_permission_info(root->parse, rte);
	root->glob = makeNode(PlannerGlobal);
	root->query_level = 1;
	root->planner_cxt = CurrentMemoryContext;
	root->wt_param_id = -1;
	setup_simple_rel_arrays(root);

	rel = build_simple_rel(root, 1, NULL);
	rel->rel_parallel_workers = -1;
	get_relation_info_hook(root, rte->relid, rte->inh, rel);
	return rel->rel_parallel_workers == 0;
}
