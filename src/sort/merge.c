/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Several runs as one ordered stream, by a tournament tree.
 *
 * The tree is that of tournament.h, and node 0 holds the winner.  Nodes hold
 * the first word of the run's current tuple, so most comparisons touch neither
 * the run nor its tuple.
 *
 * Where words are only hints (order.c says what a sort makes of them), there
 * are two other ways.  *Verified*: the hints decide, and each tuple is compared
 * with the one before it, if that came from another run; where that shows a
 * wrong one, what was returned is in order, and so is what follows, but not
 * both together.  That is the fewest comparisons, and good for a merge that
 * writes a run: it writes two then.  *Guided*: the result is always right.  The
 * tree, by words, fills a window (window.c), which compares each tuple once and
 * is read when it is known to be right.  Where there is no memory for a window,
 * a run has not passed it, or the hints are so bad that it does not pay, the
 * current tuples are in a sorted list instead of the tree, together with the
 * first one of the window.  A new one is put where its hint says and compared
 * with its neighbours there; where that is wrong, its place is found by
 * bisection.  That is at most two comparisons per tuple however many runs there
 * are, if the hints are good.  (A tree that compares takes log2(runs).  A build
 * on strings of Hungarian digraphs took 20 % more CPU time with it for 5 runs,
 * 25 % for 18, 37 % for 37.)
 *
 * Several processes can verify the parts of a merge in which words decide, for
 * another one to repeat it without: it makes the same of the same runs.
 *
 * In an optimistic sort, whose runs have not been verified, the final merge is
 * the only one that verifies.  It compares each tuple with the one before it,
 * whatever its run, and the last one of a slice with the first one after it;
 * where that shows a wrong one it ends.
 *
 * Memory comes in a batch: each run gets an equal share of it as its read
 * buffer, but not more than it holds, and tuples are used where they are.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "sort/merge.h"
#include "sort/window.h"

/*
 * A longer read than this gains nothing.  Of a range less, for of what is read
 * last another process may need the rest, which has to read it again.
 */
#define MAX_READ_BUFFER (256 * 1024)
#define MAX_RANGE_BUFFER (128 * 1024)

/*
 * Tuples that the list returns at least after a chunk that did not pay, before
 * the window is tried again: twice as many each time, half as many after each
 * chunk that did pay.
 */
#define FIRST_LIST_SPAN 4096
#define MAX_LIST_SPAN	(1024 * 1024)

/* One competitor. */
typedef struct MergeNode
{
	uint64		word;			/* first word of its current tuple; at the end
								 * of the run the largest word */
	int			run;			/* number of the run, or -1: at its end */
} MergeNode;

struct Merge
{
	SortOrder  *order;
	HintPolicy	policy;			/* of this merge, see merge_policy */
	int			nwords;			/* words that decide */
	int			nruns;
	RunReader  *readers;		/* one per run, and one of the window */
	MergeNode  *tree;			/* nruns nodes, the winner first */
	bool		started;

	/* Words decide, and are hints that are proved to be right: */
	bool		hopes;
	bool		final;			/* nothing merges its result again */
	int			until_spot;		/* winners before the next one that is
								 * compared */

	bool		keys_repeat;	/* tuples compared equal in the last matches */

	/* Guided: */
	MergeWindow *window;		/* NULL: always the list */
	int64		window_bytes;
	bool		by_list;		/* tree is a list, in order */
	int			nlive;			/* ... of so many */
	int64		list_left;		/* ... that returns so many more at least */
	int64		list_span;		/* the next list_left */

	/* Words decide, and are verified: */
	bool		wrong;			/* the order has broken, see merge_was_wrong */
	int			last_run;		/* -1: none */
	char	   *last;			/* copy of the tuple returned last */
	uint64		last_words[PTSORT_MAX_WORDS];
	Size		last_room;
};

/*
 * Was the current tuple of a put before that of b?  Runs are in the order in
 * which their tuples were put: see order.h.  Tuples of a run are in the window
 * before the run's current one.
 */
static bool
was_put_before(const Merge *merge, int a, int b)
{
	int			left = a == merge->nruns ? window_run(merge->window) : a;
	int			right = b == merge->nruns ? window_run(merge->window) : b;

	return left == right ? a == merge->nruns : left < right;
}

