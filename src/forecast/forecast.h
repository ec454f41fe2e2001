/*-------------------------------------------------------------------------
 *
 * forecast.h
 *	  Parts of the forecast of a build: a sample of the table, sizes.
 *
 * newindex.c	describes an index that does not exist, as a Relation
 * sample.c		samples blocks of the table; sorts the entries of their rows
 * keycount.c	how many rows of the table share the keys of a sample
 * indexsize.c	forecasts the pages of the index, as btpage.c or gistload.c
 *				would fill them
 * ginsize.c	the same for GIN, as ginload.c would
 *
 * function/forecast.c puts the parts together.  A forecast builds nothing, and
 * holds no lock but AccessShareLock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FORECAST_H
#define PTSORT_FORECAST_H

#include "compat.h"

#include "ptsort.h"

/*
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

/* Sample: rows of random blocks of a table, in the order of an index. */
typedef struct Sample
{
	BlockNumber nblocks;		/* size of the table */
	BlockNumber nread;			/* number of blocks in the sample */
	int64		entries;		/* index entries of the rows in these blocks;
								 * GIN: TIDs, counted for each key */
	PtSort	   *sort;			/* the entries, performed; NULL for a copy */
	double		run_bytes;		/* size of all entries in runs; 0: unknown */
	double		row_bytes;		/* total size of the rows */
	double		read_ms;		/* reading the blocks */
	double		block_ms;		/* reading one in a row of blocks from disk;
								 * 0: blocks are in memory */
	double		rows_ms;		/* finding rows; computing, putting and
								 * sorting their entries */
} Sample;

/*
 * sample_take samples the entries of an index or, if 'index' is NULL, only the
 * rows.  It ends after about 'limit_ms'.
 */
extern void sample_take(Sample *sample, Relation heap, Relation index,
						double limit_ms);

/* sample_scale returns the blocks of the table for each block of the sample. */
static inline double
sample_scale(const Sample *sample)
{
	return sample->nread > 0 ? (double) sample->nblocks / sample->nread : 1;
}

/*
 * KeyGroup: the keys in the same number of blocks of the sample, in sum.
 * keycount_few tells the callback how many keys of the table are in how many
 * blocks and rows, from groups of keys in 1 to KEYCOUNT_FEW blocks.  A key in
 * more blocks of the sample counts as often as the sample says.
 */
#define KEYCOUNT_FEW	12

typedef struct KeyGroup
{
	double		keys;
	double		rows;
	double		bytes;			/* of tuples without posting lists */
} KeyGroup;

typedef void (*KeyCallback) (const KeyGroup *group, double keys, double rows,
							 double blocks, void *state);

extern void keycount_few(const KeyGroup *few, double scale,
						 KeyCallback callback, void *state);

typedef struct IndexSize
{
	double		leaves;
	double		pages;			/* all pages, the metapage included */
	double		free_bytes;		/* free bytes of all pages */
	double		tuple_bytes;	/* mean size of a tuple in the sort */
	double		tuples;			/* GIN: records in the sort */
	Size		largest;		/* largest index tuple of the sample */
	double		split_ms;		/* GiST: dividing all tuples into leaves */
} IndexSize;

/* These functions read the sample's entries. */
extern void btreesize_forecast(IndexSize *size, Relation heap, Relation index,
							   Sample *sample);
extern void gistsize_forecast(IndexSize *size, Relation index, Sample *sample);
extern void ginsize_forecast(IndexSize *size, Relation index, Sample *sample);

#endif							/* PTSORT_FORECAST_H */
