/*-------------------------------------------------------------------------
 *
 * rewrite.h
 *	  How copies of tables reach ptsort.  See rewrite.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REWRITE_H
#define PTSORT_REWRITE_H

/* rewrite_init installs the hooks; once per process, from _PG_init. */
extern void rewrite_init(void);

#endif							/* PTSORT_REWRITE_H */
