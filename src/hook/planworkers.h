/*-------------------------------------------------------------------------
 *
 * planworkers.h
 *	  How many workers make a build faster.  See planworkers.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PLANWORKERS_H
#define PTSORT_PLANWORKERS_H

#include "btree/btbuild.h"

/*
 * planworkers_limit lowers request->workers, which is a limit, to the number
 * that is fastest for building 'index', and those of request->candidates by the
 * same scan, or for copying the table in its order.  If that is fewer,
 * request->source says so.
 */
extern void planworkers_limit(BtBuildRequest *request, Relation heap,
							  Relation index);

#endif							/* PTSORT_PLANWORKERS_H */
