/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The order of two tuples of one sort: what words that are hints decide,
 *	  and the last resort, the bytes of two images or their places.
 *
 * Words that never contradict the comparison are trusted.  So are hints (see
 * src/README, "Text") that are proved to be right, as long as nothing is found
 * that contradicts the proof: one in 64 neighbours in memory, and in a merge,
 * is compared by the collation's provider (order_spot_check).  For hints that
 * are doubted there are three ways, and which one a sort takes is decided here
 * and nowhere else, from facts that the sort notes as it comes to know them:
 *
 * VERIFY_LATE, called optimistic: if hints are likely to be right, as they put
 * all of the sample that they were learned from in order (text_code_is_right),
 * and the caller can sort again, words decide as if they were true.  Nothing is
 * verified but the final order: one comparison per tuple, and no order of n
 * tuples can be verified by fewer than n - 1.  The first wrong hint ends the
 * sort.  A reader of runs that were sorted like this has no choice: they are in
 * order only if all hints are right.
 *
 * VERIFY_RUNS: else hints are verified where they decide, so that every run is
 * in the true order, whatever its words say.  Entries in memory are compared
 * with their neighbours and corrected (repair.c); a merge that writes a run
 * ends that run at a wrong hint and starts another one; the final merge cannot
 * take back what it has handed out and is guided (merge.c).  A sort whose
 * tuples are all in memory takes this way even if it could fail: it makes one
 * comparison per tuple as well, and corrects what it finds.
 *
 * GUIDE_MERGES: once a hint has been wrong in this sort, or in a participant
 * whose run it reads, words within a run need not be in order, and a verified
 * merge would end its run again and again.  So all merges are guided.  They are
 * in a stable sort, too: of the two runs that a verified merge leaves, neither
 * holds the equal tuples that were put first.  And in a bounded one, where a
 * merge ends when it has what is wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/order.h"
#include "util.h"

/* The policy that follows from what is known. */
static HintPolicy
choose_policy(const SortOrder *order)
{
	const int	optimistic = HINTS_MAY_FAIL | HINTS_LEARNED_RIGHT;
	int			facts = order->hint_facts;

	if (!(facts & HINTS_EXIST) || (facts & HINTS_FORGONE) ||
		!(facts & HINTS_DOUBTED))
		return TRUST_WORDS;
	if (facts & HINTS_IN_RUNS)
		return VERIFY_LATE;
	if ((facts & optimistic) == optimistic && !(facts & HINTS_IN_MEMORY))
		return VERIFY_LATE;
	return (facts & HINTS_WRONG) || order->stable || order->bounded ?
		GUIDE_MERGES : VERIFY_RUNS;
}

/* order_note adds a fact about the sort's words; its policy may change. */
void
order_note(SortOrder *order, HintFact fact)
{
	order->hint_facts |= fact;
	order->policy = choose_policy(order);
}

/* order_wrong_hints counts n hints, perhaps none, that have been wrong. */
void
order_wrong_hints(SortOrder *order, int64 n)
{
	order->wrong_hints += n;
	if (n > 0)
		order_note(order, HINTS_WRONG);
}

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

/* order_reset forgets what is known only of the tuples put so far. */
void
order_reset(SortOrder *order)
{
	order->wrong_hints = 0;
	order->hint_facts &= LASTING_FACTS;
	order->policy = choose_policy(order);
}

/* order_begin notes what a sort's variant says of its tuples. */
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
 * order_compare_images orders two images by their bytes.  The first 8 tell
 * their size.
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

/* The place that an image is in. */
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

/* order_compare_places tells which of two images in memory was put first. */
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
