/*-------------------------------------------------------------------------
 *
 * diskspace.h
 *	  Keeps free space in the file systems to which a process writes.
 *
 * A process takes space before it writes to temporary files, to a new relation
 * or to the WAL.  It raises ERRCODE_DISK_FULL if what it writes would leave
 * less than ptsort.disk_reserve in the file system.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_DISKSPACE_H
#define PTSORT_DISKSPACE_H

#include "compat.h"

#include "utils/relcache.h"

/* GUC: in kB; 0: never look */
extern int	ptsort_disk_reserve;

/*
 * diskspace_free returns the free bytes in the file system of a path, or -1 if
 * the system cannot tell.  diskspace_reserved returns the bytes that must stay
 * free: the setting and a margin.
 */
extern int64 diskspace_free(const char *path);
extern int64 diskspace_reserved(void);

/* SpaceGuard: bytes that may be written without another look; 0 at first. */
typedef struct SpaceGuard
{
	Size		left;
} SpaceGuard;

/*
 * diskspace_look_temporary looks at the file system of a temporary file, and
 * diskspace_look_relation at that of a new relation.  Call them by
 * diskspace_take_....
 */
extern void diskspace_look_temporary(SpaceGuard *guard, const char *path,
									 Size size);
extern void diskspace_look_relation(SpaceGuard *guard, Relation rel, Size size);

/* Take space for 'size' bytes of a temporary file that exists. */
static inline void
diskspace_take_temporary(SpaceGuard *guard, const char *path, Size size)
{
	if (unlikely(guard->left < size))
		diskspace_look_temporary(guard, path, size);
	else
		guard->left -= size;
}

/* Take space for 'size' bytes of a relation's main fork. */
static inline void
diskspace_take_relation(SpaceGuard *guard, Relation rel, Size size)
{
	if (unlikely(guard->left < size))
		diskspace_look_relation(guard, rel, size);
	else
		guard->left -= size;
}

/* Take space for WAL records of 'size' bytes. */
extern void diskspace_take_wal(Size size);

#endif							/* PTSORT_DISKSPACE_H */
