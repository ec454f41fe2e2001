/*-------------------------------------------------------------------------
 *
 * slicelist.h
 *	  Lists of downlinks: what the leader must know of the leaves of a slice.
 *
 * A participant that loads a slice of an index appends downlinks to the slice's
 * list, a file of the sort's file set.  After all participants ended, the
 * leader reads the lists and adds the downlinks to the level above the leaves.
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

extern void slicelist_append(SliceList *list, IndexTuple downlink);

/* slicelist_end completes and closes a list for the leader. */
extern void slicelist_end(SliceList *list);

/*
 * slicelist_next copies the next downlink to 'downlink', which has room for any
 * tuple, or returns false at the end of the list.
 */
extern bool slicelist_next(SliceList *list, IndexTuple downlink);
extern void slicelist_close(SliceList *list);

#endif							/* PTSORT_SLICELIST_H */
