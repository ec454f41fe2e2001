/*-------------------------------------------------------------------------
 *
 * prefixskip.h
 *	  Compare strings without the prefix they share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PREFIXSKIP_H
#define PTSORT_PREFIXSKIP_H

#include "compat.h"

/* GUC: on for all columns that allow it. */
extern bool ptsort_skip_prefixes;

/*
 * prefixskip_wrap puts itself between a column's comparison and those who call it.
 * ssup is ready for use, without abbreviation, for text, varchar or char(n) in a
 * collation of the C library.  What is added lives in ssup's memory context.
 */
extern void prefixskip_wrap(SortSupport ssup);

#endif							/* PTSORT_PREFIXSKIP_H */
