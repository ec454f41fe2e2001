/*-------------------------------------------------------------------------
 *
 * stringsort.c
 *	  Sort tuples with equal words by the bytes of a string.
 *
 * If text is ordered by its bytes and begins alike (paths, URLs, lines of
 * programs), words leave large groups of tuples equal.  Sorting such a group by
 * comparison reads each of its strings, which are all over memory, many times.
 * Here one pass over them finds the length of the beginning that all of them
 * share, and another pass reads the 8 bytes after it, which replace the word in
 * the entries.  The radix sort sorts them like that word.  Groups that are
 * still equal are sorted by what follows.  That is a multikey quicksort with
 * cached words (Ng and Kakehi, "Cache Efficient Radix Sort for String Sorting",
 * 2007), whose partitions are those of the radix sort.
 *
 * Strings that end are padded with zeros.  So words whose last byte is zero may
 * belong to equal strings, or to strings that differ only in zeros (bytea).  If
 * only the former is possible and no column follows, the tie-breaker of the
 * order is a word or the bytes of the tuples; otherwise a comparison decides.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "memory/bytesort.h"
#include "memory/lastsort.h"
#include "memory/radix.h"
#include "memory/stringsort.h"
#include "memory/tiesort.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "util.h"

/* Number of entries to prefetch ahead. */
#define AHEAD			8

/* Up to this many entries are sorted by insertion, comparing strings. */
#define FEW_STRINGS		6

#define WORD			((int) sizeof(uint64))

/* State shared by all levels of recursion. */
typedef struct StringSort
{
	SortOrder  *order;
	int			stride;
	uint64	   *scratch;
	int64		room;
} StringSort;

static inline bool
string_of(const StringSort *sort, const uint64 *entry, KeyString *string)
{
	return order_string(sort->order, entry_image(entry, sort->stride), string);
}

/* string_of, for a string that string_of returned before. */
static inline KeyString
known_string(const StringSort *sort, const uint64 *entry)
{
	KeyString	string;
	bool		known PG_USED_FOR_ASSERTS_ONLY;

	known = string_of(sort, entry, &string);
	Assert(known);
	return string;
}

/* The 8 bytes at an offset within a string, or at its end, as a word. */
static inline uint64
word_at(const StringSort *sort, KeyString string, int at)
{
	return pt_string_word(string.bytes + at, string.length - at) ^
		sort->order->string_mask;
}

/* True if strings whose words from 'at' on equal this one may differ later. */
static inline bool
goes_on(const StringSort *sort, uint64 word)
{
	return ((word ^ sort->order->string_mask) & 0xFF) != 0;
}

/*
 * Number of bytes that two strings share of their first 'most', which both
 * have.  They are known to share the first 'at'.
 */
static inline int
shared_bytes(KeyString a, KeyString b, int at, int most)
{
	for (; most - at >= WORD; at += WORD)
	{
		uint64		differ = pt_bytes_word(a.bytes + at) ^
			pt_bytes_word(b.bytes + at);

		if (differ != 0)
			return at + (63 - pg_leftmost_one_pos64(differ)) / BITS_PER_BYTE;
	}
	while (at < most && a.bytes[at] == b.bytes[at])
		at++;
	return at;
}

/* Prefetch the string of an entry that will be read soon. */
static inline void
prefetch(const StringSort *sort, const uint64 *entries, int64 i, int64 n,
		 int at)
{
	if (i + AHEAD < n)
	{
		const char *image = entry_image(entries + (i + AHEAD) * sort->stride,
										sort->stride);

		pt_prefetch(image);
		pt_prefetch(image + at);
	}
}

/*
 * Number of bytes that the strings of n entries share, which is at least 'at'.
 * Returns -1 if one of the strings cannot be read in place.
 */
static int
shared_by_all(const StringSort *sort, const uint64 *entries, int64 n, int at)
{
	KeyString	first;
	int			shared;

	if (!string_of(sort, entries, &first))
		return -1;
	shared = first.length;
	for (int64 i = 1; i < n; i++)
	{
		KeyString	string;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		prefetch(sort, entries, i, n, at);
		if (!string_of(sort, entries + i * sort->stride, &string))
			return -1;
		shared = shared_bytes(first, string, at, Min(shared, string.length));
	}
	return shared;
}

/* Replace the first word of n entries by the 8 bytes from 'at' on. */
static void
take_words(const StringSort *sort, uint64 *entries, int64 n, int at)
{
	for (int64 i = 0; i < n; i++)
	{
		uint64	   *entry = entries + i * sort->stride;

		if (i % CHECK_INTERVAL == 0)
			CHECK_FOR_INTERRUPTS();
		prefetch(sort, entries, i, n, at);
		entry[0] = word_at(sort, known_string(sort, entry), at);
	}
}

