/*-------------------------------------------------------------------------
 *
 * bytesort.c
 *	  Sort tuples that compare equal by the bytes of their images.
 *
 * Images are all over memory, and rows with equal keys often have long equal
 * beginnings, so comparing each image with many others must be avoided.
 * Instead, one pass over the images finds where they begin to differ and reads
 * the next 8 bytes from there.  These replace the word of the key in the
 * entries, which is the same in all of them, and the radix sort sorts them like
 * that word.  Entries that are still equal are sorted by the bytes that follow.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/bytesort.h"
#include "memory/radix.h"
#include "miscadmin.h"
#include "util.h"

/* Number of entries to prefetch ahead. */
#define AHEAD			8

/* Up to this many entries are sorted by insertion, comparing images. */
#define FEW_IMAGES		6

/* Bytes of an image to prefetch at most. */
#define BYTES_AHEAD		(4 * CACHE_LINE)

#define WORD			sizeof(uint64)

/* State shared by all levels of recursion. */
typedef struct ByteSort
{
	const SortOrder *order;
	int			stride;
	uint64	   *scratch;
	int64		room;
} ByteSort;

/*
 * The 8 bytes at an offset of an image as a word, with zeros for bytes that
 * take no part in the order.  Offsets are multiples of 8, and images are
 * MAXALIGNed, so that all 8 bytes can be read.
 */
static inline uint64
word_at(const ByteSort *sort, const char *image, Size at, Size size)
{
	uint64		word = pt_bytes_word(image + at);

	if (at == 0)
		return word & sort->order->head_mask;
	if (size - at < WORD)
		word &= ~(PG_UINT64_MAX >> ((size - at) * BITS_PER_BYTE));
	return word;
}

/* The offset of the first word from 'at' on in which two images differ. */
static inline Size
differing_word(const ByteSort *sort, const char *a, const char *b, Size at,
			   Size end, Size size)
{
	while (at < end && word_at(sort, a, at, size) == word_at(sort, b, at, size))
		at += WORD;
	return at;
}

static inline void
prefetch(const ByteSort *sort, const uint64 *entry, Size at, Size end)
{
	const char *image = entry_image(entry, sort->stride);

	end = Min(end, at + BYTES_AHEAD);
	for (; at <= end; at += CACHE_LINE)
		pt_prefetch(image + at);
}

/*
 * Find the first word, from 'at' on, that is not the same in all images, and
 * make it the first word of the entries.  Returns its offset, or that of the
 * end if there is none.  If 'at' is not 0 all images have equal sizes.
 */
static Size
take_words(const ByteSort *sort, uint64 *entries, int64 n, Size at)
{
	const char *first = entry_image(entries, sort->stride);
	Size		size = order_size(sort->order, first);
	Size		end = size;		/* first differing word so far */
	int64		same = 0;		/* entries that have the first one's word
								 * there */

	for (int64 i = 1; i < n; i++)
	{
		uint64	   *entry = entries + i * sort->stride;
		const char *image = entry_image(entry, sort->stride);
		Size		differs;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + AHEAD < n)
			prefetch(sort, entry + AHEAD * sort->stride, at, end);
		differs = differing_word(sort, first, image, at, end, size);
		if (differs < end)
		{
			end = differs;
			same = i;
		}
		if (end < size)
			entry[0] = word_at(sort, image, end, size);
	}
	if (end < size)
	{
		uint64		word = word_at(sort, first, end, size);

		for (int64 i = 0; i < same; i++)
			entries[i * sort->stride] = word;
	}
	return end;
}

/* True if image a comes before image b by the bytes from 'at' on. */
static inline bool
image_before(const ByteSort *sort, const char *a, const char *b, Size at)
{
	Size		size = order_size(sort->order, a);

	at = differing_word(sort, a, b, at, size, size);
	return at < size &&
		word_at(sort, a, at, size) < word_at(sort, b, at, size);
}

/* Order a few entries whose images are equal before 'at'. */
static void
sort_few(const ByteSort *sort, uint64 *entries, int64 n, Size at)
{
	uint64	   *addresses = entries + sort->stride - 1;

	for (int64 i = 1; i < n; i++)
	{
		uint64		moving = addresses[i * sort->stride];
		int64		place = i;

		while (place > 0 &&
			   image_before(sort, (char *) (uintptr_t) moving,
							(char *) (uintptr_t)
							addresses[(place - 1) * sort->stride], at))
		{
			addresses[place * sort->stride] =
				addresses[(place - 1) * sort->stride];
			place--;
		}
		addresses[place * sort->stride] = moving;
	}
}

/*
 * Order entries whose images are equal before 'at'.  Among the groups that are
 * equal in the next word as well, the loop handles the largest and recursion
 * the others, which bounds the depth.
 */
static void
sort_from(const ByteSort *sort, uint64 *entries, int64 n, Size at)
{
	const int	stride = sort->stride;

	while (n > FEW_IMAGES)
	{
		uint64	   *largest = entries;
		int64		largest_n = 0;
		int64		start = 0;

		at = take_words(sort, entries, n, at);
		if (at >= order_size(sort->order, entry_image(entries, sort->stride)))
			return;
		radix_sort(entries, n, stride, 1, sort->scratch, sort->room);
		at += WORD;
		for (int64 i = 1; i <= n; i++)
		{
			uint64	   *group = entries + start * stride;
			const uint64 *ahead = entries + (i + AHEAD) * stride;

			if (i + AHEAD < n && ahead[0] == ahead[-stride])
				pt_prefetch(entry_image(ahead, sort->stride) + at);
			if (i < n && entries[i * stride] == group[0])
				continue;
			if (i - start > largest_n)
			{
				sort_from(sort, largest, largest_n, at);
				largest = group;
				largest_n = i - start;
			}
			else
				sort_from(sort, group, i - start, at);
			start = i;
		}
		entries = largest;
		n = largest_n;
	}
	sort_few(sort, entries, n, at);
}

void
bytesort(const SortOrder *order, uint64 *entries, int64 n, int stride,
		 uint64 *scratch, int64 room)
{
	const ByteSort sort = {
		.order = order,
		.stride = stride,
		.scratch = scratch,
		.room = room
	};
	uint64		word = entries[0];

	sort_from(&sort, entries, n, 0);
	for (int64 i = 0; i < n; i++)
		entries[i * stride] = word;
}
