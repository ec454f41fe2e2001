/*-------------------------------------------------------------------------
 *
 * planworkers.h
 *	  The number of workers of a build.  See planworkers.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PLANWORKERS_H
#define PTSORT_PLANWORKERS_H

#include "btree/btbuild.h"

/* ptsort.parallel_workers: maximum; -1 = by the server's cost model */
extern int	ptsort_parallel_workers;

/*
 * planworkers_request returns the number of workers that the user specified for
 * a build of this index, or for a copy of its table in its order (is_order), or
 * the maximum number.  'by_cost' is the number by the server's cost model.
 */
extern BtBuildRequest planworkers_request(Relation heap, Relation index,
										  int by_cost);

/*
 * planworkers_limit lowers request->workers, unless the user specified it, to
 * the number with which building 'index', and request->candidates by the same
 * scan, or copying the table in its order is fastest.  If it lowers the number,
 * it adds the reason to request->source.
 */
extern void planworkers_limit(BtBuildRequest *request, Relation heap,
							  Relation index);

#endif							/* PTSORT_PLANWORKERS_H */
