/*-------------------------------------------------------------------------
 *
 * pointer.c
 *	  Sort pointers to records in memory, in one pass.
 *
 * The participants read the records into shared memory, and the records stay
 * there.  A packed key of 16 or 24 bytes holds a record's key and number.  The
 * participants sort the packed keys; to ptsort, the last word of a packed key
 * is an inline image (see ptsort_variant.h).  The participant that writes a
 * slice of the result gathers the slice's records from shared memory.  It
 * prefetches each record shortly before copying the record, because the
 * records lie in random order.
 *
 * pointer.c uses AlphaSort's algorithm: participants read and write each
 * record only once, and exchange only packed keys in temporary files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort.h"

/*
 * Number of records to prefetch.  Prefetching more records than the processor
 * can fetch at the same time gains nothing.
 */
#define AHEAD			16

/* Size of a cache line in bytes */
#define LINE_SIZE		64

/* pointer_memory returns the size of all records and their packed keys. */
int64
pointer_memory(const Records *records)
{
	int			words = key_packed_words(&records->key);

	return records->volume.size +
		records->n * words * (int64) sizeof(uint64);
}

static PtSort *
pointer_begin(const Job *job, const PtSortOptions *options)
{
	static const PtSortVariant variant = {
		.name = "pointer to a record",
		.inline_image = true
	};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sortbench pointers",
												  ALLOCSET_SMALL_SIZES);

	return ptsort_begin(&variant, NULL, key_packed_words(&job->input.key) - 1,
						context, options);
}

/* Reads records into the arena, and puts their packed keys into the sort. */
static void
pointer_put(Player *player, PtSort *sort, int64 first, int64 n)
{
	const Records *records = &player->job->input;
	int			words = key_packed_words(&records->key);
	uint8	   *record = player->arena + first * records->size;

	disk_read(&player->input, first * records->size, record,
			  n * records->size);
	for (int64 i = 0; i < n; i++, record += records->size)
	{
		uint64		packed[MAX_PACKED];

		key_pack(&records->key, words, record, first + i, packed);
		ptsort_put(sort, &packed[words - 1], sizeof(uint64), packed);
	}
}

static inline const uint8 *
record_of(const Player *player, const uint64 *entry, int words)
{
	return player->arena +
		(entry[words - 1] & NUMBER_MASK) * player->job->input.size;
}

static void
pointer_write(Player *player, PtSort *sort)
{
	int			words = key_packed_words(&player->job->input.key);
	int			size = player->job->input.size;
	const uint64 *entries;
	int			n;

	while ((entries = ptsort_get_entries(sort, &n)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
		{
			const uint64 *entry = entries + i * words;

			if (i + AHEAD < n)
			{
				const uint8 *next = record_of(player, entry + AHEAD * words,
											  words);

				for (int at = 0; at < size; at += LINE_SIZE)
					__builtin_prefetch(next + at);
				__builtin_prefetch(next + size - 1);
			}
			memcpy(writer_next(&player->writer),
				   record_of(player, entry, words), size);
		}
	}
}

const Way	pointer_way = {
	.begin = pointer_begin,
	.put = pointer_put,
	.write = pointer_write
};
