/*-------------------------------------------------------------------------
 *
 * text_table.h
 *	  What the C library's own tables prove about a collation.
 *
 * text_prefix.c compares strings without the prefix they share, which is right
 * for some collations and some prefixes only.  Here is what it needs to know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_TABLE_H
#define PTSORT_TEXT_TABLE_H

#include "compat.h"

/*
 * CollateProof: facts about a collation of the C library, as long as the
 * process lives.
 */
typedef struct CollateProof
{
	struct CollateProof *next;
	Oid			collation;

	/*
	 * The first pass over two strings goes forward over all their collating
	 * elements, and compares the primary weights of these and nothing else.
	 * If that is not certain the other fields mean nothing.
	 */
	bool		forward;

	/*
	 * This byte is a collating element on its own wherever it occurs: it
	 * neither begins nor continues a longer one.
	 */
	bool		alone[256];

	/* It is alone, and its primary weight is not empty. */
	bool		weighs[256];
} CollateProof;

/*
 * text_table_prove returns what is certain about a collation whose provider
 * is the C library.  The first call for a collation takes 0.1 to 0.3 ms, later
 * ones look up its result, which is valid until the process ends.
 */
extern const CollateProof *text_table_prove(Oid collation);

#endif							/* PTSORT_TEXT_TABLE_H */
