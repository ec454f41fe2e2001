/*-------------------------------------------------------------------------
 *
 * order.h
 *	  The order of two tuples of one sort.
 *
 * Words decide first, as unsigned integers; then the variant's comparison;
 * then the bytes of the images, so that the order is total and a result does
 * not depend on the budget or on which participant sorted what.
 *
 * In a stable sort the order in which tuples were put takes the place of the
 * bytes.  Nothing of it is stored: images in memory are placed in that order, a
 * merge reads runs in that order, and so do the merges of all participants'
 * runs.  So what compares tuples decides between equal ones by where they are.
 *
 * Words never contradict the variant's comparison.  Those of text are made by
 * the tables of its collation; so some neighbours are compared by the provider
 * of the collation as well (order_spot_check).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ORDER_H
#define PTSORT_ORDER_H

#include "compat.h"

#include "order/sortextras.h"

/*
 * OrderPlace: memory that holds images one after the other, in the order in
 * which they were put, after those of the places with lower numbers.
 */
typedef struct OrderPlace
{
	const char *start;
	const char *end;
	int			number;
} OrderPlace;

/*
 * SortOrder: what all parts of one sort object share about their tuples.
 */
typedef struct SortOrder
{
	const PtSortVariant *variant;	/* these two as in SortHead */
	void	   *state;			/* the variant's */
	const SortVariant *own;		/* the variant, or if it is not of ptsort's
								 * own one that has none of the extras */
	int			nwords;			/* 0 to PTSORT_MAX_WORDS; not 0 if inline */
	bool		inline_image;	/* the variant's */
	bool		words_decide;	/* tuples with equal words compare equal,
								 * unless the first word is ... */
	uint64		words_unless;	/* ... this one, the smallest or the largest */
	uint64		head_mask;		/* of the first 8 bytes of an image, read by
								 * pt_bytes_word: what orders tuples */
	bool		has_strings;	/* see order_string */
	int			string_offset;	/* these two as SortVariant.string_offset */
	uint64		string_unless;
	bool		string_decides; /* tuples with equal ones have equal keys */
	uint64		string_mask;	/* all bits if these are in descending order */
	bool		stable;			/* equal tuples come as they were put */
	bool		bounded;		/* not all tuples are wanted */
	const OrderPlace *places;	/* of the images in memory, by address; set
								 * while they are sorted */
	int			nplaces;
	bool		words_by_tables;	/* a collation's tables made the words */
	int64		comparisons;	/* calls of variant->compare so far */
} SortOrder;

/*
 * order_compare_words orders two tuples by n words: <0, 0 or >0.  Inlined, so
 * that a constant n leaves no loop.
 */
