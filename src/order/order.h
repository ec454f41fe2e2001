/*-------------------------------------------------------------------------
 *
 * order.h
 *	  The order of two tuples of one sort.
 *
 * A sort orders tuples by their words, as unsigned integers; then by the
 * variant's comparison; then by the bytes of their images.  The order is
 * therefore total, and the result does not depend on the budget or on which
 * participant sorted which tuples.
 *
 * In a stable sort the input order of tuples replaces the bytes.  The sort does
 * not store the input order.  It places images in memory in input order, and
 * all merges, including those of all participants' runs, read runs in input
 * order.  So the places of equal tuples determine their order.
 *
 * Words must not contradict the variant's comparison.  If tables of a collation
 * make the words of text, the sort checks one in TEXT_SPOT_EVERY pairs of
 * neighbours (order_spot_check).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ORDER_H
#define PTSORT_ORDER_H

#include "compat.h"

#include "order/sortextras.h"
#include "text/text_rank.h"

/* OrderPlace: images in input order; those of lower numbers came earlier. */
typedef struct OrderPlace
{
	const char *start;
	int			number;
} OrderPlace;

/* SortOrder: the properties of the tuples of one sort. */
typedef struct SortOrder
{
	const PtSortVariant *variant;	/* as in SortHead */
	void	   *state;			/* the variant's state, as in SortHead */
	const SortVariant *own;		/* the variant if it is ptsort's own, else a
								 * variant without extras */
	PtSortKey  *key;			/* see sort_begin_own; or NULL */
	int			nwords;			/* 0 to PTSORT_MAX_WORDS; not 0 if inline */
	bool		inline_image;	/* copy of variant->inline_image */
	bool		words_decide;	/* tuples with equal words compare equal,
								 * unless the first word is words_unless */
	uint64		words_unless;	/* see words_decide; 0 or PG_UINT64_MAX */
	uint64		head_mask;		/* mask for an image's first 8 bytes
								 * (pt_bytes_word): the bits that count */
	bool		has_strings;	/* the sort uses own->string */
	bool		string_decides; /* tuples with equal strings have equal keys */
	uint64		string_mask;	/* all bits set if strings descend, or 0 */
	bool		stable;			/* equal tuples stay in their input order */
	bool		bounded;		/* the caller wants only the first tuples */
	const OrderPlace *places;	/* places of images in memory, by address; set
								 * while the sort orders these images */
	int			nplaces;
	bool		words_by_tables;	/* a collation's tables made the words */
	int64		comparisons;	/* calls of variant->compare so far */
} SortOrder;

/* Orders two tuples by n words; a constant n lets the compiler avoid a loop. */
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

/* Returns an image's size; it reads only the first 8 bytes. */
static inline Size
order_size(const SortOrder *order, const void *tuple)
{
	if (order->inline_image)
		return sizeof(uint64);
	return order->variant->size(tuple, order->state);
}

/*
 * order_compare_entries orders two entries that have inline images and equal
 * words.  First it calls the variant's check_equal, which may raise an error.
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

/* order_begin fills in a zeroed 'order'. */
extern void order_begin(SortOrder *order, const PtSortVariant *variant,
						const SortVariant *own, PtSortKey *key, void *state);

/* order_compare_images: by bytes; equal first 8 bytes mean equal sizes. */
extern int	order_compare_images(const SortOrder *order, const void *a,
								 const void *b);

/*
 * order_place returns a number that is larger for images that came later: the
 * number of the image's OrderPlace and, in the lower PLACE_BITS, the offset
 * there.
 */
#define PLACE_BITS		40
#define PLACE_MASK		((UINT64CONST(1) << PLACE_BITS) - 1)
extern uint64 order_place(const SortOrder *order, const void *image);

static inline bool
order_has_last_words(const SortOrder *order)
{
	return !order->stable && order->own->last_word != NULL;
}

static inline bool
order_words_decide(const SortOrder *order, const uint64 *words)
{
	return order->words_decide && words[0] != order->words_unless;
}

/*
 * True if a cheap test shows that two flat images compare equal.  (In a stable
 * sort, images of variants with last words compare equal only if their last
 * words are also equal.)
 */
static inline bool
order_same_key(const SortOrder *order, const void *a, const void *b)
{
	return order->own->same_key &&
		(!order->stable || order->own->last_word == NULL) &&
		order->own->same_key(a, b, order->state);
}

/*
 * order_compare_keys orders two flat images with equal words: by their key
 * columns if order_has_last_words(), else by the variant's comparison.
 */
static inline int
order_compare_keys(SortOrder *order, const void *a, const void *b)
{
	Assert(!order->inline_image);
	if (order_has_last_words(order))
	{
		if (order_same_key(order, a, b))
			return 0;
		order->comparisons++;
		return order->own->compare_keys(a, b, order->state);
	}
	order->comparisons++;
	return order->variant->compare(a, b, order->state);
}

/* True if bytes alone may decide the order of tuples that compare equal. */
static inline bool
order_sorts_bytes(const SortOrder *order)
{
	return !order->stable && order->own->head_bytes > 0;
}

/*
 * order_compare_tuples orders two flat images with equal words.  In a stable
 * sort it returns 0 for equal tuples, and the caller must order them.
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
 * order_spot_check lets the collation's provider compare two tuples that are in
 * the order of their words.  If the provider contradicts the words, it either
 * raises an error or, if the caller can repeat the sort, returns false, and the
 * sort fails.
 */
extern bool order_spot_check(SortOrder *order, const void *a, const void *b);

/* order_compare_in_memory is order_compare_tuples for images in memory. */
static inline int
order_compare_in_memory(SortOrder *order, const void *a, const void *b)
{
	int			cmp = order_compare_tuples(order, a, b);
	uint64		left;
	uint64		right;

	if (likely(cmp != 0) || !order->stable)
		return cmp;
	left = order_place(order, a);
	right = order_place(order, b);
	return (left > right) - (left < right);
}

/* Returns the image whose address is the last word of an entry. */
static inline const char *
entry_image(const uint64 *entry, int stride)
{
	return (const char *) (uintptr_t) entry[stride - 1];
}

/* order_compare_equal orders two tuples, inline or flat, with equal words. */
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

/* True if two tuples with equal words must be in the same slice. */
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
