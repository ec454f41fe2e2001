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

#include "write/slicelist.h"

struct SliceList
{
	TapeFile   *file;
	bool		writes;
	int64		next;			/* offset of the block after the buffer's */
	Size		used;			/* bytes of the buffer filled or read */
	char		buffer[BLCKSZ];
};

SliceList *
slicelist_open(SharedFileSet *fileset, int slice, bool create)
{
	SliceList  *list = palloc(sizeof(SliceList));
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), "ptsort.links.%d", slice);
	list->file = tapefile_open(fileset, name, create);
	list->writes = create;
	list->next = 0;
	list->used = create ? 0 : BLCKSZ;
	return list;
}

/* Write the buffer, or read the next block into it. */
static void
next_block(SliceList *list)
{
	if (list->writes)
		tapefile_write(list->file, list->buffer, BLCKSZ, list->next);
	else
		tapefile_read(list->file, list->buffer, BLCKSZ, list->next);
	list->next += BLCKSZ;
	list->used = 0;
}

/* Copy 'size' bytes from 'data' to the list, or from the list to 'data'. */
static void
transfer(SliceList *list, void *data, Size size)
{
	for (Size done = 0, now; done < size; done += now)
	{
		char	   *here = (char *) data + done;

		if (list->used == BLCKSZ)
			next_block(list);
		now = Min(size - done, BLCKSZ - list->used);
		if (list->writes)
			memcpy(list->buffer + list->used, here, now);
		else
			memcpy(here, list->buffer + list->used, now);
		list->used += now;
	}
}

void
slicelist_append(SliceList *list, IndexTuple downlink)
{
	transfer(list, downlink, IndexTupleSize(downlink));
}

void
slicelist_end(SliceList *list)
{
	IndexTupleData end = {0};

	transfer(list, &end, sizeof(end));
	memset(list->buffer + list->used, 0, BLCKSZ - list->used);
	next_block(list);
	slicelist_close(list);
}

bool
slicelist_next(SliceList *list, IndexTuple downlink)
{
	transfer(list, downlink, sizeof(IndexTupleData));
	if (IndexTupleSize(downlink) == 0)
		return false;
	if (IndexTupleSize(downlink) < sizeof(IndexTupleData))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("list of an index's leaves is damaged")));
	transfer(list, downlink + 1,
			 IndexTupleSize(downlink) - sizeof(IndexTupleData));
	return true;
}

void
slicelist_close(SliceList *list)
{
	tapefile_close(list->file);
	pfree(list);
}
