/*-------------------------------------------------------------------------
 *
 * lastsort.c
 *	  Sort tuples with equal keys by their last word, the tie-breaker.
 *
 * In a stable sort the last word is the place of a tuple; otherwise the variant
 * provides it: the heap TID of an index tuple.  Sorting many tuples with equal
 * keys this way reads each tuple once, whereas comparing them takes about a
 * dozen comparisons per tuple, each of the whole key.  Repetitive text (names
 * of persons, states, log lines) benefits.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/lastsort.h"
#include "memory/radix.h"
#include "miscadmin.h"
#include "util.h"

/* Number of entries to prefetch ahead. */
#define AHEAD			8

/* True if tuples have a last word. */
static bool
has_last_words(const SortOrder *order)
{
	return order->stable || order_has_last_words(order);
}

/* Returns the last word of an image. */
static uint64
last_word(const SortOrder *order, const char *image)
{
	return order->stable ? order_place(order, image) :
		order->own->last_word(image);
}

/* lastsort: see lastsort.h. */
bool
lastsort(const SortOrder *order, uint64 *entries, int64 n, int stride,
		 uint64 *scratch, int64 room)
{
	if (!has_last_words(order))
		return false;
	for (int64 i = 0; i < n; i++)
	{
		uint64	   *entry = entries + i * stride;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		entry[0] = last_word(order, entry_image(entry, stride));
	}
	radix_sort(entries, n, stride, 1, scratch, room);
	for (int64 i = 1; i < n; i++)
	{
		if (entries[i * stride] == entries[(i - 1) * stride])
			return false;
	}
	return true;
}

/* True if all entries have the same key as the first one. */
static bool
have_same_key(const SortOrder *order, const uint64 *entries, int64 n,
			  int stride)
{
	const char *first = entry_image(entries, stride);

	if (order->own->same_key == NULL || !has_last_words(order))
		return false;
	/* start at the end, where a different key is likely to be found soon */
	for (int64 i = n - 1; i > 0; i--)
	{
		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (i > AHEAD)
			pt_prefetch(entry_image(entries + (i - AHEAD) * stride, stride));
		if (!order->own->same_key(first,
								  entry_image(entries + i * stride, stride)))
			return false;
	}
	return true;
}

/* lastsort_same: see lastsort.h. */
bool
lastsort_same(const SortOrder *order, uint64 *entries, int64 n, int stride,
			  uint64 *scratch, int64 room)
{
	uint64		word = entries[0];
	bool		sorted;

	if (!have_same_key(order, entries, n, stride))
		return false;
	if (order->stable)
		return true;
	sorted = lastsort(order, entries, n, stride, scratch, room);
	for (int64 i = 0; i < n; i++)
		entries[i * stride] = word;
	return sorted;
}
