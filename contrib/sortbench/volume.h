/*-------------------------------------------------------------------------
 *
 * volume.h
 *	  One or several files, read and written as one: a volume.
 *
 * Its files follow one another, or are striped: then each of them in turn has
 * as many bytes of the whole.
 *
 * It goes through the system's cache, or past it (direct).  Then the system
 * transfers whole blocks, between blocks of the file and of memory.  Any bytes
 * can be read in that way.  Of what is written go past the cache those whole
 * blocks whose place in memory is that in the volume, but for a multiple of
 * blocks; so the files of a volume that is written begin with whole blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_VOLUME_H
#define SORTBENCH_VOLUME_H

#include <sys/stat.h>

#include "port/atomics.h"

#define MAX_FILES		32

/*
 * Smallest stripe, in bytes: a sector of a disk or a page of memory.  Less
 * would only make many calls of the system.
 */
#define MIN_STRIPE		4096

/* Largest stripe, in bytes: MAX_FILES of them are far from overflowing. */
#define MAX_STRIPE		(INT64CONST(1) << 40)

/* What the system transfers past its cache: see above */
#define BLOCK_SIZE		4096

/* Room for the name of a descriptor below /proc */
#define NAMELESS_SIZE	64

/* The least number of units of so many bytes that makes whole blocks. */
static inline int64
units_of_blocks(int64 unit)
{
	return BLOCK_SIZE / Min(unit & -unit, BLOCK_SIZE);
}

typedef struct VolumeFile
{
	char		path[MAXPGPATH];
	char		nameless[NAMELESS_SIZE];	/* how a file is reached that does
											 * not have this path yet; "" if
											 * it has */
	dev_t		device;			/* which file it is, whatever its name */
	ino_t		inode;
	int64		start;			/* its place in the whole, if not striped */
	int64		size;
} VolumeFile;

/* Has no pointers: it can be copied to another process. */
typedef struct Volume
{
	int			nfiles;
	int64		size;			/* bytes of all files */
	int64		stripe;			/* bytes; 0: one file after the other */
	bool		sync;			/* what is written goes to the disk at once */
	bool		direct;			/* past the system's cache */
	VolumeFile	files[MAX_FILES];
} Volume;

/* What was done with a file, by all participants. */
typedef struct FileUse
{
	pg_atomic_uint64 bytes;
	pg_atomic_uint64 us;		/* time spent in calls, of all together */
} FileUse;

/* A volume as a process has opened it. */
typedef struct Disk
{
	const Volume *volume;
	FileUse    *use;			/* of each file, may be NULL */
	int			fds[MAX_FILES];
	int			direct[MAX_FILES];	/* the same, past the cache */
	uint8	   *blocks;			/* what was read past the cache: disk_unit() */
	double		wait_ms;		/* time spent in calls, of this process */
} Disk;

extern void volume_layout(Volume *volume, int64 unit);
extern int64 disk_unit(const Volume *volume);
extern Size disk_memory(const Volume *volume);
extern void disk_open(Disk *disk, const Volume *volume, int flags,
					  FileUse *use);
extern void disk_close(Disk *disk);
extern void disk_read(Disk *disk, int64 offset, void *buffer, int64 size);
extern void disk_expect(Disk *disk, int64 offset, int64 size);
extern void disk_write(Disk *disk, int64 offset, const void *buffer,
					   int64 size);
extern void disk_flush(Disk *disk, int64 offset, int64 size);

#endif							/* SORTBENCH_VOLUME_H */
