/*-------------------------------------------------------------------------
 *
 * slicelist.c
 *	  Lists of downlinks; see slicelist.h.
 *
 * A list consists of whole blocks.  It ends with a header of size 0, so that a
 * truncated file is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "tape/tape.h"
#include "write/slicelist.h"

struct SliceList
{
	TapeFile   *file;
	int64		next;			/* offset of the block after the buffer's */
	Size		used;			/* bytes of the buffer written or read */
	char		buffer[BLCKSZ];
};

SliceList *
slicelist_open(SharedFileSet *fileset, int slice, bool create)
{
	SliceList  *list = palloc(sizeof(SliceList));
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), "ptsort.links.%d", slice);
	list->file = tapefile_open(fileset, name, create);
	list->next = 0;
	list->used = create ? 0 : BLCKSZ;
	return list;
}

/* Write the buffer, whose unused rest becomes zero bytes of the list. */
static void
write_block(SliceList *list)
{
	memset(list->buffer + list->used, 0, BLCKSZ - list->used);
	tapefile_write(list->file, list->buffer, BLCKSZ, list->next);
	list->next += BLCKSZ;
	list->used = 0;
}

static void
append(SliceList *list, const void *data, Size size)
{
	const char *source = data;

	while (size > 0)
	{
		Size		now = Min(size, BLCKSZ - list->used);

		memcpy(list->buffer + list->used, source, now);
		list->used += now;
		source += now;
		size -= now;
		if (list->used == BLCKSZ)
			write_block(list);
	}
}

static void
read_next(SliceList *list, void *data, Size size)
{
	char	   *target = data;

	while (size > 0)
	{
		Size		now;

		if (list->used == BLCKSZ)
		{
			tapefile_read(list->file, list->buffer, BLCKSZ, list->next);
			list->next += BLCKSZ;
			list->used = 0;
		}
		now = Min(size, BLCKSZ - list->used);
		memcpy(target, list->buffer + list->used, now);
		list->used += now;
		target += now;
		size -= now;
	}
}

void
slicelist_append(SliceList *list, IndexTuple downlink)
{
	append(list, downlink, IndexTupleSize(downlink));
}

void
slicelist_end(SliceList *list)
{
	IndexTupleData end = {0};

	append(list, &end, sizeof(end));
	if (list->used > 0)
		write_block(list);
	slicelist_close(list);
}

bool
slicelist_next(SliceList *list, IndexTuple downlink)
{
	read_next(list, downlink, sizeof(IndexTupleData));
	if (IndexTupleSize(downlink) == 0)
		return false;
	if (IndexTupleSize(downlink) < sizeof(IndexTupleData))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("list of an index's leaves is damaged")));
	read_next(list, downlink + 1,
			  IndexTupleSize(downlink) - sizeof(IndexTupleData));
	return true;
}

void
slicelist_close(SliceList *list)
{
	tapefile_close(list->file);
	pfree(list);
}
