/*-------------------------------------------------------------------------
 *
 * order.h
 *	  The order of two tuples of one sort.
 *
 * Words decide first, as unsigned integers; then the variant's comparison;
 * then the bytes of the images, so that the order is total and a result does
 * not depend on the budget or on who sorted what.
 *
 * Words that are hints decide nothing but where to look first: every run is in
 * the order of the comparison, verified.  Unless the sort is optimistic: then
 * words decide as if they were true, and only the final order is verified.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ORDER_H
#define PTSORT_ORDER_H

#include "compat.h"

#include "ptsort_variant.h"

/*
 * SortOrder: what all parts of one sort object share about their tuples.
 */
typedef struct SortOrder
{
	const PtSortVariant *variant;	/* these two as in PtSortHead */
	void	   *state;			/* the variant's */
	int			nwords;			/* 0 to PTSORT_MAX_WORDS; not 0 if inline */
	bool		inline_image;	/* the variant's */
	bool		hints;			/* the variant's */
	bool		optimistic;		/* hints are taken for true until the end */
	bool		distrust;		/* hints have been wrong: the words of a run
								 * need not be in order */
	int64		comparisons;	/* calls of variant->compare so far */
	int64		wrong_hints;	/* see PtSortStats */
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
 * order_compare_inline orders two inline images whose words are equal, and
 * lets the variant look at them.
 */
static inline int
order_compare_inline(const SortOrder *order, const void *a, const void *b)
{
	uint64		left = *(const uint64 *) a;
	uint64		right = *(const uint64 *) b;

	if (order->variant->compare)
		(void) order->variant->compare(a, b, order->state);
	return (left > right) - (left < right);
}

/* order_words tells how many words two tuples of different runs may be told by. */
static inline int
order_words(const SortOrder *order)
{
	return order->hints && !order->optimistic ? 0 : order->nwords;
}

extern int	order_compare_images(const SortOrder *order, const void *a,
								 const void *b);

/* order_compare_tuples orders two tuples whose words are equal. */
static inline int
order_compare_tuples(SortOrder *order, const void *a, const void *b)
{
	int			cmp;

	if (order->inline_image)
		return order_compare_inline(order, a, b);
	order->comparisons++;
	cmp = order->variant->compare(a, b, order->state);
	return likely(cmp != 0) ? cmp : order_compare_images(order, a, b);
}

#endif							/* PTSORT_ORDER_H */
