/*-------------------------------------------------------------------------
 *
 * checkindex.c
 *	  Checks a btree index with a team of processes: ptsort_check().
 *
 * See check.h for what a check relies on.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "check/check.h"
#include "sort/tuplesort.h"
#include "utils/memutils.h"
#include "variant/variants.h"

typedef struct CheckPart
{
	CheckReport report;
	CheckSuspects suspects;
} CheckPart;

/* CheckShared: what the participants share; the tree does not change. */
typedef struct CheckShared
{
	CheckTree	tree;
	pg_atomic_uint32 next;		/* first block that no participant took */
	CheckPart	parts[FLEXIBLE_ARRAY_MEMBER];	/* by participant */
} CheckShared;

typedef struct CheckInfo
{
	Oid			heap_id;
	Oid			index_id;
	CheckRequest request;
} CheckInfo;

typedef struct Checker
{
	Team		team;			/* must be first */
	CheckInfo	info;
	CheckIndex	index;
} Checker;

extern PGDLLEXPORT void ptsort_check_worker_main(dsm_segment *segment,
												 shm_toc *toc);

void
check_found(CheckIndex *self, CheckKind kind, BlockNumber block,
			OffsetNumber offset, const char *format,...)
{
	CheckFinding *finding = &self->report->findings[kind];
	va_list		args;

	if (finding->count++ > 0)
		return;
	finding->block = block;
	finding->offset = offset;
	va_start(args, format);
	vsnprintf(finding->message, sizeof(finding->message), format, args);
	va_end(args);
}

/*
 * True if comparing a column's values calls only functions of the server's own.
 * Arrays of the server's own types do; ranges and records may have any types.
 */
static bool
has_own_functions(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	if (type == ANYARRAYOID)
	{
		type = get_element_type(TupleDescAttr(RelationGetDescr(index),
											  column)->atttypid);
		if (!OidIsValid(type) || type >= FirstNormalObjectId ||
			get_typtype(type) != TYPTYPE_BASE)
			return false;
	}
	return index_getprocid(index, column + 1, BTORDER_PROC) <
		FirstNormalObjectId && type != RECORDOID && !IsPolymorphicType(type);
}

/* The server's own functions leave nothing behind when they raise an error. */
static bool
is_trusted(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (!has_own_functions(index, i))
			return false;
	return true;
}

static CheckColumn *
describe_columns(TupleDesc desc)
{
	CheckColumn *columns = palloc(mul_size(desc->natts, sizeof(CheckColumn)));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		columns[i].length = att->attlen;
		columns[i].byval = att->attbyval;
		columns[i].alignment = (uint8) att_align_nominal(1, att->attalign);
	}
	return columns;
}

/*
 * Prepare this process's check of an open index, and point it to its part of
 * the shared memory.  The leader calls this function before the launch, again
 * if no worker starts, because the shared memory is then another, and again in
 * its phase of filling.
 */
static void
begin_check(Checker *self)
{
	CheckIndex *check = &self->index;
	CheckShared *shared = self->team.shared;
	Relation	index = check->index;

	check->tree = &shared->tree;
	check->report = &shared->parts[self->team.participant].report;
	check->suspects = &shared->parts[self->team.participant].suspects;
	if (check->here != NULL)
		return;					/* the rest does not change */
	check->key = key_index(index);
	check->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	check->ncolumns = IndexRelationGetNumberOfAttributes(index);
	check->columns = describe_columns(RelationGetDescr(index));
	check->full = self->info.request.full;
	check->trusted = is_trusted(index);
	if (self->info.request.with_rows)
	{
		check->index_info = pt_build_index_info(index);
		check->index_info->ii_Concurrent = true;	/* use the snapshot */
	}
	check->heap_blocks = RelationGetNumberOfBlocks(check->heap);
	check->heap_sound = palloc0(check->heap_blocks / BITS_PER_BYTE + 1);
	check->strategy = GetAccessStrategy(BAS_BULKREAD);
	check->scratch = AllocSetContextCreate(CurrentMemoryContext,
										   "ptsort check of a page",
										   ALLOCSET_DEFAULT_SIZES);
	check->here = checkread_new_page(check->nkeys);
	check->there = checkread_new_page(check->nkeys);
	check->again = checkread_new_page(check->nkeys);
	check->ahead = checkread_new_ahead();
}

