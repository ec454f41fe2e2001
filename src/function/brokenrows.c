/*-------------------------------------------------------------------------
 *
 * brokenrows.c
 *	  The SQL functions ptsort_duplicates() and ptsort_wrong_rows(), which find
 *	  rows that break constraints.  They read each table as its owner.
 *
 * ptsort_duplicates(): A broken unique index may have entries with equal keys
 * anywhere.  So the function sorts the rows that the statement's snapshot sees,
 * and returns neighbours whose keys are equal.
 *
 * For a partitioned index, one sort takes the rows of all partitions, because
 * equal keys may be in two partitions.  TIDs in the sort number the blocks of
 * all tables consecutively; SearchedTable has the first number of each table.
 *
 * ptsort_wrong_rows(): If the order of a collation or a function changes, rows
 * of a table may break its constraints, and the server never checks old rows
 * again.  So the function evaluates the constraints for the rows that the
 * snapshot sees, as ExecConstraints(), ExecPartitionCheck() and domain_check()
 * do for new rows.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "check/check.h"
#include "funcapi.h"
#include "sort/tuplesort.h"
#include "team/heapscan.h"
#include "utils/partcache.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
#include "variant/variants.h"

extern PGDLLEXPORT Datum ptsort_duplicates(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum ptsort_wrong_rows(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ptsort_duplicates);
PG_FUNCTION_INFO_V1(ptsort_wrong_rows);

/* SearchedTable: a table or partition whose rows are in the sort. */
typedef struct SearchedTable
{
	Relation	heap;
	BlockNumber first;			/* in the sort: the number of block 0 */
} SearchedTable;

/* Search: the state of the search in the sorted rows. */
typedef struct Search
{
	ReturnSetInfo *result;
	const CheckTarget *target;
	PtSortKey  *key;
	PtSort	   *sort;
	SearchedTable *tables;
	int			ntables;
	BlockNumber end;			/* in the sort: the first number without rows */
	MemoryContext scratch;		/* reset after each row of the result */
	bool		shows_keys;		/* the caller may read the table */
	IndexTuple	last;			/* a copy of the last row's tuple, or NULL */
	bool		in_group;		/* the last row's keys equal those before it */
	int64		groups;			/* with equal keys, so far */
} Search;

/* IndexBuildCallback */
static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *arg)
{
	Search	   *self = arg;
	BlockNumber first = self->tables[self->ntables - 1].first;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	ItemPointerData place;

	if (block >= MaxBlockNumber - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("partitions of table \"%s\" have too many blocks",
						RelationGetRelationName(self->target->heap)),
				 errhint("Look at the index of each partition.")));
	self->end = Max(self->end, first + block + 1);
	ItemPointerSet(&place, first + block, ItemPointerGetOffsetNumber(tid));
	variant_put_index(self->sort, &place, values, isnull, true);
}

static void
put_table(Search *self, Oid index_id)
{
	CheckTarget target;
	HeapScanTarget rows = {.callback = put_row,.state = self};
	Snapshot	snapshot;

	if (!checkone_exists(index_id, checkone_open(index_id, CHECK_USES_TABLE,
												 &target)))
		return;
	if (target.index->rd_rel->relkind == RELKIND_INDEX)
	{
		self->tables[self->ntables].heap =
			table_open(RelationGetRelid(target.heap), AccessShareLock);
		self->tables[self->ntables++].first = self->end;
		rows.index = target.index;
		rows.index_info = pt_build_index_info(target.index);
		rows.index_info->ii_Concurrent = true;	/* use the snapshot */
		snapshot = RegisterSnapshot(GetActiveSnapshot());
		(void) heapscan_build(target.heap, &rows, 1, NULL, 0, snapshot,
							  false);
		UnregisterSnapshot(snapshot);
	}
	checkone_close(&target);
}

static void
sort_rows(Search *self, CheckTarget *target)
{
	PtSortOptions options = {.budget = (int64) maintenance_work_mem * 1024};
	List	   *indexes = find_all_inheritors(RelationGetRelid(target->index),
											  NoLock, NULL);
	ListCell   *cell;

	self->tables = palloc(mul_size(list_length(indexes),
								   sizeof(SearchedTable)));
	self->sort = variant_begin_index(target->heap, target->index, false, false,
									 &options);
	owner_leave(&target->caller);	/* each table has its own owner */
	foreach(cell, indexes)
		put_table(self, lfirst_oid(cell));
	owner_enter(&target->caller, target->heap);
	sort_perform(self->sort);
}

