/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorts entries in memory.
 *
 * radix.c sorts the entries by their words; then each group of entries with
 * equal words is sorted by images.  Tuples of a group often have long common
 * prefixes (paths, URLs), and a comparison sort would read each of the
 * scattered images many times.  If byte strings decide the order, one pass over
 * the strings finds the length of their common prefix.  A second pass replaces
 * the word of each entry by the next 8 bytes of its string, and the radix sort
 * orders the entries by this word.  If words are still equal in a group,
 * further passes sort the group by the next bytes.  The algorithm is a multikey
 * quicksort with cached words (Ng and Kakehi, "Cache Efficient Radix Sort for
 * String Sorting", 2007); it partitions by radix sort.
 *
 * Three kinds of byte strings order tuples:
 *
 * - the key's string, if the key is text ordered by its bytes;
 * - among equal keys, the whole image;
 * - among equal keys, the last word: the heap TID or, in a stable sort, the
 *   place of the image.  A last word has 8 bytes, so one pass is enough.
 *
 * If keys have no string, tiesort.c sorts them by comparison; this file then
 * sorts each group of equal keys by image or last word.  With at most FEW_KEYS
 * distinct keys, tiesort.c needs at most two comparisons per tuple.
 *
 * Zeros pad the end of a string.  So equal words whose last byte is zero may
 * belong to equal strings, or to strings that contain zeros (bytea).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/entrysort.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "util.h"

/* Maximum number of entries for an insertion sort that compares bytes. */
#define FEW_STRINGS		6

#define WORD			((int) sizeof(uint64))

/* ByteSort: the bytes by which tuples are sorted. */
typedef struct ByteSort
{
	const EntrySort *es;
	bool		images;			/* true: by images; false: by the key string */
	uint64		head_mask;		/* bits that count in a string's first word */
	uint64		mask;			/* all bits if descending, else 0 */
} ByteSort;

/*
 * Sets *bytes to the bytes by which an image is sorted.  Returns false if the
 * variant cannot read the string in place.
 */
static inline bool
find_bytes(const ByteSort *sort, const char *image, KeyString *bytes)
{
	const SortOrder *order = sort->es->order;

	if (!sort->images)
		return order->own->string(image, bytes, order->state);
	bytes->bytes = image;
	bytes->length = (int) order_size(order, image);
	return true;
}

/* Returns the bytes of an image for which find_bytes already returned true. */
static inline KeyString
bytes_of(const ByteSort *sort, const char *image)
{
	KeyString	bytes;
	bool		found PG_USED_FOR_ASSERTS_ONLY;

	found = find_bytes(sort, image, &bytes);
	Assert(found);
	return bytes;
}

/* Returns as a word the zero-padded 8 bytes at offset 'at' of a string. */
static inline uint64
word_at(const ByteSort *sort, KeyString string, int at)
{
	uint64		word = pt_string_word(string.bytes + at, string.length - at);

	if (at == 0)
		word &= sort->head_mask;
	return word ^ sort->mask;
}

/*
 * Returns the length of the common prefix of two strings, at most 'most'.  Both
 * strings have at least 'most' bytes and share at least the first 'at' bytes.
 */
static inline int
shared_bytes(const ByteSort *sort, KeyString a, KeyString b, int at, int most)
{
	for (; most - at >= WORD; at += WORD)
	{
		uint64		differ = pt_bytes_word(a.bytes + at) ^
			pt_bytes_word(b.bytes + at);

		if (at == 0)
			differ &= sort->head_mask;
		if (differ != 0)
			return at + (63 - pg_leftmost_one_pos64(differ)) / BITS_PER_BYTE;
	}
	while (at < most && a.bytes[at] == b.bytes[at])
		at++;
	return at;
}

/* Prefetch the start of an entry's image, and the image's bytes at 'at'. */
static inline void
prefetch(const ByteSort *sort, const uint64 *entry, int at)
{
	const char *image = entry_image(entry, sort->es->stride);

	pt_prefetch(image);
	pt_prefetch(image + at);
}

/*
 * Returns the length of the common prefix of n entries' strings, at least 'at'.
 * Returns 0 if images differ in their first 8 bytes, because head_mask may
 * exclude bits of these bytes.  Returns -1 if a string cannot be read in place.
 */
static int
shared_by_all(const ByteSort *sort, const uint64 *entries, int64 n, int at)
{
	const int	stride = sort->es->stride;
	KeyString	first;
	int			shared;

	if (!find_bytes(sort, entry_image(entries, stride), &first))
		return -1;
	shared = first.length;
	for (int64 i = 1; i < n; i++)
	{
		KeyString	string;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + ENTRIES_AHEAD < n)
			prefetch(sort, entries + (i + ENTRIES_AHEAD) * stride, at);
		if (!find_bytes(sort, entry_image(entries + i * stride, stride),
						&string))
			return -1;
		shared = shared_bytes(sort, first, string, at,
							  Min(shared, string.length));
	}
	return sort->images && shared < WORD ? 0 : shared;
}

