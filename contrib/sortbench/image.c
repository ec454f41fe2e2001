/*-------------------------------------------------------------------------
 *
 * image.c
 *	  Sort the records themselves, in two passes.
 *
 * Each record is a tuple of ptsort's sort, which writes runs to temporary
 * files if the records do not fit in memory.  As in pointer.c, the sort keeps
 * records with equal keys in the order of their numbers.  If the key is short,
 * the sort's words hold both the key and the number, so the words decide every
 * comparison.  If the key is long, the number follows the record in the image.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sort.h"

/* Number of words if they have no room for key and record number. */
#define LONG_WORDS		PTSORT_MAX_WORDS

typedef struct ImageState
{
	const Key  *key;
	int			record_size;
	Size		image_size;
	bool		numbered;		/* the record's number follows the record */
} ImageState;

static bool
has_number(const Key *key)
{
	int			words = key_packed_words(key);

	return words == 0 || words > PTSORT_MAX_WORDS;
}

/* Size of an image, at least 8 bytes: see ptsort_variant.h. */
static Size
image_size(const Records *records)
{
	Size		size = records->size;

	if (has_number(&records->key))
		size += sizeof(uint64);
	return Max(size, sizeof(uint64));
}

static Size
variant_size(const void *tuple, void *state)
{
	return ((ImageState *) state)->image_size;
}

/* Returns the number that follows a record in its image. */
static uint64
number_of(const uint8 *image, int record_size)
{
	uint64		number;

	memcpy(&number, image + record_size, sizeof(number));
	return number;
}

/*
 * If the words hold the key and the number, different records have different
 * words, so ptsort calls this function only for two copies of the same record.
 */
static int
variant_compare(const void *a, const void *b, void *state)
{
	ImageState *self = state;
	int			order = key_compare(self->key, a, b);
	uint64		number_a;
	uint64		number_b;

	if (order != 0 || !self->numbered)
		return order;
	number_a = number_of(a, self->record_size);
	number_b = number_of(b, self->record_size);
	return (number_a > number_b) - (number_a < number_b);
}

static PtSort *
image_begin(const Job *job, const PtSortOptions *options)
{
	static const PtSortVariant variant = {
		.name = "record",
		.size = variant_size,
		.compare = variant_compare
	};
	const Records *records = &job->input;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortbench records",
												  ALLOCSET_SMALL_SIZES);
	ImageState *state = MemoryContextAlloc(context, sizeof(ImageState));

	state->key = &records->key;
	state->record_size = records->size;
	state->image_size = image_size(records);
	state->numbered = has_number(&records->key);
	return ptsort_begin(&variant, state,
						has_number(&records->key) ? LONG_WORDS :
						key_packed_words(&records->key), context, options);
}

static void
image_put(Player *player, PtSort *sort, int64 first, int64 n)
{
	const Records *records = &player->job->input;
	bool		numbered = has_number(&records->key);
	Size		size = image_size(records);
	const uint8 *record = player->buffer;

	disk_read(&player->input, first * records->size, player->buffer,
			  n * records->size);
	for (int64 i = 0; i < n; i++, record += records->size)
	{
		uint64		words[MAX_PACKED];
		uint64		number = first + i;
		uint8	   *image = ptsort_reserve(sort, size);

		if (numbered)
			key_words(&records->key, record, words, LONG_WORDS);
		else
			key_pack(&records->key, key_packed_words(&records->key), record,
					 number, words);
		if (records->size < sizeof(uint64))
			memset(image, 0, sizeof(uint64));
		memcpy(image, record, records->size);
		if (numbered)
			memcpy(image + records->size, &number, sizeof(number));
		ptsort_commit(sort, words);
	}
}

static void
image_write(Player *player, PtSort *sort)
{
	int			size = player->job->input.size;
	const void *image;
	Size		image_size;

	while ((image = ptsort_get(sort, true, &image_size)) != NULL)
		memcpy(writer_next(&player->writer), image, size);
}

const Way	image_way = {
	.begin = image_begin,
	.put = image_put,
	.write = image_write
};
