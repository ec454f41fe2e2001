/*-------------------------------------------------------------------------
 *
 * diskspace.h
 *	  Keeps free space in the file systems to which a process writes.
 *
 * A process takes space before it writes to temporary files, to a new relation
 * or to the WAL.  It raises ERRCODE_DISK_FULL if what it writes does not fit,
 * or would leave less than ptsort.disk_reserve and the next WAL file need.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_DISKSPACE_H
#define PTSORT_DISKSPACE_H

#include "compat.h"

#include "utils/relcache.h"

/* GUC: in kB; 0: never look; -1: no reserve */
extern int	ptsort_disk_reserve;

/*
 * diskspace_free returns the free bytes in the file system of a path, or -1 if
 * the system cannot tell.  diskspace_lacking returns the bytes that it lacks
 * for files of 'bytes' bytes there and WAL records of 'wal' bytes, or 0.
 */
extern int64 diskspace_free(const char *path);
extern int64 diskspace_lacking(const char *path, double bytes, double wal);

/* call this by diskspace_take */
extern void diskspace_look(Size *guard, Relation rel, const char *path,
						   Size size);

/*
 * Take space for 'size' bytes of a relation's main fork or, if 'rel' is NULL,
 * of the temporary file 'path', which exists.  *guard, at first 0, is the
 * number of bytes that the process may write without another look.
 */
static inline void
diskspace_take(Size *guard, Relation rel, const char *path, Size size)
{
	if (unlikely(*guard < size))
		diskspace_look(guard, rel, path, size);
	else
		*guard -= size;
}

/*
 * Take space for WAL records of 'size' bytes.  May wait for a checkpoint, so
 * the caller must not hold a lock that a checkpoint needs.
 */
extern void diskspace_take_wal(Size size);

#endif							/* PTSORT_DISKSPACE_H */
