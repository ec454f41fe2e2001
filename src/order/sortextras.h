/*-------------------------------------------------------------------------
 *
 * sortextras.h
 *	  Extras of a sort, beyond the public headers, for ptsort's own variants.
 *
 * The extras are keys that learn, sorts that may fail and are then repeated,
 * and callbacks that see entries with their words.  Only ptsort's own variants
 * need them, so they are not part of the contract with other extensions and may
 * change with every build of the library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTEXTRAS_H
#define PTSORT_SORTEXTRAS_H

#include "compat.h"

#include "key/key.h"
#include "ptsort_variant.h"

/* SortVariant: a kind of tuple of ptsort's own. */
typedef struct SortVariant
{
	PtSortVariant base;			/* must be first */

	/*
	 * Of sorts with a key (sort_begin_own).  If the key is learning, the sort
	 * makes it learn, within a part of the budget, when enough tuples are
	 * put, and then calls rekey to make the words (an array of
	 * KEY_ENTRY_WORDS) of each tuple put before.  rekey runs in a memory
	 * context that is reset for each tuple.
	 */
	void		(*rekey) (const void *tuple, uint64 *words, void *state);

	/*
	 * Of flat images, optional.  If head_bytes is not 0, tuples with equal
	 * words that compare equal may be ordered by their bytes without further
	 * calls of compare, and head_bytes of their first 8 bytes count in that
	 * order.  Then compare orders tuples by the columns of the key alone.
	 */
	int			head_bytes;

	/*
	 * Of flat images, optional: sets *string to the string of the key
	 * (key_string) in a tuple, which is all or a part of the image.  Returns
	 * false if there is none, or none that can be read in place.
	 */
	bool		(*string) (const void *tuple, KeyString *string, void *state);

	/*
	 * Of flat images, optional: true if a cheap test shows that the key
	 * columns of two tuples are equal.
	 */
	bool		(*same_key) (const void *a, const void *b, void *state);

	/*
	 * For flat images, set both or neither: compare_keys is the part of
	 * compare that orders tuples by their key columns; last_word is the word
	 * that orders tuples whose key columns are equal.
	 */
	int			(*compare_keys) (const void *a, const void *b, void *state);
	uint64		(*last_word) (const void *tuple);

	/*
	 * Of inline images, both optional.  The arguments are entries, that is
	 * the words and the image after them, with equal words.  check_equal may
	 * raise an error about the two; the sort calls it for all neighbours in
	 * the final order, in any memory context, which is not reset.  same_slice
	 * is as PtSortVariant.same_slice.
	 */
	void		(*check_equal) (const uint64 *a, const uint64 *b, void *state);
	bool		(*same_slice) (const uint64 *a, const uint64 *b, void *state);

	/* Optional: true if an error was postponed, so that the sort failed. */
	bool		(*has_postponed) (const void *state);

	/* Optional: drop all that the state keeps of tuples, for ptsort_reset. */
	void		(*reset) (void *state);

	/*
	 * Optional: like PtSortVariant.compare, for a tuple with these values,
	 * which has no image, and an image; see bounded_drops.
	 */
	int			(*compare_values) (const Datum *values, const bool *isnull,
								   const void *tuple, void *state);
} SortVariant;

/* SortHead: the first fields of every PtSort, for sort_state. */
typedef struct SortHead
{
	const PtSortVariant *variant;	/* the argument of begin */
	void	   *state;
} SortHead;

/*
 * sort_begin_own is ptsort_begin for one of ptsort's own variants.  'key' makes
 * the words and compares tuples; NULL if images are inline.
 *
 * A sort that was made restartable fails instead of raising an error if a
 * collation contradicts its tables (text_rank.h).  sort_failed returns true if
 * the sort failed, in this process or in another participant that it knows of.
 * The stream of a failed sort simply ends, so a caller whose sorts may fail
 * must test that at the end of the stream; the tuples that it read are not the
 * result.  sort_contradicted returns the collation for which the sort failed in
 * this process, else InvalidOid.
 */
extern PtSort *sort_begin_own(const SortVariant *variant, PtSortKey *key,
							  void *state, int nwords, MemoryContext context,
							  const PtSortOptions *options);
extern void sort_make_restartable(PtSort *sort);
extern bool sort_failed(const PtSort *sort);
extern Oid	sort_contradicted(const PtSort *sort);

extern void sort_wrong_variant(const PtSort *sort,
							   const PtSortVariant *variant);

/* sort_variant returns the sort's variant. */
static inline const PtSortVariant *
sort_variant(const PtSort *sort)
{
	return ((const SortHead *) sort)->variant;
}

/*
 * sort_state returns the state of a sort of this variant; a sort of another one
 * is an error.
 */
static inline void *
sort_state(PtSort *sort, const PtSortVariant *variant)
{
	if (unlikely(sort_variant(sort) != variant))
		sort_wrong_variant(sort, variant);
	return ((SortHead *) sort)->state;
}

#endif							/* PTSORT_SORTEXTRAS_H */
