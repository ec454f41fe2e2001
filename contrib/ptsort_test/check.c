/*-------------------------------------------------------------------------
 *
 * check.c
 *	  Compares a sort's output with the sorted array.
 *
 * The array holds all rows, ordered by qsort with the operator class's
 * comparison.  At each position, the sort must return a key equal to the
 * array's key.  Each group of tuples with equal keys must have the same bytes
 * as the array's group; a stable sort must return the group in the order of
 * the puts.  Later reads in any direction must repeat the first read's
 * results.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "ptsort_test.h"

static int
compare_for_qsort(const void *a, const void *b, void *shape)
{
	const TestTuple *left = a;
	const TestTuple *right = b;
	int			cmp = test_compare((TestShape *) shape, left, right);

	CHECK_FOR_INTERRUPTS();
	return cmp != 0 ? cmp :
		(left->rank > right->rank) - (left->rank < right->rank);
}

static uint64
digest(TestChecker *checker, const TestTuple *tuple)
{
	Size		size;
	const char *bytes = test_bytes(checker->shape, tuple, &size);

	return hash_bytes_extended((const unsigned char *) bytes, size,
							   tuple->isnull ? 1 : 0);
}

/* test_checker makes the sorted array of the sort_number'th sort. */
TestChecker *
test_checker(TestShape *shape, int sort_number)
{
	int64		n = shape->spec->data.n;
	TestChecker *checker = palloc0(sizeof(TestChecker));

	checker->shape = shape;
	checker->n = n;
	checker->expected = MemoryContextAllocHuge(CurrentMemoryContext,
											   (n + 1) * sizeof(TestTuple));
	checker->digests = MemoryContextAllocHuge(CurrentMemoryContext,
											  (n + 1) * sizeof(uint64));
	for (int64 row = 0; row < n; row++)
	{
		Size		size;

		CHECK_FOR_INTERRUPTS();
		checker->expected[row] = test_make(shape, row, sort_number);
		checker->expected[row].rank = row < shape->first_row ? row : row - n;
		(void) test_bytes(shape, &checker->expected[row], &size);
		checker->data_bytes += size;
	}
	qsort_arg(checker->expected, n, sizeof(TestTuple), compare_for_qsort,
			  shape);
	if (shape->spec->bound > 0)
		checker->n = Min(n, shape->spec->bound);
	checker->all = n;
	return checker;
}

/* test_checker_free frees the arrays, but not the tuples. */
void
test_checker_free(TestChecker *checker)
{
	pfree(checker->expected);
	pfree(checker->digests);
	pfree(checker);
}

/* test_check_next compares a tuple with the next expected tuple. */
void
test_check_next(TestChecker *checker, const TestTuple *tuple)
{
	TestTuple  *expected = &checker->expected[checker->next];
	uint64		came;

	if (checker->next >= checker->n)
		elog(ERROR, "more than " INT64_FORMAT " tuples came out", checker->n);
	if (test_compare(checker->shape, tuple, expected) != 0)
		elog(ERROR, "tuple " INT64_FORMAT " is not the expected one",
			 checker->next);

	came = digest(checker, tuple);
	checker->digests[checker->next] = came;
	checker->checksum = test_mix(checker->checksum, came);
	if (checker->shape->spec->stable &&
		checker->shape->spec->variant != TEST_INDEX &&
		came != digest(checker, expected))
		elog(ERROR, "tuple " INT64_FORMAT " is not the one put before others",
			 checker->next);

	/*
	 * At the end of a group of equal keys, the digests of the group's tuples
	 * must have the same sum as the digests of the expected tuples.
	 */
	checker->group_balance += came - digest(checker, expected);
	checker->next++;
	if (checker->group_balance != 0 &&
		(checker->next == checker->all ||
		 test_compare(checker->shape, expected, expected + 1) != 0))
		elog(ERROR, "tuples before " INT64_FORMAT " are damaged",
			 checker->next);
}

