/*-------------------------------------------------------------------------
 *
 * ptsort_variant.h
 *	  Teach ptsort a new kind of tuple.
 *
 * A variant describes its tuple; the engine does everything else (memory and
 * its accounting, temporary files, phases, roles).  ptsort's own three kinds
 * (index tuple, datum, minimal tuple) are written against this header only.
 *
 * A tuple, to the engine, is a *flat image*: a sequence of bytes without
 * pointers, at a MAXALIGNed address, that begins with at least 8 bytes from
 * which its size can be told.  Any size up to 1 GB.
 *
 * Or it is *inline*: one 64-bit word that is kept in the entry itself, behind
 * the words of the key.  Then sorting needs no memory but the entries', no
 * comparison, and moves through memory at full speed.
 *
 *		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, ...);
 *		(in it) MyState *state = ...; PtSortKey *key = ptsort_key_columns(...);
 *		PtSort *sort = ptsort_begin(&my_variant, state, ptsort_key_nwords(key),
 *									context, options);
 *
 *		put:	make the image; ptsort_key_words(key, values, isnull, words);
 *				ptsort_put(sort, image, size, words);
 *		get:	image = ptsort_get(sort, forward, &size);
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VARIANT_H
#define PTSORT_VARIANT_H

#include "ptsort.h"
#include "utils/sortsupport.h"

/* Most 64-bit words a sort key can have. */
#define PTSORT_MAX_WORDS	2

/* Elements of an array for ptsort_key_words: those words and a tail. */
#define PTSORT_KEY_ARRAY	(PTSORT_MAX_WORDS + 1)

/*
 * PtSortVariant: a kind of tuple.  One static const struct per kind.
 */
typedef struct PtSortVariant
{
	const char *name;			/* for messages: "index tuple" */

	/*
	 * Images are inline.  They have 8 bytes and are ordered by the key's
	 * words, then by their own value.  size is not called and compare, which
	 * may be NULL, only to let it raise an error about two tuples with equal
	 * words.  The words stand before the image: ((uint64 *) image)[-nwords].
	 */
	bool		inline_image;

	/* Bytes of a tuple image, told from its first 8 bytes alone. */
	Size		(*size) (const void *tuple, void *state);

	/*
	 * Order of two tuples whose words are equal: <0, 0 or >0.  It must agree
	 * with the words (words never contradict it).  Where it says 0 the engine
	 * orders by the images' bytes.  May raise an error, as a unique index
	 * does when it meets two equal keys.
	 */
	int			(*compare) (const void *a, const void *b, void *state);

	/*
	 * Optional: must these two tuples with equal words come out in the same
	 * slice?  A unique index says so of equal keys.
	 */
	bool		(*same_slice) (const void *a, const void *b, void *state);

	/*
	 * The words are hints: they may contradict compare, which is right then.
	 * The sort verifies what it makes of them.
	 */
	bool		hints;

	/*
	 * Optional: the key that makes the words and whose comparison is used.
	 * The sort asks for it at begin.  If it is learning, the sort has it
	 * learn within a part of the budget when enough tuples have been put, and
	 * then has rekey make the words (an array as for ptsort_key_words) of
	 * each tuple put before, in a short-lived memory context.  An optimistic
	 * sort is one only if the key has put all that it learned from in order.
	 */
	struct PtSortKey *(*key) (void *state);
	void		(*rekey) (const void *tuple, uint64 *words, void *state);
} PtSortVariant;

/*
 * Bits of an exact key that may lie in the word behind its words, on top.  The
 * other 49 have room for a heap TID and a flag.
 */
#define PTSORT_TAIL_BITS	15

/*
 * PtSortKey: how key columns become words and how they compare.  Lives in the
 * memory context that is current when it is made.
 *
 * A key is *exact* if the words and the tail order just as the columns do and
 * the columns can be rebuilt from them; otherwise equal words decide nothing.
 * It is a *hint* if different words are only a good guess.  Keys of an index
 * may be hints, and may have to learn; those of ptsort_key_columns do neither.
 */
typedef struct PtSortKey PtSortKey;

/* ptsort_key_index makes the key of a btree index: all its key columns. */
static inline PtSortKey *
ptsort_key_index(Relation index)
{
	return ptsort_api()->key_index(index);
}

/* ptsort_key_columns makes a key of columns with their ordering operators. */
static inline PtSortKey *
ptsort_key_columns(int ncolumns, const Oid *lt_operators,
				   const Oid *collations, const bool *nulls_first)
{
	return ptsort_api()->key_columns(ncolumns, lt_operators, collations,
									 nulls_first);
}

/* ptsort_key_nwords returns how many words the key has, 0 to 2. */
static inline int
ptsort_key_nwords(const PtSortKey *key)
{
	return ptsort_api()->key_nwords(key);
}

