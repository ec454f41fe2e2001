/*-------------------------------------------------------------------------
 *
 * copyscan.c
 *	  Page-at-a-time scan of a heap table to be copied.
 *
 * The scan follows the server's heapam_relation_copy_for_cluster(): it copies
 * all row versions that some snapshot may still see.  But it also converts row
 * versions to their form in the new table: it nulls dropped columns and fills
 * in columns added later.  The scan does this because every participant scans,
 * while in the next phase the leader alone may have to write all row versions.
 *
 * Most row versions may have any TID in the new table, so any participant can
 * write them.  But some row versions are linked by TID, and some need rows in a
 * TOAST table.  The leader copies the table, or the rest of it, with the
 * server's functions (see tablecopy.c) if the scan finds any of these:
 *
 * - updated row versions and their successors, if both still exist: the copy
 *	 must keep the link between them;
 * - row versions with out-of-line values, or long enough to need them;
 * - row versions whose xmax is a multixact that freezing may have to replace;
 * - row versions that VACUUM FULL moved before 9.0.
 *
 * For REPACK (CONCURRENTLY), the scan copies the rows that a snapshot sees.
 * They become new rows, so only rows that need TOAST need the server's
 * functions.  Other processes may change the transaction information in the old
 * headers during the scan.  This does no harm, because copywrite.c and the
 * server replace this information.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heaptoast.h"
#include "access/multixact.h"
#include "copy/copy.h"
#include "team/heapjudge.h"
#include "utils/memutils.h"
#include "variant/variants.h"

typedef struct CopyScan
{
	HeapJudge	judge;
	const CopyRules *rules;
	CopyShared *shared;
	CopyCounts	counts;			/* not yet in the shared counts */
	HeapTupleData tuples[MaxHeapTuplesPerPage]; /* of the page, to copy */

	PtSort	   *order;			/* prove this order of the rows, or NULL */
	HeapTuple	previous;		/* last row before the page, or NULL */

	/* for converting tuples to their form in the new table */
	TupleDesc	old_desc;
	TupleDesc	new_desc;
	bool		dropped;		/* true if there are dropped columns */
	Datum	   *values;
	bool	   *isnull;
	MemoryContext context;		/* memory for a page; reset after each page */
} CopyScan;

/*
 * Warn, as the server does, if another transaction is changing a tuple, which
 * the lock on the table should prevent.
 */
static void
warn_if_concurrent(const CopyScan *cs, TransactionId xid, const char *what)
{
	if (!TransactionIdIsCurrentTransactionId(xid))
		elog(WARNING, "concurrent %s in progress within table \"%s\"",
			 what, RelationGetRelationName(cs->rules->old_heap));
}

/* HeapJudge.decide */
static HeapVerdict
decide(HTSV_Result status, HeapTuple tuple, void *arg)
{
	CopyScan   *cs = arg;

	switch (status)
	{
		case HEAPTUPLE_DEAD:
			cs->counts.dead++;
			return HEAP_SKIP;
		case HEAPTUPLE_LIVE:
			return HEAP_TAKE_LIVE;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			warn_if_concurrent(cs, HeapTupleHeaderGetXmin(tuple->t_data),
							   "insert");
			return HEAP_TAKE_LIVE;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			warn_if_concurrent(cs, HeapTupleHeaderGetUpdateXid(tuple->t_data),
							   "delete");
			pg_fallthrough;
		case HEAPTUPLE_RECENTLY_DEAD:
			cs->counts.recently_dead++;
			return HEAP_TAKE_DELETED;
	}
	elog(ERROR, "unexpected HeapTupleSatisfiesVacuum result");
	return HEAP_SKIP;			/* keep compiler quiet */
}

/*
 * True if heap_form_tuple() would form an equal tuple from the tuple's values.
 * (A value may have a longer length word if its column's storage changed after
 * the value was stored.  In a materialized view, a value may also come from a
 * table where the column is plain.  A longer length word does no harm.)
 */
static bool
has_new_form(const CopyScan *cs, const HeapTupleData *tuple)
{
	HeapTupleHeader header = tuple->t_data;
	int			natts = cs->new_desc->natts;
	Size		head = SizeofHeapTupleHeader;

	if (header->t_infomask & HEAP_HASNULL)
		head += BITMAPLEN(natts);
	return !cs->dropped &&
		HeapTupleHeaderGetNatts(header) == natts &&
		header->t_hoff == MAXALIGN(head) &&
		(header->t_infomask & HEAP_HASOID_OLD) == 0;
}