static pg_attribute_always_inline int
order_compare_words(const uint64 *a, const uint64 *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* order_size returns the bytes of an image, from its first 8 bytes. */
static inline Size
order_size(const SortOrder *order, const void *tuple)
{
	if (order->inline_image)
		return sizeof(uint64);
	return order->variant->size(tuple, order->state);
}

/*
 * order_compare_entries orders two entries with inline images, whose words are
 * equal, and lets the variant look at them.
 */
static inline int
order_compare_entries(const SortOrder *order, const uint64 *a, const uint64 *b)
{
	uint64		left = a[order->nwords];
	uint64		right = b[order->nwords];

	if (order->own->check_equal)
		order->own->check_equal(a, b, order->state);
	return (left > right) - (left < right);
}

extern void order_begin(SortOrder *order, const PtSortVariant *variant,
						const SortVariant *own, void *state);
extern int	order_compare_images(const SortOrder *order, const void *a,
								 const void *b);

/*
 * order_place returns the place of an image in memory, which is the larger the
 * later it was put: the number of its chunk, and in the lower PLACE_BITS the
 * offset in it.
 */
#define PLACE_BITS		40
#define PLACE_MASK		((UINT64CONST(1) << PLACE_BITS) - 1)
extern uint64 order_place(const SortOrder *order, const void *image);
extern int	order_compare_places(const SortOrder *order, const void *a,
								 const void *b);

/*
 * order_string tells by which string a tuple comes before or after those with
 * equal words; false if the tuple, not that of others, has none that could be
 * told.  Only if order->has_strings.
 */
static inline bool
order_string(const SortOrder *order, const void *tuple, KeyString *string)
{
	const char *value = (const char *) tuple + order->string_offset;

	/* (that of a value that is elsewhere looks short, with a size of 0) */
	if (likely(order->string_offset > 0 &&
			   (*(const uint64 *) tuple & order->string_unless) == 0 &&
			   VARATT_IS_SHORT(value) && VARSIZE_SHORT(value) > 0))
	{
		string->bytes = value + VARHDRSZ_SHORT;
		string->length = (int) VARSIZE_SHORT(value) - VARHDRSZ_SHORT;
		return true;
	}
	return order->own->string(tuple, string, order->state);
}

/*
 * order_has_last_words tells whether a word decides between tuples whose key
 * columns are equal.
 */
static inline bool
order_has_last_words(const SortOrder *order)
{
	return !order->stable && order->own->last_word != NULL;
}

/* order_words_decide tells whether tuples with these words compare equal. */
static inline bool
order_words_decide(const SortOrder *order, const uint64 *words)
{
	return order->words_decide && words[0] != order->words_unless;
}

/*
 * order_compare_keys orders two flat images whose words are equal: by their key
 * columns if the variant has last words, else by the variant's comparison.
 */
static inline int
order_compare_keys(SortOrder *order, const void *a, const void *b)
{
	Assert(!order->inline_image);
	if (order_has_last_words(order))
	{
		if (order->own->same_key && order->own->same_key(a, b))
			return 0;
		order->comparisons++;
		return order->own->compare_keys(a, b, order->state);
	}
	order->comparisons++;
	return order->variant->compare(a, b, order->state);
}

/*
 * order_sorts_bytes tells whether tuples that compare equal may be ordered by
 * bytes afterwards, without the variant.
 */
static inline bool
order_sorts_bytes(const SortOrder *order)
{
	return !order->stable && order->own->head_bytes > 0;
}

/*
 * order_compare_tuples orders two flat images whose words are equal.  In a
 * stable sort it returns 0 if they compare equal, and the caller decides.
 */
static inline int
order_compare_tuples(SortOrder *order, const void *a, const void *b)
{
	int			cmp = order_compare_keys(order, a, b);

	if (likely(cmp != 0) || order->stable)
		return cmp;
	if (order_has_last_words(order))
	{
		uint64		left = order->own->last_word(a);
		uint64		right = order->own->last_word(b);

		if (likely(left != right))
			return left < right ? -1 : 1;
	}
	return order_compare_images(order, a, b);
}

/*
 * If a collation's tables made the words, a sort compares one in
 * ORDER_SPOT_EVERY neighbours by the collation's provider: order_spot_check
 * compares two tuples of which the words put the first one first.  If the
 * provider contradicts them it returns false, and the sort has failed, if its
 * user can sort again; else that is an error.
 */
#define ORDER_SPOT_EVERY	64
extern bool order_spot_check(SortOrder *order, const void *a, const void *b);

/* order_compare_in_memory is order_compare_tuples for images in memory. */
static inline int
order_compare_in_memory(SortOrder *order, const void *a, const void *b)
{
	int			cmp = order_compare_tuples(order, a, b);

	if (likely(cmp != 0) || !order->stable)
		return cmp;
	return order_compare_places(order, a, b);
}

/*
 * entry_image returns the image of an entry in memory, of so many words,
 * that has its address last.
 */
static inline const char *
entry_image(const uint64 *entry, int stride)
{
	return (const char *) (uintptr_t) entry[stride - 1];
}

/*
 * order_compare_equal orders two tuples of either kind whose words are equal.
 * An inline image comes right after its words.
 */
static inline int
order_compare_equal(SortOrder *order, const uint64 *a_words, const void *a,
					const uint64 *b_words, const void *b)
{
	if (order->inline_image)
		return order_compare_entries(order, a_words, b_words);
	if (order->stable && order_words_decide(order, a_words))
		return 0;
	return order_compare_tuples(order, a, b);
}

/* order_same_slice: must these, whose words are equal, be in one slice? */
static inline bool
order_same_slice(const SortOrder *order, const uint64 *a_words, const void *a,
				 const uint64 *b_words, const void *b)
{
	if (order->inline_image)
		return order->own->same_slice != NULL &&
			order->own->same_slice(a_words, b_words, order->state);
	return order->variant->same_slice != NULL &&
		order->variant->same_slice(a, b, order->state);
}

#endif							/* PTSORT_ORDER_H */
