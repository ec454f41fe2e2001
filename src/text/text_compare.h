/*-------------------------------------------------------------------------
 *
 * text_compare.h
 *	  Comparing values of text by the tables of their collation.
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
 * CompareFailure: how to react if comparing by the tables and by strcoll()
 * gives different results.
 */
typedef struct CompareFailure
{
	bool		restartable;	/* in: true if the caller can start over; if
								 * false, a contradiction raises an error */
	bool		full;			/* in: if true, compare values without the
								 * tables */
	Oid			words;			/* in: the collation of the key's words */
	Oid			collation;		/* out: the contradicting collation, else
								 * InvalidOid; if set, the order produced so
								 * far is not reliable */
} CompareFailure;

/*
 * text_compare_contradicted records that a collation contradicts its tables.
 * If the caller cannot start over, it raises an error; this process does not
 * use these tables again, and neither does the leader if it can be notified.
 */
extern void text_compare_contradicted(CompareFailure *failure, Oid collation);

/*
 * text_compare_wrap replaces the comparison in 'ssup' by one that uses the
 * tables and falls back to the original.  'ssup' is ready for use, without
 * abbreviation, for text, varchar or, if 'padded', char(n), in the collation
 * of 'ranks'.  Memory is allocated in ssup's memory context; 'failure' must
 * live as long.
 */
extern void text_compare_wrap(SortSupport ssup, TextRanks *ranks,
							  bool padded, CompareFailure *failure);

#endif							/* PTSORT_TEXT_COMPARE_H */