/* The order of two current tuples whose first words are equal. */
static pg_noinline bool
tie_is_before(Merge *merge, int a, int b)
{
	RunReader  *left = &merge->readers[a];
	RunReader  *right = &merge->readers[b];
	int			cmp = order_compare_words(left->words, right->words,
										  merge->nwords);

	if (cmp != 0)
		return cmp < 0;
	cmp = order_compare_equal(merge->order, left->words, left->tuple,
							  right->words, right->tuple);
	if (cmp != 0)
		return cmp < 0;
	merge->keys_repeat = !merge->order->inline_image;
	return was_put_before(merge, a, b);
}

/* Does a come out before b?  Runs that have ended come out last. */
static inline bool
is_before(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	if (unlikely(a->run < 0 || b->run < 0))
		return b->run < 0;
	if (likely(a->word != b->word))
		return a->word < b->word;
	return tie_is_before(merge, a->run, b->run);
}

/* The node of a run at its current tuple. */
static inline MergeNode
node_of(const Merge *merge, int run)
{
	const RunReader *reader = &merge->readers[run];
	MergeNode	node = {PG_UINT64_MAX, -1};

	if (reader->tuple != NULL)
	{
		node.run = run;
		node.word = merge->nwords > 0 ? reader->words[0] : 0;
	}
	return node;
}

/* The node of a run after it moved to its next tuple. */
static inline MergeNode
advance(Merge *merge, int run)
{
	(void) run_next(&merge->readers[run]);
	return node_of(merge, run);
}

#define TT_NODE MergeNode
#define TT_ARG Merge
#define TT_LEAF(i, arg) node_of(arg, i)
#define TT_BEFORE(a, b, arg) is_before(arg, a, b)
#include "sort/tournament.h"

/*
 * Exchange two nodes if the mask is all ones, not if it is 0: without a branch,
 * which would be unpredictable.
 */
static inline void
exchange_by(uint64 mask, MergeNode *a, MergeNode *b)
{
	uint64		word = (a->word ^ b->word) & mask;
	int			run = (a->run ^ b->run) & (int) mask;

	a->word ^= word;
	b->word ^= word;
	a->run ^= run;
	b->run ^= run;
}

/*
 * Play again the matches on the way of the last winner, as tournament_replay
 * does, but without branches.  comes_before tells which of two nodes with equal
 * words comes before the other.
 */
static pg_attribute_always_inline MergeNode
replay(Merge *merge, int run, MergeNode winner,
	   bool (*comes_before) (Merge *, const MergeNode *, const MergeNode *))
{
	for (int node = (run + merge->nruns) / 2; node > 0; node /= 2)
	{
		MergeNode  *other = &merge->tree[node];
		uint64		before = -(uint64) (other->word < winner.word);

		if (unlikely(other->word == winner.word))
			before = -(uint64) comes_before(merge, other, &winner);
		exchange_by(before, other, &winner);
	}
	return winner;
}

/* What the sort's policy (order.c) means for one merge. */
static HintPolicy
merge_policy(const SortOrder *order, MergePurpose purpose)
{
	if (purpose == MERGE_VERIFIED)
		return TRUST_WORDS;
	if (purpose == MERGE_TO_VERIFY)
		return VERIFY_RUNS;
	if (order->policy == VERIFY_LATE && purpose != MERGE_FINAL)
		return TRUST_WORDS;
	if (order->policy == VERIFY_RUNS && purpose == MERGE_FINAL)
		return GUIDE_MERGES;
	return order->policy;
}

/* Does the merge verify what words decide? */
static inline bool
verifies(const Merge *merge)
{
	return merge->nwords > 0 &&
		(merge->policy == VERIFY_LATE || merge->policy == VERIFY_RUNS);
}

/* merge_window_memory: see merge.h. */
int64
merge_window_memory(const SortOrder *order, int64 memory, MergePurpose purpose)
{
	return merge_policy(order, purpose) == GUIDE_MERGES ?
		window_most_memory(memory) : 0;
}

