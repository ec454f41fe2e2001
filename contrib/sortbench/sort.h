/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Run a sort, from opening to publishing files.
 *
 * A Job describes a sort; every participant has a copy.  A Task is the sort's
 * state in shared memory, and a Player is the state of one participant.  A Way
 * is an algorithm: pointer.c and image.c each have one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_SORT_H
#define SORTBENCH_SORT_H

#include "ptsort_parallel.h"
#include "ptsort_variant.h"

#include "report.h"
#include "sortbench.h"
#include "writer.h"

/* Memory that holds all records and that all participants share. */
typedef struct Arena
{
	int64		size;
	int			fd;				/* in the process that created the arena */
	char		name[NAMELESS_SIZE];	/* path for other processes */
} Arena;

typedef struct Job
{
	Records		input;
	Volume		output;
	bool		pointers;		/* keep the records in memory: pointer.c */
	Arena		arena;			/* memory for the records, if "pointers" */
	int64		memory;			/* memory limit of all participants, in bytes */
	int			workers;
	double		launched;		/* time of workers' launch, by clock_ms() */
} Job;

/* State in the sort's segment of shared memory. */
typedef struct Task
{
	pg_atomic_uint64 next_record;	/* first unclaimed record */
	Diary		diaries[FLEXIBLE_ARRAY_MEMBER]; /* one for each process */
} Task;

/* State of one participant. */
typedef struct Player
{
	const Job  *job;
	Task	   *task;
	Diary	   *diary;
	Disk		input;			/* open while the participant reads */
	Disk		output;			/* open while the participant writes */
	Writer		writer;
	uint8	   *buffer;			/* has read_size() bytes */
	uint8	   *arena;			/* all records, if job->pointers */
} Player;

/* An algorithm to sort records. */
typedef struct Way
{
	/* begins a sort */
	PtSort	   *(*begin) (const Job *job, const PtSortOptions *options);

	/* reads records and puts them into the sort */
	void		(*put) (Player *player, PtSort *sort, int64 first, int64 n);

	/* writes a slice of the result */
	void		(*write) (Player *player, PtSort *sort);
} Way;

extern const Way pointer_way;
extern const Way image_way;

/* arena.c */
extern void arena_create(Arena *arena, int64 size);
extern void arena_close(const Arena *arena);
extern uint8 *arena_map(const Arena *arena);
extern void arena_fill(uint8 *place, int64 size);

/* pointer.c */
extern int64 pointer_memory(const Records *records);

/* sort.c */
extern int64 sort_least_memory(const Job *job);
extern void sort_files(Job *job, Output *output);

#endif							/* SORTBENCH_SORT_H */
