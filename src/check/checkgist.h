/*-------------------------------------------------------------------------
 *
 * checkgist.h
 *	  Checks GiST indexes: what checkgist.c and checkgistwalk.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKGIST_H
#define PTSORT_CHECKGIST_H

#include "check/check.h"

#include "access/gist_private.h"

static inline GISTSTATE *
checkgist_state(const CheckIndex *self)
{
	return (GISTSTATE *) self->state;
}

/*
 * checkgist.c: checkgist_covers returns true if a tuple lies in the key of a
 * downlink.  checkgist_child returns a downlink's block.
 */
extern bool checkgist_covers(CheckIndex *self, IndexTuple downlink,
							 IndexTuple tuple);

static inline BlockNumber
checkgist_child(IndexTuple downlink)
{
	return ItemPointerGetBlockNumberNoCheck(&downlink->t_tid);
}

/*
 * checkgistwalk.c: checkgistwalk_mark marks the pages to which self->here
 * links.  checkgistwalk_pages (leader) looks again for the ways to pages that
 * have none, or two, and reports them.  checkgistwalk_find is CheckMethod.find.
 * checkgistwalk_covers returns true if all entries below 'tuple', a tuple of
 * the inner page self->there, lie in the key of a downlink.
 */
extern Size checkgistwalk_size(BlockNumber nblocks);
extern void checkgistwalk_init(CheckIndex *self);
extern void checkgistwalk_mark(CheckIndex *self);
extern void checkgistwalk_pages(CheckIndex *self);
extern bool checkgistwalk_find(CheckIndex *self, IndexTuple tuple);
extern bool checkgistwalk_covers(CheckIndex *self, IndexTuple downlink,
								 IndexTuple tuple);

#endif							/* PTSORT_CHECKGIST_H */
