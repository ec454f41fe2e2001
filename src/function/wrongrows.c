/*-------------------------------------------------------------------------
 *
 * wrongrows.c
 *	  The SQL function ptsort_wrong_rows().
 *
 * If the order of a collation or a function changes, rows of a table may break
 * its constraints, and the server never checks old rows again.  So the
 * function evaluates the constraints for the rows that the snapshot sees, as
 * ExecConstraints(), ExecPartitionCheck() and domain_check() do for new rows.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "check/check.h"
#include "funcapi.h"
#include "utils/partcache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

extern PGDLLEXPORT Datum ptsort_wrong_rows(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_wrong_rows);

/* RowRule: a constraint. */
typedef struct RowRule
{
	char	   *name;			/* for the result */
	ExprState  *check;
	AttrNumber	column;			/* of a domain, or 0 */
} RowRule;

static List *
add_rule(List *rules, char *name, ExprState *check, AttrNumber column)
{
	RowRule    *rule = palloc(sizeof(RowRule));

	*rule = (RowRule)
	{
		name, check, column
	};
	return lappend(rules, rule);
}

/* Add the CHECK constraints of a column's domain and of its base types. */
static List *
add_domain(List *rules, Form_pg_attribute column)
{
	DomainConstraintRef *domain = palloc(sizeof(DomainConstraintRef));
	ListCell   *cell;

	InitDomainConstraintRef(column->atttypid, domain, CurrentMemoryContext,
							true);
	foreach(cell, domain->constraints)
	{
		const DomainConstraintState *check = lfirst(cell);
		char	   *name = psprintf("%s of domain %s of column %s",
									quote_identifier(check->name),
									format_type_be(column->atttypid),
									quote_identifier(NameStr(column->attname)));

		if (check->constrainttype == DOM_CONSTRAINT_CHECK)
			rules = add_rule(rules, name, check->check_exprstate,
							 column->attnum);
	}
	return rules;
}

/* Returns the rules of a table, in the current memory context. */
static List *
find_rules(Relation table, EState *estate)
{
	TupleDesc	desc = RelationGetDescr(table);
	List	   *rules = NIL;

	if (table->rd_rel->relispartition)
	{
		Expr	   *bounds =
			make_ands_explicit(RelationGetPartitionQual(table));
		const char *parent =
			get_rel_name(get_partition_parent(RelationGetRelid(table), true));

		rules = add_rule(rules, psprintf("partition of %s",
										 quote_identifier(parent)),
						 ExecPrepareExpr(bounds, estate), 0);
	}
	for (int i = 0; desc->constr != NULL && i < desc->constr->num_check; i++)
	{
		const ConstrCheck *check = &desc->constr->check[i];
		Node	   *expr = stringToNode(check->ccbin);

		expr = pt_expand_generated(expr, table);
		if (check->ccvalid)
			rules = add_rule(rules, pstrdup(quote_identifier(check->ccname)),
							 ExecPrepareExpr((Expr *) expr, estate), 0);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		/* a virtual column ('v', since 18) has no values in the table */
		if (!column->attisdropped && column->attgenerated != 'v' &&
			get_typtype(column->atttypid) == TYPTYPE_DOMAIN)
			rules = add_domain(rules, column);
	}
	return rules;
}

/* RowSearch: argument of check_table. */
typedef struct RowSearch
{
	Oid			table_id;
	ReturnSetInfo *result;
} RowSearch;

/* Add a row to the result; 'tid' is NULL for an error. */
static void
put_row(const RowSearch *search, ItemPointer tid, const char *constraint)
{
	Datum		values[] = {
		ObjectIdGetDatum(search->table_id),
		PointerGetDatum(tid),
		CStringGetTextDatum(constraint)
	};
	bool		isnull[] = {false, tid == NULL, false};

	tuplestore_putvalues(search->result->setResult, search->result->setDesc,
						 values, isnull);
}

/* Look at all rows of a table, as its owner. */
static void
check_rows(const RowSearch *search, Relation table)
{
	EState	   *estate = CreateExecutorState();
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	ExprContext *context = GetPerTupleExprContext(estate);
	TupleTableSlot *row = table_slot_create(table, NULL);
	List	   *rules = find_rules(table, estate);
	TableScanDesc scan = table_beginscan_strat(table, GetActiveSnapshot(), 0,
											   NULL, true, true);
	ListCell   *cell;

	context->ecxt_scantuple = row;
	while (rules != NIL &&
		   table_scan_getnextslot(scan, ForwardScanDirection, row))
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		foreach(cell, rules)
		{
			const RowRule *rule = lfirst(cell);

			if (rule->column > 0)
				context->domainValue_datum =
					slot_getattr(row, rule->column,
								 &context->domainValue_isNull);
			if (!ExecCheck(rule->check, context))
				put_row(search, &row->tts_tid, rule->name);
		}
		MemoryContextSwitchTo(estate->es_query_cxt);
		ResetExprContext(context);
	}
	MemoryContextSwitchTo(old);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(row);
	FreeExecutorState(estate);
}

/* CheckManyStep: look at a table, unless it does not exist any more. */
static void
check_table(void *arg)
{
	const RowSearch *search = arg;
	Relation	table = try_table_open(search->table_id, AccessShareLock);
	OwnerSwitch caller;

	if (table == NULL)
		return;
	owner_enter(&caller, table);
	check_rows(search, table);
	owner_leave(&caller);
	table_close(table, NoLock);
}

/* An error of one table does not end the search in others. */
Datum
ptsort_wrong_rows(PG_FUNCTION_ARGS)
{
	Oid			table_id = PG_GETARG_OID(0);
	char		kind = get_rel_relkind(table_id);
	ListCell   *cell;

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE &&
		kind != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(table_id))));
	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, kind == RELKIND_PARTITIONED_TABLE ?
			find_all_inheritors(table_id, NoLock, NULL) :
			list_make1_oid(table_id))
	{
		Oid			leaf = lfirst_oid(cell);
		RowSearch	search = {leaf, (ReturnSetInfo *) fcinfo->resultinfo};
		CheckSlot	slot;

		if (get_rel_relkind(leaf) != RELKIND_RELATION)
			continue;
		if (!pt_may_maintain(leaf, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE,
						   get_rel_name(leaf));
		checkmany_slot(&slot, leaf);
		if (!checkmany_guard(check_table, &search, &slot))
			put_row(&search, NULL, psprintf("not checked: %s",
											slot.report.findings[0].message));
	}
	return (Datum) 0;
}
