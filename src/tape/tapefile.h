/*-------------------------------------------------------------------------
 *
 * tapefile.h
 *	  The temporary file of a tapeset, read and written in large pieces.
 *
 * A file of a SharedFileSet has a name, and other processes may open it while
 * it is written: they can read the bytes as soon as tapefile_write() returns.
 * A file without a SharedFileSet is private, and closing it removes it.
 *
 * Errors are ereport'ed.  All memory is in the context current at open, and
 * files belong to the resource owner of that time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TAPEFILE_H
#define PTSORT_TAPEFILE_H

#include "compat.h"

#include "storage/sharedfileset.h"

typedef struct TapeFile TapeFile;

/*
 * tapefile_open makes an empty file, which is private if fileset is NULL, or
 * opens the file of another process, for reading only.
 */
extern TapeFile *tapefile_open(SharedFileSet *fileset, const char *name,
							   bool create);

/* Write or read 'size' bytes, all of them, at an offset in bytes. */
extern void tapefile_write(TapeFile *file, const void *data, Size size,
						   int64 offset);
extern void tapefile_read(TapeFile *file, void *data, Size size, int64 offset);

extern void tapefile_close(TapeFile *file);

#endif							/* PTSORT_TAPEFILE_H */
