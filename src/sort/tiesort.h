/*-------------------------------------------------------------------------
 *
 * tiesort.h
 *	  Sort tuples by comparison alone, where words do not decide.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TIESORT_H
#define PTSORT_TIESORT_H

#include "compat.h"

#include "sort/order.h"

/*
 * tiesort orders n addresses of tuples with equal words.  The addresses are
 * 'stride' words apart; 'scratch' has room for n words.
 */
extern void tiesort(SortOrder *order, uint64 *addresses, int64 n, int stride,
					uint64 *scratch);

#endif							/* PTSORT_TIESORT_H */
