/*-------------------------------------------------------------------------
 *
 * ginsize.c
 *	  Forecasts the pages of a GIN index from the sorted records of a sample.
 *
 * keycount.c tells how many keys have how many TIDs.  A list has one byte for a
 * TID in the block of the key's previous TID, and two or more for any other.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/toast_internals.h"
#include "forecast/forecast.h"
#include "gin/gin.h"
#include "utils/memutils.h"

/* Bytes of a page of the entry tree for tuples, and bytes of an empty list */
#define PAGE_ROOM	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - \
					 MAXALIGN(sizeof(GinPageOpaqueData)) - GIN_FREE_BYTES)
#define LIST_HEADER offsetof(GinPostingList, bytes)

/* GinReader: the state of reading the sample. */
typedef struct GinReader
{
	GinOrder   *order;
	GinState   *gin;
	double		scale;
	double		nblocks;		/* of the table */
	IndexSize  *size;
	MemoryContext temp;			/* reset for each key */
	KeyGroup	few[KEYCOUNT_FEW + 1];	/* by number of blocks */
	/* the index */
	double		keys;
	double		bytes;			/* of leaf tuples, with line pointers */
	double		key_bytes;		/* of the keys' downlinks, if all had one */
	/* the present key */
	GinRecord  *key;			/* its first record */
	uint32		rows;
	uint32		blocks;
	uint64		last;			/* block */
} GinReader;

/* Returns the mean bytes of a list with TIDs in so many of 'all' blocks. */
static double
list_bytes(double rows, double blocks, double all)
{
	double		none = 1 - Min(blocks / all, 1);	/* in a block */
	double		between = 2;

	/* bytes of 7 bits: a third one, if the difference has 14 bits or more */
	for (int bits = 14; bits <= 28; bits += 7)
		between += pow(none, exp2(bits - GINTID_BITS) - 0.5);
	return rows - blocks + (blocks - 1) * between;
}

/*
 * Add the pages of 'n' trees whose leaves have 'bytes' bytes.  Pages have room
 * for 'most' bytes, of which a level of several pages fills 'room' bytes.
 */
static void
add_levels(IndexSize *size, double n, double bytes, double most, double room,
		   double link)
{
	double		level;

	for (;; bytes = level * link)
	{
		level = bytes <= most ? 1 : ceil(bytes / room);
		size->pages += n * level;
		size->free_bytes += n * (level * most - bytes);
		if (level == 1)
			break;
	}
}

/* Returns the bytes of a tree's segments. */
static double
segments(double list, double rows)
{
	const double room = GIN_SEGMENT_SIZE - LIST_HEADER;

	/* the header has the first TID, and the last one leaves some space */
	return list * GIN_SEGMENT_SIZE / (room + list / rows / 2 + 0.5);
}

/*
 * Add keys whose tuples without TIDs have 'bytes' bytes.  Between one row and
 * two, a part of the keys have one TID, which is in the list's header.
 */
static void
add_keys(GinReader *reader, double keys, double rows, double blocks,
		 double bytes)
{
	double		list = list_bytes(Max(rows, 2), Max(blocks, 1),
								  reader->nblocks);
	double		tuple = bytes + LIST_HEADER;

	/* the mean of what MAXALIGN adds to an even size */
	if (list > MAXIMUM_ALIGNOF)
		list += MAXIMUM_ALIGNOF / 2 - 0.5;
	tuple += Min(rows - 1, 1) * Max(list, MAXIMUM_ALIGNOF);
	if (tuple > GinMaxItemSize)
	{
		tuple = bytes;
		add_levels(reader->size, keys, segments(list, rows),
				   GinDataPageMaxDataSize,
				   GinDataPageMaxDataSize - GIN_SEGMENT_SIZE / 2,
				   sizeof(PostingItem));
	}
	tuple += sizeof(ItemIdData);
	reader->keys += keys;
	reader->bytes += keys * tuple;
	reader->key_bytes += keys * (bytes + sizeof(ItemIdData));
}

/* KeyCallback */
static void
add_few(const KeyGroup *group, double keys, double rows, double blocks,
		void *reader)
{
	add_keys(reader, keys, rows, blocks, group->bytes / group->keys);
}

