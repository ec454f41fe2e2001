/*-------------------------------------------------------------------------
 *
 * copyscan.h
 *	  Page-at-a-time scan of a heap table that is to be copied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COPYSCAN_H
#define PTSORT_COPYSCAN_H

#include "access/tableam.h"
#include "port/atomics.h"
#include "ptsort.h"
#include "utils/rel.h"

/*
 * CopyRules: what the server says about a copy, the same in all participants.
 */
typedef struct CopyRules
{
	Relation	old_heap;
	Relation	new_heap;
	TransactionId oldest_xmin;	/* what only older transactions see is dead */
	TransactionId freeze_xid;	/* older ones are frozen */
	MultiXactId cutoff_multi;	/* the same for multixacts */
} CopyRules;

/*
 * CopyCounts: what a scan, or all of them, found.
 */
typedef struct CopyCounts
{
	pg_atomic_uint64 copied;	/* row versions, for the sort */
	pg_atomic_uint64 dead;
	pg_atomic_uint64 recently_dead; /* of those copied */
	pg_atomic_uint32 linked;	/* not 0: some must be copied by the server's
								 * functions, see copyscan.c */
} CopyCounts;

/*
 * copyscan puts this process's share of the old table's row versions into a
 * sort of heap tuples: in the form that they will have in the new one, with
 * the old header's information about transactions and the old TID.  Without a
 * parallel scan its share is the table.  If 'progress', blocks and tuples are
 * reported to the progress view.
 */
extern void copyscan(const CopyRules *rules, ParallelTableScanDesc parallel,
					 bool progress, PtSort *sort, CopyCounts *counts);

#endif							/* PTSORT_COPYSCAN_H */