/* Replace the first word of each entry by the 8 bytes of its string at 'at'. */
static void
take_words(const ByteSort *sort, uint64 *entries, int64 n, int at)
{
	const int	stride = sort->es->stride;

	for (int64 i = 0; i < n; i++)
	{
		uint64	   *entry = entries + i * stride;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + ENTRIES_AHEAD < n)
			prefetch(sort, entry + ENTRIES_AHEAD * stride, at);
		entry[0] = word_at(sort, bytes_of(sort, entry_image(entry, stride)),
						   at);
	}
}

/* True if image a precedes b; their strings share the first 'at' bytes. */
static bool
is_before(const ByteSort *sort, uint64 a, uint64 b, int at)
{
	const char *a_image = (const char *) (uintptr_t) a;
	const char *b_image = (const char *) (uintptr_t) b;
	KeyString	left = bytes_of(sort, a_image);
	KeyString	right = bytes_of(sort, b_image);
	int			most = Min(left.length, right.length);

	at = shared_bytes(sort, left, right, at, most);
	if (at < most)
		return ((uint8) left.bytes[at] < (uint8) right.bytes[at]) ==
			(sort->mask == 0);
	if (left.length != right.length)
		return (left.length < right.length) == (sort->mask == 0);
	return !sort->images &&
		order_compare_in_memory(sort->es->order, a_image, b_image) < 0;
}

/* Order a few entries whose strings share the first 'at' bytes. */
static void
sort_few(const ByteSort *sort, uint64 *entries, int64 n, int at)
{
	const int	stride = sort->es->stride;
	uint64	   *addresses = entries + stride - 1;

	for (int64 i = 1; i < n; i++)
	{
		uint64		moving = addresses[i * stride];
		int64		place = i;

		for (; place > 0; place--)
		{
			uint64		before = addresses[(place - 1) * stride];

			if (!is_before(sort, moving, before, at))
				break;
			addresses[place * stride] = before;
		}
		addresses[place * stride] = moving;
	}
}

/*
 * Returns the end of the group of equal words that begins at entry 'start' of
 * n.  Also prefetches the strings of later groups at offset 'at'.
 */
static int64
group_end(const ByteSort *sort, const uint64 *entries, int64 start, int64 n,
		  int at)
{
	const int	stride = sort->es->stride;
	int64		i = start;

	do
	{
		const uint64 *ahead = entries + (i + ENTRIES_AHEAD) * stride;

		if (i + ENTRIES_AHEAD < n && ahead[0] == ahead[-stride])
		{
			prefetch(sort, ahead, at);
			prefetch(sort, ahead - stride, at);
		}
		i++;
	} while (i < n && entries[i * stride] == entries[start * stride]);
	return i;
}

/* True if strings with equal words up to 'at' may differ in later bytes. */
static inline bool
goes_on(const ByteSort *sort, const uint64 *entry, int at)
{
	if (sort->images)
		return at < bytes_of(sort, entry_image(entry, sort->es->stride)).length;
	return ((entry[0] ^ sort->mask) & 0xFF) != 0;
}

static void sort_ended(const ByteSort *sort, uint64 *entries, int64 n);
static void sort_from(const ByteSort *sort, uint64 *entries, int64 n, int at);

/* Order entries whose strings share at least the first 'at' bytes. */
static void
sort_group(const ByteSort *sort, uint64 *entries, int64 n, int at)
{
	/* for the few strings of sort_few, finding the prefix does not pay */
	if (n > FEW_STRINGS)
		at = shared_by_all(sort, entries, n, at);
	sort_from(sort, entries, n, at);
}

