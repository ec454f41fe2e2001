/*-------------------------------------------------------------------------
 *
 * bytesort.h
 *	  Sorts entries with equal words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BYTESORT_H
#define PTSORT_BYTESORT_H

#include "compat.h"

#include "memory/tiesort.h"

/*
 * bytesort orders n entries whose words are equal and whose images are not
 * inline.  The caller of a stable sort must pass the entries in input order.
 */
extern void bytesort(const EntrySort *es, uint64 *entries, int64 n);

#endif							/* PTSORT_BYTESORT_H */
