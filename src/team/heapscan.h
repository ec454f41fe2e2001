/*-------------------------------------------------------------------------
 *
 * heapscan.h
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * heapscan_build() does what table_index_build_scan() does: the same calls of
 * the callback, though not necessarily in the same order among participants,
 * the same count, the same errors, warnings and waits, and the same changes of
 * the IndexInfo (ii_BrokenHotChain).  On a heap table it locks each buffer
 * once instead of once per tuple and takes the columns straight from the page,
 * and it can do so for several indexes at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPSCAN_H
#define PTSORT_HEAPSCAN_H

#include "access/relscan.h"
#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "team/heapread.h"

/* One of the indexes that a scan is for. */
typedef struct HeapScanTarget
{
	Relation	index;
	IndexInfo  *index_info;
	IndexBuildCallback callback;
	void	   *state;			/* the callback's */
	double		rows;			/* found: live ones */
} HeapScanTarget;

/*
 * heapscan_build passes this process's share of the table's tuples to the
 * callback of each target, a page at a time, and counts live ones.  Without a
 * parallel scan its share is the table.  'parallel' must have been initialized
 * with SnapshotAny, or for CONCURRENTLY with a registered MVCC snapshot.  If
 * 'progress', the blocks are reported to the progress view.  'share' is for
 * heapread_begin, and may be NULL.  Returns how many blocks were read,
 * InvalidBlockNumber if the server's scan did that.
 *
 * Values that are passed by reference point into the page, or into memory
 * that is valid until the callback returns.
 */
extern BlockNumber heapscan_build(Relation heap, HeapScanTarget *targets,
								  int ntargets, ParallelTableScanDesc parallel,
								  const HeapShare *share, bool progress);

/*
 * heapscan_is_shareable tells whether a scan of this table can be for more than
 * one target, none of them with expressions, a predicate or CONCURRENTLY.
 */
extern bool heapscan_is_shareable(Relation heap);

#endif							/* PTSORT_HEAPSCAN_H */