/* Forget what is in the window, and give a guided merge an empty one. */
static void
empty_window(Merge *merge)
{
	if (merge->window)
		window_free(merge->window);
	merge->window = NULL;
	memset(&merge->readers[merge->nruns], 0, sizeof(RunReader));
	if (merge->policy == GUIDE_MERGES && merge->window_bytes > 0)
		merge->window = window_create(merge->order, merge->nruns,
									  merge->window_bytes);
	merge->by_list = false;
	merge->nlive = 0;
	merge->list_left = 0;
	merge->list_span = FIRST_LIST_SPAN;
}

/*
 * merge_create starts a merge of runs, dividing 'memory' bytes among their
 * readers.  A merge that writes a run gives back the space of what was read.
 * With ranges, one per run, only those are read, and to verify them the tuple
 * after each.
 */
Merge *
merge_create(SortOrder *order, Run **runs, int nruns, int64 memory,
			 const MergeRange *ranges, MergePurpose purpose)
{
	Merge	   *merge = palloc0(sizeof(Merge));
	int64		share;

	merge->order = order;
	merge->nruns = nruns;
	merge->readers = palloc0((nruns + 1) * sizeof(RunReader));
	merge->tree = palloc0((nruns + 1) * sizeof(MergeNode));
	if (merge_policy(order, purpose) == GUIDE_MERGES)
		merge->window_bytes = window_memory(runs, nruns, memory);
	share = (memory - merge->window_bytes) / Max(nruns, 1);
	for (int i = 0; i < nruns; i++)
	{
		run_begin_read(&merge->readers[i], order, runs[i],
					   Min(Max(share - run_reader_memory(runs[i]), 0),
						   ranges ? MAX_RANGE_BUFFER : MAX_READ_BUFFER),
					   purpose == MERGE_TO_RUN &&
					   !tape_is_imported(runs[i]->tape));
	}
	merge_restart(merge, ranges, purpose);
	return merge;
}

/*
 * merge_restart begins again, with other ranges, and with what is in the read
 * buffers.
 */
void
merge_restart(Merge *merge, const MergeRange *ranges, MergePurpose purpose)
{
	fault_point("merge: begin");
	merge->policy = merge_policy(merge->order, purpose);
	merge->nwords = merge->order->nwords;
	merge->hopes = order_hopes(merge->order) && purpose != MERGE_VERIFIED;
	merge->final = purpose == MERGE_FINAL;
	merge->until_spot = ORDER_SPOT_EVERY;
	merge->last_run = -1;
	merge->started = false;
	merge->wrong = false;
	empty_window(merge);
	for (int i = 0; i < merge->nruns && ranges; i++)
		run_limit(&merge->readers[i], ranges[i].from, ranges[i].to,
				  merge->policy == VERIFY_LATE);
}

/* Keep the current tuple of a run to compare the next one with it. */
static void
keep_last(Merge *merge, int run)
{
	RunReader  *reader = &merge->readers[run];

	if (reader->size > merge->last_room)
	{
		if (merge->last)
			pfree(merge->last);
		merge->last_room = reader->size;
		merge->last = palloc_extended(merge->last_room, MCXT_ALLOC_HUGE);
	}
	memcpy(merge->last, reader->tuple, reader->size);
	memcpy(merge->last_words, reader->words, merge->nwords * sizeof(uint64));
	merge->last_run = run;
}

/*
 * A hint was wrong: end the final merge; in one that writes a run words no
 * longer decide, and the tree is made anew.
 */
static void
distrust_hints(Merge *merge)
{
	order_wrong_hints(merge->order, 1);
	merge->wrong = true;
	if (merge->policy == VERIFY_LATE)
	{
		merge->tree[0].run = -1;
		return;
	}
	merge->nwords = 0;
	merge->tree[0] = tournament_play(merge->tree, merge->nruns, 1, merge);
}

/*
 * Verify that the winner comes after the tuple before it, unless they are of
 * the same verified run, or were compared because their words are equal.
 */
static void
verify_winner(Merge *merge)
{
	int			run = merge->tree[0].run;
	RunReader  *reader;
	int			cmp;

	if (run < 0 ||
		(run == merge->last_run && merge->policy == VERIFY_RUNS))
		return;
	reader = &merge->readers[run];
	if (order_compare_words(merge->last_words, reader->words,
							merge->nwords) == 0)
		return;
	cmp = order_compare_tuples(merge->order, merge->last, reader->tuple);
	/* (0 only in a stable sort: then the runs decide, as in tie_is_before) */
	if (cmp > 0 || (cmp == 0 && run < merge->last_run))
		distrust_hints(merge);
}

