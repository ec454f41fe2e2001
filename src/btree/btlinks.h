/*-------------------------------------------------------------------------
 *
 * btlinks.h
 *	  The list of a slice's leaves: what level 1 will need of them.
 *
 * A link is a pivot tuple: the low key of a leaf, and the leaf's block as its
 * downlink.  The list is written once, in key order, and read once.  Its size
 * depends on the data (about 30 bytes for each leaf of integers, up to a third
 * of a page for each), so it has no place in a fixed-size shared block.
 *
 * A list has a small buffer.  A private one that fits it needs no file, which
 * saves a tenth of the time that the index of a small table takes; what does
 * not fit goes to a temporary file, which costs nothing that could be
 * measured.  A list in a file set always ends up in a file, which another
 * process can read after btlinks_export().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTLINKS_H
#define PTSORT_BTLINKS_H

#include "access/itup.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"

typedef struct BtLinks
{
	MemoryContext cxt;
	SharedFileSet *fileset;		/* NULL: a private list */
	int			slice;			/* names the file in the file set */
	BufFile    *file;			/* NULL: all in memory */
	char	   *buffer;			/* NULL: nothing appended */
	Size		used;			/* bytes written to or read from the buffer */
	int64		nlinks;
} BtLinks;

/* btlinks_create starts the list of a slice in the current memory context. */
extern BtLinks *btlinks_create(SharedFileSet *fileset, int slice);

/* btlinks_append adds a copy of 'pivot'. */
extern void btlinks_append(BtLinks *links, IndexTuple pivot);

/*
 * btlinks_export completes a list in a file set, for btlinks_open() in any
 * process, and frees 'links'.
 */
extern void btlinks_export(BtLinks *links);

/* btlinks_open opens an exported list for reading. */
extern BtLinks *btlinks_open(SharedFileSet *fileset, int slice);

/* btlinks_rewind completes a private list and turns to reading it. */
extern void btlinks_rewind(BtLinks *links);

/*
 * btlinks_next copies the next link to 'pivot', which has room for any index
 * tuple.  The reader knows how many there are.
 */
extern void btlinks_next(BtLinks *links, IndexTuple pivot);

/* btlinks_free releases the list and, if it is private, its file. */
extern void btlinks_free(BtLinks *links);

#endif							/* PTSORT_BTLINKS_H */
