/*-------------------------------------------------------------------------
 *
 * slicelist.c
 *	  Lists of downlinks; see slicelist.h.
 *
 * A list ends with a header of size 0, so that a truncated file is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>

#include "write/slicelist.h"

static void
list_name(char *name, int slice)
{
	snprintf(name, NAMEDATALEN, "ptsort.links.%d", slice);
}

BufFile *
slicelist_create(SharedFileSet *fileset, int slice)
{
	char		name[NAMEDATALEN];

	list_name(name, slice);
	return BufFileCreateFileSet(&fileset->fs, name);
}

BufFile *
slicelist_open(SharedFileSet *fileset, int slice)
{
	char		name[NAMEDATALEN];

	list_name(name, slice);
	return BufFileOpenFileSet(&fileset->fs, name, O_RDONLY, false);
}

void
slicelist_append(BufFile *list, IndexTuple downlink)
{
	BufFileWrite(list, downlink, IndexTupleSize(downlink));
}

void
slicelist_export(BufFile *list)
{
	IndexTupleData end = {0};

	BufFileWrite(list, &end, sizeof(end));
	BufFileExportFileSet(list);
	BufFileClose(list);
}

bool
slicelist_next(BufFile *list, IndexTuple downlink)
{
	BufFileReadExact(list, downlink, sizeof(IndexTupleData));
	if (IndexTupleSize(downlink) == 0)
		return false;
	if (IndexTupleSize(downlink) < sizeof(IndexTupleData))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("list of an index's leaves is damaged")));
	BufFileReadExact(list, downlink + 1,
					 IndexTupleSize(downlink) - sizeof(IndexTupleData));
	return true;
}
