/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  The file of a relation's segment, open past the storage manager.
 *
 * Reading or writing many blocks by one system call needs the file itself,
 * where the server has no function for that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SEGMENT_H
#define PTSORT_SEGMENT_H

#include "compat.h"

#include "storage/block.h"
#include "utils/relcache.h"

/* OpenSegment: the open segment of the main fork; all zeroes: none. */
typedef struct OpenSegment
{
	bool		is_open;
	BlockNumber number;
	int			fd;
	char		path[MAXPGPATH];
} OpenSegment;

/*
 * segment_open opens the segment of a block, and closes any other one.  'flags'
 * are those of open(), the same in all calls.  False on failure, with errno and
 * path set.
 */
extern bool segment_open(OpenSegment *segment, Relation rel, BlockNumber block,
						 int flags);

/*
 * segment_close closes the open segment, if there is one.  Call it before the
 * end of the (sub)transaction.  False on failure, with errno set.
 */
extern bool segment_close(OpenSegment *segment);

#endif							/* PTSORT_SEGMENT_H */
