/*-------------------------------------------------------------------------
 *
 * model.h
 *	  What the files of the model test share.
 *
 *	  model.c		ptsort_test_model(): the SQL function
 *	  modelsource.c	where the tuples come from: a query's Sort
 *	  modelarray.c	what must come out: the server's own sort, as an array
 *	  modelsort.c	ptsort in all its roles, compared with the array
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

/* What the test does wrong on purpose, to prove that it finds it. */
typedef enum ModelSpoil
{
	SPOIL_NOTHING,
	SPOIL_DROP,					/* a tuple is not put */
	SPOIL_REPLACE,				/* nor is it, but its neighbour is put twice */
	SPOIL_ORDER,				/* the first key's order is reversed */
	SPOIL_NULLS,				/* nulls are at the other end of it */
	SPOIL_STEP,					/* a walk begins one tuple too far */
	SPOIL_TIES					/* a stable sort is not asked to be one */
} ModelSpoil;

/* ModelSettings: how to sort. */
typedef struct ModelSettings
{
	bool		datum;			/* sort values, not tuples */
	int64		budget;
	int			participants;	/* 0: a serial sort */
	bool		slices;			/* all participants merge */
	bool		random_access;
	bool		stable;
	int64		bound;			/* 0: all tuples are wanted */
	int			rounds;			/* serial: resets between them */
	int64		expected_tuples;
	uint64		seed;
	ModelSpoil	spoil;
} ModelSettings;

/*
 * ModelSource: the input of a query's Sort, and the keys that the planner has
 * given it.  It can be read any number of times.
 */
typedef struct ModelSource
{
	QueryDesc  *query;
	PlanState  *input;			/* what the Sort would read */
	bool		scan;			/* take the scan's slots, before projection */
	TupleTableSlot *copy;		/* a slot of another kind; or NULL */
	TupleDesc	desc;
	int			nkeys;
	AttrNumber *attnums;
	Oid		   *operators;
	Oid		   *collations;
	bool	   *nulls_first;
	TestKey    *keys;			/* to compare by */
} ModelSource;

/*
 * ModelTuple: a tuple that must come out.  The image is what has to be the
 * same: the bytes of a minimal tuple, or of a value with its size.
 */
typedef struct ModelTuple
{
	char	   *image;
	Size		size;
	MinimalTuple tuple;			/* to compare keys */
	int64		number;			/* it was put as this one, from 0 */
	int			participant;	/* by this one */
	int64		group;			/* of equal keys, from 0 */
} ModelTuple;

/*
 * ModelArray: all that must come out, in order; or what must come out of a
 * later round, which shares the rest with the first one's.
 */
typedef struct ModelArray
{
	ModelSource *source;
	const ModelSettings *settings;
	ModelTuple *tuples;
	int64		n;				/* tuples put */
	int64		wanted;			/* tuples that come out */
	int			round;			/* see model_is_put */
	int64		groups;
	Size		largest;		/* bytes of the largest image */
	Tuplesortstate *server;		/* the server's sort, or NULL */
	TupleTableSlot *server_slot;
	MemoryContext row_context;	/* may be reset at any time */
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
