/*-------------------------------------------------------------------------
 *
 * sortnode.h
 *	  The sorts of queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTNODE_H
#define PTSORT_SORTNODE_H

/* ptsort.sort: which sorts of queries ptsort performs. */
typedef enum SortTaking
{
	TAKE_NO_SORTS,
	TAKE_TEXT,					/* sorts whose first key is text in a
								 * collation other than "C" */
	TAKE_SORTS					/* all sorts whose key has words */
} SortTaking;

extern int	ptsort_sort;

/* ptsort.min_sort_rows: rows that the planner must expect */
extern int	ptsort_min_sort_rows;

/* sortnode_init installs the executor's hooks; once per process. */
extern void sortnode_init(void);

#endif							/* PTSORT_SORTNODE_H */
