/*-------------------------------------------------------------------------
 *
 * run.c
 *	  A run: one sorted sequence of tuples on a tape, with its sparse index.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "run.h"

/* Bytes that precede an image on tape. */
#define HEADER_SIZE(order, backward) \
	(((backward) ? sizeof(int64) : 0) + (order)->nwords * sizeof(uint64))

/*
 * run_begin_write starts a run on a new tape.  `backward` prepares it for
 * run_previous, `sampled` gives it a sparse index.
 */
void
run_begin_write(RunWriter *writer, const SortOrder *order, Tapeset *set,
				Size write_buffer, bool backward, bool sampled)
{
	fault_point("run: write");
	memset(writer, 0, sizeof(RunWriter));
	writer->run = palloc0(sizeof(Run));
	writer->run->tape = tape_create(set, write_buffer);
	writer->run->backward = backward;
	writer->order = order;
	writer->sample_distance = TAPE_BLOCK;
	if (sampled)
		writer->samples = palloc(RUN_MAX_SAMPLES * sizeof(RunSample));
}

/* Add a record's words and place to the sparse index. */
static void
add_sample(RunWriter *writer, const uint64 *words)
{
	RunDesc    *desc = &writer->run->desc;
	RunSample  *sample;

	if (desc->nsamples == RUN_MAX_SAMPLES)
	{
		for (int64 i = 0; i < RUN_MAX_SAMPLES / 2; i++)
			writer->samples[i] = writer->samples[2 * i];
		desc->nsamples = RUN_MAX_SAMPLES / 2;
		writer->sample_distance *= 2;
	}
	sample = &writer->samples[desc->nsamples++];
	memset(sample, 0, sizeof(RunSample));
	memcpy(sample->words, words,
		   (writer->order->nwords + writer->order->inline_image) * sizeof(uint64));
	sample->offset = desc->bytes;
	sample->ordinal = desc->tuples;
	writer->next_sample = desc->bytes + writer->sample_distance;
}

/* Write a record that the tape's buffer does not hold in one piece. */
static void
write_in_pieces(RunWriter *writer, const uint64 *words, const void *tuple,
				Size size)
{
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	Tape	   *tape = writer->run->tape;

	if (writer->run->backward)
		tape_write(tape, &writer->run->desc.last_record, sizeof(int64));
	tape_write(tape, words, writer->order->nwords * sizeof(uint64));
	tape_write(tape, tuple, size);
	tape_write(tape, padding, MAXALIGN(size) - size);
}

/* run_write appends a tuple; the caller sees to the order. */
void
run_write(RunWriter *writer, const uint64 *words, const void *tuple, Size size)
{
	Run		   *run = writer->run;
	RunDesc    *desc = &run->desc;
	int			nwords = writer->order->nwords;
	Size		record = HEADER_SIZE(writer->order, run->backward) + MAXALIGN(size);
	char	   *target;

	if (writer->samples && desc->bytes >= writer->next_sample)
		add_sample(writer, words);
	target = tape_reserve(run->tape, record);
	if (unlikely(target == NULL))
		write_in_pieces(writer, words, tuple, size);
	else
	{
		if (run->backward)
		{
			memcpy(target, &desc->last_record, sizeof(int64));
			target += sizeof(int64);
		}
		for (int i = 0; i < nwords; i++, target += sizeof(uint64))
			memcpy(target, &words[i], sizeof(uint64));
		memcpy(target, tuple, size);
		memset(target + size, 0, MAXALIGN(size) - size);
	}
	desc->last_record = record;
	desc->bytes += record;
	desc->tuples++;
}

/*
 * run_write_entries appends entries with inline images, which look on tape as
 * they do in memory: from one sample to the next in one piece.
 */
void
run_write_entries(RunWriter *writer, const uint64 *entries, int64 n)
{
	RunDesc    *desc = &writer->run->desc;
	int			stride = writer->order->nwords + 1;
	Size		record = stride * sizeof(uint64);

	Assert(writer->order->inline_image && !writer->run->backward);
	while (n > 0)
	{
		int64		now = n;

		if (writer->samples)
		{
			if (desc->bytes >= writer->next_sample)
				add_sample(writer, entries);
			now = Min(n, (int64) ((writer->next_sample - desc->bytes - 1) / record + 1));
		}
		tape_write(writer->run->tape, entries, now * record);
		entries += now * stride;
		desc->bytes += now * record;
		desc->tuples += now;
		n -= now;
	}
	desc->last_record = record;
}

