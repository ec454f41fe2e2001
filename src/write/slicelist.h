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
#include "storage/buffile.h"
#include "storage/sharedfileset.h"

/*
 * slicelist_create and slicelist_open return the list of a slice, in the
 * current memory context, for writing or for reading.  A reader closes it with
 * BufFileClose().
 */
extern BufFile *slicelist_create(SharedFileSet *fileset, int slice);
extern BufFile *slicelist_open(SharedFileSet *fileset, int slice);

extern void slicelist_append(BufFile *list, IndexTuple tuple);

/* slicelist_export ends the list, so that the leader can open it. */
extern void slicelist_export(BufFile *list);

/*
 * slicelist_next copies the next downlink to 'downlink', which has room for any
 * tuple, or returns false at the end of the list.
 */
extern bool slicelist_next(BufFile *list, IndexTuple downlink);

#endif							/* PTSORT_SLICELIST_H */
