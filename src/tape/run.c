/*-------------------------------------------------------------------------
 *
 * run.c
 *	  A run: one sorted sequence of tuples on a tape, with its sparse index.
 *
 * A writer writes each full frame to the tape immediately, and a reader has
 * one frame in memory in addition to the tape's buffer.  The memory of a writer
 * or reader does not depend on the length of the run.
 *
 * A reader checks sizes and offsets from a temporary file before using them, so
 * that a damaged file causes an error and not a crash.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "port/pg_bitutils.h"
#include "tape/run.h"
#include "util.h"

/*
 * A frame is full when the rests of its images (frame.h) have FRAME_RESTS
 * bytes.  Below FRAME_MIN_ENTRIES images, however, the rests may grow to
 * STAGE_RESTS bytes, so that the header is not too large a part of the frame.
 */
#define FRAME_RESTS		3072
#define FRAME_MIN_ENTRIES	8
#define STAGE_RESTS		(2 * FRAME_RESTS)

/* The first IMAGE_HEAD bytes of every image form a column of the frame. */
#define IMAGE_HEAD		sizeof(uint64)

/* The frame that a writer fills. */
typedef struct RunStage
{
	int			count;
	uint64		entries[FRAME_ENTRIES * FRAME_MAX_COLUMNS];
	uint8		trims[FRAME_ENTRIES];
	Size		rest_bytes;
	uint64		packed[FRAME_MAX_PACKED / sizeof(uint64) + 1];
	char		rests[STAGE_RESTS]; /* not allocated if images are inline */
} RunStage;

/*
 * Maximum slack of a read buffer, for the unread part of a frame when the tape
 * refills the buffer.  Only a frame of one image may be larger than the slack.
 */
#define MAX_SLACK		(STAGE_RESTS + FRAME_PACKED(FRAME_MIN_ENTRIES))

StaticAssertDecl(FRAME_RESTS + FRAME_MAX_PACKED <= MAX_SLACK,
				 "a frame of several images must fit the slack");
StaticAssertDecl(sizeof(RunStage) <= RUN_WRITER_MEMORY,
				 "a writer has more memory than it says");

/* The frame of a reader's current record. */
typedef struct RunFrame
{
	uint64		entries[FRAME_ENTRIES * FRAME_MAX_COLUMNS];
	uint32		ends[FRAME_ENTRIES + 1];	/* rest i: ends[i] to ends[i + 1] */
	uint8		trims[FRAME_ENTRIES];
	const char *rests;			/* in the tape's buffer */
	uint32		previous;		/* size of the previous frame in bytes */
	char	   *image;			/* the current image, if it is not inline */
} RunFrame;

/*
 * run_begin_write starts a run.  max_samples is the maximum size of the run's
 * sparse index (a power of two), or RUN_NO_SAMPLES.
 */
void
run_begin_write(RunWriter *writer, const SortOrder *order, Tapeset *set,
				Size write_buffer, int64 max_samples)
{
	fault_point("run: write");
	memset(writer, 0, sizeof(RunWriter));
	writer->run = palloc0(sizeof(Run));
	writer->run->tape = tape_create(set, write_buffer);
	writer->order = order;
	writer->run->max_samples = max_samples;
	if (max_samples > 0)
		writer->run->samples = palloc(max_samples * sizeof(RunSample));
	writer->sample_every = 1;
	writer->stage = palloc(order->inline_image ? offsetof(RunStage, rests) :
						   sizeof(RunStage));
	writer->stage->count = 0;
	writer->stage->rest_bytes = 0;
}

/* Drop every other sample. */
static void
drop_samples(Run *run)
{
	run->desc.nsamples = (run->desc.nsamples + 1) / 2;
	for (int64 i = 0; i < run->desc.nsamples; i++)
		run->samples[i] = run->samples[2 * i];
}

/* Free the memory that the samples do not use; repalloc would keep it. */
static void
fit_samples(Run *run)
{
	Size		size = run->desc.nsamples * sizeof(RunSample);
	RunSample  *samples = palloc(size);

	memcpy(samples, run->samples, size);
	pfree(run->samples);
	run->samples = samples;
}

