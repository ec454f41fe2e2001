/*-------------------------------------------------------------------------
 *
 * tapefile.h
 *	  Temporary files of any size, private or shared by processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TAPEFILE_H
#define PTSORT_TAPEFILE_H

#include "compat.h"

#include "storage/sharedfileset.h"

typedef struct TapeFile TapeFile;

/*
 * tapefile_open creates an empty file (private if fileset is NULL), or opens
 * the file of another process for reading only.  tapefile_write and
 * tapefile_read transfer exactly 'size' bytes at an offset in bytes.  Other
 * processes can read bytes as soon as tapefile_write returns.  Closing a
 * private file removes it.
 */
extern TapeFile *tapefile_open(SharedFileSet *fileset, const char *name,
							   bool create);
extern void tapefile_write(TapeFile *file, const void *data, Size size,
						   int64 offset);
extern void tapefile_read(TapeFile *file, void *data, Size size, int64 offset);
extern void tapefile_close(TapeFile *file);

#endif							/* PTSORT_TAPEFILE_H */