static void
count_tuples(CheckIndex *self)
{
	const CheckPage *page = self->here;

	for (int i = checkpage_first(page); i <= page->last; i++)
		if (page->tuples[i] != NULL)
			self->report->tuples += checkpage_tids(page->tuples[i]);
}

/* The links are the last step: checklinks_page may replace the copy. */
static void
check_tuples(CheckIndex *self)
{
	bool		is_leaf = P_ISLEAF(checkpage_opaque(self->here));
	CheckStep	steps[] = {
		checkorder_page,
		is_leaf ? count_tuples : NULL,
		is_leaf && self->sort != NULL ? checkrows_put_page : NULL,
		is_leaf && self->index->rd_index->indisunique ? checkunique_page : NULL,
		checklinks_page
	};

	for (int i = 0; i < lengthof(steps); i++)
		if (steps[i] != NULL)
			check_guard(self, steps[i]);
}

static void
catch_error(CheckIndex *self)
{
	ErrorData  *error;
	int			category;

	MemoryContextSwitchTo(self->scratch);
	error = CopyErrorData();
	category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	if (!self->catching ||
		(category != ERRCODE_DATA_EXCEPTION &&
		 category != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION &&
		 category != ERRCODE_PROGRAM_LIMIT_EXCEEDED &&
		 category != ERRCODE_INTERNAL_ERROR))
		PG_RE_THROW();
	FlushErrorState();
	self->catching = false;
	self->key->failure.full = false;
	check_found(self, CHECK_BAD_PAGE, self->here->block, 0,
				"values could not be compared: %s", error->message);
	FreeErrorData(error);
}

void
check_guard(CheckIndex *self, CheckStep step)
{
	PG_TRY();
	{
		step(self);
	}
	PG_CATCH();
	{
		catch_error(self);
	}
	PG_END_TRY();
}

static void
check_page(CheckIndex *self, BlockNumber block)
{
	MemoryContext caller = MemoryContextSwitchTo(self->scratch);
	const char *fault = checkread_next(self, block, self->here);

	if (fault != NULL)
		check_found(self, CHECK_BAD_PAGE, block, 0, "%s", fault);
	else if (checkpage_tuples(self, self->here, MaxIndexTuplesPerPage, false))
		check_tuples(self);
	self->report->pages++;
	MemoryContextSwitchTo(caller);
	MemoryContextReset(self->scratch);
}

/* TeamKind.fill */
static void
check_fill(Team *team)
{
	Checker    *self = (Checker *) team;
	CheckIndex *check = &self->index;
	CheckShared *shared = team->shared;
	BlockNumber end = shared->tree.nblocks;
	BlockNumber block;

	begin_check(self);
	check->sort = self->info.request.with_rows ? team->sort : NULL;
	while ((block = pg_atomic_fetch_add_u32(&shared->next,
											PAGEREAD_MOST)) < end)
	{
		BlockNumber stop = Min(end - block, PAGEREAD_MOST) + block;

		checkread_ahead(check, block, stop - block);
		for (; block < stop; block++)
		{
			CHECK_FOR_INTERRUPTS();
			check_page(check, block);
		}
		if (team->is_leader)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, stop);
	}
	if (check->sort != NULL)
		checkrows_put_table(check, team->scan, team_shares(team),
							team->snapshot);
	checkread_end(check);
}

/* TeamKind.read */
static void
check_read(Team *team)
{
	CheckIndex *check = &((Checker *) team)->index;
	int			slice;

	check->sort = team->sort;
	while (sort_next_slice(team->sort, &slice))
		checkrows_compare(check);
	checkread_end(check);
}

static Size
check_shared_size(Team *team, int processes, int slices)
{
	return add_size(offsetof(CheckShared, parts),
					mul_size(processes, sizeof(CheckPart)));
}

static void
check_shared_init(Team *team, int processes, int slices)
{
	Checker    *self = (Checker *) team;
	CheckShared *shared = team->shared;

	memset(shared->parts, 0, mul_size(processes, sizeof(CheckPart)));
	pg_atomic_init_u32(&shared->next, BTREE_METAPAGE + 1);
	begin_check(self);
	checklinks_tree(&self->index, &shared->tree);
	self->index.report->pages++;
	checkread_end(&self->index);
}