/* Drop every other sample of a finished run, but keep the first. */
void
run_thin_samples(Run *run)
{
	if (run->desc.nsamples < 2)
		return;
	drop_samples(run);
	fit_samples(run);
}

void
run_forget_samples(Run *run)
{
	if (run->samples)
		pfree(run->samples);
	run->samples = NULL;
	run->desc.nsamples = 0;
}

/* Add the first record of the next frame to the sparse index. */
static void
add_sample(RunWriter *writer, const uint64 *words)
{
	Run		   *run = writer->run;
	RunSample  *sample;
	int			nwords = writer->order->nwords + writer->order->inline_image;

	if (run->desc.nsamples == run->max_samples)
	{
		drop_samples(run);
		writer->sample_every *= 2;
	}
	sample = &run->samples[run->desc.nsamples++];
	memset(sample, 0, sizeof(RunSample));
	memcpy(sample->words, words, nwords * sizeof(uint64));
	sample->position = RUN_POSITION(run->desc.bytes, 0);
	sample->ordinal = run->desc.tuples;
	writer->until_sample = writer->sample_every - 1;
}

/* Write a frame of n entries and the rests of their images. */
static void
write_frame(RunWriter *writer, const uint64 *entries, int n, const char *rests,
			Size rest_bytes)
{
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	Run		   *run = writer->run;
	RunDesc    *desc = &run->desc;
	char	   *packed = (char *) writer->stage->packed;
	FrameHeader *header = (FrameHeader *) packed;
	Size		packed_bytes;
	Size		size;

	if (run->max_samples > 0 && writer->until_sample-- == 0)
		add_sample(writer, entries);
	packed_bytes = frame_pack(packed, entries, n, writer->order->nwords + 1,
							  writer->order->inline_image ? NULL :
							  writer->stage->trims);
	size = MAXALIGN(packed_bytes + rest_bytes);
	header->size = (uint32) size;
	header->previous = (uint32) desc->last_frame;
	tape_write(run->tape, packed, packed_bytes);
	tape_write(run->tape, rests, rest_bytes);
	tape_write(run->tape, padding, size - packed_bytes - rest_bytes);
	desc->last_frame = size;
	desc->largest_frame = Max(desc->largest_frame, (int64) size);
	desc->bytes += size;
	desc->tuples += n;
}

/* Write the frame being filled, if any, with the rests of its images. */
static void
write_stage(RunWriter *writer, const char *rests)
{
	RunStage   *stage = writer->stage;

	if (stage->count > 0)
		write_frame(writer, stage->entries, stage->count, rests,
					stage->rest_bytes);
	stage->count = 0;
	stage->rest_bytes = 0;
}

/* Returns the number of zero bytes, at most 8, to cut off an image's end. */
static inline int
trailing_zeros(const char *tuple, Size size)
{
	uint64		last;

	if (size < IMAGE_HEAD + sizeof(uint64))
		return 0;
	memcpy(&last, tuple + size - sizeof(uint64), sizeof(uint64));
#ifdef WORDS_BIGENDIAN
	last = pg_bswap64(last);
#endif
	if (last == 0)
		return sizeof(uint64);
	return (63 - pg_leftmost_one_pos64(last)) / BITS_PER_BYTE;
}

