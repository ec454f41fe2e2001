/*-------------------------------------------------------------------------
 *
 * pages.h
 *	  Fresh memory: get its pages from the kernel cheaply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PAGES_H
#define PTSORT_PAGES_H

#include "compat.h"

/*
 * pages_open gets pages for the beginning of fresh memory that is about to be
 * filled.  Returns the number of bytes opened, all of them if 'size' is small.
 * Memory after that may also be used unopened, but then costs more.
 */
extern Size pages_open(char *start, Size size);

/* Bytes to open at once: what fits in a processor's cache. */
#define PAGES_STEP		(256 * 1024)

/* pages_open_all gets pages for all of this memory. */
extern void pages_open_all(void *start, Size size);

/*
 * pages_leave tells the kernel that the contents of this memory are no longer
 * needed: the kernel may reclaim its pages until they are written to again.
 */
extern void pages_leave(void *start, Size size);

/*
 * pages_advise asks for large pages for memory that may be filled much later,
 * or not at all.
 */
extern void pages_advise(void *start, Size size);

#endif							/* PTSORT_PAGES_H */
