/*-------------------------------------------------------------------------
 *
 * sortstate.c
 *	  Functions of a sort object for all files of its phases: its memory
 *	  accounting, and the error of a call in the wrong phase.
 *
 * Everything in a sort is in the variant's context or below it, and the server
 * knows how much each context has allocated.  So nothing has to be added up.
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

PtSortMethod
sort_method(const PtSort *sort)
{
	PtSortMethod now = current_method(sort);

	return Max(now, sort->stats.method);
}

void
sort_wrong_variant(const PtSort *sort, const PtSortVariant *variant)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("sort of variant \"%s\" cannot be used as one of variant \"%s\"",
					sort->order.variant->name, variant->name)));
}

int64
sort_returned(const PtSort *sort)
{
	return sort->returned;
}

bool
sort_has_part(const PtSort *sort, const PtSortOptions *options)
{
	return sort->options.role == options->role &&
		sort->options.shared == options->shared &&
		sort->options.participant == options->participant &&
		sort->options.participants == options->participants;
}

void
sort_outcome(const PtSort *sort, SortOutcome *outcome)
{
	const SortVariant *own = sort->order.own;

	outcome->contradicted = sort->contradicted ? *sort->contradicted :
		InvalidOid;
	outcome->failed = sort->failed || OidIsValid(outcome->contradicted) ||
		(own->has_postponed && own->has_postponed(sort->order.state));
}

int64
sort_other_memory(const PtSort *sort)
{
	int64		all = MemoryContextMemAllocated(sort->variant_context, true);

	return sort->memsort ? all - memsort_allocated(sort->memsort) : all;
}

void
sort_note_memory(PtSort *sort)
{
	int64		now = sort_other_memory(sort);

	if (sort->memsort)
	{
		now += sort->memsort->peak;
		sort->memsort->peak = memsort_used(sort->memsort);
	}
	sort->peak_memory = Max(sort->peak_memory, now);
}