/* ptsort_key_is_exact tells whether the key is exact. */
static inline bool
ptsort_key_is_exact(const PtSortKey *key)
{
	return ptsort_api()->key_is_exact(key);
}

/*
 * ptsort_key_is_hint tells whether the words may contradict the columns' order
 * (see PtSortVariant.hints).
 */
static inline bool
ptsort_key_is_hint(const PtSortKey *key)
{
	return ptsort_api()->key_is_hint(key);
}

/*
 * ptsort_key_is_learning tells whether the key must learn before its words are
 * worth anything: until then they are 0, and ptsort_key_words remembers what
 * it is shown.
 */
static inline bool
ptsort_key_is_learning(const PtSortKey *key)
{
	return ptsort_api()->key_is_learning(key);
}

/*
 * ptsort_key_learn ends the learning; a sort does it for its variant's key.
 * Participants of one sort, who name its shared block, all get what the first
 * of them has learned.  Returns whether the words put all values that were
 * learned from in the columns' order.
 */
static inline bool
ptsort_key_learn(PtSortKey *key, PtSortShared *shared)
{
	return ptsort_api()->key_learn(key, shared);
}

/*
 * ptsort_key_words computes the words of a tuple from the values of its key
 * columns: compared as unsigned integers, first word first, they never
 * contradict the columns' order.  The array has PTSORT_KEY_ARRAY elements;
 * the one behind the words is the tail of an exact key, whose lower bits
 * become 0.
 */
static inline void
ptsort_key_words(PtSortKey *key, const Datum *values, const bool *isnull,
				 uint64 *words)
{
	ptsort_api()->key_words(key, values, isnull, words);
}

/*
 * ptsort_key_values rebuilds the key columns from the words and the tail of an
 * exact key.  By-reference values lie in the key, until the next call.
 */
static inline void
ptsort_key_values(PtSortKey *key, const uint64 *words, Datum *values,
				  bool *isnull)
{
	ptsort_api()->key_values(key, words, values, isnull);
}

/* Most bytes of an index tuple with an exact key: 16 for each column. */
#define PTSORT_KEY_TUPLE_SIZE	(16 * (INDEX_MAX_KEYS + 1))

/*
 * ptsort_key_tuple rebuilds the index tuple, but for its heap TID, from the
 * words and the tail of an index's exact key.  Returns its size.  "tuple" has
 * PTSORT_KEY_TUPLE_SIZE bytes.
 */
static inline Size
ptsort_key_tuple(const PtSortKey *key, const uint64 *words, IndexTuple tuple)
{
	return ptsort_api()->key_tuple(key, words, tuple);
}

/*
 * ptsort_key_support returns the array of the columns' SortSupports, without
 * abbreviation, for ApplySortComparator() in the variant's compare function.
 */
static inline SortSupport
ptsort_key_support(PtSortKey *key)
{
	return ptsort_api()->key_support(key);
}

/* PtSortHead: how every PtSort begins, for the inlines below. */
typedef struct PtSortHead
{
	const PtSortVariant *variant;
	void	   *state;
} PtSortHead;

/* ptsort_variant returns the variant of the sort. */
static inline const PtSortVariant *
ptsort_variant(PtSort *sort)
{
	return ((PtSortHead *) sort)->variant;
}

/*
 * ptsort_begin starts a sort of images of this variant.  state is handed to
 * the callbacks.  context holds the variant's state and becomes the parent of
 * all the sort's memory; ptsort_end() deletes it.  All that is in it counts in
 * the budget.
 */
static inline PtSort *
ptsort_begin(const PtSortVariant *variant, void *state, int nwords,
			 MemoryContext context, const PtSortOptions *options)
{
	return ptsort_api()->begin(variant, state, nwords, context, options);
}

/*
 * ptsort_state returns the state given at begin, or raises an error if the
 * sort is of another variant.
 */
static inline void *
ptsort_state(PtSort *sort, const PtSortVariant *variant)
{
	if (unlikely(ptsort_variant(sort) != variant))
		ptsort_api()->wrong_variant(sort, variant);
	return ((PtSortHead *) sort)->state;
}

/* ptsort_put copies an image of size bytes, with its words, into the sort. */
static inline void
ptsort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	ptsort_api()->put(sort, tuple, size, words);
}

/*
 * ptsort_get returns the next (forward) or the previous image, NULL at either
 * end.  It may be modified in place unless the sort has random access.
 */
static inline const void *
ptsort_get(PtSort *sort, bool forward, Size *size)
{
	return ptsort_api()->get(sort, forward, size);
}

/*
 * ptsort_get_entries returns the next tuples in order of a sort with inline
 * images, many at once: *n times the words of the key and the image.  NULL at
 * the end.  They stay until the next call and must not be modified.
 */
static inline const uint64 *
ptsort_get_entries(PtSort *sort, int *n)
{
	return ptsort_api()->get_entries(sort, n);
}

#endif							/* PTSORT_VARIANT_H */
