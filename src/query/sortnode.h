/*-------------------------------------------------------------------------
 *
 * sortnode.h
 *	  Replaces the sorts of Sort nodes in queries.
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
	TAKE_SORTS					/* sorts whose key has words */
} SortTaking;

extern int	ptsort_sort;

/* ptsort.min_sort_rows: minimum row estimate of sorts that ptsort performs */
extern int	ptsort_min_sort_rows;

/* sortnode_init installs the executor hooks.  Call it once per process. */
extern void sortnode_init(void);

#endif							/* PTSORT_SORTNODE_H */
