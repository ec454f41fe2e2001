/*-------------------------------------------------------------------------
 *
 * work.c
 *	  What a team did so far, for sessions that watch it; see work.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>
#include <time.h>

#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_statistic.h"
#include "executor/instrument.h"
#include "limit/work.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* Part of a table that shows what the rest will be like */
static const double foreseeable = 0.01;

Work		ptsort_work;

uint64
work_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}


/*
 * How fast earlier work wrote
 */

/*
 * The system's cache takes about a GB before writing slows down to the speed of
 * the disk, so small and large relations have different factors.
 */
static const double small_bytes = 24.0 * 1024 * 1024;	/* from here on */
static const double large_bytes = 1024.0 * 1024 * 1024;

/*
 * What a session assumes for large relations before it knows better.  On one
 * machine whose disk takes 1 GB in a second it was 1 to 3.
 */
static const double assumed = 1.7;

/* A factor outside of these limits comes from something that happened once. */
static const double least_factor = 0.25;
static const double most_factor = 16;

/* Factors of small and of large relations; 0: nothing remembered */
static double remembered[2];

double
work_factor(double bytes)
{
	double		factor = remembered[bytes >= large_bytes];

	if (bytes >= small_bytes && factor > 0)
		return factor;
	return bytes >= large_bytes ? assumed : 1;
}

/* The new factor counts as much as all earlier ones. */
void
work_remember_factor(double bytes, double factor)
{
	double	   *old = &remembered[bytes >= large_bytes];

	if (bytes < small_bytes)
		return;
	factor = Min(Max(factor, least_factor), most_factor);
	*old = *old > 0 ? sqrt(factor * *old) : factor;
}


/*
 * Description
 */

/* Store a relation's name with its schema's. */
static void
store_name(char *space, Relation rel)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(rel));

	strlcpy(space,
			quote_qualified_identifier(schema, RelationGetRelationName(rel)),
			WORK_NAME_SIZE);
}

WorkOrder
work_order(Relation index)
{
	Form_pg_attribute first = TupleDescAttr(RelationGetDescr(index), 0);

	if (index->rd_rel->relam == GIST_AM_OID)
		return WORK_SPLIT;
	if (first->attlen > 0)
		return WORK_FIXED;
	if (!OidIsValid(index->rd_indcollation[0]) ||
		pt_collate_is_c(index->rd_indcollation[0]))
		return WORK_BYTES;
	return WORK_COLLATED;
}

/* Returns the planner's estimate of the table's rows. */
static int64
expected_rows(Relation table)
{
	BlockNumber pages;
	double		tuples;
	double		all_visible;

	table_relation_estimate_size(table, NULL, &pages, &tuples, &all_visible);
	return (int64) clamp_row_est(tuples);
}

/*
 * Returns how many rows share an index key, if statistics say so.  The columns
 * of the key count as independent.
 */
static double
rows_per_key(Relation table, Relation index, double rows)
{
	Datum		table_id = ObjectIdGetDatum(RelationGetRelid(table));
	double		keys = 1;

	if (index->rd_rel->relam != BTREE_AM_OID ||
		!BTGetDeduplicateItems(index) || !_bt_allequalimage(index, false))
		return 1;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	column = index->rd_index->indkey.values[i];
		HeapTuple	tuple = SearchSysCache3(STATRELATTINH, table_id,
											Int16GetDatum(column),
											BoolGetDatum(false));
		double		distinct;

		if (!HeapTupleIsValid(tuple))
			return 1;
		distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
		ReleaseSysCache(tuple);
		if (distinct == 0)		/* unknown */
			return 1;
		keys *= distinct > 0 ? distinct : -distinct * rows;
	}
	return Max(rows / Max(keys, 1), 1);
}

/* The part of a page that picksplit fills, on average */
static const double split_fill = 0.67;

/*
 * Returns the estimated size of an index tuple whose key rows share.  Strings
 * without statistics count 'unknown' bytes or, if that is 0, a usual number.
 */
