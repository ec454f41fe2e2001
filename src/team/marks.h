/*-------------------------------------------------------------------------
 *
 * marks.h
 *	  Marks of a table's pages, for the validation of an index (validate.h).
 *
 * The scan of a CONCURRENTLY build marks the pages whose rows it indexed.  The
 * session keeps the marks until a later transaction validates the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_MARKS_H
#define PTSORT_MARKS_H

#include "compat.h"

/* Mark: a page may have two. */
typedef enum Mark
{
	/* marks of the build's scan */
	MARK_INDEXED = 1,			/* its snapshot saw all rows */
	MARK_VISIBLE = 2,			/* the page itself said so, too */

	/* marks of validation */
	MARK_READ = 1,				/* it reads the page */
	MARK_COMPARE = 2,			/* it compares the rows with the index */

	MARK_BITS = 2
} Mark;
#define MARKS_PER_WORD	(32 / MARK_BITS)

typedef struct Marks
{
	Oid			index_id;		/* see marks_keep */
	XLogRecPtr	begin;			/* end of the WAL before the build's scan */
	BlockNumber nblocks;		/* blocks after these have no marks */
	pg_atomic_uint32 words[FLEXIBLE_ARRAY_MEMBER];
} Marks;

/*
 * marks_create returns empty marks, in the current memory context.  If they
 * and all kept marks need more than 'most' bytes, the last pages get none.
 */
extern Marks *marks_create(Relation heap, double most);
extern Size marks_size(BlockNumber nblocks);

/* Several processes may set marks at the same time. */
static inline void
marks_set(Marks *marks, BlockNumber block, uint32 mark)
{
	mark <<= block % MARKS_PER_WORD * MARK_BITS;
	if (mark != 0 && block < marks->nblocks)
		pg_atomic_fetch_or_u32(&marks->words[block / MARKS_PER_WORD], mark);
}

static inline bool
marks_has(Marks *marks, BlockNumber block, uint32 mark)
{
	return block < marks->nblocks &&
		(pg_atomic_read_u32(&marks->words[block / MARKS_PER_WORD]) >>
		 block % MARKS_PER_WORD * MARK_BITS & mark) != 0;
}

/*
 * marks_keep keeps a copy of the marks for the validation of an index.
 * marks_take returns this copy, for the caller to free, or NULL.  marks_forget
 * frees all copies.
 */
extern void marks_keep(Oid index_id, const Marks *marks);
extern Marks *marks_take(Oid index_id);
extern void marks_forget(void);

#endif							/* PTSORT_MARKS_H */
