/*-------------------------------------------------------------------------
 *
 * ptsort_test.h
 *	  Declarations shared by the files of ptsort_test.
 *
 *	  data.c	makes the same rows from their numbers in every process
 *	  shape.c	the tuples of a test, and functions to put and get them
 *	  record.c	a variant that ptsort does not know: records
 *	  row.c		heap tuples with headers like those of a table's rows
 *	  check.c	compares a sort's output with the sorted array
 *	  drive.c	ptsort_test_sort(): runs sorts in all roles
 *	  slices.c	reads the slices of a merge and joins them
 *	  words.c	ptsort_test_words()
 *	  prefixes.c	ptsort_test_prefixes()
 *	  misuse.c	ptsort_test_misuse()
 *	  reserve.c	ptsort_test_reserve()
 *	  sizes.c	ptsort_test_size(), and the ranges of arguments
 *	  onecall.c	ptsort_test_parallel()
 *	  settings.c	settings that force rare paths
 *	  fault.c	ptsort_test.fault; faults.h lists its files
 *	  held.c	ptsort_test.log_memory
 *	  tableam.c	a table access method without parallel scans
 *	  lock.c	ptsort_test_release_lock(), ptsort_test_take_segments()
 *	  page.c	ptsort_test_write_page()
 *	  model.c	ptsort_test_model(); model.h lists its files
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEST_H
#define PTSORT_TEST_H

#include "function/internals.h"
#include "ptsort_variant.h"

#include "fmgr.h"
#include "utils/relcache.h"

#define MAX_SHARES	16
#define MAX_SORTS	4

/* Maximum number of rows of a test; the test keeps all rows in memory */
#define MAX_ROWS	INT64CONST(100000000)

typedef enum TestVariant
{
	TEST_DATUM,
	TEST_TUPLE,
	TEST_INDEX,
	TEST_HEAP,
	TEST_RECORD
} TestVariant;

typedef enum TestPattern
{
	PATTERN_RANDOM,
	PATTERN_ASCENDING,
	PATTERN_DESCENDING,
	PATTERN_PERMUTED
} TestPattern;

/* TestData: the rows of a test.  The leader copies this data to workers. */
typedef struct TestData
{
	int64		n;
	TestPattern pattern;
	int64		distinct_keys;
	int			null_every;
	int			width;
	int			seed;
	int64		live_rows;
} TestData;

/* TestSpec: the sort of a test.  The leader copies this data to workers. */
typedef struct TestSpec
{
	TestVariant variant;
	Oid			heap;
	Oid			index;
	bool		is_unique;
	bool		nulls_not_distinct;
	int64		budget;
	bool		random_access;
	bool		stable;
	int64		bound;			/* 0: none */
	bool		slices;			/* true: all participants merge */
	int64		expected_tuples;	/* see PtSortOptions */
	int			sorts;			/* number of concurrent sorts */
	int			nshares;		/* number of participants; 0: serial */
	int			max_participants;	/* that fit in the shared blocks */
	int64		share_end[MAX_SHARES];	/* end of share i's rows */
	TestData	data;
} TestSpec;

/*
 * TestTuple: a tuple of any kind.  The struct holds a null, the value of a
 * datum, or a pointer to the tuple.
 */
typedef struct TestTuple
{
	Datum		value;
	bool		isnull;			/* datums only */
	int64		rank;			/* stable sorts: place among equal tuples */
} TestTuple;

/*
 * TestRecord: a tuple of record.c, of 64 bytes.  Sorts order records by group,
 * then by name in collation "C", then by number.
 */
typedef struct TestRecord
{
	int64		number;
	char		name[8];		/* ends at the first zero byte */
	int32		group;
	char		payload[44];
} TestRecord;

/* TestRow: a flat copy of a heap tuple. */
typedef struct TestRow
{
	uint32		length;
	ItemPointerData self;
	Oid			table;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} TestRow;

StaticAssertDecl(offsetof(TestRow, data) == MAXALIGN(offsetof(TestRow, data)),
				 "the tuple of a flat copy must be aligned");

/* TestKey: a key column, described without ptsort's code. */
typedef struct TestKey
{
	AttrNumber	heap_attno;
	Oid			type;
	Oid			operator;		/* "less", or "greater" if descending */
	Oid			collation;
	bool		descending;
	bool		nulls_first;
	FmgrInfo	comparison;		/* the operator class's function */
} TestKey;

