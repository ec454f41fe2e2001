/*-------------------------------------------------------------------------
 *
 * sortverify.c
 *	  Verify a merge before it is read: a leader's by all participants.
 *
 * Where words are only hints, somebody has to compare the neighbours that come
 * from different runs.  A leader who alone reads the merge would do that alone,
 * and before it has returned the first of the two (merge.c: guided), by one
 * comparison a tuple or two.  So its merge is cut into slices, and every
 * participant reads slices of it as the words order them, and compares.  That
 * is a proof for the leader: each run is in true order and so is, in a slice
 * that shows nothing wrong, every pair of neighbours; cuts between slices were
 * made by comparison; and the merge of the same parts of the same runs by the
 * same words will be the same.  So the leader repeats it by words alone.  Where
 * a slice does show a wrong hint the leader's merge of that slice is guided.
 *
 * Where all read slices, each does the same with its own: it compares first,
 * and then repeats by words.  A guided merge needs no second pass, but twice
 * the comparisons, and one of text takes longer than to read two tuples.
 *
 * It costs a pass of reading, which divides by the number of participants, and
 * no file.  (To leave each slice as a run, for the leader to read one after the
 * other, saves it the tree, but costs a pass of writing and as much temporary
 * space again.)
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "miscadmin.h"
#include "sort/shared.h"
#include "sort/sortread.h"
#include "sort/sortstate.h"

/* sort_has_hints: see internal.h. */
bool
sort_has_hints(const PtSort *sort)
{
	return (sort->order.hint_facts & HINTS_EXIST) != 0;
}

/* sort_verify_slice: see sortread.h. */
bool
sort_verify_slice(PtSort *sort, int slice)
{
	MemoryContext old;
	bool		wrong = false;

	if (sort->order.policy != VERIFY_RUNS)
		return false;
	old = MemoryContextSwitchTo(sort->context);
	sort_merge_slice(sort, slice, MERGE_TO_VERIFY);
	while (!wrong && merge_next(sort->merge) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		wrong = merge_was_wrong(sort->merge);
	}
	MemoryContextSwitchTo(old);
	return !wrong;
}

/* sort_verify_slices: see internal.h. */
void
sort_verify_slices(PtSort *sort)
{
	PtSortShared *shared = sort->options.shared;
	int			slice;

	while ((slice = shared_claim_slice(shared)) >= 0)
		shared_end_slice(shared, slice, sort_verify_slice(sort, slice));
}