/*
 * Replace the TID of a row in the sort by its TID in its table, and return the
 * table.  The TID in the sort is that of the first version in a HOT chain.
 */
static Relation
find_row(const Search *self, ItemPointer tid)
{
	const SearchedTable *table = &self->tables[self->ntables - 1];
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	while (block < table->first)
		table--;
	ItemPointerSetBlockNumber(tid, block - table->first);
	(void) table_index_fetch_tuple_check(table->heap, tid, GetActiveSnapshot(),
										 NULL);
	return table->heap;
}

static void
put_duplicate(const Search *self, IndexTuple tuple)
{
	MemoryContext old = MemoryContextSwitchTo(self->scratch);
	ItemPointerData tid = tuple->t_tid;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *keys = NULL;

	if (self->shows_keys)
	{
		index_deform_tuple(tuple, RelationGetDescr(self->target->index), values,
						   isnull);
		keys = BuildIndexValueDescription(self->target->index, values, isnull);
	}
	values[0] = ObjectIdGetDatum(RelationGetRelid(find_row(self, &tid)));
	values[1] = PointerGetDatum(&tid);
	values[2] = Int64GetDatum(self->groups);
	values[3] = keys == NULL ? (Datum) 0 : CStringGetTextDatum(keys);
	memset(isnull, false, sizeof(isnull));
	isnull[3] = keys == NULL;
	tuplestore_putvalues(self->result->setResult, self->result->setDesc,
						 values, isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(self->scratch);
}

static bool
equals_last(const Search *self, IndexTuple tuple)
{
	bool		equal_nulls;

	return self->last != NULL &&
		variant_compare_columns(RelationGetDescr(self->target->index),
								self->key->support, self->key->ncolumns,
								self->last, tuple, &equal_nulls) == 0 &&
		(!equal_nulls || self->target->index->rd_index->indnullsnotdistinct);
}

/* Look at the next tuple in the order of the keys. */
static void
next_tuple(Search *self, IndexTuple tuple)
{
	bool		equal = equals_last(self, tuple);

	CHECK_FOR_INTERRUPTS();
	if (equal && !self->in_group)
	{
		self->groups++;
		put_duplicate(self, self->last);
	}
	if (equal)
		put_duplicate(self, tuple);
	self->in_group = equal;
	if (self->last != NULL)
		pfree(self->last);
	self->last = CopyIndexTuple(tuple);
}

static void
find_duplicates(CheckTarget *target, ReturnSetInfo *result)
{
	Oid			table = RelationGetRelid(target->heap);
	Search		self = {
		.result = result,
		.target = target,
		.key = key_index(target->index),
		.scratch = AllocSetContextCreate(CurrentMemoryContext,
										 "ptsort row with equal keys",
										 ALLOCSET_DEFAULT_SIZES),
		.shows_keys =
		pg_class_aclcheck(table, target->caller.user,
						  ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(table, target->caller.user, true) != RLS_ENABLED
	};
	IndexTuple	tuple;

	self.key->failure.full = true;	/* compare text with the provider */
	sort_rows(&self, target);
	while ((tuple = variant_get_index(self.sort, true)) != NULL)
		next_tuple(&self, tuple);
	sort_end(self.sort);
	while (self.ntables > 0)
		table_close(self.tables[--self.ntables].heap, AccessShareLock);
}

Datum
ptsort_duplicates(PG_FUNCTION_ARGS)
{
	Oid			index_id = PG_GETARG_OID(0);
	CheckTarget target;

	InitMaterializedSRF(fcinfo, 0);
	if (!checkone_exists(index_id, checkone_open(index_id, CHECK_USES_TABLE,
												 &target)))
		return (Datum) 0;		/* dropped meanwhile */
	if (!target.index->rd_index->indisunique)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not unique",
						RelationGetRelationName(target.index))));
	find_duplicates(&target, (ReturnSetInfo *) fcinfo->resultinfo);
	checkone_close(&target);
	return (Datum) 0;
}


/*
 * ptsort_wrong_rows()
 */

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

	rule->name = name;
	rule->check = check;
	rule->column = column;
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

typedef struct RowSearch
{
	Oid			table_id;
	ReturnSetInfo *result;
} RowSearch;

/* Add a row to the result; 'tid' is NULL for an error. */
static void
put_wrong_row(const RowSearch *search, ItemPointer tid, const char *constraint)
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
				put_wrong_row(search, &row->tts_tid, rule->name);
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
			put_wrong_row(&search, NULL,
						  psprintf("not checked: %s",
								   slot.report.findings[0].message));
	}
	return (Datum) 0;
}
