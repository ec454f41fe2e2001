/*-------------------------------------------------------------------------
 *
 * heapscan.h
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * heapscan_build() does what table_index_build_scan() does: the same calls of
 * the callback, though not necessarily in the same order among participants,
 * the same count, the same errors, warnings and waits, and the same changes of
 * the IndexInfo (ii_BrokenHotChain).  On a heap table it locks each buffer
 * once instead of once per tuple and takes the columns straight from the page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_HEAPSCAN_H
#define PTSORT_HEAPSCAN_H

#include "access/relscan.h"
#include "access/tableam.h"
#include "nodes/execnodes.h"

/* Developer GUC: let the server judge every page, but not in CONCURRENTLY. */
extern bool ptsort_debug_server_pages;

/*
 * heapscan_build passes this process's share of the table's tuples to the
 * callback and returns how many live ones there were.  Without a parallel scan
 * its share is the table.  'parallel' must have been initialized with
 * SnapshotAny, or for CONCURRENTLY with a registered MVCC snapshot.  If
 * 'progress', the blocks are reported to the progress view.
 *
 * Values that are passed by reference point into the page, or into memory
 * that is valid until the callback returns.
 */
extern double heapscan_build(Relation heap, Relation index,
							 IndexInfo *index_info,
							 ParallelTableScanDesc parallel, bool progress,
							 IndexBuildCallback callback, void *state);

#endif							/* PTSORT_HEAPSCAN_H */
