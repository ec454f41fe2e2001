/*-------------------------------------------------------------------------
 *
 * writer.h
 *	  Write records one after the other, in large pieces.
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
	uint8	   *buffer;			/* aligned to BLOCK_SIZE */
	int64		room;			/* size of the buffer */
	int64		start;			/* start of unwritten data in the buffer */
	int64		used;			/* end of unwritten data in the buffer */
	int64		offset;			/* place of "start" in the volume */
	int64		flushed;		/* place up to which the writer flushed data */
	int64		written;		/* total bytes written */
} Writer;

extern Size writer_memory(const Volume *volume, int record_size);
extern void writer_init(Writer *writer, Disk *disk, int record_size);
extern void writer_seek(Writer *writer, int64 offset);
extern void writer_flush(Writer *writer);
extern void writer_finish(Writer *writer);

/*
 * Returns the next record's place in the buffer.  The caller must write the
 * record to this place before the next call.
 */
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