/* run_write appends a tuple; the caller must append tuples in order. */
void
run_write(RunWriter *writer, const uint64 *words, const void *tuple, Size size)
{
	RunStage   *stage = writer->stage;
	int			nwords = writer->order->nwords;
	const char *source = (const char *) tuple + IMAGE_HEAD;
	uint64	   *entry;

	if (!writer->order->inline_image)
	{
		int			trim = trailing_zeros(tuple, size);
		Size		rest = size - IMAGE_HEAD - trim;

		Assert(size >= IMAGE_HEAD);
		if (unlikely((int64) size > writer->run->desc.largest_image))
			writer->run->desc.largest_image = size;
		if (unlikely(stage->rest_bytes + rest >
					 (stage->count < FRAME_MIN_ENTRIES ? STAGE_RESTS :
					  FRAME_RESTS)))
			write_stage(writer, stage->rests);
		stage->trims[stage->count] = trim;
		if (likely(rest <= STAGE_RESTS))
			memcpy(stage->rests + stage->rest_bytes, source, rest);
		stage->rest_bytes += rest;
	}
	entry = stage->entries + stage->count * (nwords + 1);
	for (int i = 0; i < nwords; i++)
		entry[i] = words[i];
	memcpy(&entry[nwords], tuple, IMAGE_HEAD);
	stage->count++;
	if (unlikely(stage->rest_bytes > STAGE_RESTS))
		write_stage(writer, source);	/* a frame of one image */
	else if (stage->count == FRAME_ENTRIES)
		write_stage(writer, stage->rests);
}

/*
 * run_write_entries appends entries with inline images.  It packs full frames
 * directly from the caller's array.
 */
void
run_write_entries(RunWriter *writer, const uint64 *entries, int64 n)
{
	int			nwords = writer->order->nwords;
	int			done;

	Assert(writer->order->inline_image);
	for (; n > 0; n -= done, entries += done * (nwords + 1))
	{
		done = 1;
		if (writer->stage->count > 0 || n < FRAME_ENTRIES)
			run_write(writer, entries, entries + nwords, sizeof(uint64));
		else
		{
			done = FRAME_ENTRIES;
			write_frame(writer, entries, done, NULL, 0);
		}
	}
}

Run *
run_end_write(RunWriter *writer)
{
	Run		   *run = writer->run;

	write_stage(writer, writer->stage->rests);
	pfree(writer->stage);
	tape_finish(run->tape);
	if (run->samples)
		fit_samples(run);
	return run;
}

/* run_export describes the run for other processes. */
void
run_export(Run *run, RunDesc *result)
{
	tape_export(run->tape, run->samples, run->desc.nsamples * sizeof(RunSample),
				&run->desc.tape);
	*result = run->desc;
}

/* Check that samples are within their run. */
static void
check_samples(const Run *run)
{
	for (int64 i = 0; i < run->desc.nsamples; i++)
	{
		const RunSample *sample = &run->samples[i];

		if (sample->position < 0 || sample->position >= run_end(run) ||
			sample->ordinal < 0 || sample->ordinal >= run->desc.tuples)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("sparse index of a sorted run is not valid")));
	}
}

/*
 * run_import opens a run that a participant exported, with its sparse index if
 * with_samples is true.  'beside' is another open run of that participant, or
 * NULL.
 */
Run *
run_import(SharedFileSet *fileset, int participant, Run *beside,
		   const RunDesc *source, bool with_samples)
{
	Run		   *run = palloc0(sizeof(Run));
	Size		size = 0;

	run->desc = *source;
	if (with_samples)
	{
		size = source->nsamples * sizeof(RunSample);
		run->samples = palloc(size);
	}
	else
		run->desc.nsamples = 0;
	run->tape = tape_import(fileset, participant,
							beside ? beside->tape : NULL, &source->tape,
							run->samples, size);
	check_samples(run);
	return run;
}

/* run_close frees the run, but not its blocks on the tape: see tape_close. */
void
run_close(Run *run)
{
	if (run->tape)
		tape_close(run->tape);
	if (run->samples)
		pfree(run->samples);
	if (run->first)
		pfree(run->first);
	if (run->last)
		pfree(run->last);
	pfree(run);
}

/* Size of an image buffer; load_image may write 16 bytes past the image. */
static Size
image_room(const Run *run)
{
	return run->desc.largest_image + 2 * sizeof(uint64);
}

