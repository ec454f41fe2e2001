/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Write records one after the other, in large pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "writer.h"

/* Minimum number of bytes to write back at a time. */
#define FLUSH_SIZE		((int64) 8 * 1024 * 1024)

/*
 * Size of a buffer for whole records.  With direct I/O, the buffer also has
 * room for partial blocks.
 */
static int64
buffer_size(const Volume *volume, int record_size)
{
	int64		unit = disk_unit(volume);
	int64		size = Max(unit / record_size, 1) * record_size;

	return volume->direct ? size + 2 * BLOCK_SIZE : size;
}

/* writer_memory returns the number of bytes that a writer allocates. */
Size
writer_memory(const Volume *volume, int record_size)
{
	return buffer_size(volume, record_size) + BLOCK_SIZE;
}

/* writer_init initializes a writer, with memory in the current context. */
void
writer_init(Writer *writer, Disk *disk, int record_size)
{
	memset(writer, 0, sizeof(Writer));
	writer->disk = disk;
	writer->record_size = record_size;
	writer->room = buffer_size(disk->volume, record_size);
	writer->buffer = (uint8 *) TYPEALIGN(BLOCK_SIZE,
										 palloc(writer_memory(disk->volume,
															  record_size)));
}

/*
 * writer_seek sets the place in the volume for the next record.  With direct
 * I/O, the record's offset within a block is the same in the buffer and in the
 * volume.
 */
void
writer_seek(Writer *writer, int64 offset)
{
	writer_finish(writer);
	writer->start = writer->disk->volume->direct ? offset % BLOCK_SIZE : 0;
	writer->used = writer->start;
	writer->offset = offset;
	writer->flushed = offset;
}

/* Writes the buffer up to "end", which is the end of a block or of the data. */
static void
write_until(Writer *writer, int64 end)
{
	int64		size = end - writer->start;

	disk_write(writer->disk, writer->offset, writer->buffer + writer->start,
			   size);
	writer->offset += size;
	writer->written += size;
	writer->used -= end;
	writer->start = 0;
	memmove(writer->buffer, writer->buffer + end, writer->used);
}

/* writer_flush writes the buffered data; with direct I/O, only whole blocks. */
void
writer_flush(Writer *writer)
{
	bool		direct = writer->disk->volume->direct;

	write_until(writer, direct ? TYPEALIGN_DOWN(BLOCK_SIZE, writer->used) :
				writer->used);
	if (writer->offset - writer->flushed >= FLUSH_SIZE)
	{
		disk_flush(writer->disk, writer->flushed,
				   writer->offset - writer->flushed);
		writer->flushed = writer->offset;
	}
}

/* writer_finish writes the rest of the buffered data. */
void
writer_finish(Writer *writer)
{
	write_until(writer, writer->used);
	disk_flush(writer->disk, writer->flushed,
			   writer->offset - writer->flushed);
	writer->flushed = writer->offset;
}
