/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Sorts entries in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ENTRYSORT_H
#define PTSORT_ENTRYSORT_H

#include "compat.h"

#include "memory/tiesort.h"

/*
 * entrysort orders n entries, which the caller passes in input order.  For a
 * stable sort of images that are not inline, the caller must also store the
 * images' places in es->order.
 */
extern void entrysort(const EntrySort *es, uint64 *entries, int64 n);

#endif							/* PTSORT_ENTRYSORT_H */