/*
 * Order entries whose strings share exactly the first 'at' bytes.  The loop
 * handles the largest of the groups that share more bytes.  Recursion handles
 * the others, each with at most n / 2 entries, so the depth is bounded.
 */
static void
sort_from(const ByteSort *sort, uint64 *entries, int64 n, int at)
{
	const EntrySort *es = sort->es;

	while (n > FEW_STRINGS)
	{
		uint64	   *largest = entries;
		int64		largest_n = 0;
		int64		end;

		if (sort->images && !goes_on(sort, entries, at))
			return;
		take_words(sort, entries, n, at);
		radix_sort(entries, n, es->stride, 1, es->scratch);
		at += WORD;
		for (int64 start = 0; start < n; start = end)
		{
			uint64	   *group = entries + start * es->stride;
			int64		group_n;

			end = group_end(sort, entries, start, n, at);
			group_n = end - start;
			if (group_n == 1)
				continue;
			if (!goes_on(sort, group, at))
				sort_ended(sort, group, group_n);
			else if (group_n > largest_n)
			{
				sort_group(sort, largest, largest_n, at);
				largest = group;
				largest_n = group_n;
			}
			else
				sort_group(sort, group, group_n, at);
		}
		entries = largest;
		n = largest_n;
		if (n > FEW_STRINGS)
			at = shared_by_all(sort, entries, n, at);
	}
	sort_few(sort, entries, n, at);
}

/* Order entries with equal keys by the bytes of their images. */
static void
sort_images(const EntrySort *es, uint64 *entries, int64 n)
{
	const ByteSort sort = {
		.es = es,
		.images = true,
		.head_mask = es->order->head_mask
	};

	sort_group(&sort, entries, n, 0);
}

/*
 * Order entries with equal keys by their last words.  Returns false if two last
 * words are equal.
 */
static bool
sort_last_words(const EntrySort *es, uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;
	const int	stride = es->stride;

	for (int64 i = 0; i < n; i++)
	{
		uint64	   *entry = entries + i * stride;
		const char *image = entry_image(entry, stride);

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		entry[0] = order->stable ? order_place(order, image) :
			order->own->last_word(image);
	}
	radix_sort(entries, n, stride, 1, es->scratch);
	for (int64 i = 1; i < n; i++)
	{
		if (entries[i * stride] == entries[(i - 1) * stride])
			return false;
	}
	return true;
}

/*
 * Order entries with equal keys, in a sort that has a tie-breaker.  Last words
 * may be equal: unless the sort builds an index, two tuples may have the same
 * TID.
 */
static void
sort_equal(const EntrySort *es, uint64 *entries, int64 n)
{
	if (n < 2)
		return;
	if (order_sorts_bytes(es->order))
		sort_images(es, entries, n);
	else if (!sort_last_words(es, entries, n))
		(void) tiesort(es, entries, n, false);
}

/*
 * Order entries by their keys and then by the tie-breaker.  If 'equal' is true,
 * all keys are equal.
 */
static void
sort_keys(const EntrySort *es, uint64 *entries, int64 n, bool equal)
{
	const SortOrder *order = es->order;
	int64		counts[FEW_KEYS] = {n};
	int			nkeys = 1;

	if (!order->stable && !order_sorts_bytes(order) &&
		!order_has_last_words(order))
	{
		/* only the variant's comparison may order equal keys */
		(void) tiesort(es, entries, n, false);
		return;
	}
	if (!equal)
		nkeys = tiesort_few_keys(es, entries, n, counts);
	for (int i = 0; i < nkeys; i++)
	{
		if (!order->stable)
			sort_equal(es, entries, counts[i]);
		entries += counts[i] * es->stride;
	}
	if (nkeys > 0 || !tiesort(es, entries, n, true))
		return;
	while (n > 0)
	{
		int64		group = tiesort_group(es, entries, n);

		sort_equal(es, entries, group);
		entries += group * es->stride;
		n -= group;
	}
}

/* Order entries whose equal words contain the ends of their strings. */
static void
sort_ended(const ByteSort *sort, uint64 *entries, int64 n)
{
	const SortOrder *order = sort->es->order;

	/* in a stable sort the variant's comparison also looks at last words */
	if (!sort->images)
		sort_keys(sort->es, entries, n, order->string_decides &&
				  !(order->stable && order->own->last_word));
}

