/*-------------------------------------------------------------------------
 *
 * run.h
 *	  A run: one sorted sequence of tuples on a tape, with its sparse index.
 *
 * A run is a sequence of frames (frame.h).  A reader unpacks one frame at a
 * time and assembles each image, so that its caller gets the whole image, as
 * written, at a MAXALIGNed address.
 *
 * A *position* is an integer for a place between two records.  It holds the
 * offset of a frame, where reading can start, and the number of a record in
 * that frame.  In one run, a later place has a larger position.  (The end of a
 * frame and the start of the next frame are one place with two positions.
 * run_current returns the position in the current record's frame.)
 *
 * Zero bytes in place of a frame's header mean that the next frame begins at
 * the start of the next block (see tape_append).
 *
 * A run's sparse index has samples (words and position of a record) at equal
 * distances.  slices.c uses the samples to cut the final merge.  The index is
 * in memory.  run_export stores it with the run; importers may skip the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_RUN_H
#define PTSORT_RUN_H

#include "compat.h"

#include "order/order.h"
#include "tape/frame.h"
#include "tape/tape.h"

/*
 * Maximum number of samples in a sparse index (160 kB).  When the index is
 * full, the writer drops every other sample, so a run can have any length.
 */
#define RUN_MAX_SAMPLES 4096

#define RUN_NO_SAMPLES	0		/* for a run without a sparse index */

/* Bits of a position for the number of the record within its frame. */
#define RUN_POSITION_BITS	8
#define RUN_POSITION(offset, index) \
	(((int64) (offset) << RUN_POSITION_BITS) | (index))
#define RUN_POSITION_OFFSET(position) ((position) >> RUN_POSITION_BITS)
#define RUN_POSITION_INDEX(position) \
	((int) ((position) & ((1 << RUN_POSITION_BITS) - 1)))

/* One entry of the sparse index: the first record of a frame. */
typedef struct RunSample
{
	uint64		words[PTSORT_MAX_WORDS + 1];	/* then the inline image */
	int64		position;
	int64		ordinal;		/* number of the record in the run, from 0 */
} RunSample;

/* Description of a finished run; plain data for shared memory. */
typedef struct RunDesc
{
	int64		tuples;
	int64		bytes;			/* total size of all frames in bytes */
	int64		nsamples;
	int64		last_frame;		/* size of the last frame in bytes */
	int64		largest_frame;	/* size of the largest frame in bytes */
	int64		largest_image;	/* size of the largest image; 0 if inline */
	int			nwords;			/* number of words of each tuple */
	bool		words_by_tables;	/* a collation's tables made the words */
	bool		stable;			/* equal tuples are in their input order */
	TapeExport	tape;			/* valid after run_export */
} RunDesc;

/* A finished run. */
typedef struct Run
{
	Tape	   *tape;
	RunDesc		desc;
	RunSample  *samples;		/* NULL if the run has no sparse index */
	int64		max_samples;
	uint64	   *first;			/* copy of the first tuple, or NULL: words,
								 * then the image */
	uint64	   *last;			/* the last tuple, in the form of 'first' */
} Run;

/* Writes one run. */
typedef struct RunWriter
{
	Run		   *run;
	const SortOrder *order;
	int64		sample_every;	/* number of frames per sample */
	int64		until_sample;	/* frames before the next sampled frame */
	struct RunStage *stage;		/* the frame being filled */
} RunWriter;

/* Reads one run; the current tuple stays valid until the reader moves. */
typedef struct RunReader
{
	const uint64 *words;
	const char *tuple;			/* NULL before the first tuple and at the end */
	Size		size;			/* size of the image in bytes */
	int			index;			/* number of the next record in its frame */
	int			count;			/* records to read in the current frame */
	int			ncolumns;
	struct RunFrame *frame;		/* the current frame, unpacked */

	Run		   *run;
	const SortOrder *order;
	int64		offset;			/* offset of the current frame on the tape */
	int64		next;			/* offset of the next frame; <0: not started */
	int64		from;			/* position at which to start */
	int64		to;				/* position at which to stop */
} RunReader;

/*
 * run_reader_memory returns the bytes that a reader needs in addition to its
 * read buffer: a frame, a copy of an image, and the buffer's slack.
 */
extern int64 run_reader_memory(const Run *run);

/* Memory that a writer needs in addition to its write buffer and samples. */
#define RUN_WRITER_MEMORY	(44 * 1024)

extern void run_begin_write(RunWriter *writer, const SortOrder *order,
							Tapeset *set, Size write_buffer,
							int64 max_samples);
extern void run_write(RunWriter *writer, const uint64 *words,
					  const void *tuple, Size size);
extern void run_write_entries(RunWriter *writer, const uint64 *entries,
							  int64 n);
extern Run *run_end_write(RunWriter *writer);
extern void run_export(Run *run, RunDesc *result);
extern Run *run_import(SharedFileSet *fileset, int participant, Run *beside,
					   const RunDesc *source, bool with_samples);
extern void run_thin_samples(Run *run);
extern void run_forget_samples(Run *run);
extern void run_close(Run *run);

extern void run_begin_read(RunReader *reader, const SortOrder *order, Run *run,
						   Size read_buffer, bool recycle);
extern void run_end_read(RunReader *reader);
extern void run_limit(RunReader *reader, int64 from, int64 to);
extern bool run_next(RunReader *reader);
extern bool run_previous(RunReader *reader, bool step);

/*
 * run_next_inline is run_next for entries of nwords words and an inline image;
 * the reader must have a current tuple.
 */
static inline bool
run_next_inline(RunReader *reader, int nwords)
{
	if (unlikely(reader->index >= reader->count))
		return run_next(reader);
	reader->index++;
	reader->words += nwords + 1;
	reader->tuple = (const char *) (reader->words + nwords);
	return true;
}

/* run_end returns the position after the last record. */
static inline int64
run_end(const Run *run)
{
	return RUN_POSITION(run->desc.bytes, 0);
}

/* run_tell returns the position of the next record. */
static inline int64
run_tell(const RunReader *reader)
{
	if (reader->next < 0)
		return reader->from;
	return RUN_POSITION(reader->offset, reader->index);
}

/* run_current returns the position of the current record. */
static inline int64
run_current(const RunReader *reader)
{
	Assert(reader->tuple != NULL);
	return RUN_POSITION(reader->offset, reader->index - 1);
}

#endif							/* PTSORT_RUN_H */
