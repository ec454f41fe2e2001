/*-------------------------------------------------------------------------
 *
 * sortnode.h
 *	  The sorts of queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTNODE_H
#define PTSORT_SORTNODE_H

/* ptsort.sort: which sorts of queries are done by ptsort. */
typedef enum SortTaking
{
	TAKE_NO_SORTS,
	TAKE_TEXT,					/* whose first key is text in a collation
								 * other than "C" */
	TAKE_SORTS					/* all that have words */
} SortTaking;

extern int	ptsort_sort;

/* ptsort.min_sort_rows: those that the planner expects to have as many rows. */
extern int	ptsort_min_sort_rows;

/* sortnode_init installs the executor's hooks; once per process. */
extern void sortnode_init(void);

#endif							/* PTSORT_SORTNODE_H */
