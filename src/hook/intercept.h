/*-------------------------------------------------------------------------
 *
 * intercept.h
 *	  How btree builds reach ptsort.  See intercept.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_INTERCEPT_H
#define PTSORT_INTERCEPT_H

/* GUCs */
extern bool ptsort_enable;
extern int	ptsort_parallel_workers;	/* -1 = ask the cost model */
extern int	ptsort_min_table_size;	/* in kB */

/* intercept_init installs the hooks; once per process, from _PG_init. */
extern void intercept_init(void);

#endif							/* PTSORT_INTERCEPT_H */
