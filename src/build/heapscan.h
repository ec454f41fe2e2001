/*-------------------------------------------------------------------------
 *
 * heapscan.h
 *	  Page-at-a-time scan of a heap table for index builds.
 *
 * heapscan_build() does what table_index_build_scan() does: the same calls of
 * the callback, though not necessarily in the same order among participants,
 * the same count, the same errors, warnings and waits, and the same news in
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

/* GUC: let the server's own scan judge every page (not in CONCURRENTLY) */
extern bool ptsort_debug_server_pages;

/*
 * heapscan_build passes this process's share of the table's tuples to the
 * callback and returns how many live ones there were.  Without a parallel scan
 * that is the whole table.  With one, it was initialized with SnapshotAny, or
 * with a registered MVCC snapshot for CONCURRENTLY.  With "progress", the
 * blocks go to the progress view.
 *
 * Values that are passed by reference point into the page, or into memory
 * that lasts until the callback returns.
 */
extern double heapscan_build(Relation heap, Relation index,
							 IndexInfo *index_info,
							 ParallelTableScanDesc parallel, bool progress,
							 IndexBuildCallback callback, void *state);

#endif							/* PTSORT_HEAPSCAN_H */
