/*-------------------------------------------------------------------------
 *
 * planworkers.h
 *	  The number of workers with which a build is fastest.  See planworkers.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PLANWORKERS_H
#define PTSORT_PLANWORKERS_H

#include "btree/btbuild.h"

/*
 * planworkers_limit lowers request->workers, which is a limit, to the number
 * with which building 'index', and request->candidates by the same scan, or
 * copying the table in its order is fastest.  If it lowers the number, it adds
 * the reason to request->source.
 */
extern void planworkers_limit(BtBuildRequest *request, Relation heap,
							  Relation index);

#endif							/* PTSORT_PLANWORKERS_H */