/* run_end_write finishes the run, with its sparse index behind it. */
Run *
run_end_write(RunWriter *writer)
{
	Run		   *run = writer->run;

	if (writer->samples)
	{
		tape_write(run->tape, writer->samples,
				   run->desc.nsamples * sizeof(RunSample));
		pfree(writer->samples);
	}
	tape_finish(run->tape);
	return run;
}

/* run_export describes the run for other processes. */
void
run_export(Run *run, RunDesc *result)
{
	tape_export(run->tape, &run->desc.tape);
	*result = run->desc;
}

/* run_import opens a run that a participant exported. */
Run *
run_import(SharedFileSet *fileset, int participant, const RunDesc *source)
{
	Run		   *run = palloc0(sizeof(Run));

	run->desc = *source;
	run->tape = tape_import(fileset, participant, &source->tape);
	return run;
}

/* run_close frees the run; see tape_close for its space. */
void
run_close(Run *run)
{
	tape_close(run->tape);
	pfree(run);
}

/*
 * run_begin_read starts reading before the first tuple.  `recycle` gives back
 * the space of what was read.
 */
void
run_begin_read(RunReader *reader, const SortOrder *order, Run *run,
			   Size read_buffer, bool recycle)
{
	memset(reader, 0, sizeof(RunReader));
	reader->run = run;
	reader->order = order;
	reader->end = run->desc.bytes;
	tape_begin_read(run->tape, read_buffer, recycle);
}

/* run_limit makes the reader read the records at offsets [from, to) only. */
void
run_limit(RunReader *reader, int64 from, int64 to)
{
	reader->position = from;
	reader->end = to;
	reader->tuple = NULL;
}

/* Make the record at an offset the current one; returns its size. */
static Size
load_record(RunReader *reader, int64 offset)
{
	Tape	   *tape = reader->run->tape;
	int			nwords = reader->order->nwords;
	Size		header = HEADER_SIZE(reader->order, reader->run->backward);
	Size		want = header + sizeof(uint64);
	Size		have;
	const char *record;

	tape_seek(tape, offset);
	record = tape_peek(tape, want, &have);
	if (unlikely(have < want))
		elog(ERROR, "unexpected end of run");
	reader->size = order_size(reader->order, record + header);
	want = header + MAXALIGN(reader->size);
	if (unlikely(have < want))
	{
		record = tape_peek(tape, want, &have);
		if (unlikely(have < want))
			elog(ERROR, "unexpected end of run");
	}
	reader->tuple = record + header;
	reader->words = (const uint64 *) reader->tuple - nwords;
	return want;
}

/* run_next moves to the next tuple; false at the end of the run. */
bool
run_next(RunReader *reader)
{
	if (reader->position >= reader->end)
	{
		reader->tuple = NULL;
		return false;
	}
	reader->position += load_record(reader, reader->position);
	return true;
}

/*
 * run_previous makes the tuple before the current position the current one,
 * without moving: run_next still returns what follows.  With `step` it moves
 * back over one tuple first.  False if there is no such tuple.
 */
bool
run_previous(RunReader *reader, bool step)
{
	RunDesc    *desc = &reader->run->desc;

	Assert(reader->run->backward);
	reader->tuple = NULL;
	for (;;)
	{
		int64		before = desc->last_record;

		if (reader->position == 0)
			return false;
		if (reader->position < desc->bytes)
		{
			Size		have;

			tape_seek(reader->run->tape, reader->position);
			before = *(const int64 *) tape_peek(reader->run->tape,
												sizeof(int64), &have);
		}
		if (!step)
		{
			(void) load_record(reader, reader->position - before);
			return true;
		}
		reader->position -= before;
		step = false;
	}
}

/* run_read_samples copies the sparse index; room for desc.nsamples needed. */
void
run_read_samples(Run *run, RunSample *samples)
{
	Size		size = run->desc.nsamples * sizeof(RunSample);
	Size		have;
	const char *source;

	tape_begin_read(run->tape, size, false);
	tape_seek(run->tape, run->desc.bytes);
	source = tape_peek(run->tape, size, &have);
	if (have < size)
		elog(ERROR, "unexpected end of run");
	memcpy(samples, source, size);
}
