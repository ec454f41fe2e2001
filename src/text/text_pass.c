/*-------------------------------------------------------------------------
 *
 * text_pass.c
 *	  The later passes of comparing two strings by the C library's tables.
 *
 * The first pass does not distinguish lines that differ only in indentation,
 * words that differ in case or accents, or names that differ in a hyphen.  For
 * these strings strcoll() makes three more passes over both strings.  One pass
 * goes backward; in this pass strcoll() finds each element by going forward
 * from the start (string/strcoll_l.c, glibc 2.36).
 *
 * This file finds the elements once, starting where the strings begin to
 * differ.  A pass compares the concatenated weights of both strings' elements
 * as bytes, and skips elements without weights.  A pass that compares positions
 * first compares the number of skipped elements before each weight; the weight
 * after more skipped elements is greater.
 *
 * Direction is a property of elements, not of strings.  In en_US the elements
 * of letters go forward in all passes; the elements of digits and symbols go
 * backward in the second pass.  Consecutive elements that go backward form a
 * span; a pass reads it from the last element to the first.  The C library's
 * implementation of spans has two oddities, which this file reproduces because
 * the order of strings depends on them.  First, if an element that goes forward
 * follows a span, strcoll() skips the span's second-to-last element.  Second,
 * strcoll() counts a span's elements from the end of the last compared weights.
 * If elements without weights follow these weights, the span starts too early
 * by the number of these elements.
 *
 * A pass can leave out the common prefix of two strings if the prefix ends
 * with an element that goes forward and has weights.
 *
 * If no pass distinguishes two strings, ptsort orders them by their bytes, as
 * the server does (varstr_cmp).  Hangul strings in en_US are an example: en_US
 * has no weights for Hangul.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_table.h"

/*
 * Maximum number of elements after the common prefix; strcoll() compares
 * strings with more elements.
 */
#define MAX_ELEMENTS	200

typedef struct Elements
{
	int			n;
	int32		index[MAX_ELEMENTS];
} Elements;

/* WeightStream: one string's weights in one pass, in order of comparison. */
typedef struct WeightStream
{
	const CollateTables *tables;
	const Elements *elements;
	int			pass;
	int			next;			/* the next element to read */
	int			compared;		/* element after the last compared weights */
	int			skipped;		/* number of elements without weights before
								 * the current weights */
	CollateWeights weights;

	/* the span that next_element is reading, if any */
	bool		in_span;
	int			span;			/* the span's first element by the C library's
								 * count */
	int			left;			/* number of the span's elements to read */
	int			after;			/* the element after the span, or -1 */
} WeightStream;

/* Find the elements of a string.  Returns false if there are too many. */
static bool
find_elements(const CollateTables *tables, const unsigned char *string,
			  const unsigned char *end, Elements *elements)
{
	elements->n = 0;
	while (string < end)
	{
		if (elements->n == MAX_ELEMENTS)
			return false;
		elements->index[elements->n++] = text_table_element(tables, &string,
															end);
	}
	return true;
}

static inline bool
goes_backward(const WeightStream *stream, int i)
{
	return (text_table_rule(stream->tables, stream->elements->index[i],
							stream->pass) & RULE_BACKWARD) != 0;
}

/* Begin the span that starts at 'next'.  Returns the span's last element. */
static int
begin_span(WeightStream *stream)
{
	int			n = stream->elements->n;
	int			first = stream->next;
	int			end = first;

	while (end < n && goes_backward(stream, end))
		end++;
	stream->in_span = true;
	stream->span = stream->compared;
	stream->after = end < n ? end : -1;
	stream->left = end - first - 1;
	if (end < n && stream->left > 0)
		stream->left--;
	stream->next = Min(end + 1, n);
	stream->compared = stream->next;
	return end - 1;
}

/* Returns the next element of the stream, or -1 at the end. */
static inline int
next_element(WeightStream *stream)
{
	if (stream->in_span && stream->left > 0)
		return stream->span + --stream->left;
	if (stream->in_span && stream->after < 0)
		return -1;
	if (stream->in_span)
	{
		stream->in_span = false;
		return stream->after;
	}
	if (stream->next == stream->elements->n)
		return -1;
	if (goes_backward(stream, stream->next))
		return begin_span(stream);
	return stream->next++;
}

/* Advance to the next weights, unless bytes of the current weights are left. */
static inline void
next_weights(WeightStream *stream)
{
	stream->skipped = -1;
	while (stream->weights.length == 0)
	{
		int			i = next_element(stream);

		if (i < 0)
			break;
		stream->weights.at = text_table_weight(stream->tables,
											   stream->elements->index[i],
											   stream->pass,
											   &stream->weights.length);
		stream->skipped++;
	}
	stream->compared = stream->next;
}

/*
 * Compare the weights of two streams and advance both past the bytes compared.
 * If 'positions' is true, only weights of the same length are equal.
 */
static inline int
compare_weights(WeightStream *a, WeightStream *b, bool positions)
{
	int			cmp;

	if (positions && a->skipped != b->skipped)
		return a->skipped < b->skipped ? -1 : 1;
	cmp = text_table_compare(&a->weights, &b->weights);
	if (cmp == 0 && positions)
		return (a->weights.length > 0) - (b->weights.length > 0);
	return cmp;
}

static int
compare_pass(const CollateTables *tables, int pass, const Elements *a,
			 const Elements *b)
{
	bool		positions = (tables->rules[pass] & RULE_POSITION) != 0;
	WeightStream x = {tables, a, pass};
	WeightStream y = {tables, b, pass};
	int			cmp;

	do
	{
		next_weights(&x);
		next_weights(&y);
		if (x.weights.length == 0 || y.weights.length == 0)
			return (x.weights.length > 0) - (y.weights.length > 0);
		cmp = compare_weights(&x, &y, positions);
	} while (cmp == 0);
	return cmp;
}

/* Compare the bytes, as the server does if strcoll() finds strings equal. */
static int
compare_bytes(const unsigned char *a, int a_length, const unsigned char *b,
			  int b_length)
{
	int			cmp = memcmp(a, b, Min(a_length, b_length));

	return cmp != 0 ? cmp : (a_length > b_length) - (a_length < b_length);
}

bool
text_pass_compare(const CollateProof *proof, int shared, const char *a,
				  int a_length, const char *b, int b_length, int *cmp)
{
	const CollateTables *tables = &proof->tables;
	const unsigned char *left = (const unsigned char *) a;
	const unsigned char *right = (const unsigned char *) b;
	Elements	x;
	Elements	y;

	while (shared > 0 && !proof->settled[left[shared - 1]])
		shared--;
	if (!proof->later ||
		!find_elements(tables, left + shared, left + a_length, &x) ||
		!find_elements(tables, right + shared, right + b_length, &y))
		return false;
	for (int pass = 1; pass < (int) tables->npasses; pass++)
	{
		*cmp = compare_pass(tables, pass, &x, &y);
		if (*cmp != 0)
			return true;
	}
	*cmp = compare_bytes(left + shared, a_length - shared,
						 right + shared, b_length - shared);
	return *cmp != 0;
}
