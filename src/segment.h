/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  Opens the file of a relation's segment without the storage manager.
 *
 * Where the server has no function to read or write many blocks with one system
 * call, ptsort itself must open the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SEGMENT_H
#define PTSORT_SEGMENT_H

#include "compat.h"

#include "storage/block.h"
#include "utils/relcache.h"

/* OpenSegment: the main fork's open segment, or zeroes if none is open. */
typedef struct OpenSegment
{
	bool		is_open;
	BlockNumber number;
	int			fd;
	char		path[MAXPGPATH];
} OpenSegment;

/*
 * segment_open opens a block's segment, and closes any other open segment.
 * 'flags' are flags of open(), and must be the same in all calls.  Returns
 * false on failure, with errno and segment->path set.
 */
extern bool segment_open(OpenSegment *segment, Relation rel, BlockNumber block,
						 int flags);

/*
 * segment_close closes the open segment, if any, which must not outlive the
 * (sub)transaction.  Returns false on failure, with errno set.
 */
extern bool segment_close(OpenSegment *segment);

#endif							/* PTSORT_SEGMENT_H */
