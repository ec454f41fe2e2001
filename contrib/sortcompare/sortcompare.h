/*-------------------------------------------------------------------------
 *
 * sortcompare.h
 *	  Common declarations for the files of sortcompare.
 *
 * A Job describes a sort.  Rows are a table's rows in memory, an Engine is the
 * server's sort or ptsort's, or copies the rows, a Reader checks the sorted
 * rows, and Parts are the times of a sort.  Engines put and read many rows in
 * one call, so that their loops call the sort directly, without a function
 * pointer.
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
#define MAX_WORKERS		64

/* A sort to run.  It has no pointers, so processes can copy it. */
typedef struct Job
{
	Oid			table;
	bool		datum;			/* sort values of one column, not rows */
	int			nkeys;
	AttrNumber	columns[MAX_KEYS];
	Oid			types[MAX_KEYS];
	Oid			operators[MAX_KEYS];
	Oid			collations[MAX_KEYS];
	bool		nulls_first[MAX_KEYS];
	int64		budget;			/* bytes */
	int64		bound;			/* number of tuples to read; 0 is all */
	int64		group_rows;		/* number of rows in one sort; 0 is all */
	bool		anew;			/* begin a new sort for each group */
	bool		random_access;
	bool		stable;			/* ptsort keeps equal keys in put order */
	bool		told;			/* tell ptsort the number of rows */
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
	Datum	   *values;			/* values to put into a datum sort */
	bool	   *isnull;
} Rows;

/* Checksum of the sorted rows; reader_join() joins two checksums. */
typedef struct Reader
{
	TupleTableSlot *slot;		/* for minimal tuples; NULL for datums */
	int16		typlen;			/* type of datums */
	bool		typbyval;
	int64		n;
	uint64		checksum;
} Reader;

/* Statistics that a sort reports; a value that it does not report is -1. */
typedef struct Said
{
	int64		memory;
	int64		temp;
	int64		runs;
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
	Part		end;
	int64		memory;			/* peak memory of the sort, by sampling */
} Parts;

/*
 * The server's sort, ptsort's, or a copy.  A copy has no rescan and no reset,
 * and its begin refuses a job that needs them.
 */
typedef struct Engine
{
	const char *name;
	void	   *(*begin) (const Job *job, const Rows *rows);
	void		(*put) (void *sort, const Job *job, Rows *rows, int64 first,
						int64 end);
	void		(*perform) (void *sort);
	/* reads n tuples; returns false if fewer than n are left */
	bool		(*read) (void *sort, Reader *reader, bool forward, int64 n);
	void		(*rescan) (void *sort);
	/* removes the tuples, so that the caller can use the sort again */
	void		(*reset) (void *sort, const Job *job);
	void		(*say) (void *sort, Said *said);
	void		(*end) (void *sort);
} Engine;

/* rows.c */
extern Rows *rows_load(const Job *job, int share, int shares);
extern void rows_unload(Rows *rows);
extern void reader_open(Reader *reader, const Job *job, const Rows *rows);
extern void reader_close(Reader *reader);
extern void reader_join(Reader *reader, uint64 checksum, int64 n);

/* server.c, ours.c, limit.c */
extern const Engine server_engine;
extern const Engine our_engine;
extern const Engine limit_engine;
struct PtSort;
struct PtSortOptions;
extern struct PtSort *our_begin(const Job *job, const Rows *rows,
								const struct PtSortOptions *options);

/* serial.c */
extern void clock_start(Part *part);
extern void clock_stop(Part *part);
extern void put_all(const Engine *engine, void *sort, const Job *job,
					Rows *rows, Parts *parts);
extern void read_all(const Engine *engine, void *sort, const Job *job,
					 Reader *reader, Parts *parts);
extern void sort_rows(const Engine *engine, const Job *job, Rows *rows,
					  Reader *reader, Parts *parts, Said *said);
extern void sort_groups(const Engine *engine, const Job *job, Rows *rows,
						Reader *reader, Parts *parts, Said *said);

/* Results of one process of a parallel sort. */
typedef struct Share
{
	Parts		parts;
	int64		temp;
	int64		comparisons;
} Share;

/* parallel.c */
extern void sort_in_parallel(const Job *job, int workers, bool slices,
							 Share *shares, Reader *reader);

/* reader_add() multiplies the checksum by this factor for each row. */
#define CHECKSUM_FACTOR UINT64CONST(0x9E3779B97F4A7C15)

/* Stores row i in the slot, as a scan of the table would. */
static inline TupleTableSlot *
rows_slot(Rows *rows, int64 i)
{
	rows->tuple.t_data = rows->rows[i].data;
	rows->tuple.t_len = rows->rows[i].length;
	return ExecStoreBufferHeapTuple(&rows->tuple, rows->slot, rows->buffer);
}

static inline void
reader_add(Reader *reader, uint64 value)
{
	reader->checksum = reader->checksum * CHECKSUM_FACTOR + value;
	reader->n++;
}

/* Adds the hash in a row's first column to the checksum. */
static inline void
reader_slot(Reader *reader)
{
	bool		isnull;

	reader_add(reader, (uint64) slot_getattr(reader->slot, 1, &isnull));
}

/* Adds a value's length, first bytes and last bytes to the checksum. */
static inline void
reader_datum(Reader *reader, Datum value, bool isnull)
{
	uint64		ends[2] = {0, 0};
	const char *data;
	Size		size;

	if (isnull || reader->typbyval)
	{
		reader_add(reader, isnull ? PG_UINT64_MAX : (uint64) value);
		return;
	}
	if (reader->typlen == -1)
	{
		data = VARDATA_ANY(DatumGetPointer(value));
		size = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	}
	else
	{
		data = DatumGetPointer(value);
		size = reader->typlen;
	}
	memcpy(&ends[0], data, Min(size, 8));
	if (size > 8)
		memcpy(&ends[1], data + size - 8, 8);
	reader_add(reader, ends[0] ^ (ends[1] * CHECKSUM_FACTOR) ^ size);
}

#endif							/* SORTCOMPARE_H */
