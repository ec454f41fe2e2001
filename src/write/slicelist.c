/*-------------------------------------------------------------------------
 *
 * slicelist.c
 *	  Lists of items; see slicelist.h.
 *
 * A list consists of whole blocks.  It ends with an item of kind 0, so that a
 * truncated file is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/memutils.h"
#include "write/slicelist.h"

/* ItemHead: what precedes an item. */
typedef struct ItemHead
{
	uint32		kind;
	uint32		size;
} ItemHead;

struct SliceList
{
	TapeFile   *file;
	bool		writes;
	int64		next;			/* offset of the block after the buffer's */
	Size		used;			/* bytes of the buffer filled or read */
	void	   *item;			/* the last item read */
	Size		room;			/* for an item */
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
	list->room = BLCKSZ;
	list->item = create ? NULL : palloc(list->room);
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
slicelist_append_item(SliceList *list, uint32 kind, const void *data,
					  Size size)
{
	ItemHead	head = {kind, size};

	transfer(list, &head, sizeof(head));
	transfer(list, unconstify(void *, data), size);
}

void
slicelist_append(SliceList *list, IndexTuple downlink)
{
	slicelist_append_item(list, 1, downlink, IndexTupleSize(downlink));
}

void
slicelist_end(SliceList *list)
{
	ItemHead	end = {0};

	transfer(list, &end, sizeof(end));
	memset(list->buffer + list->used, 0, BLCKSZ - list->used);
	next_block(list);
	slicelist_close(list);
}

uint32
slicelist_next(SliceList *list, void **data)
{
	ItemHead	head;

	transfer(list, &head, sizeof(head));
	if (head.kind == 0)
		return 0;
	if (!AllocSizeIsValid(head.size))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("list of an index's leaves is damaged")));
	if (head.size > list->room)
	{
		list->room = head.size;
		list->item = repalloc(list->item, list->room);
	}
	transfer(list, list->item, head.size);
	*data = list->item;
	return head.kind;
}

void
slicelist_close(SliceList *list)
{
	tapefile_close(list->file);
	if (list->item != NULL)
		pfree(list->item);
	pfree(list);
}
