/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Records, written one after the other in large pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "writer.h"

/* The system is told to write behind in pieces of this many bytes. */
#define FLUSH_SIZE		((int64) 8 * 1024 * 1024)

static int64
buffer_size(int record_size)
{
	return Max(UNIT_SIZE / record_size, 1) * record_size;
}

/* writer_memory tells how much memory a writer takes. */
Size
writer_memory(int record_size)
{
	return buffer_size(record_size);
}

/* writer_init prepares a writer.  Memory is of the current context. */
void
writer_init(Writer *writer, Disk *disk, int record_size)
{
	memset(writer, 0, sizeof(Writer));
	writer->disk = disk;
	writer->record_size = record_size;
	writer->room = buffer_size(record_size);
	writer->buffer = palloc(writer->room);
}

/* writer_seek has the next record written at this place of the volume. */
void
writer_seek(Writer *writer, int64 offset)
{
	writer_finish(writer);
	writer->offset = offset;
	writer->flushed = offset;
}

/* writer_flush writes what there is. */
void
writer_flush(Writer *writer)
{
	disk_write(writer->disk, writer->offset, writer->buffer, writer->used);
	writer->offset += writer->used;
	writer->written += writer->used;
	writer->used = 0;
	if (writer->offset - writer->flushed >= FLUSH_SIZE)
	{
		disk_flush(writer->disk, writer->flushed,
				   writer->offset - writer->flushed);
		writer->flushed = writer->offset;
	}
}

/* writer_finish writes the rest. */
void
writer_finish(Writer *writer)
{
	writer_flush(writer);
	disk_flush(writer->disk, writer->flushed,
			   writer->offset - writer->flushed);
	writer->flushed = writer->offset;
}
