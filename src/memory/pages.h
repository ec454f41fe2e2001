/*-------------------------------------------------------------------------
 *
 * pages.h
 *	  Fresh memory: have the kernel give its pages cheaply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PAGES_H
#define PTSORT_PAGES_H

#include "compat.h"

/*
 * pages_open has pages given for the beginning of fresh memory, which is going
 * to be filled.  Returns how many bytes of it that is, all of it if it is
 * small.  Memory after that need not be opened; it only costs more then.
 */
extern Size pages_open(char *start, Size size);

/* How much memory is opened at once: what a processor's cache can hold. */
#define PAGES_STEP		(256 * 1024)

/* pages_open_all has pages given for all of it. */
extern void pages_open_all(void *start, Size size);

/*
 * pages_leave is for memory whose contents are of no use any more: the kernel
 * may take its pages until they are written to again.
 */
extern void pages_leave(void *start, Size size);

/* pages_advise is for memory that may not be filled, or only much later. */
extern void pages_advise(void *start, Size size);

#endif							/* PTSORT_PAGES_H */
