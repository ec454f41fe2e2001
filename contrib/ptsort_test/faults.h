/*-------------------------------------------------------------------------
 *
 * faults.h
 *	  Declarations shared by the files that make things fail.
 *
 *	  fault.c		ptsort_test.fault: the fault at each point
 *	  points.c		counts the points that processes pass, and makes
 *					processes wait for each other
 *	  memory.c		makes the n-th allocation fail
 *	  full.c		disks without space, and processes that cannot start
 *	  shortage.c	a separate library that tests preload into the server:
 *					its functions, which replace system calls, first ask
 *					full.c and memory.c whether to fail
 *
 *-------------------------------------------------------------------------
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "postgres.h"

#include "port/atomics.h"

#define MAX_POINTS	128

/* The role of a process that passes a point. */
typedef enum FaultRole
{
	ROLE_LEADER,
	ROLE_WORKER
} FaultRole;

/*
 * SharedPoint: a point that a process passed.  A process claims a slot by
 * storing the hash of the point's name.  Any process that passes the point may
 * then write the name, because all these processes write the same name.  So a
 * process that dies leaves no lock behind.
 */
typedef struct SharedPoint
{
	pg_atomic_uint32 hash;		/* 0: a free slot */
	char		name[NAMEDATALEN];
	pg_atomic_uint32 hits[2];	/* passes by role, since the setting changed */
	pg_atomic_uint32 recent[2]; /* passes by role, since the last launch */
} SharedPoint;

/*
 * FaultShared: the state shared by all processes, if the library is in
 * shared_preload_libraries.  Otherwise each process has its own state.
 */
typedef struct FaultShared
{
	SharedPoint points[MAX_POINTS];
	pg_atomic_uint32 full;		/* bits of enum FullSpace */
	pg_atomic_uint32 half;		/* true: cut the next write short */
	pg_atomic_uint32 forks;		/* number of forks still to fail */
	pg_atomic_uint32 deaths;	/* number of new processes that will die */
	pg_atomic_uint32 allocations;	/* counted by an armed process */
	pg_atomic_uint32 acted;		/* faults since the setting changed */
	pg_atomic_uint32 failed;	/* calls that failed due to a fault */
	pg_atomic_uint32 changes;	/* number of changes of the setting */
	pg_atomic_uint32 launched;	/* value of "changes" at the last launch */
} FaultShared;

/* The kinds of files for which the disk can be full. */
typedef enum FullSpace
{
	FULL_TEMP = 0x01,			/* temporary files */
	FULL_INDEX = 0x02,			/* relations outside the default tablespace */
	FULL_WAL = 0x04,			/* WAL, until a failed write causes a PANIC */
	FULL_SEGMENT = 0x08,		/* dynamic shared memory in files */
	FULL_FILE = 0x10			/* files without a name (O_TMPFILE) */
} FullSpace;

/* The kinds of allocations that can fail. */
typedef enum MemoryKind
{
	MEMORY_PALLOC,				/* in a memory context */
	MEMORY_MALLOC				/* in the C library */
} MemoryKind;

/* The point that ends a model test. */
#define MODEL_END_POINT "model: end"

extern FaultShared *fault_shared;

/* fault.c */
extern void test_point(const char *point);

/* points.c */
extern void points_init(void);
extern void points_reset(void);
extern FaultRole points_role(void);
extern int64 points_pass(const char *point);

/* memory.c */
extern void memory_init(void);
extern void memory_arm(MemoryKind kind);
extern void memory_disarm(void);

/* full.c */
extern void full_init(void);

#endif							/* FAULTS_H */
