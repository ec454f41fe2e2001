/*-------------------------------------------------------------------------
 *
 * gistaxis.h
 *	  Orders tuples of points by one axis before picksplit divides them.
 *
 * The keys of points are boxes.  The picksplit functions of boxes sort all
 * lower and all upper ends on both axes, with pg_qsort(), which takes little
 * time if the ends already have their order.  These four sorts take half of a
 * build's time.  The ends of a point are equal, so one cheap sort by the first
 * axis saves two of the four.  The halves of a split keep the order for their
 * own splits.  PostGIS rounds the ends of a point to the neighboring float4s,
 * so its boxes are a little larger than points.
 *
 * How a split divides points does not depend on their order, except points with
 * equal ends.  For other boxes it may, and a sort by lower ends would save only
 * one sort of four, so their order remains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_GISTAXIS_H
#define PTSORT_GISTAXIS_H

#include "access/itup.h"
#include "utils/relcache.h"

/* GistAxis: the type of a key, and of its four coordinates */
typedef enum GistAxis
{
	GIST_NO_AXIS,				/* not a box */
	GIST_BOX,					/* box of float8 */
	GIST_BOX2DF					/* PostGIS's box2df of float4 */
} GistAxis;

/* gistaxis_of returns the type of an index's first column. */
extern GistAxis gistaxis_of(Relation index);

/*
 * gistaxis_sort orders n tuples of the index by their first axis, nulls last,
 * if the keys of all are points; otherwise it does nothing.
 */
extern void gistaxis_sort(GistAxis axis, IndexTuple *tuples, int n,
						  Relation index);

#endif							/* PTSORT_GISTAXIS_H */
