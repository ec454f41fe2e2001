/*-------------------------------------------------------------------------
 *
 * heapscan.h
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * heapscan_build() has the effects of table_index_build_scan(): it calls the
 * callback for the same tuples, and counts the same live rows.  It raises the
 * same errors and warnings, waits for the same transactions, and sets
 * ii_BrokenHotChain of the IndexInfo in the same cases.  Only the order of the
 * callback calls may differ.  On a heap table it can serve several indexes with
 * one scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPSCAN_H
#define PTSORT_HEAPSCAN_H

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "team/marks.h"

/* HeapScanTarget: an index that receives the tuples of a scan. */
typedef struct HeapScanTarget
{
	Relation	index;
	IndexInfo  *index_info;
	IndexBuildCallback callback;
	void	   *state;			/* argument of the callbacks */

	/* If set, the scan passes the number of a damaged page, and goes on. */
	void		(*damaged) (BlockNumber block, void *state);
	Marks	   *marks;			/* NULL, or the scan marks the pages */
	double		rows;			/* result: live rows */
} HeapScanTarget;

/*
 * heapscan_build passes the tuples of this process's part of the table to the
 * callback of each target, a page at a time.  'shares' limits this process's
 * part of a small table (heapread_begin).  If 'parallel' is NULL, it scans the
 * whole table with 'snapshot'.  The scan's snapshot is SnapshotAny or, for
 * CONCURRENTLY, a registered MVCC snapshot.  If 'progress' is true, it reports
 * the blocks to the progress view.  It returns the number of blocks read, or
 * InvalidBlockNumber if the server's own scan read them.
 *
 * Values passed by reference point into the page, or into memory that is valid
 * until the callback returns.
 */
extern BlockNumber heapscan_build(Relation heap, HeapScanTarget *targets,
								  int ntargets, ParallelTableScanDesc parallel,
								  int shares, Snapshot snapshot,
								  bool progress);

/*
 * heapscan_is_shareable returns true if a scan of this table can have several
 * targets.  None of these may have expressions or a predicate, or be built
 * CONCURRENTLY.
 */
extern bool heapscan_is_shareable(Relation heap);

#endif							/* PTSORT_HEAPSCAN_H */
