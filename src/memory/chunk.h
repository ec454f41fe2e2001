/*-------------------------------------------------------------------------
 *
 * chunk.h
 *	  Large pieces of memory, kept from one sort for the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHUNK_H
#define PTSORT_CHUNK_H

#include "compat.h"

/* A piece of memory. */
typedef struct MemChunk
{
	char	   *start;			/* MAXALIGNed */
	Size		size;
	Size		opened;			/* bytes at the start that are open, see
								 * pages.h */
	struct ChunkHome *home;		/* private to chunk.c */
} MemChunk;

/*
 * chunk_take makes a chunk that is freed with the memory context 'owner' and
 * accounted to it.  It reuses a kept chunk of 'least' to 'most' bytes if there
 * is one; otherwise it allocates 'size' bytes.
 */
extern void chunk_take(MemChunk *chunk, MemoryContext owner, Size least,
					   Size size, Size most);

/* chunk_free frees a chunk. */
extern void chunk_free(MemChunk *chunk);

/*
 * chunk_keep keeps a chunk for later sorts.  It frees the chunk instead if more
 * than 'limit' bytes would then be kept, or if keeping it would not pay.
 */
extern void chunk_keep(MemChunk *chunk, int64 limit);

/*
 * chunk_give_back frees all kept chunks.  Call it before allocating much memory
 * that is not in chunks.
 */
extern void chunk_give_back(void);

#endif							/* PTSORT_CHUNK_H */
