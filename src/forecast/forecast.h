/*-------------------------------------------------------------------------
 *
 * forecast.h
 *	  Forecasts of builds: sizes and times, from a sample of the table.
 *
 * newindex.c	describes an index that does not exist, as a Relation
 * sample.c		samples blocks of the table; sorts the entries of their rows
 * keycounts.c	estimates from the sample how many rows share a key
 * indexsize.c	estimates the pages of the index, as btpage.c would fill them
 * gistsize.c	the same for GiST, as gistload.c would
 * disk.c		compares the needs of a statement with the free space
 * forecastbuild.c	puts the estimates together
 *
 * A forecast builds nothing, and holds no lock but AccessShareLock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FORECAST_H
#define PTSORT_FORECAST_H

#include "compat.h"

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "ptsort.h"
#include "utils/rel.h"

/*
 * newindex.c
 *
 * newindex_describe returns a relcache entry, outside of the relcache, for the
 * index of a statement that transformIndexStmt() transformed.  Functions that
 * read only the fields of an entry accept it: BuildIndexInfo(),
 * index_getprocinfo(), PrepareSortSupportFromIndexRel() and most functions of
 * nbtree.  It has no OID and no file.  Lives in the current memory context.
 *
 * newindex_plan prepares the index's expressions and predicate for execution,
 * and rejects functions that are not immutable.  It may call users' functions,
 * so the caller must first become the table's owner.
 */
extern Relation newindex_describe(Relation heap, IndexStmt *stmt,
								  const char *name);
extern void newindex_plan(Relation index);


/*
 * sample.c
 */

/* Sample: rows of random blocks of a table, in the order of an index. */
typedef struct Sample
{
	BlockNumber nblocks;		/* size of the table */
	BlockNumber nread;			/* number of blocks in the sample */
	int64		entries;		/* index entries of the rows in these blocks */
	PtSort	   *sort;			/* the entries, performed; NULL for a copy */
	double		run_bytes;		/* size of all entries in runs; 0: unknown */
	double		row_bytes;		/* for a copy: total size of the rows */
	double		read_ms;		/* reading the blocks */
	double		block_ms;		/* reading one in a row of blocks from disk;
								 * 0: blocks are in memory */
	double		judge_ms;		/* finding the rows of all blocks */
	double		put_ms;			/* computing and putting the entries */
	double		sort_ms;
} Sample;

/*
 * sample_index samples the entries of an index.  sample_rows samples only the
 * rows, for a copy of the table.  Both end after about 'limit_ms'.
 * 'concurrent' is true if the build will use a snapshot, which sees no dead
 * rows.
 */
extern void sample_index(Sample *sample, Relation heap, Relation index,
						 bool concurrent, double limit_ms);
extern void sample_rows(Sample *sample, Relation heap, double limit_ms);

/* sample_scale returns the blocks of the table for each block of the sample. */
static inline double
sample_scale(const Sample *sample)
{
	return sample->nread > 0 ? (double) sample->nblocks / sample->nread : 1;
}


/*
 * keycounts.c
 *
 * A key occurs in some blocks of the table, and in a part of them in the
 * sample.  keycounts_fit estimates from the sample how many keys of the table
 * occur in how many blocks.  Rows of a key in one block count together, because
 * the sample has either all of them or none.
 */

/* A key in more blocks of the sample counts as often as the sample says. */
#define KEYCOUNTS_FEW	12

/* Numbers of blocks that keycounts_fit distinguishes */
#define KEYCOUNTS_STEPS 28

typedef struct KeyCounts
{
	double		scale;			/* sample_scale() */
	double		blocks[KEYCOUNTS_STEPS];

	/*
	 * For each key of the sample in m blocks of the sample: the number of the
	 * table's keys with blocks[i] blocks.
	 */
	double		keys[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS];
} KeyCounts;

/* seen[m] is the number of keys in m blocks of the sample. */
extern void keycounts_fit(KeyCounts *counts, double scale,
						  const double seen[KEYCOUNTS_FEW + 1]);


/*
 * indexsize.c
 */
typedef struct IndexSize
{
	double		leaves;
	double		pages;			/* all pages, the metapage included */
	double		free_bytes;		/* free bytes of all pages */
	double		tuple_bytes;	/* mean size of an index tuple */
	Size		largest;		/* largest index tuple of the sample */
	double		split_ms;		/* GiST: dividing all tuples into leaves */
} IndexSize;

/* indexsize_estimate reads the sample's entries. */
extern void indexsize_estimate(IndexSize *size, Relation heap, Relation index,
							   Sample *sample);

/* gistsize.c: the same for a GiST index whose classes have sort support */
extern void gistsize_estimate(IndexSize *size, Relation index, Sample *sample);


/*
 * disk.c
 */
typedef enum DiskUse
{
	DISK_INDEX,
	DISK_TEMP,
	DISK_WAL,
	NUM_DISK_USES
} DiskUse;

typedef struct DiskNeed
{
	DiskUse		use;
	char	   *directory;
	double		bytes;
	dev_t		device;			/* set by disk_verdict */
} DiskNeed;

/* disk_tablespace returns a tablespace's directory. */
extern char *disk_tablespace(Oid tablespace);

/* disk_temporary returns the fullest directory of temp_tablespaces. */
extern char *disk_temporary(void);

/* disk_device returns the device of a directory, or 0 if it is unknown. */
extern dev_t disk_device(const char *directory);

/*
 * disk_verdict returns "fits", or text that says which file systems are too
 * small for the needs, a list of DiskNeeds.
 */
extern char *disk_verdict(List *needs);


/*
 * forecastbuild.c
 */

/* ForecastRequest: an index to build, or a table to copy. */
typedef struct ForecastRequest
{
	Relation	heap;
	Relation	index;			/* NULL: a copy in the order of the file */
	bool		copies;			/* copy the table in the order of 'index' */
	bool		concurrent;
	int			workers;		/* that the build will request */
	double		limit_ms;		/* for the sample */
} ForecastRequest;

typedef struct Forecast
{
	double		rows;			/* index entries, or rows to copy */
	double		file_bytes;
	double		temp_bytes;
	double		wal_bytes;
	double		memory_bytes;
	double		seconds;
	char	   *obstacle;		/* why the build will fail; NULL if it can
								 * succeed */
} Forecast;

/* forecast_build runs as the table's owner. */
extern void forecast_build(Forecast *forecast, const ForecastRequest *request);

#endif							/* PTSORT_FORECAST_H */