static double
index_row_bytes(Relation table, Relation index, double shared_by, int unknown)
{
	TupleDesc	desc = RelationGetDescr(index);
	Size		width = sizeof(IndexTupleData);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		AttrNumber	column = index->rd_index->indkey.values[i];
		int			known = 0;

		if (att->attlen < 0 && column > 0)
			known = get_attavgwidth(RelationGetRelid(table), column);
		if (att->attlen < 0 && known == 0)
			known = unknown;
		width += known > 0 ? known :
			get_typavgwidth(att->atttypid, att->atttypmod);
	}
	width = MAXALIGN(width) + sizeof(ItemIdData);
	if (index->rd_rel->relam == GIST_AM_OID)
		return width / split_fill;
	return shared_by > 1 ? width / shared_by + sizeof(ItemPointerData) : width;
}

double
work_run_bytes(WorkKind kind, Relation table, Relation index)
{
	double		rows = expected_rows(table);
	double		bytes = (double) RelationGetNumberOfBlocks(table) * BLCKSZ;

	if (kind == WORK_COPY)
		return bytes + rows * (sizeof(HeapTupleData) + 2 * sizeof(uint64));
	return Min(bytes, rows * index_row_bytes(table, index, 1, BLCKSZ));
}

void
work_describe(WorkAbout *about, WorkKind kind, Relation table, Relation index,
			  int64 budget)
{
	memset(about, 0, sizeof(WorkAbout));
	about->kind = kind;
	about->order = work_order(index);
	store_name(about->relation, kind == WORK_INDEX ? index : table);
	store_name(about->table, table);
	about->blocks = RelationGetNumberOfBlocks(table);
	about->rows = expected_rows(table);
	about->row_bytes = kind == WORK_INDEX ?
		index_row_bytes(table, index,
						rows_per_key(table, index, about->rows), 0) :
		(double) about->blocks * BLCKSZ / Max(about->rows, 1);
	about->budget = budget;
	about->logged = RelationNeedsWAL(index);
	about->factor = work_factor(about->row_bytes * about->rows);
}


/*
 * Participants
 */

void
work_init(WorkShared *shared, const WorkAbout *about)
{
	WorkPhase	first = about->blocks > 0 ? WORK_SCAN : WORK_SORT;

	shared->about = *about;
	pg_atomic_init_u32(&shared->phase, first);
	pg_atomic_init_u32(&shared->participants, 1);
	pg_atomic_init_u64(&shared->total, 0);
	pg_atomic_init_u32(&shared->warnings, 0);
	for (int i = 0; i < NUM_WORK_PHASES; i++)
	{
		pg_atomic_init_u64(&shared->since[i],
						   i <= (int) first ? work_now() : 0);
		pg_atomic_init_u64(&shared->paused[i], 0);
		pg_atomic_init_u64(&shared->cpu[i], 0);
	}
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
		pg_atomic_init_u64(&shared->counts[i], 0);
}

/* Returns the microseconds that processors spent on this process. */
static uint64
cpu_time(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
		return 0;
	return (uint64) now.tv_sec * USECS_PER_SEC + now.tv_nsec / 1000;
}

/* Take over what the system and the server count in this process. */
static void
take_server_counts(uint64 *counts)
{
	const BufferUsage *usage = &pgBufferUsage;

	counts[WORK_CPU] = cpu_time();
	counts[WORK_WAL] = pgWalUsage.wal_bytes;
	counts[WORK_TEMP] = (uint64) usage->temp_blks_written * BLCKSZ;
	counts[WORK_IO] = (uint64)
		(usage->shared_blks_read + usage->temp_blks_read +
		 usage->temp_blks_written) * BLCKSZ;
}

void
work_follow(WorkShared *shared)
{
	Work	   *work = &ptsort_work;

	memset(work->counts, 0, sizeof(work->counts));
	take_server_counts(work->counts);
	work->temp_before = work->counts[WORK_TEMP];
	memcpy(work->published, work->counts, sizeof(work->counts));
	work->shared = shared;
}

