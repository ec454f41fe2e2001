/*-------------------------------------------------------------------------
 *
 * run.h
 *	  A run: one sorted sequence of tuples on a tape, with its sparse index.
 *
 * A tuple on tape is its words, then its image padded to MAXALIGN:
 *
 *		[size of the record before it]		only if the run is read backward
 *		word 0 .. word nwords-1
 *		image
 *
 * Behind the last record lies the sparse index: samples of words with the
 * place of their record, at equal distances, at most RUN_MAX_SAMPLES of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_RUN_H
#define PTSORT_RUN_H

#include "compat.h"

#include "order.h"
#include "tape.h"

/*
 * Most samples of a sparse index.  When a run outgrows it every other sample is
 * dropped, so that memory stays constant (128 kB) at any run length.
 */
#define RUN_MAX_SAMPLES 4096

/* One entry of the sparse index. */
typedef struct RunSample
{
	uint64		words[PTSORT_MAX_WORDS + 1];	/* with an inline image */
	int64		offset;			/* of the record, on the tape */
	int64		ordinal;		/* its number within the run, from 0 */
} RunSample;

/* What is known of a finished run; plain data for shared memory. */
typedef struct RunDesc
{
	int64		tuples;
	int64		bytes;			/* of all records; the sparse index follows */
	int64		nsamples;
	int64		last_record;	/* bytes of the last record */
	TapeExport	tape;			/* valid once exported */
} RunDesc;

/* A finished run of this process. */
typedef struct Run
{
	Tape	   *tape;
	bool		backward;		/* records carry the size of the one before */
	RunDesc		desc;
} Run;

/* Writes one run. */
typedef struct RunWriter
{
	Run		   *run;
	const SortOrder *order;
	RunSample  *samples;		/* NULL if the run gets no sparse index */
	int64		next_sample;	/* offset at which the next sample is due */
	int64		sample_distance;	/* bytes between samples */
} RunWriter;

/* Reads one run; the current tuple stays valid until the reader moves. */
typedef struct RunReader
{
	Run		   *run;
	const SortOrder *order;
	int64		position;		/* offset of the next record */
	int64		end;			/* offset at which to stop */
	const uint64 *words;
	const char *tuple;			/* NULL before the first and behind the last */
	Size		size;			/* bytes of the image */
} RunReader;

extern void run_begin_write(RunWriter *writer, const SortOrder *order,
							Tapeset *set, Size write_buffer, bool backward,
							bool sampled);
extern void run_write(RunWriter *writer, const uint64 *words,
					  const void *tuple, Size size);
extern void run_write_entries(RunWriter *writer, const uint64 *entries,
							  int64 n);
extern Run *run_end_write(RunWriter *writer);
extern void run_export(Run *run, RunDesc *result);
extern Run *run_import(SharedFileSet *fileset, int participant,
					   const RunDesc *source);
extern void run_close(Run *run);

extern void run_begin_read(RunReader *reader, const SortOrder *order, Run *run,
						   Size read_buffer, bool recycle);
extern void run_limit(RunReader *reader, int64 from, int64 to);
extern bool run_next(RunReader *reader);
extern bool run_previous(RunReader *reader, bool step);
extern void run_read_samples(Run *run, RunSample *samples);

#endif							/* PTSORT_RUN_H */
