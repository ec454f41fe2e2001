/*-------------------------------------------------------------------------
 *
 * siblings.c
 *	  Runs that wait for the builds of other indexes: siblings.h.
 *
 * The leader of the first build creates the segment of a sibling; if that build
 * fails, the leader's resource owner detaches it.  While runs wait, their
 * segment belongs to no resource owner, because its mapping is pinned.  It is
 * detached at the end of the sibling's build, the end of the statement, the end
 * of the transaction, the abort of a subtransaction, or the end of the process,
 * whichever comes first.  The file set belongs to the segment, so detaching the
 * segment also removes the files.
 *
 * The list of runs that wait is in static memory, so nothing can fail between
 * pinning a segment and entering it in the list.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "debug.h"
#include "fault.h"
#include "key/key.h"
#include "sort/shared.h"
#include "storage/bufmgr.h"
#include "team/siblings.h"
#include "text/text_compare.h"
#include "text/text_rank.h"
#include "utils/builtins.h"
#include "utils/rel.h"

struct SiblingShared
{
	int			processes;		/* immutable */

	/*
	 * By participant.  Each one writes its counts before it announces its
	 * runs.  The shared block of the sorts follows.
	 */
	SiblingCounts counts[FLEXIBLE_ARRAY_MEMBER];
};

static WaitingRuns waiting[MAX_SIBLINGS];


/*
 * The segment
 */

static Size
counts_size(int processes)
{
	return MAXALIGN(add_size(offsetof(SiblingShared, counts),
							 mul_size(processes, sizeof(SiblingCounts))));
}

PtSortShared *
siblings_sorts(SiblingShared *shared)
{
	return (PtSortShared *) ((char *) shared + counts_size(shared->processes));
}

dsm_segment *
siblings_create(SiblingInfo *info, int processes)
{
	Size		size = add_size(counts_size(processes),
								shared_estimate(processes));
	dsm_segment *segment;
	SiblingShared *shared;

	fault_point("siblings: create");
	segment = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		return NULL;
	shared = siblings_shared(segment);
	memset(shared, 0, counts_size(processes));
	shared->processes = processes;
	shared_init(siblings_sorts(shared), processes, segment);
	info->handle = dsm_segment_handle(segment);
	return segment;
}

SiblingShared *
siblings_shared(dsm_segment *segment)
{
	return dsm_segment_address(segment);
}

SiblingShared *
siblings_attach(dsm_segment *segment)
{
	SiblingShared *shared = siblings_shared(segment);

	shared_attach(siblings_sorts(shared), segment);
	return shared;
}

void
siblings_count(SiblingShared *shared, int participant,
			   const SiblingCounts *counts)
{
	Assert(participant < shared->processes);
	shared->counts[participant] = *counts;
}


/*
 * Runs that wait
 */

/* Returns a number made of all settings that affect sort keys. */
static uint64
key_settings(void)
{
	return (uint64) text_rank_distrusted()->n << 8 |
		(uint64) ptsort_debug.key_class << 2 |
		(ptsort_debug.trust_collations ? 2 : 0) |
		(ptsort_use_collation_tables ? 1 : 0);
}

void
siblings_key(SiblingKey *key, Relation heap, int workers, int64 budget)
{
	memset(key, 0, sizeof(SiblingKey));
	key->heap_id = RelationGetRelid(heap);
	key->file = heap->rd_locator;
	key->blocks = RelationGetNumberOfBlocks(heap);
	key->workers = workers;
	key->budget = budget;
	key->settings = key_settings();
}

/*
 * Add up the counts and tuples of all participants.  Returns false if one of
 * their sorts failed.
 */
