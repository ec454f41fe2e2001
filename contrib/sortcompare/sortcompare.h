/*-------------------------------------------------------------------------
 *
 * sortcompare.h
 *	  Common declarations for the files of sortcompare.
 *
 * A Job describes a sort.  Rows are a table's rows in memory, an Engine is the
 * server's sort or ptsort's, a Reader checks the sorted rows, and Parts are the
 * times of a sort.  Engines put and read many rows in one call, so that their
 * loops call the sort directly, without a function pointer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTCOMPARE_H
#define SORTCOMPARE_H

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/relcache.h"

#define MAX_KEYS		4

typedef struct Job
{
	Oid			table;
	int			nkeys;
	AttrNumber	columns[MAX_KEYS];
	Oid			types[MAX_KEYS];
	Oid			operators[MAX_KEYS];
	Oid			collations[MAX_KEYS];
	bool		nulls_first[MAX_KEYS];
	int64		budget;			/* bytes */
} Job;

/* One row: a heap tuple in private memory. */
typedef struct Row
{
	HeapTupleHeader data;
	uint32		length;
} Row;

/* A table's rows in memory, in the order of a scan. */
typedef struct Rows
{
	MemoryContext context;
	Relation	table;
	TupleDesc	desc;
	TupleTableSlot *slot;		/* slot of the kind that a scan returns */
	Buffer		buffer;			/* a page of the table, pinned by the slot */
	HeapTupleData tuple;		/* the tuple in the slot */
	Row		   *rows;
	int64		n;
	int64		allocated;		/* entries of rows[] */
	char	   *chunk;			/* memory for the next tuples */
	Size		left;
} Rows;

/* Checksum of the sorted rows. */
typedef struct Reader
{
	TupleTableSlot *slot;		/* for minimal tuples */
	int64		n;
	uint64		checksum;
} Reader;

/* Statistics that a sort reports; a value that it does not report is -1. */
typedef struct Said
{
	int64		temp;
	int64		comparisons;
} Said;

/* Times of a part of a sort, in ms. */
typedef struct Part
{
	double		ms;
	double		cpu;
} Part;

typedef struct Parts
{
	Part		put;
	Part		perform;
	Part		get;
	int64		memory;			/* peak memory of the sort, by sampling */
} Parts;

/* The server's sort, or ptsort's. */
typedef struct Engine
{
	const char *name;
	void	   *(*begin) (const Job *job, const Rows *rows);
	void		(*put) (void *sort, Rows *rows, int64 first, int64 end);
	void		(*perform) (void *sort);
	/* reads n tuples; returns false if fewer than n are left */
	bool		(*read) (void *sort, Reader *reader, int64 n);
	void		(*end) (void *sort, Said *said);
} Engine;

/* rows.c */
extern Rows *rows_load(const Job *job);
extern void rows_unload(Rows *rows);

/* engines.c */
extern const Engine server_engine;
extern const Engine our_engine;

/* Stores row i in the slot, as a scan of the table would. */
static inline TupleTableSlot *
rows_slot(Rows *rows, int64 i)
{
	rows->tuple.t_data = rows->rows[i].data;
	rows->tuple.t_len = rows->rows[i].length;
	return ExecStoreBufferHeapTuple(&rows->tuple, rows->slot, rows->buffer);
}

/* Adds the hash in a row's first column to the checksum. */
static inline void
reader_slot(Reader *reader)
{
	bool		isnull;
	uint64		hash = (uint64) slot_getattr(reader->slot, 1, &isnull);

	reader->checksum = reader->checksum * UINT64CONST(0x9E3779B97F4A7C15) +
		hash;
	reader->n++;
}

#endif							/* SORTCOMPARE_H */
