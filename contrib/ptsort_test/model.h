/*-------------------------------------------------------------------------
 *
 * model.h
 *	  Declarations shared by the files of the model test.
 *
 *	  model.c		ptsort_test_model(): the SQL function
 *	  modelsource.c	the source of the tuples: the input of a query's Sort
 *	  modelarray.c	the expected tuples: an array that the server sorted
 *	  modelsort.c	sorts with ptsort in all roles, compares the tuples
 *					with the array
 *
 *-------------------------------------------------------------------------
 */
#ifndef MODEL_H
#define MODEL_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "utils/tuplesort.h"

#include "ptsort_test.h"

#define MAX_PARTICIPANTS	8
#define MAX_ROUNDS			1000

/* ModelSettings: the options of the sort. */
typedef struct ModelSettings
{
	bool		datum;			/* sort values, not tuples */
	int64		budget;
	int			participants;	/* 0: a serial sort */
	bool		slices;			/* all participants merge */
	bool		random_access;
	bool		stable;
	int64		bound;			/* 0: no bound */
	int			rounds;			/* number of sorts, with resets between them */
	int64		expected_tuples;
	uint64		seed;
} ModelSettings;

/*
 * ModelSource: the input of a query's Sort, and the keys that the planner
 * chose for the Sort.  The test can read the input any number of times.
 */
typedef struct ModelSource
{
	QueryDesc  *query;
	PlanState  *input;			/* the Sort's input */
	bool		scan;			/* use the scan's slots, before projection */
	TupleTableSlot *copy;		/* slot for copies of tuples, or NULL */
	TupleDesc	desc;
	int			nkeys;
	AttrNumber *attnums;
	Oid		   *operators;
	Oid		   *collations;
	bool	   *nulls_first;
	TestKey    *keys;			/* the keys' comparisons */
} ModelSource;

/*
 * ModelTuple: an expected tuple.  Its image must equal the image of the tuple
 * that ptsort returns.  An image is the bytes of a minimal tuple, or the size
 * and the bytes of a value.
 */
typedef struct ModelTuple
{
	char	   *image;
	Size		size;
	MinimalTuple tuple;			/* to compare keys */
	int64		number;			/* number of the put, from 0 */
	int			participant;	/* participant that put the tuple */
	int64		group;			/* number of the group of equal keys */
} ModelTuple;

/*
 * ModelArray: the expected tuples of a round, in order.  The array of a later
 * round has some of the first round's tuples, with unchanged fields.
 */
typedef struct ModelArray
{
	ModelSource *source;
	const ModelSettings *settings;
	ModelTuple *tuples;
	int64		n;				/* number of tuples put */
	int64		wanted;			/* number of tuples that come out */
	int			round;			/* see model_is_put */
	int64		groups;
	Size		largest;		/* size of the largest image in bytes */
	Tuplesortstate *server;		/* the server's sort; NULL in later rounds */
	TupleTableSlot *server_slot;
	MemoryContext row_context;	/* any function may reset it */
} ModelArray;

/* modelsource.c */
extern ModelSource *model_source_open(const char *query, const char *slots);
extern void model_source_rewind(ModelSource *source);
extern TupleTableSlot *model_source_next(ModelSource *source);
extern void model_source_close(ModelSource *source);
extern int	model_compare(ModelSource *source, MinimalTuple a, MinimalTuple b);

/* modelarray.c */
extern ModelArray *model_array_make(ModelSource *source,
									const ModelSettings *settings);
extern ModelArray *model_array_round(const ModelArray *first, int round);
extern bool model_is_put(const ModelSettings *settings, int round,
						 int64 number);
extern void model_array_free(ModelArray *array);
extern int	model_participant(const ModelSettings *settings, int64 number,
							  int64 n);
extern char *model_tuple_image(MinimalTuple tuple, Size *size);
extern char *model_datum_image(Form_pg_attribute attr, Datum value,
							   bool isnull, Size *size);

/* modelsort.c */
extern void model_sort(ModelArray *array, PtSortStats *stats);

#endif							/* MODEL_H */
