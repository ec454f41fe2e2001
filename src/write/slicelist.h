/*-------------------------------------------------------------------------
 *
 * slicelist.h
 *	  Lists of items: what the leader must know of the leaves of a slice.
 *
 * A participant that loads a slice of an index appends items, such as
 * downlinks, to the slice's list, a file of the sort's file set.  After all
 * participants ended, the leader reads the lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SLICELIST_H
#define PTSORT_SLICELIST_H

#include "access/itup.h"
#include "tape/tape.h"

typedef struct SliceList SliceList;

/*
 * slicelist_open returns a slice's list in the current memory context: a new
 * list for writing or, if 'create' is false, a complete list for reading.
 */
extern SliceList *slicelist_open(SharedFileSet *fileset, int slice,
								 bool create);

/*
 * slicelist_append appends a tuple.  slicelist_append_item appends an item of
 * a kind that the caller defines: at least 1.
 */
extern void slicelist_append(SliceList *list, IndexTuple downlink);
extern void slicelist_append_item(SliceList *list, uint32 kind,
								  const void *data, Size size);

/* slicelist_end completes and closes a list for the leader. */
extern void slicelist_end(SliceList *list);

/*
 * slicelist_next returns the kind of the next item (1: a tuple), or 0 at the
 * end of the list.  *data becomes a MAXALIGNed copy, valid until the next call.
 */
extern uint32 slicelist_next(SliceList *list, void **data);
extern void slicelist_close(SliceList *list);

#endif							/* PTSORT_SLICELIST_H */