int64
run_reader_memory(const Run *run)
{
	int64		frame = run->desc.largest_frame;

	/* palloc rounds small sizes up to a power of two */
	return pg_nextpower2_size_t(sizeof(RunFrame)) +
		(run->desc.largest_image > 0 ? 2 * image_room(run) : 0) +
		Min(frame, MAX_SLACK) + (frame > MAX_SLACK ? frame : 0);
}

/*
 * run_begin_read starts reading before the first tuple.  With 'recycle', the
 * tape frees each block as soon as the block is in memory.
 */
void
run_begin_read(RunReader *reader, const SortOrder *order, Run *run,
			   Size read_buffer, bool recycle)
{
	memset(reader, 0, sizeof(RunReader));
	reader->run = run;
	reader->order = order;
	reader->ncolumns = order->nwords + 1;
	reader->frame = palloc(sizeof(RunFrame));
	reader->frame->image = NULL;
	if (!order->inline_image)
		reader->frame->image = palloc_extended(image_room(run),
											   MCXT_ALLOC_HUGE);
	run_limit(reader, 0, run_end(run));
	tape_begin_read(run->tape, read_buffer,
					Min(run->desc.largest_frame, MAX_SLACK), recycle);
}

void
run_end_read(RunReader *reader)
{
	tape_end_read(reader->run->tape);
	if (reader->frame->image)
		pfree(reader->frame->image);
	pfree(reader->frame);
}

/* run_limit makes the reader read only the records at positions [from, to). */
void
run_limit(RunReader *reader, int64 from, int64 to)
{
	reader->from = from;
	reader->to = to;
	reader->next = -1;
	reader->count = reader->index = 0;
	reader->tuple = NULL;
}

/* Raise the error for bytes that cannot be a frame. */
static pg_noinline void
raise_damaged(int64 offset)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("sorted run in a temporary file is damaged at offset %lld",
					(long long) offset)));
}

/* Compute where the rest of each image in the frame begins and ends. */
static void
find_rests(RunReader *reader, const char *rests, Size rest_bytes)
{
	RunFrame   *frame = reader->frame;
	const uint64 *head = frame->entries + reader->ncolumns - 1;
	Size		end = 0;
	bool		damaged = false;

	frame->rests = rests;
	frame->ends[0] = 0;
	for (int i = 0; i < reader->count; i++, head += reader->ncolumns)
	{
		Size		size = order_size(reader->order, head);
		Size		missing = IMAGE_HEAD + frame->trims[i];

		damaged |= size < missing || frame->trims[i] > sizeof(uint64) ||
			(int64) size > reader->run->desc.largest_image;
		end += size - missing;
		frame->ends[i + 1] = (uint32) end;
	}
	if (unlikely(damaged || end > rest_bytes))
		raise_damaged(reader->offset);
}

/* Returns the size of the frame at an offset, or 0 if no frame is there. */
static Size
frame_size(RunReader *reader, int64 offset)
{
	const char *frame = tape_read(reader->run->tape, offset,
								  sizeof(FrameHeader));

	return ((const FrameHeader *) frame)->size;
}

/* Unpack the frame at an offset, and go to the start of the frame. */
static void
load_frame(RunReader *reader, int64 offset)
{
	RunFrame   *frame = reader->frame;
	Size		size;
	const char *packed;
	Size		packed_bytes;

	if (unlikely(offset < 0 || offset >= reader->run->desc.bytes))
		raise_damaged(offset);
	size = frame_size(reader, offset);
	if (unlikely(size == 0))
	{
		offset = tape_block_end(reader->run->tape, offset);
		size = frame_size(reader, offset);
	}
	packed = tape_read(reader->run->tape, offset, size);
	if (unlikely(!frame_is_sound(packed, size, reader->ncolumns,
								 !reader->order->inline_image)))
		raise_damaged(offset);
	packed_bytes = frame_unpack(packed, reader->ncolumns, frame->entries,
								reader->order->inline_image ? NULL :
								frame->trims);
	frame->previous = ((const FrameHeader *) packed)->previous;
	reader->count = ((const FrameHeader *) packed)->count;
	reader->index = 0;
	reader->offset = offset;
	reader->next = offset + size;
	if (!reader->order->inline_image)
		find_rests(reader, packed + packed_bytes, size - packed_bytes);
	if (offset == RUN_POSITION_OFFSET(reader->to))
		reader->count = Min(reader->count, RUN_POSITION_INDEX(reader->to));
}

