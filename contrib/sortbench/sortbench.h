/*-------------------------------------------------------------------------
 *
 * sortbench.h
 *	  Common declarations for the files of sortbench.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_H
#define SORTBENCH_H

#include <time.h>

#include "fmgr.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"

/* Maximum size of a record to sort; generated records have 100 bytes */
#define MAX_RECORD_SIZE		65536

#define MAX_WORKERS			64

/*
 * Bytes that a participant reads, sorts or writes at a time: few enough to fit
 * in the processor's cache, and enough to make system calls rare.
 */
#define UNIT_SIZE			((int64) 256 * 1024)

/* Maximum number of input bytes that a participant claims at a time */
#define PIECE_SIZE			((int64) 4 * 1024 * 1024)

/* Milliseconds by a clock that all processes share. */
static inline double
clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000.0 + now.tv_nsec / 1e6;
}

#include "key.h"
#include "record.h"
#include "volume.h"

/* Records of equal size, the files that hold them, and their sort key. */
typedef struct Records
{
	Volume		volume;
	int			size;			/* size of a record in bytes */
	int64		n;
	Key			key;
} Records;

/* Number of records that fit in "bytes", but at least one. */
static inline int64
records_in(const Records *records, int64 bytes)
{
	return Max(bytes / records->size, 1);
}

/* arguments.c */
extern char **texts_argument(FunctionCallInfo fcinfo, int i, const char *name,
							 int *n);
extern int	workers_argument(FunctionCallInfo fcinfo, int i);
extern void record_arguments(FunctionCallInfo fcinfo, int i,
							 Records *records);
extern void input_volume(Records *records, char **paths, int n);
extern void output_volume(Volume *volume, char **paths, int n, bool overwrite,
						  const Records *input);
extern Datum answer_row(FunctionCallInfo fcinfo, Datum *values,
						bool *isnull);

#endif							/* SORTBENCH_H */