/* After the last tuple, test_check_end checks the number of tuples. */
void
test_check_end(TestChecker *checker)
{
	if (checker->next != checker->n)
		elog(ERROR, INT64_FORMAT " of " INT64_FORMAT " tuples came out",
			 checker->next, checker->n);
}

/* test_check_all reads and checks all tuples of a performed sort. */
void
test_check_all(TestChecker *checker, PtSort *sort)
{
	TestTuple	tuple;

	while (test_get(checker->shape, sort, true, &tuple))
	{
		CHECK_FOR_INTERRUPTS();
		test_check_next(checker, &tuple);
	}
	test_check_end(checker);
	if (test_get(checker->shape, sort, true, &tuple))
		elog(ERROR, "a tuple came out after the end");
}

/* Makes one step of a walk. */
static void
step(TestWalk *walk, bool forward)
{
	int64		position = walk->position + (forward ? 1 : -1);

	walk->position = Max(0, Min(position, walk->n + 1));
	walk->read(walk, forward);
}

static void
rescan(TestWalk *walk)
{
	ptsort_rescan(walk->sort);
	walk->position = 0;
}

/* Makes short and long walks, and sets marks at random places. */
static void
random_walk(TestWalk *walk, uint64 seed, int steps)
{
	walk->mark = 0;
	for (int i = 0; i < steps; i++)
	{
		uint64		dice = test_mix(i, seed);
		int64		farthest = dice % 64 == 0 ? walk->n + 2 : 5;
		int64		distance = dice / 16 % farthest;

		CHECK_FOR_INTERRUPTS();
		switch (dice % 16)
		{
			case 0:
			case 1:
				ptsort_mark(walk->sort);
				walk->mark = walk->position;
				break;
			case 2:
			case 3:
				ptsort_restore(walk->sort);
				walk->position = walk->mark;
				break;
			case 4:
				if (dice / 4096 % 8 == 0)
				{
					rescan(walk);
					ptsort_mark(walk->sort);
					walk->mark = 0;
				}
				break;
			default:
				while (distance-- >= 0)
					step(walk, (dice / 1024) % 2 == 0);
		}
	}
}

/*
 * test_walk reads a sort in all directions.  The caller must read the sort to
 * its end first.
 */
void
test_walk(TestWalk *walk, uint64 seed, int most_steps)
{
	/* Until the first ptsort_mark(), the mark is at the start. */
	ptsort_restore(walk->sort);
	walk->position = 0;
	step(walk, true);

	rescan(walk);
	while (walk->position <= walk->n)
		step(walk, true);
	step(walk, true);
	while (walk->position > 0)
		step(walk, false);
	step(walk, false);
	step(walk, true);

	rescan(walk);
	random_walk(walk, seed, Min(most_steps, 200 + 10 * walk->n));
}

/* Reads a tuple of a walk, which must be the one that came before. */
static void
read_again(TestWalk *walk, bool forward)
{
	TestChecker *checker = walk->state;
	int64		position = walk->position;
	TestTuple	tuple;
	bool		got = test_get(checker->shape, walk->sort, forward, &tuple);
	bool		inside = position >= 1 && position <= walk->n;

	if (got != inside)
		elog(ERROR, "%s a tuple at position " INT64_FORMAT " of " INT64_FORMAT,
			 got ? "got" : "did not get", position, walk->n);
	if (got && digest(checker, &tuple) != checker->digests[position - 1])
		elog(ERROR, "another tuple at position " INT64_FORMAT " than before",
			 position);
}

/* test_check_access walks over a sort that test_check_all has read. */
void
test_check_access(TestChecker *checker, PtSort *sort)
{
	TestWalk	walk = {
		.sort = sort,
		.n = checker->n,
		.read = read_again,
		.state = checker
	};

	test_walk(&walk, checker->shape->spec->data.seed, 2000);
}