static void
check_open(Team *team)
{
	Checker    *self = (Checker *) team;

	team->slices = true;
	self->info = *(const CheckInfo *) team->info;
	self->index.heap = table_open(self->info.heap_id, AccessShareLock);
	self->index.index = index_open(self->info.index_id, AccessShareLock);
}

static void
check_close(Team *team)
{
	Checker    *self = (Checker *) team;

	index_close(self->index.index, AccessShareLock);
	table_close(self->index.heap, AccessShareLock);
}

static const TeamKind check_kind = {
	.open = check_open,
	.close = check_close,
	.begin = checkrows_begin,
	.fill = check_fill,
	.read = check_read,
	.shared_size = check_shared_size,
	.shared_init = check_shared_init
};

void
ptsort_check_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Checker		self = {.team.kind = &check_kind};

	team_serve(&self.team, segment, toc);
}

static void
add_report(CheckReport *sum, const CheckReport *report)
{
	sum->pages += report->pages;
	sum->tuples += report->tuples;
	sum->undecided += report->undecided;
	for (int i = 0; i < NUM_CHECK_KINDS; i++)
	{
		const CheckFinding *finding = &report->findings[i];
		int64		count = sum->findings[i].count;

		if (finding->count > 0 &&
			(count == 0 || finding->block < sum->findings[i].block))
			sum->findings[i] = *finding;
		sum->findings[i].count = count + finding->count;
	}
}

static void
confirm_suspects(Checker *self)
{
	CheckShared *shared = self->team.shared;
	int			processes = self->team.launched + 1;
	CheckSuspect *suspects = palloc(mul_size(processes,
											 sizeof(CheckSuspects)));
	int			n = 0;
	int64		dropped = 0;

	for (int i = 0; i < processes; i++)
	{
		const CheckSuspects *found = &shared->parts[i].suspects;

		memcpy(suspects + n, found->each, found->n * sizeof(CheckSuspect));
		n += found->n;
		dropped += found->dropped;
	}
	if (n > 0)
		checkfind_suspects(&self->index, suspects, n);
	checkread_end(&self->index);
	if (dropped > 0)
		ereport(WARNING,
				(errmsg("ptsort_check() did not look again at %lld entries of index \"%s\" that seemed to have no row",
						(long long) dropped,
						RelationGetRelationName(self->index.index)),
				 errhint("If the check found problems, repair the index. Otherwise vacuum may have removed the rows: repeat the check while no vacuum runs.")));
}

static void
warn_undecided(Relation index, const CheckReport *report)
{
	if (report->undecided > 0)
		ereport(WARNING,
				(errmsg("ptsort_check() did not decide %lld comparisons of pages of index \"%s\"",
						(long long) report->undecided,
						RelationGetRelationName(index)),
				 errdetail("Other sessions changed these pages each time that the check looked."),
				 errhint("Repeat the check while fewer sessions write.")));
}

void
checkindex_run(Relation heap, Relation index, const CheckRequest *request,
			   CheckReport *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Checker		self = {
		.team = {
			.kind = &check_kind,
			.worker_main = "ptsort_check_worker_main",
			.slices = true,
			.info_size = sizeof(CheckInfo),
			.budget = request->budget,
			.is_leader = true
		},
		.info = {RelationGetRelid(heap), RelationGetRelid(index), *request},
		.index = {.heap = heap,.index = index}
	};
	Team	   *team = &self.team;
	CheckShared *shared;

	team->info = &self.info;
	if (request->with_rows)
	{
		team->table = heap;
		team->snapshot = RegisterSnapshot(GetActiveSnapshot());
	}
	team_sort(team, request->workers);
	team_read(team);
	team_wait(team);
	team_finish(team);
	shared = team->shared;
	if (request->with_rows)
	{
		UnregisterSnapshot(team->snapshot);
		confirm_suspects(&self);
	}
	memset(result, 0, sizeof(*result));
	for (int i = 0; i <= team->launched; i++)
		add_report(result, &shared->parts[i].report);
	warn_undecided(index, result);
	result->participants = team->participants;
	team_leave(team);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
