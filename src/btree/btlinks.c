/*-------------------------------------------------------------------------
 *
 * btlinks.c
 *	  The list of a slice's leaves: what level 1 needs to know of them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btlinks.h"
#include "fault.h"
#include "utils/memutils.h"

/* Size of a list's buffer, in bytes: room for several of the largest links */
#define BUFFER_SIZE		((Size) 2 * BLCKSZ)

BtLinks *
btlinks_create(SharedFileSet *fileset, int slice)
{
	BtLinks    *links = palloc0(sizeof(BtLinks));

	links->cxt = CurrentMemoryContext;
	links->fileset = fileset;
	links->slice = slice;
	return links;
}

static void
file_name(char *name, Size size, int slice)
{
	snprintf(name, size, "ptsort.links.%d", slice);
}

static void
spill(BtLinks *links)
{
	if (links->file == NULL)
	{
		MemoryContext oldcxt = MemoryContextSwitchTo(links->cxt);
		char		name[NAMEDATALEN];

		file_name(name, sizeof(name), links->slice);
		links->file = links->fileset ?
			BufFileCreateFileSet(&links->fileset->fs, name) :
			BufFileCreateTemp(false);
		MemoryContextSwitchTo(oldcxt);
	}
	BufFileWrite(links->file, links->buffer, links->used);
	links->used = 0;
}

void
btlinks_append(BtLinks *links, IndexTuple pivot)
{
	Size		size = IndexTupleSize(pivot);

	Assert(size == MAXALIGN(size) && size <= BUFFER_SIZE);
	if (links->buffer == NULL)
		links->buffer = MemoryContextAlloc(links->cxt, BUFFER_SIZE);
	if (links->used + size > BUFFER_SIZE)
		spill(links);
	memcpy(links->buffer + links->used, pivot, size);
	links->used += size;
	links->nlinks++;
}

void
btlinks_export(BtLinks *links)
{
	Assert(links->fileset && links->nlinks > 0);
	fault_point("btlinks: export");
	spill(links);
	BufFileExportFileSet(links->file);
	btlinks_free(links);
}

BtLinks *
btlinks_open(SharedFileSet *fileset, int slice)
{
	BtLinks    *links = palloc0(sizeof(BtLinks));
	char		name[NAMEDATALEN];

	fault_point("btlinks: open");
	file_name(name, sizeof(name), slice);
	links->fileset = fileset;
	links->slice = slice;
	links->file = BufFileOpenFileSet(&fileset->fs, name, O_RDONLY, false);
	return links;
}

void
btlinks_rewind(BtLinks *links)
{
	if (links->file != NULL)
	{
		spill(links);
		if (BufFileSeek(links->file, 0, 0, SEEK_SET) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not rewind temporary file")));
	}
	links->used = 0;
}

void
btlinks_next(BtLinks *links, IndexTuple pivot)
{
	if (links->file != NULL)
	{
		BufFileReadExact(links->file, pivot, sizeof(IndexTupleData));
		if (IndexTupleSize(pivot) < sizeof(IndexTupleData))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("list of an index's leaves is damaged")));
		BufFileReadExact(links->file, pivot + 1,
						 IndexTupleSize(pivot) - sizeof(IndexTupleData));
	}
	else
	{
		IndexTuple	stored = (IndexTuple) (links->buffer + links->used);

		memcpy(pivot, stored, IndexTupleSize(stored));
		links->used += IndexTupleSize(stored);
	}
}

void
btlinks_free(BtLinks *links)
{
	if (links->file != NULL)
		BufFileClose(links->file);
	if (links->buffer != NULL)
		pfree(links->buffer);
	pfree(links);
}