/* TestShape: this process's data about the tuples to sort. */
typedef struct TestShape
{
	const TestSpec *spec;
	Relation	heap;
	Relation	index;
	TupleDesc	desc;			/* of the heap */
	int			nkeys;
	TestKey    *keys;
	int16		typlen;			/* of the first key */
	bool		typbyval;
	Datum	   *values;			/* one row */
	bool	   *isnull;
	TupleTableSlot *slot;		/* virtual */
	TupleTableSlot *heap_slot;
	TupleTableSlot *minimal_slot;	/* for reads */
	TestRow    *row;			/* last row read */
	struct IndexInfo *info;		/* to evaluate expressions */
	struct EState *estate;
	int64		reads;
	int64		first_row;		/* stable sorts: this row and later rows come
								 * before all other equal rows */
	MemoryContext row_context;
} TestShape;

/* TestChecker: compares the sort's output with the expected tuples. */
typedef struct TestChecker
{
	TestShape  *shape;
	TestTuple  *expected;
	int64		n;				/* number of expected tuples */
	int64		all;			/* number of tuples in the array */
	int64		next;			/* index of the next tuple */
	uint64	   *digests;		/* of the tuples checked so far */
	uint64		group_balance;	/* sum of actual digests minus sum of expected
								 * digests, in a group of equal keys */
	uint64		checksum;
	int64		data_bytes;
} TestChecker;

/*
 * TestWalk: a walk forward and backward over the output of a sort with random
 * access.
 */
typedef struct TestWalk
{
	PtSort	   *sort;
	int64		n;				/* number of tuples of the sort */
	int64		position;		/* 0: before the first, n + 1: after the last */
	int64		mark;

	/* Makes the sort go to 'position', and checks the tuple that it returns. */
	void		(*read) (struct TestWalk *walk, bool forward);
	void	   *state;			/* for 'read' */
} TestWalk;

/* data.c */
extern uint64 test_mix(uint64 a, uint64 b);
extern void test_row(const TestData *data, int64 row, TupleDesc desc,
					 Datum *values, bool *isnull);
extern TestPattern test_pattern(const char *name);

/* shape.c */
extern TestShape *test_shape_open(const TestSpec *spec);
extern void test_shape_close(TestShape *shape);
extern PtSort *test_begin(TestShape *shape, const PtSortOptions *options);
extern void test_put(TestShape *shape, PtSort *sort, int64 row,
					 int sort_number);
extern bool test_get(TestShape *shape, PtSort *sort, bool forward,
					 TestTuple *tuple);
extern TestVariant test_variant(const char *name);
extern TestTuple test_make(TestShape *shape, int64 row, int sort_number);
extern int	test_compare(TestShape *shape, const TestTuple *a,
						 const TestTuple *b);
extern const char *test_bytes(TestShape *shape, const TestTuple *tuple,
							  Size *size);
extern int	test_compare_values(TestKey *key, Datum a, bool a_null,
								Datum b, bool b_null);
extern void test_key_of_index(Relation index, int column, TestKey *key);

/* record.c */
extern PtSort *test_begin_record(const PtSortOptions *options);
extern void test_put_record(PtSort *sort, const TestRecord *record);
extern const TestRecord *test_get_record(PtSort *sort, bool forward);

/* row.c */
extern HeapTuple test_form_row(TestShape *shape, int64 row, ItemPointer tid);
extern TestRow *test_copy_row(HeapTuple tuple);
extern Datum test_row_value(TestShape *shape, const TestRow *row, int column,
							bool *isnull);

/* check.c */
extern TestChecker *test_checker(TestShape *shape, int sort_number);
extern void test_check_next(TestChecker *checker, const TestTuple *tuple);
extern void test_check_end(TestChecker *checker);
extern void test_check_all(TestChecker *checker, PtSort *sort);
extern void test_check_access(TestChecker *checker, PtSort *sort);
extern void test_walk(TestWalk *walk, uint64 seed, int most_steps);
extern void test_checker_free(TestChecker *checker);

/* slices.c */
extern void test_take_slices(TestShape *shape, PtSort *sort,
							 PtSortShared *shared);
typedef struct TestSlices
{
	int64		filled;			/* number of slices with tuples */
	int64		smallest;		/* number of tuples in the smallest slice with
								 * tuples, over all concurrent sorts */
	int64		largest;
} TestSlices;

extern void test_check_slices(TestChecker *checker, PtSortShared *shared,
							  TestSlices *result);

/* sizes.c */
extern int64 test_in_range(const char *name, int64 value, int64 least,
						   int64 most);
extern void test_begin_tuple(int nkeys, AttrNumber attnum);

/* words.c */
extern const PtSortInternals *test_internals(void);

/* settings.c */
extern void test_settings_init(void);

/* tableam.c */
extern void test_tableam_init(void);

/* fault.c */
extern void _PG_init(void);

/* held.c */
extern void test_memory_init(void);
extern void test_memory_look(const char *point);

#endif							/* PTSORT_TEST_H */