/* Returns the size of the key's tuple without TIDs, even if it is too large. */
static Size
tuple_size(GinReader *reader)
{
	const GinRecord *key = reader->key;
	Form_pg_attribute att = TupleDescAttr(reader->gin->origTupdesc,
										  key->column - 1);
	Datum		value = ginrecord_key(key, att);
	Size		size = sizeof(IndexTupleData) + key->key_size;
	IndexTuple	tuple = NULL;

	/* index_form_tuple() raises an error for much larger tuples */
	if (size > GinMaxItemSize && att->attlen == -1)
	{
		value = toast_compress_datum(value, att->attcompression);
		if (DatumGetPointer(value) != NULL)
			size = sizeof(IndexTupleData) + VARSIZE(DatumGetPointer(value));
	}
	if (size <= GinMaxItemSize)
		tuple = GinFormTuple(reader->gin, key->column, value, key->category,
							 NULL, 0, 0, false);
	return tuple != NULL ? GinGetPostingOffset(tuple) : MAXALIGN(size);
}

/* Count the key whose records the reader read. */
static void
end_key(GinReader *reader)
{
	KeyGroup   *few = &reader->few[Min(reader->blocks, KEYCOUNT_FEW)];
	MemoryContext old;
	Size		bytes;

	if (reader->key == NULL)
		return;
	old = MemoryContextSwitchTo(reader->temp);
	bytes = tuple_size(reader);
	MemoryContextSwitchTo(old);
	MemoryContextReset(reader->temp);	/* also the key */
	reader->size->largest = Max(reader->size->largest, bytes);
	bytes = Min(bytes, GinMaxItemSize);
	if (reader->scale <= 1 || reader->blocks > KEYCOUNT_FEW)
		add_keys(reader, 1, reader->rows * reader->scale,
				 reader->blocks * reader->scale, bytes);
	else
	{
		few->keys++;
		few->rows += reader->rows;
		few->bytes += bytes;
	}
	reader->key = NULL;
	reader->rows = reader->blocks = 0;
}

/* Add a record of the current key. */
static void
add_record(GinReader *reader, const GinRecord *record)
{
	const unsigned char *list = ginrecord_list(record);
	uint64		tid = record->first;
	uint64		block = tid >> GINTID_BITS;

	if (reader->rows == 0 || block != reader->last)
		reader->blocks++;
	for (int i = 1; i < record->ntids; i++)
	{
		uint64		last = tid >> GINTID_BITS;

		tid += gintid_decode(&list);
		reader->blocks += tid >> GINTID_BITS != last;
	}
	reader->last = tid >> GINTID_BITS;
	reader->rows += record->ntids;
}

static void
read_sample(GinReader *reader, Sample *sample)
{
	IndexSize  *size = reader->size;
	const GinRecord *record;

	sample->entries = 0;
	while ((record = variant_get_gin(sample->sort)) != NULL)
	{
		if (reader->key == NULL ||
			variant_gin_compare_keys(reader->order, reader->key, record) != 0)
		{
			end_key(reader);
			reader->key = MemoryContextAllocHuge(reader->temp, record->size);
			memcpy(reader->key, record, record->size);
		}
		add_record(reader, record);
		sample->entries += record->ntids;
		size->tuples++;
		size->tuple_bytes += record->size;
	}
	end_key(reader);
	size->tuple_bytes /= Max(size->tuples, 1);
	size->tuples *= reader->scale;
}

void
ginsize_forecast(IndexSize *size, Relation index, Sample *sample)
{
	GinReader	reader = {
		.order = variant_gin_order(index),
		.scale = sample_scale(sample),
		.nblocks = Max(sample->nblocks, 1),
		.size = size,
		.temp = AllocSetContextCreate(CurrentMemoryContext, "ptsort GIN key",
									  ALLOCSET_DEFAULT_SIZES)
	};

	double		entry_pages;

	memset(size, 0, sizeof(IndexSize));
	reader.gin = &reader.order->gin;
	read_sample(&reader, sample);
	if (reader.scale > 1)
		keycount_few(reader.few, reader.scale, add_few, &reader);
	entry_pages = -size->pages;
	/* a page ends at a tuple that does not fit */
	add_levels(size, 1, reader.bytes, PAGE_ROOM,
			   PAGE_ROOM - reader.bytes / Max(2 * reader.keys, 1),
			   reader.key_bytes / Max(reader.keys, 1));
	entry_pages += size->pages;
	size->free_bytes += entry_pages * GIN_FREE_BYTES;
	size->pages++;				/* the metapage */
	size->free_bytes += PAGE_ROOM - sizeof(GinMetaPageData);
	MemoryContextDelete(reader.temp);
}
