/*-------------------------------------------------------------------------
 *
 * heapscan.h
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * heapscan_build() does what table_index_build_scan() does: it makes the same
 * calls of the callback, though not necessarily in the same order among
 * participants, returns the same count, raises the same errors and warnings,
 * waits for the same transactions, and changes the IndexInfo in the same way
 * (ii_BrokenHotChain).  On a heap table it locks each buffer once instead of
 * once per tuple and reads the columns directly from the page, and it can do so
 * for several indexes at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPSCAN_H
#define PTSORT_HEAPSCAN_H

#include "access/relscan.h"
#include "access/tableam.h"
#include "nodes/execnodes.h"

/* An index that receives the tuples of a scan. */
typedef struct HeapScanTarget
{
	Relation	index;
	IndexInfo  *index_info;
	IndexBuildCallback callback;
	void	   *state;			/* argument of the callback */
	double		rows;			/* result: live rows */
} HeapScanTarget;

/*
 * heapscan_build passes this process's part of the table's tuples to the
 * callback of each target, a page at a time, and counts live rows.  It scans
 * the whole table, with 'snapshot', if 'parallel' is NULL.  The snapshot, or
 * that of 'parallel', is SnapshotAny, or for CONCURRENTLY a registered MVCC
 * snapshot.  If 'progress' is set, it reports the blocks to the progress view.
 * Returns the number of blocks read, or InvalidBlockNumber if the server's own
 * scan read them.
 *
 * Values that are passed by reference point into the page, or into memory
 * that is valid until the callback returns.
 */
extern BlockNumber heapscan_build(Relation heap, HeapScanTarget *targets,
								  int ntargets, ParallelTableScanDesc parallel,
								  Snapshot snapshot, bool progress);

/*
 * heapscan_is_shareable returns true if a scan of this table can have more than
 * one target, provided that none of them has expressions, a predicate or
 * CONCURRENTLY.
 */
extern bool heapscan_is_shareable(Relation heap);

#endif							/* PTSORT_HEAPSCAN_H */
