/* record.c - a sort variant that ptsort does not know; see TestRecord. */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "ptsort_test.h"

static Size
record_size(const void *record, void *state)
{
	return sizeof(TestRecord);
}

/* Compares two records with equal words: their groups and names are equal. */
static int
record_compare(const void *a, const void *b, void *state)
{
	int64		first = ((const TestRecord *) a)->number;
	int64		second = ((const TestRecord *) b)->number;

	return first < second ? -1 : first > second;
}

static const PtSortVariant record_variant = {
	.name = "record",
	.size = record_size,
	.compare = record_compare
};

PtSort *
test_begin_record(const PtSortOptions *options)
{
	return ptsort_begin(&record_variant, NULL, 2, NULL, options);
}

void
test_put_record(PtSort *sort, const TestRecord *record)
{
	uint64		name;
	uint64		words[2];

	memcpy(&name, record->name, sizeof(name));
	name = pg_ntoh64(name);
	words[0] = ((uint64) record->group ^ 0x80000000) << 32 | name >> 32;
	words[1] = name << 32 | ((uint64) record->number >> 32 ^ 0x80000000);
	if (record->number % 2 != 0)
	{
		ptsort_put(sort, record, sizeof(TestRecord), words);
		return;
	}
	memcpy(ptsort_reserve(sort, sizeof(*record)), record, sizeof(*record));
	ptsort_commit(sort, words);
}

const TestRecord *
test_get_record(PtSort *sort, bool forward)
{
	Size		size;

	return ptsort_get(sort, forward, &size);
}
