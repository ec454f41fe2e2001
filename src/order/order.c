/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The order of two tuples of one sort: the final tie-breaker, which is the
 *	  bytes of two images or their places, and the spot check of words.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "order/order.h"
#include "util.h"

/* order_spot_check: see order.h. */
bool
order_spot_check(SortOrder *order, const void *a, const void *b)
{
	CompareFailure *failure = key_failure(order->own->key(order->state));
	int			cmp;

	failure->full = true;
	cmp = order_compare_tuples(order, a, b);
	failure->full = false;
	if (cmp <= 0)
		return true;
	elog(DEBUG1, "spot check contradicts the words of neighbours");
	text_compare_contradicted(failure, failure->words);
	return false;
}

/* order_begin fills 'order' from what a sort's variant says of its tuples. */
void
order_begin(SortOrder *order, const PtSortVariant *variant,
			const SortVariant *own, void *state)
{
	int			ignored = own->head_bytes > 0 ?
		sizeof(uint64) - own->head_bytes : 0;
	bool		descending = false;
	bool		is_whole = false;

	order->variant = variant;
	order->own = own;
	order->state = state;
	order->inline_image = variant->inline_image;
	order->words_decide = own->words_decide &&
		own->words_decide(state, &order->words_unless);
	order->has_strings = own->string && own->key &&
		key_has_string(own->key(state), &descending, &is_whole);
	order->string_offset = is_whole && own->string_offset ?
		own->string_offset(&order->string_unless, state) : 0;
	order->string_decides = order->has_strings &&
		key_string_decides(own->key(state));
	order->string_mask = descending ? PG_UINT64_MAX : 0;
	order->head_mask = PG_UINT64_MAX << (ignored * BITS_PER_BYTE);
}

/*
 * order_compare_images orders two images by their bytes.  Images with equal
 * first 8 bytes have the same size.
 */
int
order_compare_images(const SortOrder *order, const void *a, const void *b)
{
	uint64		left = pt_bytes_word(a) & order->head_mask;
	uint64		right = pt_bytes_word(b) & order->head_mask;

	if (left != right)
		return left < right ? -1 : 1;
	return memcmp((const char *) a + sizeof(uint64),
				  (const char *) b + sizeof(uint64),
				  order_size(order, a) - sizeof(uint64));
}

/* The place that holds an image. */
static const OrderPlace *
find_place(const SortOrder *order, const char *image)
{
	int			low = 0;
	int			high = order->nplaces - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (order->places[middle].start <= image)
			low = middle;
		else
			high = middle - 1;
	}
	return &order->places[low];
}

/* order_place: see order.h. */
uint64
order_place(const SortOrder *order, const void *image)
{
	const OrderPlace *place = find_place(order, image);

	return ((uint64) place->number << PLACE_BITS) |
		((const char *) image - place->start);
}

/* order_compare_places orders two images in memory as they were put. */
int
order_compare_places(const SortOrder *order, const void *a, const void *b)
{
	const char *left = a;
	const char *right = b;
	const OrderPlace *place = find_place(order, left);

	Assert(left >= place->start && left < place->end);
	if (right >= place->start && right < place->end)
		return (left > right) - (left < right);
	return place->number - find_place(order, right)->number;
}
