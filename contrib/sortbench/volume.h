/*-------------------------------------------------------------------------
 *
 * volume.h
 *	  Read and write several files as one, called a volume.
 *
 * The files of a volume follow one another.
 *
 * Output goes through the kernel's cache, or bypasses it (direct).  Direct I/O
 * transfers whole blocks between the file and aligned memory, so disk_write()
 * bypasses the cache only for whole blocks that are block-aligned in memory.
 * Each byte's offset within a block must therefore be the same in memory and in
 * the volume, and each output file must begin at a block boundary of the
 * volume.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_VOLUME_H
#define SORTBENCH_VOLUME_H

#include <sys/stat.h>

#define MAX_FILES		32

/* Size of blocks in direct I/O */
#define BLOCK_SIZE		4096

/* Size of a buffer for the name of a descriptor below /proc */
#define NAMELESS_SIZE	64

typedef struct VolumeFile
{
	char		path[MAXPGPATH];
	char		nameless[NAMELESS_SIZE];	/* path below /proc while the file
											 * has no name, else "" */
	dev_t		device;			/* device and inode identify the file */
	ino_t		inode;
	int64		start;			/* place in the volume */
	int64		size;
} VolumeFile;

/* A volume.  It has no pointers, so processes can copy it. */
typedef struct Volume
{
	int			nfiles;
	int64		size;			/* total size of all files, in bytes */
	bool		sync;			/* write to disk early, and sync at the end */
	bool		direct;			/* write with direct I/O */
	VolumeFile	files[MAX_FILES];
} Volume;

/* A volume that this process opened. */
typedef struct Disk
{
	const Volume *volume;
	int			fds[MAX_FILES];
	int			direct[MAX_FILES];	/* descriptors for direct I/O */
	double		wait_ms;		/* this process's time in I/O calls */
} Disk;

extern void volume_layout(Volume *volume, int64 unit);
extern int64 disk_unit(const Volume *volume);
extern void disk_open(Disk *disk, const Volume *volume, int flags);
extern void disk_close(Disk *disk);
extern void disk_read(Disk *disk, int64 offset, void *buffer, int64 size);
extern void disk_expect(Disk *disk, int64 offset, int64 size);
extern void disk_write(Disk *disk, int64 offset, const void *buffer,
					   int64 size);
extern void disk_flush(Disk *disk, int64 offset, int64 size);

/* output.c */

/* Output files in the process that creates and publishes them. */
typedef struct Output
{
	Volume	   *volume;
	bool		overwrite;		/* replace existing files */
	int			published;		/* number of files that already have names */
	int			fds[MAX_FILES];
	char	   *directories[MAX_FILES]; /* directories of the files */
} Output;

extern void output_create(Output *output);
extern void output_publish(Output *output);

#endif							/* SORTBENCH_VOLUME_H */