/* Returns the tuple in its new form, allocated in the current context. */
static HeapTuple
reform(CopyScan *cs, HeapTuple tuple)
{
	HeapTupleHeader old = tuple->t_data;
	HeapTupleHeader new;
	HeapTuple	result;

	heap_deform_tuple(tuple, cs->old_desc, cs->values, cs->isnull);
	for (int i = 0; i < cs->new_desc->natts; i++)
	{
		if (TupleDescAttr(cs->new_desc, i)->attisdropped)
			cs->isnull[i] = true;
	}
	result = heap_form_tuple(cs->new_desc, cs->values, cs->isnull);
	result->t_self = tuple->t_self;
	result->t_tableOid = tuple->t_tableOid;
	result->t_data->t_choice.t_heap = old->t_choice.t_heap;
	result->t_data->t_ctid = old->t_ctid;
	/* heap_form_tuple() marks its result as a composite value in these bits */
	new = result->t_data;
	new->t_infomask &= ~HEAP_XACT_MASK;
	new->t_infomask |= old->t_infomask & HEAP_XACT_MASK;
	new->t_infomask2 &= ~HEAP2_XACT_MASK;
	new->t_infomask2 |= old->t_infomask2 & HEAP2_XACT_MASK;
	return result;
}

/*
 * True if freezing may have to replace the tuple's multixact.  False if all its
 * members only locked the tuple and ended: freezing removes that multixact.
 */
static bool
has_lasting_multixact(const CopyScan *cs, HeapTupleHeader header)
{
	uint16		infomask = header->t_infomask;

	return (infomask & HEAP_XMAX_IS_MULTI) != 0 &&
		!(HEAP_XMAX_IS_LOCKED_ONLY(infomask) &&
		  MultiXactIdPrecedes(HeapTupleHeaderGetRawXmax(header),
							  cs->rules->cutoff_multi));
}

/* True if the server's functions must copy the tuple. */
static bool
is_linked(const CopyScan *cs, HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	uint16		infomask = header->t_infomask;

	if (tuple->t_len > TOAST_TUPLE_THRESHOLD ||
		(infomask & HEAP_HASEXTERNAL) != 0)
		return true;
	if (copy_makes_new_rows(cs->rules))
		return false;
	if ((infomask & HEAP_MOVED) != 0)
		return true;
	if ((infomask & HEAP_XMAX_INVALID) == 0)
	{
		if (has_lasting_multixact(cs, header))
			return true;
		if (!HeapTupleHeaderIsOnlyLocked(header) &&
			!HeapTupleHeaderIndicatesMovedPartitions(header) &&
			!ItemPointerEquals(&tuple->t_self, &header->t_ctid))
			return true;
	}
	return (infomask & HEAP_UPDATED) != 0 &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(header),
							   cs->rules->oldest_xmin);
}

/*
 * Put the page's tuples into cs->tuples, in their new form.  Returns true if
 * the server's functions must copy any of them.
 */
static bool
form_page(CopyScan *cs)
{
	const HeapJudge *judge = &cs->judge;
	MemoryContext old;
	bool		linked = false;

	MemoryContextReset(cs->context);
	old = MemoryContextSwitchTo(cs->context);
	for (int i = 0; i < judge->nitems; i++)
	{
		HeapTuple	tuple = &cs->tuples[i];

		heapjudge_tuple(judge, judge->offsets[i], tuple);
		if (!has_new_form(cs, tuple))
			*tuple = *reform(cs, tuple);
		linked |= is_linked(cs, tuple);
	}
	MemoryContextSwitchTo(old);
	cs->counts.copied += judge->nitems;
	if (!judge->nested)
		work_count(WORK_ROWS, judge->nitems);
	/* count the tuples as read */
	pgstat_count_index_tuples(cs->rules->old_heap, judge->nseen);
	return linked;
}

/* Add the counts to those of all participants.  Returns the tuples copied. */
static uint64
share_counts(CopyScan *cs)
{
	CopyShared *shared = cs->shared;
	uint64		copied = cs->counts.copied;
	uint64		all = pg_atomic_add_fetch_u64(&shared->copied, copied);

	pg_atomic_fetch_add_u64(&shared->dead, cs->counts.dead);
	pg_atomic_fetch_add_u64(&shared->recently_dead, cs->counts.recently_dead);
	memset(&cs->counts, 0, sizeof(cs->counts));
	if (cs->judge.progress)
	{
		pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_SCANNED,
									 (int64) all);
		if (shared->slice_blocks > 0)
			pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_INSERTED,
										 (int64) all);
	}
	return copied;
}

static CopyScan *
begin_scan(const CopyRules *rules, const Team *team)
{
	CopyScan   *cs = palloc0(sizeof(CopyScan));

	cs->judge.heap = rules->old_heap;
	cs->judge.shares = team_shares(team);
	cs->judge.progress = team->is_leader;
	cs->judge.total_param = PROGRESS_REPACK_TOTAL_HEAP_BLKS;
	cs->judge.done_param = PROGRESS_REPACK_HEAP_BLKS_SCANNED;
	cs->judge.oldest_xmin = rules->oldest_xmin;
	cs->judge.decide = decide;
	cs->judge.arg = cs;
	cs->rules = rules;
	cs->shared = team->shared;
	cs->old_desc = RelationGetDescr(rules->old_heap);
	cs->new_desc = RelationGetDescr(rules->new_heap);
	for (int i = 0; i < cs->new_desc->natts; i++)
		cs->dropped |= TupleDescAttr(cs->new_desc, i)->attisdropped;
	cs->values = palloc(cs->new_desc->natts * sizeof(Datum));
	cs->isnull = palloc(cs->new_desc->natts * sizeof(bool));
	cs->context = AllocSetContextCreate(CurrentMemoryContext,
										"ptsort copied page",
										ALLOCSET_DEFAULT_SIZES);
	heapjudge_begin(&cs->judge, team->scan, team->snapshot);
	return cs;
}

