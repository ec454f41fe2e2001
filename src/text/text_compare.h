/*-------------------------------------------------------------------------
 *
 * text_compare.h
 *	  Compare values of text by the tables of their collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_COMPARE_H
#define PTSORT_TEXT_COMPARE_H

#include "compat.h"

#include "text/text_rank.h"

/* GUC: on for all columns that allow it. */
extern bool ptsort_use_collation_tables;

/*
 * CompareFailure: what happens if comparing by the tables and by strcoll()
 * gives different results.
 */
typedef struct CompareFailure
{
	bool		restartable;	/* in: the caller can start over; if not, a
								 * contradiction is an error */
	bool		full;			/* in: compare values in full for the moment */
	Oid			words;			/* in: the collation of the key's words */
	Oid			collation;		/* out: the contradicting collation, else
								 * InvalidOid; if set, what has been compared
								 * so far is not in order */
} CompareFailure;

/*
 * text_compare_contradicted notes that a collation contradicts its tables.  If
 * the caller cannot start over it raises the error, and this process, and the
 * leader if it can be told, will not use these tables again.
 */
extern void text_compare_contradicted(CompareFailure *failure, Oid collation);

/*
 * text_compare_wrap puts itself between a column's comparison and its callers.
 * 'ssup' is ready for use, without abbreviation, for text, varchar or, if
 * 'padded', char(n), in the collation that 'ranks' are of.  What is added is
 * allocated in ssup's memory context; 'failure' must live as long.
 */
extern void text_compare_wrap(SortSupport ssup, const TextRanks *ranks,
							  bool padded, CompareFailure *failure);

#endif							/* PTSORT_TEXT_COMPARE_H */
