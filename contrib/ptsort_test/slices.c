/*-------------------------------------------------------------------------
 *
 * slices.c
 *	  A merge in slices: all processes take slices, and the leader checks
 *	  every slice.
 *
 * A process that takes a slice copies the tuples into a file named after the
 * slice's number.  When all processes are done, the leader reads the files in
 * the order of these numbers and compares the tuples with the sorted array.
 * So the test notices a slice that no process took, and a slice that two
 * processes took.  The test also notices lost or duplicate tuples at a border,
 * and disorder within a slice or between two slices.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "storage/buffile.h"

#include "ptsort_test.h"

/* Precedes each tuple's bytes in a file. */
typedef struct TupleHead
{
	Size		size;
	bool		isnull;
} TupleHead;

static FileSet *
files_of(PtSortShared *shared)
{
	return &test_internals()->shared_fileset(shared)->fs;
}

static BufFile *
open_slice(PtSortShared *shared, int slice, bool missing_ok)
{
	return BufFileOpenFileSet(files_of(shared), psprintf("slice %d", slice),
							  O_RDONLY, missing_ok);
}

/* Writes the start position of the current slice, then the tuples. */
static void
copy_slice(TestShape *shape, PtSort *sort, BufFile *file)
{
	TestTuple	tuple;
	int64		start = ptsort_slice_start(sort);

	BufFileWrite(file, &start, sizeof(start));
	while (test_get(shape, sort, true, &tuple))
	{
		TupleHead	head = {0};
		const char *bytes = test_bytes(shape, &tuple, &head.size);

		CHECK_FOR_INTERRUPTS();
		head.isnull = tuple.isnull;
		BufFileWrite(file, &head, sizeof(head));
		BufFileWrite(file, unconstify(char *, bytes), head.size);
	}
	if (test_get(shape, sort, true, &tuple))
		elog(ERROR, "a tuple came out after the end of a slice");
}

/*
 * test_take_slices takes slices of a performed sort until no slice is left, and
 * writes their tuples to files.
 */
void
test_take_slices(TestShape *shape, PtSort *sort, PtSortShared *shared)
{
	int			slices = ptsort_shared_slices(shape->spec->max_participants);
	int			slice;

	while (ptsort_next_slice(sort, &slice))
	{
		BufFile    *file;

		if (slice < 0 || slice >= slices)
			elog(ERROR, "there is no slice %d of %d", slice, slices);
		if (open_slice(shared, slice, true) != NULL)
			elog(ERROR, "slice %d was given out twice", slice);
		file = BufFileCreateFileSet(files_of(shared),
									psprintf("slice %d", slice));
		copy_slice(shape, sort, file);
		BufFileExportFileSet(file);
		BufFileClose(file);
	}
	if (slice != -1)
		elog(ERROR, "the slice after the last is %d", slice);
	if (ptsort_next_slice(sort, &slice) || slice != -1)
		elog(ERROR, "a slice came after the end");
}

static void
read_exactly(BufFile *file, void *bytes, Size size)
{
	if (BufFileRead(file, bytes, size) != size)
		elog(ERROR, "a file of a slice ends within a tuple");
}

/* Checks the tuples in a slice's file; returns the number of tuples. */
static int64
check_file(TestChecker *checker, BufFile *file)
{
	TestShape  *shape = checker->shape;
	bool		by_value = shape->spec->variant == TEST_DATUM &&
		shape->typbyval;
	int64		tuples = 0;
	TupleHead	head;
	Size		got;

	while ((got = BufFileRead(file, &head, sizeof(head))) == sizeof(head))
	{
		char	   *bytes = palloc_extended(Max(head.size, sizeof(Datum)),
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		TestTuple	tuple = {.isnull = head.isnull};

		CHECK_FOR_INTERRUPTS();
		read_exactly(file, bytes, head.size);
		if (!head.isnull)
			tuple.value = by_value ? *(Datum *) bytes : PointerGetDatum(bytes);
		test_check_next(checker, &tuple);
		pfree(bytes);
		tuples++;
	}
	if (got != 0)
		elog(ERROR, "a file of a slice ends within a head");
	return tuples;
}

/*
 * test_check_slices checks the tuples of all slices, in order of the slices'
 * numbers, and updates the statistics of slices.  All processes must finish
 * their slices first.
 */
void
test_check_slices(TestChecker *checker, PtSortShared *shared,
				  TestSlices *result)
{
	int			slices =
		ptsort_shared_slices(checker->shape->spec->max_participants);
	int64		before = 0;

	for (int slice = 0; slice < slices; slice++)
	{
		BufFile    *file = open_slice(shared, slice, false);
		int64		start;
		int64		tuples;

		read_exactly(file, &start, sizeof(start));
		if (start != before)
			elog(ERROR, "slice %d says that it begins after %lld tuples, not %lld",
				 slice, (long long) start, (long long) before);
		tuples = check_file(checker, file);
		before += tuples;
		BufFileClose(file);
		if (tuples == 0)
			continue;
		result->smallest = result->filled == 0 ?
			tuples : Min(result->smallest, tuples);
		result->largest = Max(result->largest, tuples);
		result->filled++;
	}
	test_check_end(checker);
}
