/*-------------------------------------------------------------------------
 *
 * sortextras.h
 *	  What ptsort's own index builds ask of a sort beyond the public headers.
 *
 * Keys that learn, sorts that may fail and are then done again, and callbacks
 * that see entries with their words: only ptsort's own variants need these, so
 * they are no part of the contract with other extensions and may change with
 * every build of the library.  Each struct here begins with the public one that
 * it extends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTEXTRAS_H
#define PTSORT_SORTEXTRAS_H

#include "compat.h"

#include "key/key.h"
#include "ptsort_variant.h"

/*
 * SortOptions: how to sort.  Zero-initialise it, then set what you need.
 */
typedef struct SortOptions
{
	PtSortOptions options;		/* must be first */
	bool		restartable;	/* the caller can sort again if a collation
								 * contradicts itself; without this that is an
								 * error.  Only for sorts of index tuples */
	bool		postpone;		/* equal keys of a unique index, and tuples
								 * that are too large, met while tuples are
								 * put or runs written, make the sort fail;
								 * they are no error.  Only for sorts of index
								 * tuples */
} SortOptions;

/*
 * SortOutcome: whether a sort has come to a good end, so far.
 */
typedef struct SortOutcome
{
	bool		failed;			/* a collation contradicts its tables, or an
								 * error was postponed: what the caller reads
								 * is not the result */
	Oid			contradicted;	/* a collation that contradicts its tables
								 * (text_compare.h); InvalidOid: none */
} SortOutcome;

/*
 * SortVariant: a kind of tuple of ptsort's own.
 */
typedef struct SortVariant
{
	PtSortVariant base;			/* must be first */

	/*
	 * Optional: the key that makes the words and whose comparison is used.
	 * The sort asks for it at begin.  If it is learning, the sort has it
	 * learn within a part of the budget when enough tuples have been put, and
	 * then has rekey make the words (an array of KEY_ENTRY_WORDS) of each
	 * tuple put before.  rekey runs in a memory context that is reset for
	 * each tuple.
	 */
	PtSortKey  *(*key) (void *state);
	void		(*rekey) (const void *tuple, uint64 *words, void *state);

	/*
	 * Of flat images, optional.  head_bytes, if not 0: tuples with equal
	 * words that compare equal may be ordered by their bytes without any
	 * further calls of compare, and so many of their first 8 bytes have a
	 * part in that order.  words_decide, which takes that for granted, is
	 * key_words_decide of the key.
	 */
	int			head_bytes;
	bool		(*words_decide) (const void *state, uint64 *unless);

	/*
	 * Of flat images, optional: the string of the key (key_has_string) in a
	 * tuple, which is or is in the image.  False if there is none, or none
	 * that can be read where it is.
	 */
	bool		(*string) (const void *tuple, KeyString *string, void *state);

	/*
	 * Optional: where that string most often is if it is all of a varlena, so
	 * that it is found without a call: so many bytes after the start of an
	 * image whose first 8 bytes, as a word, have none of the bits of *unless.
	 * 0: that cannot be told.
	 */
	int			(*string_offset) (uint64 *unless, void *state);

	/*
	 * Of flat images, optional: do two tuples have the same key columns, byte
	 * by byte, as far as that is easily told?
	 */
	bool		(*same_key) (const void *a, const void *b);

	/*
	 * Of flat images, both or neither: how compare orders tuples by their key
	 * columns, and the word by which it orders those whose key columns are
	 * equal.
	 */
	int			(*compare_keys) (const void *a, const void *b, void *state);
	uint64		(*last_word) (const void *tuple);

	/*
	 * Of inline images, both optional; the arguments are entries, that is the
	 * words and the image after them, and their words are equal.  check_equal
	 * may raise an error about the two; it is called for all neighbours in
	 * the final order, in no particular memory context, which is not reset.
	 * same_slice is as PtSortVariant.same_slice.
	 */
	void		(*check_equal) (const uint64 *a, const uint64 *b, void *state);
	bool		(*same_slice) (const uint64 *a, const uint64 *b, void *state);

	/* Optional: has an error been postponed (SortOptions)? */
	bool		(*has_postponed) (const void *state);

	/*
	 * Optional: forget what the state has kept of tuples, for ptsort_reset.
	 */
	void		(*reset) (void *state);

	/*
	 * Optional: as PtSortVariant.compare, of a tuple with these values, of
	 * which there is no image yet, and an image; see bounded_drops.
	 */
	int			(*compare_values) (const Datum *values, const bool *isnull,
								   const void *tuple, void *state);
} SortVariant;

/* SortHead: how every PtSort begins, for sort_state. */
typedef struct SortHead
{
	const PtSortVariant *variant;	/* as given to begin */
	void	   *state;
} SortHead;

/* sort_begin_with: as ptsort_begin, for a variant of ptsort's own. */
extern PtSort *sort_begin_with(const SortVariant *variant, void *state,
							   int nwords, MemoryContext context,
							   const SortOptions *options);

/*
 * sort_get_entry: as ptsort_get, for inline images; returns the entry, that is
 * the words and the image after them.
 */
extern const uint64 *sort_get_entry(PtSort *sort, bool forward);

/*
 * sort_outcome tells whether the sort has failed, in this process or in
 * another participant that it knows of.  The stream of a sort that fails just
 * ends, so a caller whose sorts may fail (SortOptions) asks before it takes
 * that for the end of the tuples.
 */
extern void sort_outcome(const PtSort *sort, SortOutcome *outcome);

/*
 * sort_excuse_late promises, before any sort has begun, that once a participant
 * has announced its runs all that begin later put nothing.  Then the leader
 * does not wait for them: to start a worker takes longer than to sort a small
 * table.  Such a worker goes through the same phases as others.
 */
extern void sort_excuse_late(PtSortShared *shared);

/*
 * sort_have_begun tells whether so many participants have begun to sort.  It
 * waits for that, but not longer than so many milliseconds.
 */
extern bool sort_have_begun(PtSortShared *shared, int participants, long ms);

/*
 * sort_is_to_learn tells whether a sort that is being put to may have to learn
 * for all participants, or wait until another one has, if no more is put.  (It
 * may still find that learning does not pay.)
 */
extern bool sort_is_to_learn(const PtSort *sort);

/* sort_returned returns how many tuples get has returned so far. */
extern int64 sort_returned(const PtSort *sort);

/*
 * sort_has_part tells whether the sort was begun for the part in a parallel
 * sort that these options name.
 */
extern bool sort_has_part(const PtSort *sort, const PtSortOptions *options);

/* sort_state_of: see ptsort_state. */
extern void *sort_state_of(PtSort *sort, const PtSortVariant *variant);

extern void sort_wrong_variant(const PtSort *sort,
							   const PtSortVariant *variant);

/* sort_variant returns the variant that the sort was begun with. */
static inline const PtSortVariant *
sort_variant(const PtSort *sort)
{
	return ((const SortHead *) sort)->variant;
}

/* sort_state is sort_state_of, inline. */
static inline void *
sort_state(PtSort *sort, const PtSortVariant *variant)
{
	if (unlikely(sort_variant(sort) != variant))
		sort_wrong_variant(sort, variant);
	return ((SortHead *) sort)->state;
}

#endif							/* PTSORT_SORTEXTRAS_H */