/* The winner's closest rival, NULL if there is none. */
static const MergeNode *
find_rival(Merge *merge)
{
	const MergeNode *rival = NULL;

	for (int node = (merge->tree[0].run + merge->nruns) / 2; node > 0;
		 node /= 2)
	{
		const MergeNode *other = &merge->tree[node];

		if (other->run >= 0 &&
			(rival == NULL || is_before(merge, other, rival)))
			rival = other;
	}
	return rival;
}

/*
 * Compare a winner with its rival, although words are trusted that are hints.
 * If they are wrong the sort has failed, and the final merge ends.
 */
static pg_noinline void
check_winner(Merge *merge)
{
	int			run = merge->tree[0].run;
	const MergeNode *rival = run < 0 ? NULL : find_rival(merge);

	merge->until_spot = ORDER_SPOT_EVERY;
	if (rival == NULL ||
		order_compare_words(merge->readers[run].words,
							merge->readers[rival->run].words,
							merge->nwords) == 0 ||
		order_spot_check(merge->order, merge->readers[run].tuple,
						 merge->readers[rival->run].tuple))
		return;
	merge->hopes = false;
	if (merge->final)
		merge->tree[0].run = -1;
}

/*
 * End at a winner that is after the slice: it was only for verification.  If
 * the cut has parted two tuples that want one slice, a hint was wrong: of
 * equal words slices_plan parts none.
 */
static void
end_slice(Merge *merge)
{
	const SortOrder *order = merge->order;
	int			run = merge->tree[0].run;

	if (run < 0 || !run_limit_passed(&merge->readers[run]))
		return;
	merge->tree[0].run = -1;
	if (merge->last_run >= 0 && order->variant->same_slice &&
		order->variant->same_slice(merge->last, merge->readers[run].tuple,
								   order->state))
		distrust_hints(merge);
}

/*
 * merge_was_wrong tells, once, that the tuple returned last need not come
 * after those before it.  What follows it does, unless the sort is optimistic:
 * then it need not, and merge_next has returned NULL.
 */
bool
merge_was_wrong(Merge *merge)
{
	bool		wrong = merge->wrong;

	merge->wrong = false;
	return wrong;
}

/* Does the hint of a come before that of b? */
static inline bool
hint_is_before(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	const RunReader *left = &merge->readers[a->run];
	const RunReader *right = &merge->readers[b->run];

	return order_compare_words(left->words, right->words,
							   merge->order->nwords) < 0;
}

/* Does the tuple of a come before that of b? */
static inline bool
tuple_is_before(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	return tie_is_before(merge, a->run, b->run);
}

