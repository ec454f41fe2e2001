/*-------------------------------------------------------------------------
 *
 * volume.h
 *	  Read and write several files as one, called a volume.
 *
 * The files of a volume follow one another, or are striped.  If they are
 * striped, each file in turn holds the next "stripe" bytes of the volume.
 *
 * I/O goes through the kernel's cache, or bypasses it (direct).  Direct I/O
 * transfers whole blocks between the file and aligned memory.  disk_read() can
 * read any range of bytes with direct I/O.  disk_write() bypasses the cache
 * only for whole blocks that are block-aligned in memory.  Each byte's offset
 * within a block must therefore be the same in memory and in the volume.  Each
 * output file must begin at a block boundary of the volume.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_VOLUME_H
#define SORTBENCH_VOLUME_H

#include <sys/stat.h>

#include "port/atomics.h"

#define MAX_FILES		32

/*
 * Smallest stripe, in bytes: a disk sector or a memory page.  Smaller stripes
 * would only cause more system calls.
 */
#define MIN_STRIPE		4096

/* Largest stripe, in bytes: MAX_FILES stripes do not overflow an int64. */
#define MAX_STRIPE		(INT64CONST(1) << 40)

/* Size of blocks in direct I/O */
#define BLOCK_SIZE		4096

/* Size of a buffer for the name of a descriptor below /proc */
#define NAMELESS_SIZE	64

/* Smallest number of units whose total size is a multiple of BLOCK_SIZE. */
static inline int64
units_of_blocks(int64 unit)
{
	return BLOCK_SIZE / Min(unit & -unit, BLOCK_SIZE);
}

typedef struct VolumeFile
{
	char		path[MAXPGPATH];
	char		nameless[NAMELESS_SIZE];	/* path below /proc while the file
											 * has no name, else "" */
	dev_t		device;			/* device and inode identify the file */
	ino_t		inode;
	int64		start;			/* place in the volume, if not striped */
	int64		size;
} VolumeFile;

/* A volume.  It has no pointers, so processes can copy it. */
typedef struct Volume
{
	int			nfiles;
	int64		size;			/* total size of all files, in bytes */
	int64		stripe;			/* size of a stripe; 0 if not striped */
	bool		sync;			/* write to disk early, and sync at the end */
	bool		direct;			/* use direct I/O */
	VolumeFile	files[MAX_FILES];
} Volume;

/* I/O statistics of a file, for all participants together. */
typedef struct FileUse
{
	pg_atomic_uint64 bytes;
	pg_atomic_uint64 us;		/* time in I/O calls, in microseconds */
} FileUse;

/* A volume that this process opened. */
typedef struct Disk
{
	const Volume *volume;
	FileUse    *use;			/* statistics of each file, or NULL */
	int			fds[MAX_FILES];
	int			direct[MAX_FILES];	/* descriptors for direct I/O */
	uint8	   *blocks;			/* buffer of read_direct() */
	double		wait_ms;		/* this process's time in I/O calls */
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