/* Order entries with equal words whose strings end there. */
static void
sort_ended(const StringSort *sort, uint64 *entries, int64 n)
{
	SortOrder  *order = sort->order;

	if (order->stable && order->string_decides)
		return;
	if (n > FEW_STRINGS && order->string_decides)
	{
		if (order_sorts_bytes(order))
		{
			bytesort(order, entries, n, sort->stride, sort->scratch,
					 sort->room);
			return;
		}
		if (lastsort(order, entries, n, sort->stride, sort->scratch,
					 sort->room))
			return;
	}
	tiesort(order, entries, n, sort->stride, sort->scratch, sort->room);
}

/* Order of two tuples whose strings share the first 'at' bytes. */
static int
compare(const StringSort *sort, const uint64 *a, const uint64 *b, int at)
{
	KeyString	left = known_string(sort, a);
	KeyString	right = known_string(sort, b);
	int			most = Min(left.length, right.length);

	at = shared_bytes(left, right, at, most);
	if (at == left.length && at == right.length)
		return order_compare_in_memory(sort->order,
									   entry_image(a, sort->stride),
									   entry_image(b, sort->stride));
	if (at == left.length || at == right.length)
		return (at == left.length) == (sort->order->string_mask == 0) ? -1 : 1;
	return ((uint8) left.bytes[at] < (uint8) right.bytes[at]) ==
		(sort->order->string_mask == 0) ? -1 : 1;
}

/* Order a few entries whose strings share the first 'at' bytes. */
static void
sort_few(const StringSort *sort, uint64 *entries, int64 n, int at)
{
	const int	stride = sort->stride;
	const int	last = stride - 1;

	for (int64 i = 1; i < n; i++)
	{
		uint64		moving[PTSORT_MAX_WORDS + 1] = {0};
		int64		place = i;

		moving[last] = entries[i * stride + last];
		while (place > 0 &&
			   compare(sort, moving, entries + (place - 1) * stride, at) < 0)
		{
			entries[place * stride + last] =
				entries[(place - 1) * stride + last];
			place--;
		}
		entries[place * stride + last] = moving[last];
	}
}

/*
 * End of the group of entries with equal words that begins at 'start' of n.
 * Prefetches the strings of later groups, at offset 'at'.
 */
static int64
group_end(const StringSort *sort, const uint64 *entries, int64 start, int64 n,
		  int at)
{
	const int	stride = sort->stride;
	int64		i = start;

	do
	{
		const uint64 *ahead = entries + (i + AHEAD) * stride;

		if (i + AHEAD < n && ahead[0] == ahead[-stride])
		{
			pt_prefetch(entry_image(ahead, stride));
			pt_prefetch(entry_image(ahead, stride) + at);
			pt_prefetch(entry_image(ahead - stride, stride));
			pt_prefetch(entry_image(ahead - stride, stride) + at);
		}
		i++;
	} while (i < n && entries[i * stride] == entries[start * stride]);
	return i;
}

static void sort_from(const StringSort *sort, uint64 *entries, int64 n, int at);

/* Order entries whose strings share the first 'at' bytes or more. */
static void
sort_group(const StringSort *sort, uint64 *entries, int64 n, int at)
{
	/* not worth it for a few strings, which are compared instead */
	if (n > FEW_STRINGS)
		at = shared_by_all(sort, entries, n, at);
	sort_from(sort, entries, n, at);
}

/*
 * Order entries whose strings share exactly the first 'at' bytes.  Among the
 * groups that share more, the loop handles the largest and recursion the
 * others, which bounds the depth.
 */
static void
sort_from(const StringSort *sort, uint64 *entries, int64 n, int at)
{
	while (n > FEW_STRINGS)
	{
		uint64	   *largest = entries;
		int64		largest_n = 0;
		int64		end;

		take_words(sort, entries, n, at);
		radix_sort(entries, n, sort->stride, 1, sort->scratch, sort->room);
		at += WORD;
		for (int64 start = 0; start < n; start = end)
		{
			uint64	   *group = entries + start * sort->stride;
			int64		group_n;

			end = group_end(sort, entries, start, n, at);
			group_n = end - start;
			if (group_n == 1)
				continue;
			if (!goes_on(sort, group[0]))
			{
				sort_ended(sort, group, group_n);
				continue;
			}
			if (group_n > largest_n)
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

bool
stringsort(SortOrder *order, uint64 *entries, int64 n, int stride,
		   uint64 *scratch, int64 room)
{
	const StringSort sort = {
		.order = order,
		.stride = stride,
		.scratch = scratch,
		.room = room
	};
	uint64		word = entries[0];
	int			shared = shared_by_all(&sort, entries, n, 0);

	if (shared < 0)
		return false;
	sort_from(&sort, entries, n, shared);
	for (int64 i = 0; i < n; i++)
		entries[i * stride] = word;
	return true;
}
