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

#include "storage/fd.h"

/* OpenSegment: the main fork's open segment, or zeroes if none is open. */
typedef struct OpenSegment
{
	bool		is_open;
	BlockNumber number;
	int			fd;
	char		path[MAXPGPATH];
} OpenSegment;

/*
 * segment_close closes the open segment, if any, which must not outlive the
 * (sub)transaction; the server closes it after an error.  Returns false on
 * failure, with errno set.
 */
static inline bool
segment_close(OpenSegment *segment)
{
	bool		was_open = segment->is_open;

	segment->is_open = false;
	return !was_open || CloseTransientFile(segment->fd) == 0;
}

/*
 * segment_open opens a block's segment, and closes any other open segment.
 * 'flags' are flags of open(), and must be the same in all calls.  Returns
 * false on failure, with errno and segment->path set.
 */
static inline bool
segment_open(OpenSegment *segment, Relation rel, BlockNumber block, int flags)
{
	BlockNumber number = block / RELSEG_SIZE;
	Size		length;

	if (segment->is_open && segment->number == number)
		return true;
	(void) segment_close(segment);
	segment->number = number;
	/* the path that _mdfd_segpath() in md.c makes */
	pt_relation_path(rel, segment->path);
	length = strlen(segment->path);
	if (number > 0)
		snprintf(segment->path + length, MAXPGPATH - length, ".%u", number);
	segment->fd = OpenTransientFile(segment->path, flags | PG_BINARY);
	segment->is_open = segment->fd >= 0;
	return segment->is_open;
}

#endif							/* PTSORT_SEGMENT_H */
