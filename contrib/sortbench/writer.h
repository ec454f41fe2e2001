/*-------------------------------------------------------------------------
 *
 * writer.h
 *	  Records, written one after the other in large pieces.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_WRITER_H
#define SORTBENCH_WRITER_H

#include "sortbench.h"

typedef struct Writer
{
	Disk	   *disk;
	int			record_size;
	uint8	   *buffer;			/* begins with a block of memory */
	int64		room;			/* bytes of it */
	int64		start;			/* of what is not written yet */
	int64		used;			/* its end */
	int64		offset;			/* of its first byte in the volume */
	int64		flushed;		/* up to there the system knows */
	int64		written;		/* bytes in all */
} Writer;

extern Size writer_memory(const Volume *volume, int record_size);
extern void writer_init(Writer *writer, Disk *disk, int record_size);
extern void writer_seek(Writer *writer, int64 offset);
extern void writer_flush(Writer *writer);
extern void writer_finish(Writer *writer);

/* Where the next record is to be put, all of it before the next call. */
static inline uint8 *
writer_next(Writer *writer)
{
	uint8	   *place;

	if (writer->used + writer->record_size > writer->room)
		writer_flush(writer);
	place = writer->buffer + writer->used;
	writer->used += writer->record_size;
	return place;
}

#endif							/* SORTBENCH_WRITER_H */
