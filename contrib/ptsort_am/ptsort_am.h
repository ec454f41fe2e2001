/*-------------------------------------------------------------------------
 *
 * ptsort_am.h
 *	  An index access method in two short files: sorted arrays of (int8, TID).
 *
 *	  build.c	the build, in parallel, with ptsort
 *	  scan.c	scans, and what else the server asks of an access method
 *
 * Every page is a sorted array of entries.  Those of level 0 point to rows.  An
 * entry of level n points to a page with entries of level n - 1, and repeats
 * the first key there.  Each slice of the build becomes such a tree, and above
 * all of them there is one root, in the last block.  An index without entries
 * has no blocks.
 *
 * Nothing changes after the build.  So scans need no locks, and rows with new
 * keys are refused; VACUUM leaves the entries of rows that are gone, and scans
 * have every row rechecked against their condition.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_AM_H
#define PTSORT_AM_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"
#include "storage/bufpage.h"

typedef struct Entry
{
	uint64		key;			/* in the order of int8; see KEY */
	uint64		place;			/* level (16 bits), block (32), offset (16) */
} Entry;

#define KEY(value)		((uint64) (value) ^ (UINT64CONST(1) << 63))
#define PLACE(level, block, offset) \
	((uint64) (level) << 48 | (uint64) (block) << 16 | (offset))
#define LEVEL(place)	((int) ((place) >> 48))
#define BLOCK(place)	((BlockNumber) ((place) >> 16))
#define OFFSET(place)	((OffsetNumber) (place))

/* The entries are a page's special space, up to its end. */
#define PAGE_ENTRIES ((BLCKSZ - SizeOfPageHeaderData) / sizeof(Entry))

extern IndexBuildResult *ptsort_am_build(Relation heap, Relation index,
										 IndexInfo *info);

#endif							/* PTSORT_AM_H */
