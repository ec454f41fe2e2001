/*-------------------------------------------------------------------------
 *
 * diskspace.h
 *	  Keeps free space in the file systems to which a process writes.
 *
 * A process takes space before it writes to temporary files, to a new relation
 * or to the WAL.  It raises ERRCODE_DISK_FULL if what it writes would leave
 * less than ptsort.disk_reserve in the file system.  Without a reserve, it does
 * so if the bytes do not fit, or would take the space of the next WAL files.
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

/* SpaceGuard: bytes that may be written without another look; 0 at first. */
typedef struct SpaceGuard
{
	Size		left;
} SpaceGuard;

/* diskspace_look looks at the file system; call it by diskspace_take. */
extern void diskspace_look(SpaceGuard *guard, Relation rel, const char *path,
						   Size size);

/*
 * Take space for 'size' bytes of a relation's main fork or, if 'rel' is NULL,
 * of the temporary file 'path', which exists.
 */
static inline void
diskspace_take(SpaceGuard *guard, Relation rel, const char *path, Size size)
{
	if (unlikely(guard->left < size))
		diskspace_look(guard, rel, path, size);
	else
		guard->left -= size;
}

/*
 * Take space for WAL records of 'size' bytes.  May wait for a checkpoint, so the
 * caller must not hold a lock that a checkpoint needs.
 */
extern void diskspace_take_wal(Size size);

#endif							/* PTSORT_DISKSPACE_H */