static bool
add_up(WaitingRuns *runs)
{
	PtSortShared *sorts = siblings_sorts(runs->shared);

	for (int i = 0; i < runs->shared->processes; i++)
	{
		const SiblingCounts *counts = &runs->shared->counts[i];
		SortOutcome outcome;
		PtSortStats stats;

		if (!shared_outcome(sorts, i, &outcome))
			continue;
		if (outcome.failed || !shared_stats(sorts, i, &stats))
			return false;
		runs->counts.rows += counts->rows;
		runs->counts.broken_hot_chain |= counts->broken_hot_chain;
		runs->tuples += stats.tuples;
	}
	return true;
}

void
siblings_keep(const SiblingKey *key, dsm_segment *segment, int participants,
			  Relation scanned_for)
{
	WaitingRuns runs = {
		.key = *key,
		.segment = segment,
		.shared = siblings_shared(segment),
		.participants = participants,
		.subid = GetCurrentSubTransactionId()
	};

	fault_point("siblings: keep");
	namestrcpy(&runs.scanned_for, RelationGetRelationName(scanned_for));
	if (add_up(&runs))
	{
		for (int i = 0; i < MAX_SIBLINGS; i++)
		{
			if (waiting[i].segment == NULL)
			{
				dsm_pin_mapping(segment);
				waiting[i] = runs;
				return;
			}
		}
	}
	dsm_detach(segment);
}

void
siblings_release(WaitingRuns *runs)
{
	dsm_segment *segment = runs->segment;

	runs->segment = NULL;
	if (segment != NULL)
		dsm_detach(segment);
}

void
siblings_forget(void)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
	{
		if (!waiting[i].taken)
			siblings_release(&waiting[i]);
	}
}

static WaitingRuns *
find(Oid index_id)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
	{
		if (waiting[i].segment != NULL &&
			waiting[i].key.index_id == index_id)
			return &waiting[i];
	}
	return NULL;
}

bool
siblings_wait(Oid index_id)
{
	return find(index_id) != NULL;
}

int
siblings_workers(Oid index_id)
{
	return find(index_id)->key.workers;
}

/* Returns why runs of one key do not suit a build of another, or NULL. */
static const char *
compare_keys(const SiblingKey *then, const SiblingKey *now)
{
	if (then->heap_id != now->heap_id ||
		!RelFileLocatorEquals(then->file, now->file))
		return "the table has another file now";
	if (then->blocks != now->blocks)
		return "the table has been written to";
	if (then->is_unique != now->is_unique ||
		then->nulls_not_distinct != now->nulls_not_distinct)
		return "the index is not built as was expected";
	if (then->workers != now->workers || then->budget != now->budget ||
		then->settings != now->settings)
		return "settings have changed";
	return NULL;
}

WaitingRuns *
siblings_take(Relation heap, Relation index, const IndexInfo *index_info,
			  int workers, int64 budget, const char **why_not)
{
	WaitingRuns *runs = find(RelationGetRelid(index));
	SiblingKey	key;

	*why_not = NULL;
	if (runs == NULL)
		return NULL;
	fault_point("siblings: take");
	siblings_key(&key, heap, workers, budget);
	key.is_unique = index_info->ii_Unique;
	key.nulls_not_distinct = index_info->ii_NullsNotDistinct;
	*why_not = compare_keys(&runs->key, &key);
	if (*why_not != NULL)
	{
		/* other siblings' runs hardly suit either: this build scans for them */
		siblings_forget();
		return NULL;
	}
	runs->taken = true;
	return runs;
}


/*
 * The end of a transaction or a subtransaction
 */

static void
siblings_xact(XactEvent event, void *arg)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
		siblings_release(&waiting[i]);
}

static void
siblings_subxact(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
	{
		if (waiting[i].segment == NULL || waiting[i].subid != mySubid)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			siblings_release(&waiting[i]);
		else if (event == SUBXACT_EVENT_COMMIT_SUB)
			waiting[i].subid = parentSubid;
	}
}

void
siblings_init(void)
{
	RegisterXactCallback(siblings_xact, NULL);
	RegisterSubXactCallback(siblings_subxact, NULL);
}
