/*-------------------------------------------------------------------------
 *
 * sortextras.h
 *	  Extras of a sort, beyond the public headers, for ptsort's own variants.
 *
 * The extras are keys that learn, sorts that the caller repeats if they fail,
 * and callbacks that see entries with their words.  They may change with every
 * build of the library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTEXTRAS_H
#define PTSORT_SORTEXTRAS_H

#include "compat.h"

#include "key/key.h"
#include "ptsort_variant.h"

/* SortVariant: one of ptsort's own variants (kinds of tuples). */
typedef struct SortVariant
{
	PtSortVariant base;			/* must be first */

	/*
	 * For sorts with a key: makes the words of a tuple in memory (an array of
	 * KEY_ENTRY_WORDS), while the key learns or afterwards.  The sort resets
	 * the current memory context after each call.
	 */
	void		(*rekey) (const void *tuple, uint64 *words, void *state);

	/*
	 * For flat images, optional.  If head_bytes is not 0, compare must order
	 * tuples by the key columns alone.  If tuples with equal words compare
	 * equal, the sort may then order them by bytes, without calling compare
	 * again.  Of an image's first 8 bytes, only the first head_bytes count.
	 */
	int			head_bytes;

	/*
	 * For flat images, optional: sets *string to the key's string
	 * (key_string), which is all or a part of the tuple's image.  Returns
	 * false if there is no string that the sort can read in place.
	 */
	bool		(*string) (const void *tuple, KeyString *string, void *state);

	/* Optional: true if a cheap test shows that flat images' keys are equal */
	bool		(*same_key) (const void *a, const void *b, void *state);

	/*
	 * For flat images, set both or neither: compare_keys orders tuples by
	 * their key columns alone, last_word those whose key columns are equal.
	 */
	int			(*compare_keys) (const void *a, const void *b, void *state);
	uint64		(*last_word) (const void *tuple);

	/*
	 * For inline images, both optional.  The arguments are two entries (the
	 * words and, after them, the image) with equal words.  check_equal may
	 * raise an error about the two entries.  The sort calls check_equal for
	 * all neighbours in the final order, in any memory context, and does not
	 * reset the context.  same_slice is like PtSortVariant.same_slice.
	 */
	void		(*check_equal) (const uint64 *a, const uint64 *b, void *state);
	bool		(*same_slice) (const uint64 *a, const uint64 *b, void *state);

	/* Optional: true if the variant postponed an error, so the sort failed. */
	bool		(*has_postponed) (const void *state);

	/* Optional: make the state forget all tuples; see ptsort_reset. */
	void		(*reset) (void *state);

	/*
	 * Optional: like PtSortVariant.compare, but takes the values of the first
	 * tuple, which has no image; see bounded_drops.
	 */
	int			(*compare_values) (const Datum *values, const bool *isnull,
								   const void *tuple, void *state);
} SortVariant;

/* SortHead: the first fields of every PtSort, for sort_state. */
typedef struct SortHead
{
	const PtSortVariant *variant;	/* the argument of ptsort_begin */
	void	   *state;
} SortHead;

/*
 * sort_begin_own is ptsort_begin for one of ptsort's own variants.  'key' makes
 * the words and compares tuples; it is NULL if images are inline.
 * sort_begin_records begins a sort of entries with a word and an inline image.
 *
 * If a collation contradicts its tables (text_rank.h), a sort raises an error
 * or, after sort_make_restartable, fails: its stream simply ends, and is not
 * the result.  So a caller whose sorts may fail must call sort_failed at the
 * end of the stream; it returns true if the sort failed in any participant.
 * sort_contradicted returns the collation for which the sort failed in this
 * process, else InvalidOid.
 */
extern PtSort *sort_begin_own(const SortVariant *variant, PtSortKey *key,
							  void *state, int nwords, MemoryContext context,
							  const PtSortOptions *options);
extern PtSort *sort_begin_records(const SortVariant *variant,
								  const PtSortOptions *options);
extern void sort_make_restartable(PtSort *sort);
extern bool sort_failed(const PtSort *sort);
extern Oid	sort_contradicted(const PtSort *sort);

extern void sort_wrong_variant(const PtSort *sort,
							   const PtSortVariant *variant);

static inline const PtSortVariant *
sort_variant(const PtSort *sort)
{
	return ((const SortHead *) sort)->variant;
}

/* sort_state raises an error for a sort of another variant. */
static inline void *
sort_state(PtSort *sort, const PtSortVariant *variant)
{
	if (unlikely(sort_variant(sort) != variant))
		sort_wrong_variant(sort, variant);
	return ((SortHead *) sort)->state;
}

#endif							/* PTSORT_SORTEXTRAS_H */
