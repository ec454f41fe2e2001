/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Put entries in memory into order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_ENTRYSORT_H
#define PTSORT_ENTRYSORT_H

#include "compat.h"

#include "memory/tiesort.h"

/*
 * entrysort orders n entries, which must be in the order in which they were
 * put.  For a stable sort of images that are not inline, the order must know
 * the places of the images, and the scratch must have room for n entries.
 */
extern void entrysort(const EntrySort *es, uint64 *entries, int64 n);

#endif							/* PTSORT_ENTRYSORT_H */
