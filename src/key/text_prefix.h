/*-------------------------------------------------------------------------
 *
 * text_prefix.h
 *	  Compare strings without the prefix they share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_PREFIX_H
#define PTSORT_TEXT_PREFIX_H

#include "compat.h"

/* GUC: on for all columns that allow it. */
extern bool ptsort_skip_prefixes;

/* Developer GUC: skip prefixes also where nothing proves that this is right. */
extern bool ptsort_debug_trust_collations;

/*
 * PrefixSkipFailure: what happens if comparing with and without the prefix
 * gives different results.
 */
typedef struct PrefixSkipFailure
{
	bool		restartable;	/* in: the caller can start over; if not, a
								 * contradiction is an error */
	Oid			collation;		/* out: the contradicting collation, else
								 * InvalidOid; if set, what has been compared
								 * so far is not in order */
} PrefixSkipFailure;

/*
 * text_prefix_wrap puts itself between a column's comparison and its callers,
 * if the collation is proved to allow that.  'ssup' is ready for use, without
 * abbreviation, for text, varchar or char(n) in a collation of the C library.
 * What is added is allocated in ssup's memory context; 'failure' must live as
 * long.
 */
extern void text_prefix_wrap(SortSupport ssup, PrefixSkipFailure *failure);

#endif							/* PTSORT_TEXT_PREFIX_H */
