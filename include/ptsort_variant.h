/*-------------------------------------------------------------------------
 *
 * ptsort_variant.h
 *	  Teach ptsort a new kind of tuple.
 *
 * A variant describes its tuple; the engine does everything else (memory and
 * its accounting, temporary files, phases, roles).  The rules of ptsort.h hold
 * here as well.
 *
 * To the engine a tuple is words and an image.
 *
 * The *words*, 0 to PTSORT_MAX_WORDS of them, are a sort key that decides
 * quickly: compared as unsigned integers, first word first.  Words never
 * contradict the order of the tuples, but may leave ties.
 *
 * The *image* is the tuple itself.  A flat image is a sequence of bytes
 * without pointers, at a MAXALIGNed address, of any size up to 1 GB.  It begins
 * with at least 8 bytes that determine its size.  Tuples with equal words are
 * ordered by the variant's compare and then by the bytes of their images.  With
 * PtSortOptions.stable the order in which they were put replaces that of the
 * bytes; then tuples that compare equal must have equal words.
 *
 * Or it is *inline*: one 64-bit word, stored after the words of the key.  Then
 * sorting needs no comparison and no memory except these words.  Tuples are
 * ordered by the words of the key and then by the image, as an unsigned
 * integer, so a tuple must fit in these words.  (PtSortOptions.stable has no
 * effect: tuples with equal words and equal images are identical.)
 *
 *		PtSort *sort = ptsort_begin(&my_variant, state, nwords, context,
 *									options);
 *
 *		put:	make the image and its words;
 *				ptsort_put(sort, image, size, words);
 *		or:		image = ptsort_reserve(sort, size); make it there;
 *				ptsort_commit(sort, words);
 *		get:	image = ptsort_get(sort, forward, &size);
 *		inline:	entries = ptsort_get_entries(sort, &n);
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VARIANT_H
#define PTSORT_VARIANT_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "ptsort.h"

/* Most 64-bit words a sort key can have. */
#define PTSORT_MAX_WORDS	2

/*
 * PtSortVariant: a kind of tuple.  One static const struct per kind; the sort
 * keeps the pointer.
 *
 * Callbacks are called in put, perform, get and next_slice.  The current memory
 * context is then one of the sort's own or, in put, the caller's, and may live
 * much longer than the call: free what you allocate in it, or use a context of
 * your own below the one that you pass to ptsort_begin().  Callbacks must not
 * call functions of the sort.
 */
typedef struct PtSortVariant
{
	const char *name;			/* for messages: "index tuple" */

	/* Images are inline: 8 bytes.  The callbacks below must be NULL. */
	bool		inline_image;

	/* Return the bytes of a tuple image, from its first 8 bytes alone. */
	Size		(*size) (const void *tuple, void *state);

	/*
	 * Order of two tuples whose words are equal: <0, 0 or >0.  It must agree
	 * with the words (words never contradict it).  If it returns 0 the engine
	 * orders by the images' bytes.  May raise an error, as a unique index
	 * does for two equal keys: the engine compares every two tuples that will
	 * be neighbours in the result, if their words are equal.
	 */
	int			(*compare) (const void *a, const void *b, void *state);

	/*
	 * Optional: true if these two tuples with equal words must be in the same
	 * slice, as equal keys of a unique index.
	 */
	bool		(*same_slice) (const void *a, const void *b, void *state);
} PtSortVariant;

/*
 * ptsort_begin starts a sort of images of this variant, whose sort key has
 * nwords words.  The callbacks get state.  context holds the variant's state
 * and becomes the parent of all the sort's memory; ptsort_end() deletes it.
 * Everything in it counts towards the budget.  If there is no state, context
 * may be NULL: the sort then makes a context of its own.
 */
static inline PtSort *
ptsort_begin(const PtSortVariant *variant, void *state, int nwords,
			 MemoryContext context, const PtSortOptions *options)
{
	return ptsort_api()->begin(variant, state, nwords, context, options);
}

/*
 * ptsort_put copies an image of size bytes, with its words, into the sort.
 * words may be NULL if there are none.
 */
static inline void
ptsort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	ptsort_api()->put(sort, tuple, size, words);
}

/*
 * ptsort_reserve returns the MAXALIGNed place, size bytes with undefined
 * contents, of an image in the sort, so that you can make the image there
 * instead of having ptsort_put copy it; an inline image has 8 bytes.  Between
 * reserve and commit only make the image and its words.  If that fails, the
 * sort is as if you had not called reserve: go on with another tuple, perform,
 * or end it.  After an error of reserve or commit itself you can only end the
 * sort, unless the error is about a wrong call.
 */
static inline void *
ptsort_reserve(PtSort *sort, Size size)
{
	return ptsort_api()->reserve(sort, size);
}

/*
 * ptsort_commit adds the image in the place that ptsort_reserve returned last,
 * with its words; an error if none is reserved.  The image must have the
 * reserved size.
 */
static inline void
ptsort_commit(PtSort *sort, const uint64 *words)
{
	ptsort_api()->commit(sort, words);
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
 * ptsort_get_entries returns the next tuples of a sort with inline images, in
 * order and many at once: for each of *n tuples, the words of its key and its
 * image.  NULL at the end, or at the end of a slice.  They are valid until the
 * next call; do not modify them.
 */
static inline const uint64 *
ptsort_get_entries(PtSort *sort, int *n)
{
	return ptsort_api()->get_entries(sort, n);
}

#ifdef __cplusplus
}
#endif

#endif							/* PTSORT_VARIANT_H */