/*
 * Go to a position.  The position at the end of the run is after the last
 * record of the last frame.
 */
static void
go_to(RunReader *reader, int64 position)
{
	const RunDesc *desc = &reader->run->desc;

	if (position == run_end(reader->run))
	{
		load_frame(reader, desc->bytes - desc->last_frame);
		reader->index = reader->count;
		return;
	}
	load_frame(reader, RUN_POSITION_OFFSET(position));
	reader->index = RUN_POSITION_INDEX(position);
}

/* Go to the record after the current frame.  Returns false if there is none. */
static pg_noinline bool
next_frame(RunReader *reader)
{
	do
	{
		int64		position = reader->next < 0 ? reader->from :
			RUN_POSITION(reader->next, 0);

		if (position >= reader->to)
		{
			reader->tuple = NULL;
			return false;
		}
		go_to(reader, position);
	} while (reader->index >= reader->count);
	return true;
}

/* Assemble an image from its head, its rest and the trimmed zero bytes. */
static inline void
load_image(RunReader *reader, int index)
{
	RunFrame   *frame = reader->frame;
	const uint64 *head = frame->entries + (index + 1) * reader->ncolumns - 1;
	const char *rest = frame->rests + frame->ends[index];
	Size		rest_bytes = frame->ends[index + 1] - frame->ends[index];
	char	   *target = frame->image;

	reader->size = IMAGE_HEAD + rest_bytes + frame->trims[index];
	memcpy(target, head, IMAGE_HEAD);
	target += IMAGE_HEAD;
	if (likely(rest_bytes <= CACHE_LINE))
	{
		for (Size at = 0; at < rest_bytes; at += sizeof(uint64))
			memcpy(target + at, rest + at, sizeof(uint64));
	}
	else
		memcpy(target, rest, rest_bytes);
	memset(target + rest_bytes, 0, sizeof(uint64));
	reader->tuple = frame->image;
	/* the rest of the next image, which left the cache while others merged */
	pt_prefetch(rest + rest_bytes);
	pt_prefetch(rest + rest_bytes + CACHE_LINE);
}

/* Set the current record to the frame's record 'index'. */
static inline void
load_record(RunReader *reader, int index)
{
	reader->words = reader->frame->entries + index * reader->ncolumns;
	if (reader->order->inline_image)
	{
		reader->tuple = (const char *) (reader->words + reader->ncolumns - 1);
		reader->size = sizeof(uint64);
	}
	else
		load_image(reader, index);
}

/* run_next moves to the next tuple.  Returns false at the end of the run. */
bool
run_next(RunReader *reader)
{
	if (unlikely(reader->index >= reader->count) && !next_frame(reader))
		return false;
	load_record(reader, reader->index++);
	return true;
}

/* Move back over one record.  Returns false at the start of the run. */
static bool
step_back(RunReader *reader)
{
	if (reader->next < 0 && reader->from > 0)
		go_to(reader, reader->from);	/* run_limit does not load the frame */
	if (reader->index == 0)
	{
		if (reader->next < 0 || reader->frame->previous == 0)
			return false;
		load_frame(reader, reader->offset - reader->frame->previous);
		reader->index = reader->count;
	}
	reader->index--;
	return true;
}

/*
 * run_previous loads the tuple before the current position, but does not move:
 * run_next still returns the tuple after that position.  With 'step', the
 * reader first moves back over one tuple.  Returns false if there is no
 * previous tuple.
 */
bool
run_previous(RunReader *reader, bool step)
{
	reader->tuple = NULL;
	if ((step && !step_back(reader)) || !step_back(reader))
		return false;
	load_record(reader, reader->index++);
	return true;
}