void
work_forget(void)
{
	work_publish();
	ptsort_work.shared = NULL;
}

void
work_publish(void)
{
	Work	   *work = &ptsort_work;

	if (work->shared == NULL)
		return;
	take_server_counts(work->counts);
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
	{
		uint64		added = work->counts[i] - work->published[i];

		if (added == 0)
			continue;
		pg_atomic_fetch_add_u64(&work->shared->counts[i], added);
		work->published[i] = work->counts[i];
	}
}

double
work_scanned(void)
{
	WorkShared *shared = ptsort_work.shared;

	if (shared == NULL || pg_atomic_read_u32(&shared->phase) != WORK_SCAN)
		return 0;
	work_publish();
	return Min(pg_atomic_read_u64(&shared->counts[WORK_BLOCKS]) /
			   (double) Max(shared->about.blocks, 1), 1);
}

void
work_count_merges(bool own, uint64 bytes)
{
	work_publish();
	if (own)
		ptsort_work.counts[WORK_RUNS] = ptsort_work.counts[WORK_TEMP] -
			ptsort_work.temp_before;
	work_count(WORK_TO_MERGE, bytes);
	work_publish();
}

/*
 * The rest of the scan adds runs at the same rate: bytes for each block, or for
 * each row of the planner's estimate if that is less.  So an empty end of a
 * vacuumed table does not make the result too high.
 */
void
work_foresee(WorkForesight *foresight)
{
	WorkShared *shared = ptsort_work.shared;
	double		rows;

	memset(foresight, 0, sizeof(WorkForesight));
	foresight->scanned = work_scanned();
	if (foresight->scanned < foreseeable)
		return;
	foresight->written = pg_atomic_read_u64(&shared->counts[WORK_TEMP]);
	rows = pg_atomic_read_u64(&shared->counts[WORK_ROWS]);
	foresight->to_come = foresight->written *
		Min(1 / foresight->scanned, shared->about.rows / Max(rows, 1)) -
		foresight->written;
}

bool
work_is_first_warning(void)
{
	return pg_atomic_fetch_add_u32(&ptsort_work.shared->warnings, 1) == 0;
}


/*
 * Leader
 */

void
work_enter(WorkPhase phase)
{
	WorkShared *shared = ptsort_work.shared;

	if (pg_atomic_read_u32(&shared->phase) == phase)
		return;
	pg_atomic_write_u64(&shared->paused[phase],
						pg_atomic_read_u64(&shared->counts[WORK_PAUSED]));
	pg_atomic_write_u64(&shared->cpu[phase],
						pg_atomic_read_u64(&shared->counts[WORK_CPU]));
	pg_atomic_write_u64(&shared->since[phase], work_now());
	pg_write_barrier();
	pg_atomic_write_u32(&shared->phase, phase);
}


/*
 * Other sessions
 */

void
work_read(WorkShared *shared, WorkState *state)
{
	state->about = shared->about;
	state->phase = pg_atomic_read_u32(&shared->phase);
	pg_read_barrier();
	state->participants = pg_atomic_read_u32(&shared->participants);
	state->total = pg_atomic_read_u64(&shared->total);
	for (int i = 0; i < NUM_WORK_PHASES; i++)
	{
		bool		entered = i <= (int) state->phase;

		state->since[i] = entered ? pg_atomic_read_u64(&shared->since[i]) : 0;
		state->paused[i] = entered ? pg_atomic_read_u64(&shared->paused[i]) : 0;
		state->cpu[i] = entered ? pg_atomic_read_u64(&shared->cpu[i]) : 0;
	}
	for (int i = 0; i < NUM_WORK_COUNTS; i++)
		state->counts[i] = pg_atomic_read_u64(&shared->counts[i]);
	state->now = work_now();
}