static void
end_scan(CopyScan *cs)
{
	heapjudge_end(&cs->judge);
	MemoryContextDelete(cs->context);
	pfree(cs->values);
	pfree(cs->isnull);
	pfree(cs);
}

uint64
copyscan(const CopyRules *rules, const Team *team, CopyPut put, void *arg)
{
	CopyScan   *cs = begin_scan(rules, team);
	CopyShared *shared = team->shared;
	uint64		rows = 0;
	bool		judged;

	if (!team->slices)
		heapread_range(cs->judge.reader, shared->rest, shared->nblocks);
	while (heapjudge_next(&cs->judge, &judged))
	{
		if (form_page(cs))
			pg_atomic_write_u32(&shared->linked, 1);
		for (int i = 0; i < cs->judge.nitems; i++)
			put(arg, &cs->tuples[i]);
		rows += share_counts(cs);
	}
	end_scan(cs);
	return rows;
}


/*
 * Copies in the order of the blocks
 */

static void
forget_previous(CopyScan *cs)
{
	if (cs->previous != NULL)
		heap_freetuple(cs->previous);
	cs->previous = NULL;
}

/* Keep the last row of the page, if there are rows. */
static void
keep_previous(CopyScan *cs)
{
	int			n = cs->judge.nitems;

	if (n == 0)
		return;
	forget_previous(cs);
	cs->previous = heap_copytuple(&cs->tuples[n - 1]);
}

/* True if the page's rows are in order, and come after the row before. */
static bool
page_follows(CopyScan *cs)
{
	HeapTuple	previous = cs->previous;

	for (int i = 0; i < cs->judge.nitems; i++)
	{
		HeapTuple	tuple = &cs->tuples[i];

		if (previous != NULL &&
			!variant_heap_follows(cs->order, tuple, previous))
			return false;
		previous = tuple;
	}
	keep_previous(cs);
	return true;
}

/* True if this process may write the page; otherwise it ends the copy here. */
static bool
may_write(CopyScan *cs)
{
	bool		linked = form_page(cs);

	if (cs->order == NULL)
		return !linked;
	if (!linked && page_follows(cs))
		return true;
	pg_atomic_write_u32(&cs->shared->disorder, 1);
	return false;
}

/* Find the last row before a slice. */
static void
find_previous(CopyScan *cs, BlockNumber block)
{
	CopyCounts	before = cs->counts;
	bool		judged;

	forget_previous(cs);
	while (cs->order != NULL && cs->previous == NULL && block > 0)
	{
		block--;
		heapread_range(cs->judge.reader, block, block + 1);
		while (heapjudge_next(&cs->judge, &judged))
		{
			(void) form_page(cs);
			keep_previous(cs);
		}
	}
	cs->counts = before;
}

/* Copy a slice.  Returns the number of row versions, 0 if it was dropped. */
static uint64
copy_slice(CopyScan *cs, CopyWriter *writer, uint32 slice)
{
	CopyShared *shared = cs->shared;
	HeapReader *reader = cs->judge.reader;
	BlockNumber first = slice * shared->slice_blocks;
	CopyCounts	before = cs->counts;
	bool		judged;

	find_previous(cs, first);
	heapread_range(reader, first, first + Min(shared->slice_blocks,
											  shared->nblocks - first));
	copywrite_begin_slice(writer, slice);
	while (heapjudge_next(&cs->judge, &judged))
	{
		if (!may_write(cs))
		{
			cs->counts = before;
			copywrite_stop(writer, cs->judge.here.block);
			break;
		}
		for (int i = 0; i < cs->judge.nitems; i++)
			copywrite_add(writer, &cs->tuples[i]);
		heapread_release(reader);
		copywrite_point(writer);
		before = cs->counts;
	}
	heapread_release(reader);
	if (!copywrite_end_slice(writer))
		memset(&cs->counts, 0, sizeof(cs->counts));
	return share_counts(cs);
}

uint64
copyscan_blocks(const CopyRules *rules, const Team *team, CopyWriter *writer,
				bool in_order)
{
	CopyScan   *cs = begin_scan(rules, team);
	CopyShared *shared = team->shared;
	uint64		rows = 0;
	uint32		slice;

	cs->order = in_order ? team->sort : NULL;
	while ((slice = pg_atomic_fetch_add_u32(&shared->next_slice, 1)) <
		   shared->nslices &&
		   slice <= pg_atomic_read_u32(&shared->last_slice))
		rows += copy_slice(cs, writer, slice);
	end_scan(cs);
	return rows;
}
