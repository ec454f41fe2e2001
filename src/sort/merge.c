/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Merge several runs into one ordered stream, with a tournament tree.
 *
 * tournament.h describes the tree; node 0 holds the winner.  Each node holds
 * the first word of its run's current tuple, so most comparisons touch neither
 * the run nor its tuple.
 *
 * The merge divides its memory equally among the read buffers of the runs, but
 * no buffer is larger than its run.  The merge uses tuples in place.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "sort/tuplesort.h"

/*
 * Maximum size of a read buffer.  Longer reads would gain nothing, and the last
 * read of a slice would read more of the next slice in vain.
 */
#define MAX_READ_BUFFER (128 * 1024)

/* MergeNode: a node of the tree, with one competing run. */
typedef struct MergeNode
{
	uint64		word;			/* first word of the run's current tuple;
								 * PG_UINT64_MAX at the run's end */
	int			run;			/* number of the run; -1 at the run's end */
} MergeNode;

struct Merge
{
	SortOrder  *order;
	int			nwords;			/* number of words of a tuple */
	int			nruns;
	RunReader  *readers;		/* one per run */
	MergeNode  *tree;			/* nruns nodes, the winner first */
	bool		started;

	bool		spot_checks;	/* a collation's tables made the words */
	int			until_spot;		/* winners until the next spot check */

	/* for repeated tuples */
	bool		keys_repeat;	/* tuples compared equal in the last matches */
	char	   *last;			/* copy of the last tuple returned */
	uint64		last_words[PTSORT_MAX_WORDS];
	Size		last_room;
};

/* True if run a's tuple comes before run b's.  The first words are equal. */
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

	/* runs are in the input order of their tuples: see order.h */
	return a < b;
}

/* True if node a comes before node b.  Exhausted runs come last. */
static inline bool
is_before(Merge *merge, const MergeNode *a, const MergeNode *b)
{
	if (unlikely(a->run < 0 || b->run < 0))
		return b->run < 0;
	if (likely(a->word != b->word))
		return a->word < b->word;
	return tie_is_before(merge, a->run, b->run);
}

/* Returns the node for the current tuple of a run. */
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

#define TT_NODE MergeNode
#define TT_ARG Merge
#define TT_LEAF(i, arg) node_of(arg, i)
#define TT_BEFORE(a, b, arg) is_before(arg, a, b)
#include "memory/tournament.h"

/*
 * Exchange two nodes if all bits of the mask are set; keep them if the mask is
 * 0.  A branch would be unpredictable, so this function has none.
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
 * Replay the matches on the path of the last winner, as tournament_replay does,
 * but without branches.  comes_before decides between nodes with equal words.
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

Merge *
merge_create(SortOrder *order, Run **runs, int nruns, int64 memory,
			 MergePurpose purpose)
{
	Merge	   *merge = palloc0(sizeof(Merge));
	int64		share;

	merge->order = order;
	merge->nruns = nruns;
	merge->readers = palloc0(Max(nruns, 1) * sizeof(RunReader));
	merge->tree = palloc0(Max(nruns, 1) * sizeof(MergeNode));
	merge->nwords = order->nwords;
	share = memory / Max(nruns, 1);
	for (int i = 0; i < nruns; i++)
		run_begin_read(&merge->readers[i], order, runs[i],
					   Min(Max(share - run_reader_memory(runs[i]), 0),
						   MAX_READ_BUFFER),
					   purpose == MERGE_TO_RUN);
	merge->spot_checks = order->words_by_tables;
	merge->until_spot = TEXT_SPOT_EVERY;
	return merge;
}

void
merge_restart(Merge *merge, const int64 *from, const int64 *to)
{
	merge->until_spot = TEXT_SPOT_EVERY;
	merge->started = false;
	merge->keys_repeat = false;
	for (int i = 0; i < merge->nruns; i++)
		run_limit(&merge->readers[i], from[i], to[i]);
}

/* Copy the current tuple of a run, to compare the next tuple with the copy. */
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
}

/* Returns the node that comes right after the winner, or NULL if none does. */
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

/* Spot check of the winner and the next tuple; ends the merge if it fails. */
static pg_noinline void
check_winner(Merge *merge)
{
	int			run = merge->tree[0].run;
	const MergeNode *rival = run < 0 ? NULL : find_rival(merge);

	merge->until_spot = TEXT_SPOT_EVERY;
	if (rival != NULL &&
		order_compare_words(merge->readers[run].words,
							merge->readers[rival->run].words,
							merge->nwords) != 0 &&
		!order_spot_check(merge->order, merge->readers[run].tuple,
						  merge->readers[rival->run].tuple))
		merge->tree[0].run = -1;
}

/*
 * True if a node's tuple and the tuple that keep_last() copied compare equal:
 * by keys in a stable sort, otherwise also by bytes.
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
 * Move to the next tuple.  If the next tuple of the winner's run compares
 * equal to the winner, that run wins again: earlier runs have only greater
 * tuples, because earlier runs win ties.  While tuples repeat, tree_next first
 * tests for this case, by one comparison instead of one for each match.
 */
static void
tree_next(Merge *merge)
{
	int			run = merge->tree[0].run;
	MergeNode	next;

	if (merge->keys_repeat)
		keep_last(merge, run);
	(void) run_next(&merge->readers[run]);
	next = node_of(merge, run);
	if (merge->keys_repeat && repeats_last(merge, &next))
	{
		merge->tree[0] = next;
		return;
	}
	merge->keys_repeat = false;
	merge->tree[0] = replay(merge, run, next, is_before);
	if (merge->spot_checks && --merge->until_spot == 0)
		check_winner(merge);
}

RunReader *
merge_next(Merge *merge)
{
	if (merge->nruns == 0)
		return NULL;
	if (unlikely(!merge->started))
	{
		fault_point("merge: begin");
		merge->started = true;
		for (int run = 0; run < merge->nruns; run++)
			(void) run_next(&merge->readers[run]);
		merge->tree[0] = tournament_play(merge->tree, merge->nruns, 1, merge);
	}
	else if (merge->tree[0].run >= 0)
		tree_next(merge);
	return merge->tree[0].run < 0 ? NULL : &merge->readers[merge->tree[0].run];
}

/* Like is_before, for nodes with inline images and equal first words. */
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

/* Like merge_next_entries, with a constant number of words. */
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

		/* move to the next tuple, like merge_next */
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

int
merge_next_entries(Merge *merge, uint64 *entries, int max)
{
	if (merge->order->nwords == 1)
		return next_entries(merge, entries, max, 1);
	Assert(merge->order->nwords == 2);
	return next_entries(merge, entries, max, 2);
}

void
merge_free(Merge *merge)
{
	if (merge->last)
		pfree(merge->last);
	for (int i = 0; i < merge->nruns; i++)
		run_end_read(&merge->readers[i]);
	pfree(merge->readers);
	pfree(merge->tree);
	pfree(merge);
}