/*
 * Order n entries whose words are equal and whose images are not inline.  The
 * entries of a stable sort must be in input order.
 */
static void
bytesort(const EntrySort *es, uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;
	const ByteSort strings = {
		.es = es,
		.head_mask = PG_UINT64_MAX,
		.mask = order->string_mask
	};
	uint64		word = entries[0];
	int			shared = order->has_strings ?
		shared_by_all(&strings, entries, n, 0) : -1;

	if (shared >= 0)
		sort_from(&strings, entries, n, shared);
	else
		sort_keys(es, entries, n, order_words_decide(order, entries));
	for (int64 i = 0; i < n; i++)
		entries[i * es->stride] = word;
}

/* For inline images: call check_equal for neighbours with equal words. */
static void
check_ties(const EntrySort *es, uint64 *entries, int64 n)
{
	for (int64 i = 1; i < n; i++)
	{
		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		(void) order_compare_entries(es->order,
									 entries + (i - 1) * es->stride,
									 entries + i * es->stride);
	}
}

/* Prefetch the images of two neighbours if their words are equal. */
static inline void
prefetch_tie(const EntrySort *es, const uint64 *entry)
{
	const uint64 *before = entry - es->stride;

	if (!es->order->inline_image &&
		order_compare_words(entry, before, es->stride - 1) == 0)
	{
		pt_prefetch(entry_image(before, es->stride));
		pt_prefetch(entry_image(entry, es->stride));
	}
}

/* Find the groups of entries with equal words; check or order each group. */
static void
resolve_ties(const EntrySort *es, uint64 *entries, int64 n)
{
	int64		start = 0;

	for (int64 i = 1; i <= n; i++)
	{
		uint64	   *first = entries + start * es->stride;
		uint64	   *entry = entries + i * es->stride;

		if (i + ENTRIES_AHEAD < n)
			prefetch_tie(es, entry + ENTRIES_AHEAD * es->stride);
		if (i < n && order_compare_words(entry, first, es->stride - 1) == 0)
			continue;
		if (i - start > 1 && es->order->inline_image)
			check_ties(es, first, i - start);
		else if (i - start > 1)
			bytesort(es, first, i - start);
		start = i;
	}
}

/*
 * True if entries with equal words need further work after the radix sort.
 * Checking the first and the last entry suffices: words that leave tuples
 * undecided come first or last (see words_unless).
 */
static inline bool
leaves_ties(const EntrySort *es, const uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;

	if (order->inline_image)
		return order->own->check_equal != NULL;
	return !order->stable || !order_words_decide(order, entries) ||
		!order_words_decide(order, entries + (n - 1) * es->stride);
}

/* True if the collation's provider agrees with the words of two entries. */
static bool
spot_is_right(const EntrySort *es, const uint64 *a, const uint64 *b)
{
	return order_compare_words(a, b, es->stride - 1) == 0 ||
		order_spot_check(es->order, entry_image(a, es->stride),
						 entry_image(b, es->stride));
}

/*
 * Let the collation's provider compare some neighbours.  If a large group of
 * entries is misplaced, only a few neighbours are out of order.  So spot_check
 * also compares each pair's first entry with the previous pair's last entry.
 */
static void
spot_check(const EntrySort *es, const uint64 *entries, int64 n)
{
	const uint64 *last = entries;

	for (int64 i = TEXT_SPOT_EVERY / 2; i < n; i += TEXT_SPOT_EVERY)
	{
		const uint64 *b = entries + i * es->stride;
		const uint64 *a = b - es->stride;

		if (!spot_is_right(es, last, a) || !spot_is_right(es, a, b))
			return;
		last = b;
	}
}

void
entrysort(const EntrySort *es, uint64 *entries, int64 n)
{
	const SortOrder *order = es->order;

	if (order->nwords > 0)
		radix_sort(entries, n, es->stride,
				   order->inline_image ? es->stride : es->stride - 1,
				   es->scratch);
	if (leaves_ties(es, entries, n))
		resolve_ties(es, entries, n);
	if (order->words_by_tables)
		spot_check(es, entries, n);
}
