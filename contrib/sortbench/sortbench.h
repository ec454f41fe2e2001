/*-------------------------------------------------------------------------
 *
 * sortbench.h
 *	  What the files of sortbench have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_H
#define SORTBENCH_H

#include <time.h>

#include "fmgr.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"

/* Largest record that is sorted, generated ones have 100 bytes */
#define MAX_RECORD_SIZE		65536

#define MAX_WORKERS			64

/*
 * Bytes that a participant reads, sorts or writes at a time: few enough for the
 * processor's cache, many enough to cost few calls.
 */
#define UNIT_SIZE			((int64) 256 * 1024)

/* Bytes that a participant takes of what is to be read */
#define PIECE_SIZE			((int64) 4 * 1024 * 1024)

/* Milliseconds since some moment, the same for all processes. */
static inline double
clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000.0 + now.tv_nsec / 1e6;
}

#include "key.h"
#include "output.h"
#include "record.h"
#include "volume.h"

/* Records of one size in files, and what of them is compared. */
typedef struct Records
{
	Volume		volume;
	int			size;			/* bytes of one */
	int64		n;
	Key			key;
} Records;

/* How many records make about so many bytes; at least one. */
static inline int64
records_in(const Records *records, int64 bytes)
{
	return Max(bytes / records->size, 1);
}

#endif							/* SORTBENCH_H */
