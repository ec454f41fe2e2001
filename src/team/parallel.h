/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  Parallel sorts of other extensions.
 *
 * ptsort_parallel.h documents the interface; these are its functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PARALLEL_DRIVER_H
#define PTSORT_PARALLEL_DRIVER_H

#include "compat.h"

#include "ptsort_parallel.h"

extern PtParallel *parallel_run(const PtParallelRequest *request);
extern PtParallelResult *parallel_end(PtParallel *parallel);

/* Entry point of the workers. */
extern PGDLLEXPORT void ptsort_parallel_main(dsm_segment *segment,
											 shm_toc *toc);

#endif							/* PTSORT_PARALLEL_DRIVER_H */