/* How many nodes of a list in order come before this one, low to high? */
static pg_attribute_always_inline int
bisect(Merge *merge, const MergeNode *list, int low, int high,
	   const MergeNode *node,
	   bool (*comes_before) (Merge *, const MergeNode *, const MergeNode *))
{
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (comes_before(merge, &list[middle], node))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where in a list of n nodes in order does this one belong? */
static int
guided_place(Merge *merge, const MergeNode *list, int n, const MergeNode *node)
{
	int			guess = bisect(merge, list, 0, n, node, hint_is_before);

	if (guess > 0 && !tuple_is_before(merge, &list[guess - 1], node))
		return bisect(merge, list, 0, guess - 1, node, tuple_is_before);
	if (guess == n || tuple_is_before(merge, node, &list[guess]))
		return guess;
	return bisect(merge, list, guess + 1, n, node, tuple_is_before);
}

/* Add the current tuple of a run to the list, if it has one. */
static void
list_add(Merge *merge, int run)
{
	MergeNode	node = node_of(merge, run);
	int			place;

	if (node.run < 0)
		return;
	place = guided_place(merge, merge->tree, merge->nlive, &node);
	memmove(&merge->tree[place + 1], &merge->tree[place],
			(merge->nlive - place) * sizeof(MergeNode));
	merge->tree[place] = node;
	merge->nlive++;
}

/* Make a list of the current tuples of all runs, and of the window. */
static void
list_start(Merge *merge)
{
	RunReader  *front = &merge->readers[merge->nruns];

	merge->by_list = true;
	merge->nwords = 0;
	merge->nlive = 0;
	if (merge->window)
	{
		window_release_all(merge->window);
		(void) window_next(merge->window, front);
	}
	for (int run = 0; run <= merge->nruns; run++)
		list_add(merge, run);
	if (merge->nlive == 0)
		merge->tree[0].run = -1;
}

/* Move the first of the list to its next tuple and to its new place. */
static void
list_next(Merge *merge)
{
	int			run = merge->tree[0].run;
	int			place = merge->nlive - 1;
	MergeNode	node;

	if (run == merge->nruns)
		(void) window_next(merge->window, &merge->readers[run]);
	else
		(void) run_next(&merge->readers[run]);
	node = node_of(merge, run);
	if (node.run < 0)
		merge->nlive--;
	else
		place = guided_place(merge, merge->tree + 1, merge->nlive - 1, &node);
	memmove(merge->tree, merge->tree + 1, place * sizeof(MergeNode));
	merge->tree[place] = node;
	merge->list_left--;
}

/* Is it time to return to the window, which the list has emptied? */
static inline bool
list_ends(const Merge *merge)
{
	return merge->window != NULL && merge->list_left <= 0 &&
		merge->tree[0].run >= 0 &&
		merge->readers[merge->nruns].tuple == NULL;
}

/* Fill the window by the tree. */
static void
window_start(Merge *merge)
{
	merge->by_list = false;
	merge->nwords = merge->order->nwords;
	merge->tree[0] = tournament_play(merge->tree, merge->nruns, 1, merge);
}

/*
 * Add the next chunk to the window and release what is before it; false if it
 * takes the list to go on.
 */
static bool
fill_window(Merge *merge)
{
	bool		any = false;
	int			run;

	window_begin(merge->window);
	while ((run = merge->tree[0].run) >= 0 &&
		   window_add(merge->window, run, &merge->readers[run]))
	{
		MergeNode	winner = advance(merge, run);

		merge->tree[0] = replay(merge, run, winner, is_before);
		any = true;
	}
	if (run < 0)
	{
		window_release_all(merge->window);
		return true;
	}
	for (run = 0; run < merge->nruns; run++)
	{
		if (merge->readers[run].tuple != NULL &&
			!window_passed(merge->window, run, &merge->readers[run]))
			return false;
	}
	if (!any || !window_was_worth(merge->window))
		return false;
	window_release(merge->window);
	merge->list_span = Max(merge->list_span / 2, FIRST_LIST_SPAN);
	return true;
}

/* merge_next by the window. */
static RunReader *
next_of_window(Merge *merge)
{
	RunReader  *front = &merge->readers[merge->nruns];

	while (!window_next(merge->window, front))
	{
		if (merge->tree[0].run < 0)
			return NULL;
		if (!fill_window(merge))
		{
			merge->list_left = merge->list_span;
			merge->list_span = Min(merge->list_span * 2, MAX_LIST_SPAN);
			list_start(merge);
			return &merge->readers[merge->tree[0].run];
		}
	}
	return front;
}

/* merge_next of a guided merge. */
static RunReader *
guided_next(Merge *merge)
{
	if (!merge->started)
	{
		merge->started = true;
		for (int run = 0; run < merge->nruns; run++)
			(void) run_next(&merge->readers[run]);
		if (merge->window)
			window_start(merge);
		else
			list_start(merge);
	}
	else if (merge->by_list && merge->tree[0].run >= 0)
	{
		list_next(merge);
		if (list_ends(merge))
			window_start(merge);
	}
	if (!merge->by_list)
		return next_of_window(merge);
	return merge->tree[0].run < 0 ? NULL : &merge->readers[merge->tree[0].run];
}

/* Build the tree from the first tuples of the runs. */
static void
tree_start(Merge *merge)
{
	for (int run = 0; run < merge->nruns; run++)
		(void) run_next(&merge->readers[run]);
	merge->tree[0] = tournament_play(merge->tree, merge->nruns, 1, merge);
	if (verifies(merge))
		end_slice(merge);
}

/*
 * True if a node's tuple and the tuple that keep_last() copied compare equal:
 * by their keys in a stable sort, else by their bytes as well.
 */
static bool
repeats_last(Merge *merge, const MergeNode *node)
{
	const RunReader *reader;

	if (node->run < 0)
		return false;
	reader = &merge->readers[node->run];
	return order_compare_words(merge->last_words, reader->words,
							   merge->nwords) == 0 &&
		order_compare_equal(merge->order, merge->last_words, merge->last,
							reader->words, reader->tuple) == 0;
}

/*
 * Move to the next tuple.  Where tuples repeat, the winner's run wins again if
 * its next tuple compares equal to the winner: runs before it have greater
 * tuples, or the winner would have come after theirs.  That is one comparison
 * instead of one for each match.
 */
static void
tree_next(Merge *merge)
{
	int			run = merge->tree[0].run;
	MergeNode	next;

	if (merge->keys_repeat || verifies(merge))
		keep_last(merge, run);
	next = advance(merge, run);
	if (merge->keys_repeat && !verifies(merge) && repeats_last(merge, &next))
	{
		merge->tree[0] = next;
		return;
	}
	merge->keys_repeat = false;
	merge->tree[0] = replay(merge, run, next, is_before);
	if (verifies(merge))
	{
		verify_winner(merge);
		end_slice(merge);
	}
	else if (merge->hopes && --merge->until_spot == 0)
		check_winner(merge);
}

/*
 * merge_next moves to the next tuple in order and returns the reader whose
 * current tuple that is, NULL at the end.  The tuple is valid until the next
 * call.
 */
RunReader *
merge_next(Merge *merge)
{
	if (merge->nruns == 0)
		return NULL;
	if (unlikely(merge->policy == GUIDE_MERGES))
		return guided_next(merge);
	if (unlikely(!merge->started))
	{
		merge->started = true;
		tree_start(merge);
	}
	else if (merge->tree[0].run >= 0)
		tree_next(merge);
	return merge->tree[0].run < 0 ? NULL : &merge->readers[merge->tree[0].run];
}

/* The order of two nodes with inline images whose first words are equal. */
static pg_attribute_always_inline bool
entry_is_before(const Merge *merge, const MergeNode *a, const MergeNode *b,
				int nwords)
{
	const uint64 *left;
	const uint64 *right;
	int			cmp;

	if (unlikely(a->run < 0 || b->run < 0))
		return b->run < 0;
	left = merge->readers[a->run].words;
	right = merge->readers[b->run].words;
	cmp = order_compare_words(left, right, nwords);
	if (cmp != 0)
		return cmp < 0;
	return order_compare_entries(merge->order, left, right) < 0;
}

static bool
entry_is_before_1(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	return entry_is_before(merge, a, b, 1);
}

static bool
entry_is_before_2(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	return entry_is_before(merge, a, b, 2);
}

/* merge_next_entries with a constant number of words. */
static pg_attribute_always_inline int
next_entries(Merge *merge, uint64 *entries, int max, int nwords)
{
	RunReader  *reader = merge_next(merge);
	int			n = 0;

	while (reader != NULL)
	{
		int			run = merge->tree[0].run;
		MergeNode	winner = {PG_UINT64_MAX, -1};

		for (int i = 0; i <= nwords; i++)
			*entries++ = reader->words[i];
		if (++n == max)
			break;

		/* as merge_next does it */
		if (likely(run_next_inline(reader, nwords)))
		{
			winner.word = reader->words[0];
			winner.run = run;
		}
		winner = replay(merge, run, winner,
						nwords == 1 ? entry_is_before_1 : entry_is_before_2);
		merge->tree[0] = winner;
		reader = winner.run < 0 ? NULL : &merge->readers[winner.run];
	}
	return n;
}

/*
 * merge_next_entries moves over up to max tuples with inline images and copies
 * their words and images; returns how many, 0 at the end.
 */
int
merge_next_entries(Merge *merge, uint64 *entries, int max)
{
	if (merge->order->nwords == 1)
		return next_entries(merge, entries, max, 1);
	Assert(merge->order->nwords == 2);
	return next_entries(merge, entries, max, 2);
}

/* merge_free frees the merge but not the runs. */
void
merge_free(Merge *merge)
{
	if (merge->last)
		pfree(merge->last);
	if (merge->window)
		window_free(merge->window);
	for (int i = 0; i < merge->nruns; i++)
		run_end_read(&merge->readers[i]);
	pfree(merge->readers);
	pfree(merge->tree);
	pfree(merge);
}
