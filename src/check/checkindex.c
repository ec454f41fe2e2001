/*-------------------------------------------------------------------------
 *
 * checkindex.c
 *	  Checks an index with a team of processes: ptsort_check().
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

/*
 * CheckShared: what the participants share; the tree does not change.  The
 * memory of the method (CheckMethod.shared_size) follows.
 */
typedef struct CheckShared
{
	CheckTree	tree;
	pg_atomic_uint32 next;		/* first block that no participant took */
	pg_atomic_uint32 next_row;	/* ... of the table, for checkexclusion.c */
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
	BlockNumber nblocks;		/* leader: size of the index */
	Size		size;			/* leader: bytes of the shared memory */
} Checker;

static const CheckMethod *const methods[] = {
	&check_btree, &check_gist, &check_gin
};

const CheckMethod *
check_method(Oid am)
{
	for (int i = 0; i < lengthof(methods); i++)
		if (methods[i]->am == am)
			return methods[i];
	return NULL;
}

static bool
has_own_functions(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	/* arrays of the server's own types; ranges and records may have any type */
	if (type == ANYARRAYOID)
	{
		type = get_element_type(TupleDescAttr(RelationGetDescr(index),
											  column)->atttypid);
		if (!OidIsValid(type) || type >= FirstNormalObjectId ||
			get_typtype(type) != TYPTYPE_BASE)
			return false;
	}
	for (int i = 1; i <= index->rd_indam->amsupport; i++)
		if (index_getprocid(index, column + 1, i) >= FirstNormalObjectId)
			return false;
	return type != RECORDOID && !IsPolymorphicType(type);
}

/*
 * True if the index calls only functions of the server's own for the values of
 * its key columns.  These leave nothing behind when they raise an error.
 */
static bool
is_trusted(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (!has_own_functions(index, i))
			return false;
	return true;
}

static Size
parts_size(int processes)
{
	return MAXALIGN(add_size(offsetof(CheckShared, parts),
							 mul_size(processes, sizeof(CheckPart))));
}

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

	check->tree = &shared->tree;
	check->report = &shared->parts[self->team.participant].report;
	check->suspects = &shared->parts[self->team.participant].suspects;
	check->shared = (char *) shared + parts_size(self->team.processes);
	if (check->here != NULL)
		return;					/* the rest does not change */
	check->method->begin(check);
	check->ncolumns = check->desc->natts;
	check->columns = checkpage_columns(check->desc);
	check->full = self->info.request.full;
	check->trusted = is_trusted(check->index);
	if (self->info.request.with_rows)
	{
		check->index_info = pt_build_index_info(check->index);
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
	if (self->key != NULL)
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
	else if (self->method->tuples(self, self->here, MaxIndexTuplesPerPage,
								  false))
		self->method->page(self);
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
	if (self->info.request.with_rows)
		checkrows_put_table(check, team);
	checkread_end(check);
}

/*
 * True if no participant found a fault in a page, so that the server may scan
 * the index.  Each participant wrote these counts before its sort's run, which
 * the leader met before it planned the slices.
 */
static bool
is_safe(const Checker *self)
{
	const CheckShared *shared = self->team.shared;

	for (int i = 0; i < self->team.processes; i++)
	{
		const CheckFinding *findings = shared->parts[i].report.findings;

		if (findings[CHECK_BAD_PAGE].count > 0 ||
			findings[CHECK_OUT_OF_ORDER].count > 0 ||
			findings[CHECK_BROKEN_LINK].count > 0)
			return false;
	}
	return true;
}

/* TeamKind.read */
static void
check_read(Team *team)
{
	Checker    *self = (Checker *) team;
	CheckShared *shared = team->shared;

	if (self->info.request.with_rows)
		checkrows_compare(&self->index, team);
	if (self->info.request.with_rows &&
		self->index.index->rd_index->indisexclusion && is_safe(self))
		checkexclusion_rows(&self->index, &shared->next_row);
	checkread_end(&self->index);
}

static Size
check_shared_size(Team *team, int processes, int slices)
{
	Checker    *self = (Checker *) team;
	const CheckMethod *method = self->index.method;

	self->nblocks = RelationGetNumberOfBlocks(self->index.index);
	self->size = parts_size(processes);
	if (method->shared_size != NULL)
		self->size = add_size(self->size, method->shared_size(self->nblocks));
	return self->size;
}

static void
check_shared_init(Team *team, int processes, int slices)
{
	Checker    *self = (Checker *) team;
	CheckShared *shared = team->shared;

	memset(shared, 0, self->size);
	pg_atomic_init_u32(&shared->next, self->index.method->first);
	pg_atomic_init_u32(&shared->next_row, 0);
	shared->tree.nblocks = self->nblocks;
	begin_check(self);
	self->index.report->pages = self->index.method->first;	/* the metapage */
	if (self->index.method->begin_pages != NULL)
		self->index.method->begin_pages(&self->index, &shared->tree);
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
	self->index.method = check_method(self->index.index->rd_rel->relam);
}

static void
check_close(Team *team)
{
	Checker    *self = (Checker *) team;

	index_close(self->index.index, AccessShareLock);
	table_close(self->index.heap, AccessShareLock);
}

static const TeamKind check_kind = {
	.worker_main = "ptsort_check_worker_main",
	.open = check_open,
	.close = check_close,
	.begin = checkrows_begin,
	.fill = check_fill,
	.read = check_read,
	.shared_size = check_shared_size,
	.shared_init = check_shared_init
};

TEAM_WORKER_MAIN(ptsort_check_worker_main, Checker, check_kind);

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

/* Gather the suspects of all participants. */
static void
gather_suspects(Checker *self)
{
	CheckShared *shared = self->team.shared;
	CheckIndex *check = &self->index;
	int			processes = self->team.launched + 1;
	int64		dropped = 0;

	check->sought = palloc(mul_size(processes, sizeof(CheckSuspects)));
	check->nsought = 0;
	for (int i = 0; i < processes; i++)
	{
		const CheckSuspects *found = &shared->parts[i].suspects;

		memcpy(check->sought + check->nsought, found->each,
			   found->n * sizeof(CheckSuspect));
		check->nsought += found->n;
		dropped += found->dropped;
	}
	if (dropped > 0)
		ereport(WARNING,
				(errmsg("ptsort_check() did not look again at %lld entries of index \"%s\" that seemed to have no row",
						(long long) dropped,
						RelationGetRelationName(check->index)),
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
			.slices = true,
			.info_size = sizeof(CheckInfo),
			.budget = request->budget,
			.is_leader = true
		},
		.info = {RelationGetRelid(heap), RelationGetRelid(index), *request},
		.index = {
			.heap = heap,
			.index = index,
			.method = check_method(index->rd_rel->relam)
		}
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
		UnregisterSnapshot(team->snapshot);
	gather_suspects(&self);
	if (self.index.method->end != NULL)
		self.index.method->end(&self.index);
	checkread_end(&self.index);
	memset(result, 0, sizeof(*result));
	for (int i = 0; i <= team->launched; i++)
		add_report(result, &shared->parts[i].report);
	warn_undecided(index, result);
	result->participants = team->participants;
	team_leave(team);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
