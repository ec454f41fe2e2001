/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The last resort of a total order: the bytes of two images.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/order.h"

/* order_compare_images orders two images by their bytes, then their size. */
int
order_compare_images(const SortOrder *order, const void *a, const void *b)
{
	Size		asize = order_size(order, a);
	Size		bsize = order_size(order, b);
	int			cmp = memcmp(a, b, Min(asize, bsize));

	if (cmp != 0)
		return cmp;
	return (asize > bsize) - (asize < bsize);
}
