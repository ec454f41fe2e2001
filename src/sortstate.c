/*-------------------------------------------------------------------------
 *
 * sortstate.c
 *	  What tuplesort.c and sortread.c both need of a sort object.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sortstate.h"

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

/* sort_create_merge: see sortstate.h. */
Merge *
sort_create_merge(PtSort *sort, int nruns, int64 memory, const MergeRange *ranges,
				  MergePurpose purpose)
{
	Merge	   *merge = merge_create(&sort->order, sort->runs, nruns, memory, ranges,
									purpose);

	sort->merge_peak = Max(sort->merge_peak,
						   merge_memory(merge) + (int64) sort->write_buffer);
	return merge;
}
