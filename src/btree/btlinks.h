/*-------------------------------------------------------------------------
 *
 * btlinks.h
 *	  The list of a slice's leaves: what level 1 needs to know of them.
 *
 * A link is a pivot tuple: the low key of a leaf, and the leaf's block as its
 * downlink.  The list is written once, in key order, and read once.  Its size
 * depends on the data (about 30 bytes per leaf of integers, at most a third of
 * a page per leaf), so it cannot be in a fixed-size shared block.
 *
 * A list has a small buffer.  A private list that fits the buffer needs no
 * file, since creating one would be a large part of the cost of a small index.
 * A larger list goes to a temporary file.  A list in a file set always ends up
 * in a file, which another process can read after btlinks_export().
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
	BufFile    *file;			/* NULL: all links are in memory */
	char	   *buffer;			/* NULL: nothing was appended */
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

/* btlinks_rewind completes a private list, for btlinks_next(). */
extern void btlinks_rewind(BtLinks *links);

/*
 * btlinks_next copies the next link to 'pivot', which has room for any index
 * tuple.  The caller must know the number of links.
 */
extern void btlinks_next(BtLinks *links, IndexTuple pivot);

/* btlinks_free releases the list and, if it is private, its file. */
extern void btlinks_free(BtLinks *links);

#endif							/* PTSORT_BTLINKS_H */
