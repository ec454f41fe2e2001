/*-------------------------------------------------------------------------
 *
 * marks.c
 *	  Marks of a table's pages, for the validation of an index; see marks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xlog.h"
#include "team/marks.h"
#include "utils/memutils.h"

/*
 * Marks that the session keeps, in TopMemoryContext: a statement may build
 * several indexes before it validates the first.
 */
static List *kept = NIL;
static Size kept_size = 0;		/* bytes of all */

Size
marks_size(BlockNumber nblocks)
{
	return offsetof(Marks, words) +
		(nblocks / MARKS_PER_WORD + 1) * sizeof(pg_atomic_uint32);
}

Marks *
marks_create(Relation heap, double most)
{
	BlockNumber nblocks = (BlockNumber)
		Min(RelationGetNumberOfBlocks(heap),
			Max(most - kept_size, 0) * BITS_PER_BYTE / MARK_BITS);
	Marks	   *marks = palloc_extended(marks_size(nblocks),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	marks->begin = GetXLogInsertRecPtr();
	marks->nblocks = nblocks;
	for (BlockNumber i = 0; i <= nblocks / MARKS_PER_WORD; i++)
		pg_atomic_init_u32(&marks->words[i], 0);
	return marks;
}

void
marks_keep(Oid index_id, const Marks *marks)
{
	Size		size = marks_size(marks->nblocks);
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	Marks	   *copy = palloc_extended(size, MCXT_ALLOC_HUGE);

	memcpy(copy, marks, size);
	copy->index_id = index_id;
	kept = lcons(copy, kept);	/* an index's last build counts */
	kept_size += size;
	MemoryContextSwitchTo(caller);
}

Marks *
marks_take(Oid index_id)
{
	ListCell   *lc;

	foreach(lc, kept)
	{
		Marks	   *marks = lfirst(lc);

		if (marks->index_id == index_id)
		{
			kept = list_delete_ptr(kept, marks);
			kept_size -= marks_size(marks->nblocks);
			return marks;
		}
	}
	return NULL;
}

void
marks_forget(void)
{
	list_free_deep(kept);
	kept = NIL;
	kept_size = 0;
}
