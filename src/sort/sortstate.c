/*-------------------------------------------------------------------------
 *
 * sortstate.c
 *	  Functions of a sort object for all files of its phases: its memory
 *	  accounting, its merges, and the error of a call in the wrong phase.
 *
 * The server knows how much each memory context has allocated, and everything
 * in a sort is in the variant's context or below it.  So nothing has to be
 * added up: the sort compares the budget with the memory that is really
 * allocated, for whatever purpose.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/sortstate.h"
#include "utils/memutils.h"

StaticAssertDecl(offsetof(struct PtSort, order) == 0 &&
				 offsetof(SortOrder, variant) == offsetof(SortHead, variant) &&
				 offsetof(SortOrder, state) == offsetof(SortHead, state),
				 "a PtSort does not begin with a SortHead");

/* Why the phase may not allow an operation, as a sentence. */
static const char *
phase_detail(const PtSort *sort)
{
	switch (sort->phase)
	{
		case PHASE_PUTTING:
			return _("The sort has not been performed yet.");
		case PHASE_MEMORY:
		case PHASE_MERGING:
		case PHASE_RUN:
			return _("The sort has been performed already.");
		case PHASE_SLICES:
			return _("The sort has been performed, and has no current slice.");
		case PHASE_ANNOUNCED:
			return _("The sort has been performed and has left its run to the leader.");
		case PHASE_FAILED:
			break;
	}
	return _("The sort could not be performed.");
}

/* sort_wrong_phase: see sortstate.h. */
void
sort_wrong_phase(const PtSort *sort, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg_internal("%s", _(message)),
			 errdetail_internal("%s", phase_detail(sort))));
}

/* The method that the sort used since the last reset. */
static PtSortMethod
current_method(const PtSort *sort)
{
	switch (sort->phase)
	{
		case PHASE_MEMORY:
			return sort->trimmed ? PTSORT_TOP_N : PTSORT_IN_MEMORY;
		case PHASE_MERGING:
		case PHASE_SLICES:
			return PTSORT_EXTERNAL_MERGE;
		case PHASE_RUN:
		case PHASE_ANNOUNCED:
			return PTSORT_EXTERNAL_SORT;
		case PHASE_PUTTING:
		case PHASE_FAILED:
			break;
	}
	return PTSORT_STILL_IN_PROGRESS;
}

/* sort_method: see sortstate.h. */
PtSortMethod
sort_method(const PtSort *sort)
{
	PtSortMethod now = current_method(sort);

	return Max(now, sort->stats.method);
}

/* sort_wrong_variant raises the error of ptsort_state. */
void
sort_wrong_variant(const PtSort *sort, const PtSortVariant *variant)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("sort of variant \"%s\" cannot be used as one of variant \"%s\"",
					sort->order.variant->name, variant->name)));
}

/* sort_state_of: see sortextras.h. */
void *
sort_state_of(PtSort *sort, const PtSortVariant *variant)
{
	return sort_state(sort, variant);
}

/* sort_returned: see sortextras.h. */
int64
sort_returned(const PtSort *sort)
{
	return sort->returned;
}

/* sort_has_part: see sortextras.h. */
bool
sort_has_part(const PtSort *sort, const PtSortOptions *options)
{
	return sort->options.role == options->role &&
		sort->options.shared == options->shared &&
		sort->options.participant == options->participant &&
		sort->options.participants == options->participants;
}

/* sort_outcome: see sortextras.h. */
void
sort_outcome(const PtSort *sort, SortOutcome *outcome)
{
	const SortVariant *own = sort->order.own;

	outcome->contradicted = sort->contradicted ? *sort->contradicted :
		InvalidOid;
	outcome->failed = sort->failed || OidIsValid(outcome->contradicted) ||
		(own->has_postponed && own->has_postponed(sort->order.state));
}

/* sort_other_memory: see sortstate.h. */
int64
sort_other_memory(const PtSort *sort)
{
	int64		all = MemoryContextMemAllocated(sort->variant_context, true);

	return sort->memsort ? all - memsort_allocated(sort->memsort) : all;
}

/* sort_note_memory: see sortstate.h. */
void
sort_note_memory(PtSort *sort)
{
	int64		now = sort_other_memory(sort);

	if (sort->memsort)
	{
		now += sort->memsort->peak;
		sort->memsort->peak = sort->memsort->used;
	}
	sort->peak_memory = Max(sort->peak_memory, now);
}

/*
 * sort_list_memory: see sortstate.h.  Each block of a tape that is read and
 * recycled may take an extent of the tape that is written, whose list has up to
 * twice the room that it needs.
 */
int64
sort_list_memory(const Run *run, MergePurpose purpose)
{
	if (purpose != MERGE_TO_RUN)
		return 0;
	return tape_blocks(run->tape) * 2 * sizeof(TapeExtent);
}

/* sort_merge_memory: see sortstate.h. */
int64
sort_merge_memory(const PtSort *sort, Run **runs, int nruns,
				  MergePurpose purpose)
{
	int64		memory = sort->options.budget - sort_other_memory(sort) -
		SORT_BLOCK;

	/* a list of extents or samples may also grow by a block here */
	if (purpose == MERGE_TO_RUN)
		memory -= sort->write_buffer + RUN_WRITER_MEMORY + SORT_BLOCK;
	for (int i = 0; i < nruns; i++)
		memory -= sort_list_memory(runs[i], purpose);
	return memory;
}

/* sort_create_merge: see sortstate.h. */
Merge *
sort_create_merge(PtSort *sort, Run **runs, int nruns,
				  const MergeRange *ranges, MergePurpose purpose)
{
	Merge	   *merge = merge_create(&sort->order, runs, nruns,
									 sort_merge_memory(sort, runs, nruns,
													   purpose),
									 ranges, purpose);

	sort_note_memory(sort);
	return merge;
}
