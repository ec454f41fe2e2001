/*-------------------------------------------------------------------------
 *
 * chunk.h
 *	  Large pieces of memory, and those that the sorts before have left.
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
	Size		opened;			/* the beginning, see pages.h */
	struct ChunkHome *home;		/* private to chunk.c */
} MemChunk;

/*
 * chunk_take makes a chunk, which is freed with the memory context 'owner' and
 * counts there.  It has 'size' bytes; or if one is kept that has at least
 * 'least' and at most 'most' bytes, it is that one.
 */
extern void chunk_take(MemChunk *chunk, MemoryContext owner, Size least,
					   Size size, Size most);

/* chunk_free gives its memory back. */
extern void chunk_free(MemChunk *chunk);

/*
 * chunk_keep leaves its memory to the sorts after this one, unless more than
 * 'limit' bytes would be kept then, or it is not worth it.
 */
extern void chunk_keep(MemChunk *chunk, int64 limit);

/*
 * chunk_give_back gives back all that is kept; to be called before much memory
 * is allocated that is not in chunks.
 */
extern void chunk_give_back(void);

#endif							/* PTSORT_CHUNK_H */
