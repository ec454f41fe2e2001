/*-------------------------------------------------------------------------
 *
 * sortstate.c
 *	  What tuplesort.c and sortread.c both need of a sort object.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/sortstate.h"
#include "utils/memutils.h"

StaticAssertDecl(offsetof(struct PtSort, order) == 0 &&
				 offsetof(SortOrder, variant) == offsetof(PtSortHead, variant) &&
				 offsetof(SortOrder, state) == offsetof(PtSortHead, state),
				 "a PtSort does not begin with a PtSortHead");

/* sort_wrong_phase: see sortstate.h. */
void
sort_wrong_phase(const char *operation)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s is not possible in this phase of the sort", operation)));
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

/* Bytes of the lists in which a block of a tape may come while runs are merged. */
#define BLOCK_LISTS	(2 * (sizeof(TapeExtent) + sizeof(int64)))

/* sort_merge_memory: see sortstate.h. */
int64
sort_merge_memory(const PtSort *sort, int nruns, MergePurpose purpose)
{
	int64		memory = sort->options.budget - sort_other_memory(sort) -
		SORT_BLOCK;

	/* a list of extents or samples may grow by a block here, too */
	if (purpose == MERGE_TO_RUN)
		memory -= sort->write_buffer + RUN_WRITER_MEMORY + SORT_BLOCK;
	for (int i = 0; i < nruns && sort->tapeset; i++)
		memory -= tape_blocks(sort->runs[i]->tape) * BLOCK_LISTS;
	return memory;
}

/* sort_create_merge: see sortstate.h. */
Merge *
sort_create_merge(PtSort *sort, int nruns, const MergeRange *ranges,
				  MergePurpose purpose)
{
	Merge	   *merge = merge_create(&sort->order, sort->runs, nruns,
									 sort_merge_memory(sort, nruns, purpose),
									 ranges, purpose);

	sort_note_memory(sort);
	return merge;
}
