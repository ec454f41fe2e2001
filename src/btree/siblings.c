/*-------------------------------------------------------------------------
 *
 * siblings.c
 *	  Runs that wait for the builds of other indexes; see btbuild.h.
 *
 * While a build writes or loads runs, its resource owner owns their segment, so
 * an error detaches the segment.  While the runs wait, the segment belongs to
 * no resource owner, because its mapping is pinned.  The session detaches the
 * segment at the end of the statement, the end of the transaction, the abort of
 * a subtransaction, or the end of the process, whichever comes first.  The
 * segment owns the file set, so detaching the segment also removes the files.
 *
 * The list of waiting runs is in static memory, so nothing can fail between
 * pinning a segment and adding its runs to the list.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btbuild.h"
#include "debug.h"
#include "key/key.h"
#include "sort/shared.h"
#include "stamp.h"
#include "text/text_rank.h"
#include "write/buildreport.h"

/* The list of waiting runs; an entry is free if its segment is NULL. */
static WaitingRuns waiting[MAX_SIBLINGS];

dsm_segment *
siblings_create(int processes)
{
	dsm_segment *segment;

	fault_point("siblings: create");
	segment = dsm_create(shared_estimate(processes),
						 DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment != NULL)
		shared_init(siblings_sorts(segment), processes, segment);
	return segment;
}

dsm_segment *
siblings_attach(dsm_handle handle)
{
	dsm_segment *segment = stamp_attach(handle);

	shared_attach(siblings_sorts(segment), segment);
	return segment;
}

void
siblings_describe(WaitingRuns *runs, Relation heap)
{
	runs->file = heap->rd_locator;
	runs->blocks = RelationGetNumberOfBlocks(heap);
	runs->settings = 2 * ptsort_distrusted.n +
		(ptsort_use_collation_tables ? 1 : 0);
}

void
siblings_keep(const WaitingRuns *runs)
{
	WaitingRuns *entry = waiting;

	fault_point("siblings: keep");
	while (entry < waiting + MAX_SIBLINGS && entry->segment != NULL)
		entry++;
	if (entry == waiting + MAX_SIBLINGS ||
		shared_has_failed(siblings_sorts(runs->segment)))
	{
		dsm_detach(runs->segment);
		return;
	}
	dsm_pin_mapping(runs->segment);
	*entry = *runs;
	entry->subid = GetCurrentSubTransactionId();
}

static WaitingRuns *
find(Oid index_id)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
	{
		if (waiting[i].segment != NULL && waiting[i].index_id == index_id)
			return &waiting[i];
	}
	return NULL;
}

bool
siblings_wait(Oid index_id)
{
	return find(index_id) != NULL;
}

/* Returns the reason why runs do not suit a build, or NULL. */
static const char *
why_not(const WaitingRuns *runs, Relation heap, const IndexInfo *index_info)
{
	WaitingRuns now;

	siblings_describe(&now, heap);
	if (!RelFileLocatorEquals(runs->file, now.file))
		return "the table has another file now";
	if (runs->blocks != now.blocks)
		return "the table was written to";
	if (runs->is_unique != index_info->ii_Unique)
		return "the index is not built as expected";
	if (runs->settings != now.settings)
		return "settings changed";
	return NULL;
}

bool
siblings_take(WaitingRuns *runs, Relation heap, Relation index, Oid index_id,
			  const IndexInfo *index_info)
{
	WaitingRuns *found = find(index_id);
	const char *reason;

	if (found == NULL)
		return false;
	fault_point("siblings: take");
	reason = why_not(found, heap, index_info);
	if (reason != NULL)
	{
		/* other runs are probably unusable, too; a new scan replaces them */
		siblings_forget();
		ereport(buildreport_log_level(),
				(errmsg("ptsort: scanning again for index \"%s\": %s",
						RelationGetRelationName(index), reason)));
		return false;
	}
	dsm_unpin_mapping(found->segment);
	*runs = *found;
	found->segment = NULL;
	return true;
}

/* Release the waiting runs of a subtransaction, or all waiting runs. */
static void
release(SubTransactionId subid)
{
	for (int i = 0; i < MAX_SIBLINGS; i++)
	{
		dsm_segment *segment = waiting[i].segment;

		if (segment == NULL ||
			(subid != InvalidSubTransactionId && waiting[i].subid != subid))
			continue;
		waiting[i].segment = NULL;
		dsm_detach(segment);
	}
}

void
siblings_forget(void)
{
	release(InvalidSubTransactionId);
}


static void
siblings_xact(XactEvent event, void *arg)
{
	siblings_forget();
}

static void
siblings_subxact(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		release(mySubid);
}

void
siblings_init(void)
{
	RegisterXactCallback(siblings_xact, NULL);
	RegisterSubXactCallback(siblings_subxact, NULL);
}
