/*-------------------------------------------------------------------------
 *
 * ptsort_variant.h
 *	  Teach ptsort a new kind of tuple.
 *
 * A variant describes a kind of tuple; the sort does everything else.  The
 * rules of ptsort.h apply here as well.  To the sort, a tuple consists of words
 * and an image.
 *
 * The *words*, 0 to PTSORT_MAX_WORDS of them, are a key that is quick to
 * compare.  The sort compares words as unsigned integers, first word first.
 * Words must never contradict the order of the tuples, but may leave ties.
 *
 * The *image* is the tuple itself.  A flat image is a sequence of bytes without
 * pointers, at a MAXALIGNed address, of any size up to 1 GB.  The image has at
 * least 8 bytes, and the first 8 determine its size.  The sort orders tuples
 * with equal words by the variant's compare and then by the bytes of their
 * images.  With PtSortOptions.stable, the order of put calls replaces the order
 * of the bytes, and tuples that compare equal must have equal words.
 *
 * An *inline* image is one 64-bit word, stored after the words of the key.
 * Sorting then needs no compare callback and no memory except for the key and
 * the image.  The sort orders tuples by the words of the key and then by the
 * image, as an unsigned integer, so key and image must hold the whole tuple.
 * (PtSortOptions.stable has no effect: tuples with equal words and equal images
 * are identical.)
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

/* Maximum number of 64-bit words in a sort key. */
#define PTSORT_MAX_WORDS	2

/*
 * PtSortVariant: a kind of tuple.  Define one static const struct per kind,
 * because the sort keeps a pointer to it.
 *
 * put, perform, get and next_slice call the callbacks.  The current memory
 * context of a callback is one of the sort's own or, in put, the caller's.
 * This context may live much longer than the call: free what you allocate in
 * it, or use a child of the context that you pass to ptsort_begin().
 * Callbacks must not call functions of the sort.
 */
typedef struct PtSortVariant
{
	const char *name;			/* in messages, for example "index tuple" */

	/* True if images are inline; then all callbacks must be NULL. */
	bool		inline_image;

	/* Return an image's size in bytes; read only the image's first 8 bytes. */
	Size		(*size) (const void *tuple, void *state);

	/*
	 * Return <0, 0 or >0 for the order of two tuples with equal words.
	 * compare may raise an error, for example about equal keys of a unique
	 * index: the sort compares any two tuples that have equal words and will
	 * be neighbours in the result.
	 */
	int			(*compare) (const void *a, const void *b, void *state);

	/*
	 * Optional: true if these two tuples with equal words must be in the same
	 * slice, for example duplicates in a unique index.
	 */
	bool		(*same_slice) (const void *a, const void *b, void *state);
} PtSortVariant;

/*
 * ptsort_begin starts a sort of images of 'variant', with keys of nwords
 * words.  The sort passes 'state' to the callbacks.  'context' holds the state
 * and becomes the parent of all the sort's memory; ptsort_end() deletes it.
 * Everything in 'context' counts towards the budget.  Without a state,
 * 'context' may be NULL: the sort then creates a context.
 */
static inline PtSort *
ptsort_begin(const PtSortVariant *variant, void *state, int nwords,
			 MemoryContext context, const PtSortOptions *options)
{
	return ptsort_api()->begin(variant, state, nwords, context, options);
}

/*
 * ptsort_put copies an image of 'size' bytes, with its words, into the sort.
 * 'words' may be NULL if nwords is 0.
 */
static inline void
ptsort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
	ptsort_api()->put(sort, tuple, size, words);
}

/*
 * ptsort_reserve returns a MAXALIGNed place of 'size' bytes in the sort, with
 * undefined contents.  Make an image there instead of having ptsort_put copy
 * it; an inline image has 8 bytes.  Between reserve and commit, only make the
 * image and its words.  If you cannot make them, the sort is as if you had not
 * called reserve: put another tuple, perform, or end the sort.  After an error
 * in reserve or commit itself you can only end the sort, unless the error
 * reports a wrong call.
 */
static inline void *
ptsort_reserve(PtSort *sort, Size size)
{
	return ptsort_api()->reserve(sort, size);
}

/*
 * ptsort_commit adds an image and its words.  The image must be in the place
 * that ptsort_reserve returned last, and must have the reserved size.  Raises
 * an error if no place is reserved.
 */
static inline void
ptsort_commit(PtSort *sort, const uint64 *words)
{
	ptsort_api()->commit(sort, words);
}

/*
 * ptsort_get returns the next (forward) or the previous image, or NULL at
 * either end.  You may modify the image in place unless the sort has random
 * access.
 */
static inline const void *
ptsort_get(PtSort *sort, bool forward, Size *size)
{
	return ptsort_api()->get(sort, forward, size);
}

/*
 * ptsort_get_entries returns the next *n tuples of a sort with inline images,
 * in order: for each tuple, the words of its key, then its image.  Returns
 * NULL at the end, or at the end of a slice.  The tuples are valid until the
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
