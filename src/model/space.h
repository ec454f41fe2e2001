/*-------------------------------------------------------------------------
 *
 * space.h
 *	  Free disk space: what is left, and what work will need.
 *
 * A process takes space before it writes to temporary files, to a new relation
 * or to the WAL.  It raises ERRCODE_DISK_FULL if what it writes does not fit,
 * or would leave less than ptsort.disk_reserve and the next WAL file need.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SPACE_H
#define PTSORT_SPACE_H

#include "compat.h"

#include <sys/types.h>


/* GUC: in kB; 0: never look; -1: no reserve */
extern int	ptsort_disk_reserve;

/* space_tablespace returns a tablespace's directory. */
extern char *space_tablespace(Oid tablespace);

/* space_temporary returns the fullest directory of temp_tablespaces. */
extern char *space_temporary(void);

/*
 * space_free returns the free bytes in the file system of a path, or -1 if the
 * system cannot tell.
 */
extern int64 space_free(const char *path);


/*
 * The rule: what files and WAL need beside the reserve
 */

typedef enum SpaceUse
{
	SPACE_INDEX,
	SPACE_TEMP,
	SPACE_WAL,
	NUM_SPACE_USES
} SpaceUse;

/* SpaceNeed: what is needed in one file system. */
typedef struct SpaceNeed
{
	dev_t		device;
	const char *path;			/* one of its directories */
	double		bytes[NUM_SPACE_USES];
} SpaceNeed;

/*
 * space_add adds bytes in a directory to a list of SpaceNeeds, and returns it.
 * space_lacking returns the bytes that a file system lacks, or 0.
 */
extern List *space_add(List *needs, SpaceUse use, const char *path,
					   double bytes);
extern int64 space_lacking(const SpaceNeed *need);

/*
 * space_verdict returns "fits", or text that says which file systems are too
 * small.
 */
extern char *space_verdict(List *needs);


/*
 * The guard: before it writes, a process takes space
 */

/* call this by space_take */
extern void space_look(Size *guard, Relation rel, const char *path,
					   Size size);

/*
 * Take space for 'size' bytes of a relation's main fork or, if 'rel' is NULL,
 * of the temporary file 'path', which exists.  *guard, at first 0, is the
 * number of bytes that the process may write without another look.
 */
static inline void
space_take(Size *guard, Relation rel, const char *path, Size size)
{
	if (unlikely(*guard < size))
		space_look(guard, rel, path, size);
	else
		*guard -= size;
}

/*
 * Take space for WAL records of 'size' bytes.  May wait for a checkpoint, so
 * the caller must not hold a lock that a checkpoint needs.
 */
extern void space_take_wal(Size size);

#endif							/* PTSORT_SPACE_H */
