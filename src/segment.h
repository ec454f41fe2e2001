/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  The file of a relation's segment, open past the storage manager.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SEGMENT_H
#define PTSORT_SEGMENT_H

#include "compat.h"

#include "storage/block.h"
#include "utils/relcache.h"

/* OpenSegment: the segment that is open, of the main fork; zeroes: none. */
typedef struct OpenSegment
{
	bool		is_open;
	BlockNumber number;
	int			fd;
	char		path[MAXPGPATH];
} OpenSegment;

/*
 * segment_open has the segment of a block open, and no other one.  'flags' are
 * those of open(), always the same.  False if that fails; errno says why, and
 * path which file it was.
 */
extern bool segment_open(OpenSegment *segment, Relation rel, BlockNumber block,
						 int flags);

/*
 * segment_close closes what is open, if anything is; that must come before the
 * end of the (sub)transaction.  False if that fails; errno says why.
 */
extern bool segment_close(OpenSegment *segment);

#endif							/* PTSORT_SEGMENT_H */
