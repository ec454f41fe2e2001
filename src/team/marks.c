/*-------------------------------------------------------------------------
 *
 * marks.c
 *	  What the scan of a CONCURRENTLY build knows about the table's pages; see
 *	  marks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xlog.h"
#include "team/marks.h"
#include "utils/memutils.h"

/* KeptMarks: the marks for the validation of one index */
typedef struct KeptMarks
{
	Oid			index_id;
	Marks	   *marks;
} KeptMarks;

/*
 * A statement may build several indexes before it validates the first.  In
 * TopMemoryContext
 */
static List *kept = NIL;

Size
marks_size(BlockNumber nblocks)
{
	return offsetof(Marks, words) +
		(nblocks / MARKS_PER_WORD + 1) * sizeof(pg_atomic_uint32);
}

Marks *
marks_create(Relation heap, Size most)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	Size		size = marks_size(nblocks);
	Marks	   *marks;

	if (size > most)
		return NULL;
	marks = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	marks->file = heap->rd_locator;
	marks->begin = GetXLogInsertRecPtr();
	marks->nblocks = nblocks;
	for (BlockNumber i = 0; i <= nblocks / MARKS_PER_WORD; i++)
		pg_atomic_init_u32(&marks->words[i], 0);
	return marks;
}

static KeptMarks *
find(Oid index_id)
{
	ListCell   *lc;

	foreach(lc, kept)
	{
		KeptMarks  *entry = lfirst(lc);

		if (entry->index_id == index_id)
			return entry;
	}
	return NULL;
}

void
marks_keep(Oid index_id, const Marks *marks)
{
	Size		size = marks_size(marks->nblocks);
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	KeptMarks  *entry;

	marks_drop(index_id);		/* of a build that started over */
	entry = palloc0(sizeof(KeptMarks));
	entry->index_id = index_id;
	kept = lappend(kept, entry);
	entry->marks = palloc_extended(size, MCXT_ALLOC_HUGE);
	memcpy(entry->marks, marks, size);
	MemoryContextSwitchTo(caller);
}

const Marks *
marks_find(Oid index_id, Relation heap)
{
	const KeptMarks *entry = find(index_id);

	return entry != NULL && entry->marks != NULL &&
		RelFileLocatorEquals(entry->marks->file, heap->rd_locator) ?
		entry->marks : NULL;
}

void
marks_drop(Oid index_id)
{
	KeptMarks  *entry = find(index_id);

	if (entry == NULL)
		return;
	kept = list_delete_ptr(kept, entry);
	if (entry->marks != NULL)
		pfree(entry->marks);
	pfree(entry);
}

void
marks_forget(void)
{
	while (kept != NIL)
		marks_drop(((const KeptMarks *) linitial(kept))->index_id);
}
