/*-------------------------------------------------------------------------
 *
 * marks.h
 *	  What the scan of a CONCURRENTLY build knows about the table's pages.
 *
 * Validation (validate.h) follows the build, in a later transaction of the same
 * statement.  It need not look at a page that did not change since the build's
 * scan, if the scan's snapshot saw all of the page's rows, so that the build
 * indexed them.  So the scan marks such pages, and the session keeps the marks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MARKS_H
#define PTSORT_MARKS_H

#include "compat.h"

#include "access/xlogdefs.h"

/* A page may have both marks. */
#define MARK_INDEXED	1		/* the scan's snapshot saw all rows */
#define MARK_VISIBLE	2		/* the page itself said so, too */

#define MARK_BITS		2
#define MARKS_PER_WORD	(32 / MARK_BITS)

/* Marks: in memory that the participants of a build share, or in a session's */
typedef struct Marks
{
	RelFileLocator file;		/* the table's */
	XLogRecPtr	begin;			/* end of the WAL before the scan */
	BlockNumber nblocks;		/* blocks after these have no marks */
	pg_atomic_uint32 words[FLEXIBLE_ARRAY_MEMBER];
} Marks;

/*
 * marks_create returns empty marks for a table, in the current memory context,
 * or NULL if they need more than 'most' bytes.
 */
extern Marks *marks_create(Relation heap, Size most);
extern Size marks_size(BlockNumber nblocks);

/* Set marks of a block, once.  Several processes may set marks. */
static inline void
marks_set(Marks *marks, BlockNumber block, uint32 mark)
{
	if (mark != 0 && block < marks->nblocks)
		(void) pg_atomic_fetch_or_u32(&marks->words[block / MARKS_PER_WORD],
									  mark << block % MARKS_PER_WORD * MARK_BITS);
}

static inline bool
marks_has(const Marks *marks, BlockNumber block, uint32 mark)
{
	pg_atomic_uint32 *word =
		(pg_atomic_uint32 *) &marks->words[block / MARKS_PER_WORD];

	return block < marks->nblocks &&
		(pg_atomic_read_u32(word) >> block % MARKS_PER_WORD * MARK_BITS &
		 mark) != 0;
}

/*
 * marks_keep keeps a copy of the marks for the validation of an index, until
 * marks_drop, or until marks_forget drops all.  marks_find returns the marks that are kept for an
 * index, or NULL, also if the table has another file now.
 */
extern void marks_keep(Oid index_id, const Marks *marks);
extern const Marks *marks_find(Oid index_id, Relation heap);
extern void marks_drop(Oid index_id);
extern void marks_forget(void);

#endif							/* PTSORT_MARKS_H */
