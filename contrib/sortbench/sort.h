/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  A sort from the first file to the last.
 *
 * A Job says what is to be done; every participant has a copy.  A Task is what
 * they share while they do it, a Player what one of them has.  A Way is how
 * records are sorted: pointer.c has one, image.c the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_SORT_H
#define SORTBENCH_SORT_H

#include "ptsort_parallel.h"
#include "ptsort_variant.h"

#include "arena.h"
#include "report.h"
#include "sortbench.h"
#include "writer.h"

typedef struct Job
{
	Records		input;
	Volume		output;
	bool		pointers;		/* the records stay in memory: pointer.c */
	Arena		arena;			/* that memory */
	int64		memory;			/* that all may take, in bytes */
	int			workers;
	double		launched;		/* when, by clock_ms() */
} Job;

/* In the segment of the sort. */
typedef struct Task
{
	pg_atomic_uint64 next_record;	/* nobody has read from here on */
	FileUse		inputs[MAX_FILES];
	FileUse		outputs[MAX_FILES];
	Diary		diaries[FLEXIBLE_ARRAY_MEMBER]; /* of each process */
} Task;

/* What one participant has. */
typedef struct Player
{
	const Job  *job;
	Task	   *task;
	Diary	   *diary;
	Disk		input;			/* while it reads */
	Disk		output;			/* while it writes */
	Writer		writer;
	uint8	   *buffer;			/* of read_size() bytes */
	uint8	   *arena;			/* with pointers: all records */
} Player;

/* How records are sorted. */
typedef struct Way
{
	/* begins a sort */
	PtSort	   *(*begin) (const Job *job, const PtSortOptions *options);

	/* reads records and puts them */
	void		(*put) (Player *player, PtSort *sort, int64 first, int64 n);

	/* writes a slice */
	void		(*write) (Player *player, PtSort *sort);
} Way;

extern const Way pointer_way;
extern const Way image_way;

/* pointer.c */
extern int64 pointer_memory(const Records *records);

/* sort.c */
extern int64 sort_least_memory(const Job *job);
extern void sort_files(Job *job, Output *output);

#endif							/* SORTBENCH_SORT_H */
