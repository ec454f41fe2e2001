/*-------------------------------------------------------------------------
 *
 * bytesort.h
 *	  Sort entries with equal words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BYTESORT_H
#define PTSORT_BYTESORT_H

#include "compat.h"

#include "memory/tiesort.h"

/*
 * bytesort orders n entries whose words are equal and whose images are not
 * inline.  Entries of a stable sort must be in the order in which they were
 * put.
 */
extern void bytesort(const EntrySort *es, uint64 *entries, int64 n);

#endif							/* PTSORT_BYTESORT_H */
