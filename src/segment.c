/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  The file of a relation's segment; see segment.h.  The server closes the
 *	  file after an error, because OpenTransientFile() opened it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "segment.h"
#include "storage/fd.h"

bool
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

bool
segment_close(OpenSegment *segment)
{
	bool		was_open = segment->is_open;

	segment->is_open = false;
	return !was_open || CloseTransientFile(segment->fd) == 0;
}
