/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Functions that compare two tuples of one sort and are not inline.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "order/order.h"
#include "util.h"

bool
order_spot_check(SortOrder *order, const void *a, const void *b)
{
	CompareFailure *failure = &order->key->failure;
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

void
order_begin(SortOrder *order, const PtSortVariant *variant,
			const SortVariant *own, PtSortKey *key, void *state)
{
	int			ignored = own->head_bytes > 0 ?
		sizeof(uint64) - own->head_bytes : 0;

	order->variant = variant;
	order->own = own;
	order->key = key;
	order->state = state;
	order->inline_image = variant->inline_image;
	order->words_decide = own->head_bytes > 0 &&
		key_words_decide(key, &order->words_unless);
	order->has_strings = own->string && key->string_column >= 0;
	if (order->has_strings)
	{
		order->string_decides = key->string_decides;
		order->string_mask =
			key->support[key->string_column].ssup_reverse ? PG_UINT64_MAX : 0;
	}
	order->head_mask = PG_UINT64_MAX << (ignored * BITS_PER_BYTE);
}

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

uint64
order_place(const SortOrder *order, const void *image)
{
	int			low = 0;
	int			high = order->nplaces - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (order->places[middle].start <= (const char *) image)
			low = middle;
		else
			high = middle - 1;
	}
	return ((uint64) order->places[low].number << PLACE_BITS) |
		((const char *) image - order->places[low].start);
}
