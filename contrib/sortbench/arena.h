/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  Memory that holds all records and that all participants share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_ARENA_H
#define SORTBENCH_ARENA_H

#include "volume.h"

typedef struct Arena
{
	int64		size;
	int			fd;				/* in the process that created the arena */
	char		name[NAMELESS_SIZE];	/* path for other processes */
} Arena;

extern void arena_create(Arena *arena, int64 size);
extern void arena_close(const Arena *arena);
extern uint8 *arena_map(const Arena *arena);
extern void arena_fill(uint8 *place, int64 size);

#endif							/* SORTBENCH_ARENA_H */
